//! Steps that measure: a mark that is counted, and a part of the program whose CPU time is told apart; and one that asks for time.
//!
//! ```text
//! mark transactions          part parse          part other          slice-ext on          slice-ext off
//! ```
//!
//! Names need no declaration: they are known from the first step on that has them. `other` is no part.

use crate::metrics::OTHER;
use crate::nouns::step_args::Names;
use crate::nouns::step_labels::unlabelled;
use crate::text::Wrong;
use crate::text::fields::Fields;
use fairground_model::{Instr, MarkerSpec, MarkerUnit, TaskSet};
use fairground_stdx::{Id, MarkerId, PartId};
use toml_edit::{Item, Value};

/// The steps that [`read`] knows.
pub(crate) const VERBS: [&str; 3] = ["mark", "part", "slice-ext"];

/// What the figures of a mark begin with.
const MARKS: &str = "marks.";

/// Adds the marks and parts that the steps of these rows name, each once, in the order in which they come.
pub(crate) fn collect(rows: &[Fields<'_>], names: &mut Names, set: &mut TaskSet) {
    let lists =
        rows.iter().flat_map(|row| ["do", "program"].into_iter().filter_map(|key| row.raw().get(key).and_then(Item::as_array)));
    for step in lists.flat_map(|list| list.iter().filter_map(Value::as_str)) {
        let (verb, name) = unlabelled(step.trim()).1.split_once(char::is_whitespace).unwrap_or_default();
        let name = name.trim().to_string();
        if check(&name).is_err() {
            continue;
        }
        if verb == "mark" && !names.marks.contains(&name) {
            set.markers.push(MarkerSpec { name: format!("{MARKS}{name}"), unit: MarkerUnit::Event });
            names.marks.push(name);
        } else if verb == "part" && name != OTHER && !names.parts.contains(&name) {
            set.parts.push(name.clone());
            names.parts.push(name);
        }
    }
}

/// Names stand in those of figures: letters, digits, `_` and `-`.
fn check(name: &str) -> Result<(), Wrong> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err((
            format!("`{name}` is no name of a mark or part"),
            "Use letters, digits, `_` and `-`: `mark transactions`.".to_string(),
        )),
    }
}

/// Reads a step; none if its verb is not one of these.
pub(crate) fn read(verb: &str, value: &str, names: &Names) -> Option<Result<Instr, Wrong>> {
    let place = |list: &[String]| list.iter().position(|name| name == value);
    Some(match verb {
        "mark" => {
            check(value).map(|()| Instr::MarkValue { marker: MarkerId::from_index(place(&names.marks).unwrap_or(0)), value: 1 })
        }
        "part" => check(value).map(|()| Instr::Part { part: place(&names.parts).map(PartId::from_index) }),
        "slice-ext" => match value {
            "on" => Ok(Instr::SliceExt { request: true }),
            "off" => Ok(Instr::SliceExt { request: false }),
            _ => {
                let hint = "Write `slice-ext on` before a critical section and `slice-ext off` behind it.";
                Err((format!("`slice-ext {value}` is not understood"), hint.to_string()))
            }
        },
        _ => return None,
    })
}

/// The step as [`read`] reads it; none if it is not one of these.
pub(crate) fn text(instr: &Instr, names: &Names) -> Option<String> {
    Some(match *instr {
        Instr::MarkValue { marker, value: 1 } => format!("mark {}", names.marks.get(marker.index())?),
        Instr::SliceExt { request } => format!("slice-ext {}", if request { "on" } else { "off" }),
        Instr::Part { part: None } => format!("part {OTHER}"),
        Instr::Part { part: Some(part) } => format!("part {}", names.parts.get(part.index())?),
        _ => return None,
    })
}

/// The marks of a set, if it has no other measurements and they are numbered as [`collect`] numbers them.
pub(crate) fn marks_of(set: &TaskSet) -> Vec<String> {
    let mark = |spec: &MarkerSpec| spec.name.strip_prefix(MARKS).filter(|_| spec.unit == MarkerUnit::Event).map(str::to_string);
    set.markers.iter().map(mark).collect::<Option<Vec<String>>>().unwrap_or_default()
}
