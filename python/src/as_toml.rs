//! A dictionary as the text of a scenario, so that one reader checks both. Each value remembers its dotted path, by which its mistakes are
//! told.

use fairground_model::Mistakes;
use fairground_scenario::quoted;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::ops::Range;

/// Dictionaries in dictionaries, at most: one that holds itself has no end.
const DEPTH: usize = 32;

/// Where values stand in the text: the range of each with its key, and its dotted path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(Vec<(Range<usize>, String)>);

impl Places {
    /// The path of the innermost value around a place.
    pub(crate) fn path(&self, place: &Range<usize>) -> Option<&str> {
        let around = self.0.iter().filter(|(range, _)| range.start <= place.start && place.end <= range.end);
        around.min_by_key(|(range, _)| range.len()).map(|(_, path)| path.as_str())
    }
}

/// The text, or what cannot be written.
pub(crate) fn written(dict: &Bound<'_, PyDict>) -> PyResult<Result<(String, Places), Mistakes>> {
    let mut writer = Writer::default();
    for (key, value) in dict {
        writer.pair(&key, &value, "", 0)?;
        writer.text.push('\n');
    }
    Ok(writer.wrong.or((writer.text, writer.places)))
}

#[derive(Default)]
struct Writer {
    text: String,
    places: Places,
    wrong: Mistakes,
}

impl Writer {
    fn mistake(&mut self, path: &str, message: impl std::fmt::Display, hint: &str) {
        self.wrong.whole(format!("{path}: {message}"), hint);
    }
    fn pair(&mut self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>, above: &str, depth: usize) -> PyResult<()> {
        let start = self.text.len();
        let Ok(name) = key.cast::<PyString>().map(|key| key.to_string_lossy().into_owned()) else {
            let above = if above.is_empty() { "scenario" } else { above };
            self.mistake(above, format!("the key {} is no str", key.repr()?), "Keys of a scenario are words.");
            return Ok(());
        };
        let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        let shown = if is_plain { name.clone() } else { format!("\"{name}\"") };
        let path = if above.is_empty() { shown } else { format!("{above}.{shown}") };
        self.text += &if is_plain { name } else { quoted(&name) };
        self.text += " = ";
        self.value(value, &path, depth)?;
        self.places.0.push((start..self.text.len(), path));
        Ok(())
    }
    fn value(&mut self, value: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<()> {
        if depth > DEPTH {
            self.mistake(path, "dictionaries lie too deep in one another", "A scenario has at most five levels.");
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.text += "{ ";
            for (at, (key, value)) in dict.iter().enumerate() {
                self.text += if at > 0 { ", " } else { "" };
                self.pair(&key, &value, path, depth + 1)?;
            }
            self.text += " }";
        } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            self.text.push('[');
            for (at, value) in value.try_iter()?.enumerate() {
                self.text += if at > 0 { ", " } else { "" };
                let (start, path) = (self.text.len(), format!("{path}[{at}]"));
                self.value(&value?, &path, depth + 1)?;
                self.places.0.push((start..self.text.len(), path));
            }
            self.text.push(']');
        } else {
            self.single(value, path)?;
        }
        Ok(())
    }
    fn single(&mut self, value: &Bound<'_, PyAny>, path: &str) -> PyResult<()> {
        if let Ok(truth) = value.cast::<PyBool>() {
            self.text += if truth.is_true() { "true" } else { "false" };
        } else if let Ok(text) = value.cast::<PyString>() {
            match text.to_str() {
                Ok(text) => self.text += &quoted(text),
                Err(_) => self.mistake(path, "this str is no Unicode text", "It has half of a surrogate pair."),
            }
        } else if let Ok(length) = value.cast::<PyDelta>() {
            let (days, seconds) = (i128::from(length.get_days()), i128::from(length.get_seconds()));
            match (days * 86_400 + seconds) * 1_000_000 + i128::from(length.get_microseconds()) {
                us if us >= 0 => self.text += &format!("\"{us}us\""),
                _ => self.mistake(path, "a time below zero", "Lengths of time are positive."),
            }
        } else if let Ok(number) = value.extract::<i64>() {
            self.text += &number.to_string();
        } else if value.is_instance_of::<PyInt>() {
            self.mistake(path, "this number does not fit into 64 bits", "Whole numbers are below 2^63.");
        } else if let Ok(number) = value.extract::<f64>().or_else(|_| value.cast::<PyFloat>().map(|float| float.value())) {
            match number.is_finite() {
                true => self.text += &format!("{number:?}"),
                false => self.mistake(path, format!("{} is no number", value.str()?), "Give a finite number."),
            }
        } else if value.is_none() {
            self.mistake(path, "None is no value", "Leave the key out.");
        } else if let Ok(file) = value.extract::<std::path::PathBuf>() {
            self.text += &quoted(&file.to_string_lossy());
        } else {
            let kind = value.get_type().name()?;
            let hint = "Values are str, int, float, bool, datetime.timedelta, lists and dictionaries.";
            self.mistake(path, format!("a scenario has no values of type {kind}"), hint);
        }
        Ok(())
    }
}
