//! The values of an axis, as lists, ranges and samples.
//!
//! ```toml
//! a = [1, 2.5, "text", true]                               # any of these
//! b = "1..5"                                               # 1, 2, 3, 4, 5
//! c = { from = 0, to = 20, step = 5 }                      # 0, 5, 10, 15, 20
//! d = { from = "1ms", to = "1s", count = 4, scale = "log" } # 1ms, 10ms, 100ms, 1s
//! e = { random = 8, from = 1, to = 100, seed = 7 }         # eight draws, the same each time
//! ```
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "samples of an interval are rounded to its kind"
)]

use fairground_model::Mistakes;
use fairground_scenario::text::fields::Fields;
use fairground_stdx::{Ns, units};
use std::ops::Range;
use toml_edit::{Item, TableLike, Value};

/// Values that are written out or made at most; a longer axis is refused with its length.
pub(crate) const MAX_VALUES: u128 = 1_000_000;

/// One value of an axis.
#[derive(Clone, PartialEq, Debug)]
pub enum AxisValue {
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
}

impl AxisValue {
    /// A value of a list; `None` for lists, tables and dates.
    pub(crate) fn of(value: &Value) -> Option<AxisValue> {
        match value {
            Value::String(text) => Some(AxisValue::Text(text.value().clone())),
            Value::Integer(number) => Some(AxisValue::Int(*number.value())),
            Value::Float(number) => number.value().is_finite().then(|| AxisValue::Float(*number.value())),
            Value::Boolean(truth) => Some(AxisValue::Bool(*truth.value())),
            _ => None,
        }
    }
    /// The value as TOML has it.
    pub(crate) fn toml(&self) -> Value {
        match self {
            AxisValue::Text(text) => text.as_str().into(),
            AxisValue::Int(number) => (*number).into(),
            AxisValue::Float(number) => (*number).into(),
            AxisValue::Bool(truth) => (*truth).into(),
        }
    }
    /// A length of time with its unit, in ns.
    pub fn ns(&self) -> Option<u64> {
        if let AxisValue::Text(text) = self { units::parse_ns(text).ok().map(|ns| ns.0) } else { None }
    }
    /// The value as a number: of a length of time that of ns.
    pub fn number(&self) -> Option<f64> {
        match self {
            AxisValue::Int(number) => Some(*number as f64),
            AxisValue::Float(number) => Some(*number),
            AxisValue::Bool(_) => None,
            AxisValue::Text(_) => self.ns().map(|ns| ns as f64),
        }
    }
}

impl std::fmt::Display for AxisValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AxisValue::Text(text) => f.write_str(text),
            AxisValue::Int(number) => write!(f, "{number}"),
            AxisValue::Float(number) => write!(f, "{number}"),
            AxisValue::Bool(truth) => write!(f, "{truth}"),
        }
    }
}

/// The values of an axis with their places. `count` is how many there are, also where they are too many to be made.
pub(crate) struct Values {
    pub(crate) values: Vec<AxisValue>,
    pub(crate) spans: Vec<Range<usize>>,
    pub(crate) count: u128,
}

/// Whether a table says how values are made, rather than being a table of the scenario.
pub(crate) fn is_made(table: &dyn TableLike) -> bool {
    let scalar = |key| table.get(key).is_some_and(|item| item.as_value().is_some_and(|value| !value.is_array()));
    scalar("random") || (scalar("from") && scalar("to"))
}

/// Reads the values of the axis `name`.
pub(crate) fn read(name: &str, item: &Item, span: &Range<usize>, m: &mut Mistakes) -> Option<Values> {
    let same = |values: Vec<AxisValue>| {
        let count = values.len() as u128;
        Values { spans: vec![span.clone(); values.len()], values, count }
    };
    if let Some(list) = item.as_array() {
        return read_list(name, list, span, m);
    }
    if let Some(table) = item.as_table_like() {
        return made(name, Fields::new(table, span.clone(), format!("the axis `{name}`")), span, m);
    }
    if let Some((low, high)) = item.as_str().and_then(whole_range) {
        let count = u128::from(high.abs_diff(low)) + 1;
        if count > MAX_VALUES {
            return Some(Values { values: Vec::new(), spans: Vec::new(), count });
        }
        return Some(same((low..=high).map(AxisValue::Int).collect()));
    }
    m.at(span.clone(), format!("the axis `{name}` has no list of values"), HINT);
    None
}

const HINT: &str = "Write a list, `[1, 2]`; a range, `\"1..5\"`; or `{ from = 1, to = 9, step = 2 }`.";

/// `1..5` is 1, 2, 3, 4, 5.
fn whole_range(text: &str) -> Option<(i64, i64)> {
    let (low, high) = text.split_once("..")?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high).then_some((low, high))
}

fn read_list(name: &str, list: &toml_edit::Array, span: &Range<usize>, m: &mut Mistakes) -> Option<Values> {
    if list.is_empty() {
        m.at(span.clone(), format!("the axis `{name}` is empty"), "Give it a value, or leave the axis out.");
        return None;
    }
    let (mut values, mut spans, before) = (Vec::new(), Vec::new(), m.0.len());
    for value in list {
        let place = value.span().unwrap_or_else(|| span.clone());
        match AxisValue::of(value) {
            Some(value) => {
                values.push(value);
                spans.push(place);
            }
            None if value.is_float() => m.at(place, format!("the axis `{name}` has a value that is no number"), FINITE),
            None => m.at(place, format!("the axis `{name}` has a value of another kind"), "Write text, numbers, true or false."),
        }
    }
    let count = values.len() as u128;
    (m.0.len() == before).then_some(Values { values, spans, count })
}

const FINITE: &str = "NaN and infinity are no values of an axis.";

/// The ends of an interval: both of one kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Interval {
    Int(i64, i64),
    Float(f64, f64),
    /// In ns.
    Time(u64, u64),
}

impl Interval {
    fn of(from: &AxisValue, to: &AxisValue) -> Option<Interval> {
        let interval = match (from, to) {
            (AxisValue::Int(from), AxisValue::Int(to)) => Interval::Int(*from, *to),
            (AxisValue::Text(_), AxisValue::Text(_)) => Interval::Time(from.ns()?, to.ns()?),
            (AxisValue::Text(_) | AxisValue::Bool(_), _) | (_, AxisValue::Text(_) | AxisValue::Bool(_)) => return None,
            _ => Interval::Float(from.number()?, to.number()?),
        };
        let (low, high) = interval.ends();
        (low <= high).then_some(interval)
    }
    fn ends(self) -> (f64, f64) {
        match self {
            Interval::Int(low, high) => (low as f64, high as f64),
            Interval::Float(low, high) => (low, high),
            Interval::Time(low, high) => (low as f64, high as f64),
        }
    }
    /// The value at a part of the way from one end to the other, rounded to the kind of the ends; numbers to six digits.
    pub(crate) fn at(self, part: f64, is_log: bool) -> AxisValue {
        let (low, high) = self.ends();
        let value = if is_log { (low.ln() + part * (high.ln() - low.ln())).exp() } else { low + part * (high - low) };
        let value = value.clamp(low, high);
        match self {
            Interval::Int(..) => AxisValue::Int(value.round() as i64),
            Interval::Float(..) => AxisValue::Float(format!("{value:.5e}").parse().unwrap_or(value)),
            Interval::Time(..) => AxisValue::Text(Ns(value.round().max(0.0) as u64).to_string()),
        }
    }
}

/// An interval with its scale, of a table with `from`, `to` and perhaps `scale`.
pub(crate) fn interval(name: &str, fields: &mut Fields<'_>, m: &mut Mistakes) -> Option<(Interval, bool)> {
    let span = fields.span();
    let mut end = |key: &'static str| fields.item(key).and_then(Item::as_value).and_then(AxisValue::of);
    let (from, to) = (end("from"), end("to"));
    let scale = fields.text("scale", m).map_or("linear".to_string(), |scale| scale.value.to_string());
    let found = from.zip(to).and_then(|(from, to)| Interval::of(&from, &to));
    let Some(interval) = found else {
        let hint =
            "Write two numbers or two lengths of time, the smaller one first: `from = 1, to = 9`. NaN and infinity are none.";
        m.at(span, format!("the axis `{name}` has no ends `from` and `to`"), hint);
        return None;
    };
    match scale.as_str() {
        "linear" => Some((interval, false)),
        "log" if interval.ends().0 > 0.0 => Some((interval, true)),
        "log" => {
            m.at(span, format!("the axis `{name}` has a scale \"log\" that does not begin above 0"), "Give a larger `from`.");
            None
        }
        other => {
            m.at(span, format!("there is no scale `{other}`"), "Scales: \"linear\", \"log\".");
            None
        }
    }
}

/// Values that a table describes.
fn made(name: &str, mut fields: Fields<'_>, span: &Range<usize>, m: &mut Mistakes) -> Option<Values> {
    let before = m.0.len();
    let random = fields.natural("random", m).map(|row| u128::from(row.value));
    let count = fields.natural("count", m).map(|row| u128::from(row.value));
    let seed = fields.natural("seed", m).map_or(1, |row| row.value);
    let step = fields.item("step").and_then(Item::as_value).and_then(AxisValue::of);
    let found = interval(name, &mut fields, m);
    fields.end(m);
    let (interval, is_log) = found.filter(|_| m.0.len() == before)?;
    let given = [random.is_some(), count.is_some(), step.is_some()].into_iter().filter(|is| *is).count();
    if given != 1 {
        m.at(span.clone(), format!("the axis `{name}` needs one of `step`, `count` and `random`"), HINT);
        return None;
    }
    if let Some(count) = random.or(count) {
        if count == 0 {
            m.at(span.clone(), format!("the axis `{name}` is empty"), "Give it a value, or leave the axis out.");
            return None;
        }
        if count > MAX_VALUES {
            return Some(Values { values: Vec::new(), spans: Vec::new(), count });
        }
        let mut state = seed;
        let mut values: Vec<AxisValue> = Vec::new();
        for place in 0..count {
            let part = if random.is_some() { draw(&mut state) } else { place as f64 / (count - 1).max(1) as f64 };
            let value = interval.at(part, is_log);
            // Points of a grid that round to one value are one.
            if random.is_some() || values.last() != Some(&value) {
                values.push(value);
            }
        }
        return Some(placed(values, span));
    }
    let length = step.as_ref().and_then(|step| match (interval, step) {
        (Interval::Int(..), AxisValue::Int(step)) => Some(*step as f64),
        (Interval::Float(..), step) => step.number().filter(|_| step.ns().is_none()),
        (Interval::Time(..), step) => step.ns().map(|ns| ns as f64),
        _ => None,
    });
    let Some(length) = length.filter(|length| *length > 0.0 && !is_log) else {
        let hint = "It must be above 0 and of the kind of `from`; a scale \"log\" has a `count` instead.";
        m.at(span.clone(), format!("the axis `{name}` has a `step` that does not fit"), hint);
        return None;
    };
    let (low, high) = interval.ends();
    // A thousandth of a step more, as tenths add up inexactly.
    let count = ((high - low) / length + 1e-3).floor() as u128 + 1;
    if count > MAX_VALUES {
        return Some(Values { values: Vec::new(), spans: Vec::new(), count });
    }
    let part = |place: u128| if high > low { (place as f64 * length / (high - low)).min(1.0) } else { 0.0 };
    Some(placed((0..count).map(|place| interval.at(part(place), false)).collect(), span))
}

pub(crate) fn placed(values: Vec<AxisValue>, span: &Range<usize>) -> Values {
    let count = values.len() as u128;
    Values { spans: vec![span.clone(); values.len()], values, count }
}

/// The next number from 0 up to 1, by SplitMix64 (Steele, Lea and Flood 2014).
fn draw(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_scenario::text::fields::parse_toml;

    fn shown(text: &str) -> Result<Vec<String>, String> {
        let mut m = Mistakes::default();
        let table = parse_toml(&format!("a = {text}\n"), &mut m);
        let values = read("a", &table["a"], &(4..5), &mut m);
        match values {
            Some(values) if m.0.is_empty() => Ok(values.values.iter().map(AxisValue::to_string).collect()),
            _ => Err(m.to_string()),
        }
    }

    #[test]
    fn lists_ranges_and_samples_are_made() {
        for (text, wanted) in [
            ("[1, 2.5, \"x\", true]", "1 2.5 x true"),
            ("\"3..5\"", "3 4 5"),
            ("{ from = 0, to = 20, step = 5 }", "0 5 10 15 20"),
            ("{ from = 0.1, to = 0.5, step = 0.1 }", "0.1 0.2 0.3 0.4 0.5"),
            ("{ from = 1, to = 1000, count = 4, scale = \"log\" }", "1 10 100 1000"),
            ("{ from = \"1ms\", to = \"1s\", count = 4, scale = \"log\" }", "1ms 10ms 100ms 1s"),
            ("{ from = 1, to = 2, count = 5 }", "1 2"),
        ] {
            assert_eq!(shown(text).map(|row| row.join(" ")), Ok(wanted.to_string()), "{text}");
        }
        let random = shown("{ random = 50, from = 5, to = 9, seed = 3 }").unwrap();
        assert_eq!(random, shown("{ random = 50, from = 5, to = 9, seed = 3 }").unwrap());
        assert_ne!(random, shown("{ random = 50, from = 5, to = 9, seed = 4 }").unwrap());
        assert!(random.iter().all(|text| (5..=9).contains(&text.parse::<i64>().unwrap())));
    }

    #[test]
    fn wrong_values_are_named() {
        for (text, part) in [
            ("[]", "is empty"),
            ("[nan]", "no number"),
            ("[1, inf]", "no number"),
            ("[[1]]", "another kind"),
            ("\"5..1\"", "no list of values"),
            ("{ from = 5, to = 1, step = 1 }", "no ends"),
            ("{ from = nan, to = 1, step = 1 }", "no ends"),
            ("{ from = 1, to = \"5ms\", step = 1 }", "no ends"),
            ("{ from = 1, to = 5 }", "needs one of"),
            ("{ from = 1, to = 5, step = 0 }", "does not fit"),
            ("{ from = 0, to = 5, count = 3, scale = \"log\" }", "above 0"),
            ("{ from = 0, to = 5, count = 3, scale = \"lag\" }", "no scale"),
            ("{ from = 0, to = 5, cuont = 3 }", "Did you mean `count`"),
            ("{ random = 0, from = 0, to = 5 }", "is empty"),
        ] {
            let wrong = shown(text).unwrap_err();
            assert!(wrong.contains(part), "{text}: {wrong}");
        }
    }
}
