//! One value, for people and for programs.

use crate::table::number;
use crate::units::{format_count, format_ns};
use fairground_metrics::Decimal;
use fairground_stdx::Ns;
use serde_json::Value;

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
    /// A value that reads differently from what it is.
    pub fn new(text: impl Into<String>, data: impl Into<Value>) -> Cell {
        Cell { text: text.into(), data: data.into() }
    }
    /// A length of time; its data are ns.
    pub fn ns(length: Ns) -> Cell {
        Cell::new(format_ns(length), length.0)
    }
    /// A grouped count.
    pub fn count(count: u64) -> Cell {
        Cell::new(format_count(count), count)
    }
    /// A number with fixed digits behind the point; its data are as exact as the number is.
    pub fn float(value: f64, places: usize) -> Cell {
        Cell::new(format!("{value:.places$}"), value)
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
