//! One value, for people and for programs.

use crate::units::{decimal, fixed, format_count, format_metric, format_ns};
use fairground_metrics::{Decimal, Unit};
use fairground_stdx::Ns;
use fairground_stdx::outside::shown;
use serde_json::{Number, Value};
use std::borrow::Cow;

/// One cell: what people read, and the plain value behind it.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// What people read: `8.00 ms`.
    pub text: String,
    /// The plain value, in the unit of the column's key: `8000000`.
    pub data: Value,
}

impl Cell {
    /// Nothing.
    pub fn empty() -> Cell {
        Cell { text: String::new(), data: Value::Null }
    }
    /// No value where others have one.
    pub fn none() -> Cell {
        Cell::new("-", Value::Null)
    }
    /// A value that reads differently from what it is. Text from outside is shown and written with escapes for what would steer a
    /// terminal, end a line or turn its direction.
    pub fn new(text: impl Into<String>, data: impl Into<Value>) -> Cell {
        let data = match data.into() {
            Value::String(text) => Value::String(harmless(text)),
            other => other,
        };
        Cell { text: harmless(text.into()), data }
    }
    /// A length of time; its data are ns.
    pub fn ns(length: Ns) -> Cell {
        Cell::new(format_ns(length), length.0)
    }
    /// A length of time in ms with three digits behind the point; its data are ns.
    pub fn ms(ns: u64) -> Cell {
        Cell::new(fixed(ns, 1_000_000, 3), ns)
    }
    /// `value / scale` with `places` digits behind the point; its data are exact.
    pub fn fixed(value: u64, scale: u64, places: u32) -> Cell {
        Cell::new(fixed(value, scale, places), number(Decimal::ratio(value, scale)))
    }
    /// Hundredths of a percent as `12.3 %`; its data are exact.
    pub fn percent(hundredths: u64) -> Cell {
        Cell { text: format!("{} %", fixed(hundredths, 100, 1)), ..Cell::fixed(hundredths, 100, 1) }
    }
    /// A metric in its unit; its data are exact.
    pub fn metric(value: u64, unit: Unit) -> Cell {
        Cell::new(format_metric(value, unit), number(decimal(value, unit)))
    }
    /// A grouped count.
    pub fn count(count: u64) -> Cell {
        Cell::new(format_count(count), count)
    }
    /// A number with fixed digits behind the point; its data are as exact as the number is.
    pub fn float(value: f64, places: usize) -> Cell {
        Cell::new(format!("{value:.places$}"), value)
    }
    /// The p value of a test, to three places; one that would round to nothing is shown as smaller than the least of them.
    pub fn p_value(p: f64) -> Cell {
        if p < 0.0005 { Cell::new("<0.001", p) } else { Cell::float(p, 3) }
    }
}

fn harmless(text: String) -> String {
    match shown(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(safe) => safe,
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::new(text, text)
    }
}
impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(text.clone(), text)
    }
}
impl From<u64> for Cell {
    fn from(count: u64) -> Cell {
        Cell::new(count.to_string(), count)
    }
}
impl From<i32> for Cell {
    fn from(value: i32) -> Cell {
        Cell::new(value.to_string(), value)
    }
}
impl From<bool> for Cell {
    fn from(value: bool) -> Cell {
        Cell::new(if value { "yes" } else { "no" }, value)
    }
}
impl From<Decimal> for Cell {
    fn from(value: Decimal) -> Cell {
        Cell::new(value.to_string(), number(value))
    }
}

/// An exact number: whole numbers as integers, others as the nearest float, which prints as the same decimal.
pub fn number(value: Decimal) -> Value {
    let text = value.to_string();
    let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    match whole {
        Ok(whole) => Value::Number(whole),
        Err(_) => Number::from_f64(value.to_f64()).map_or(Value::Null, Value::Number),
    }
}
