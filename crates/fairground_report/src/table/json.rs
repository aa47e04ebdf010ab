//! Tables and exact numbers as JSON.

use super::Table;
use fairground_metrics::Decimal;
use serde_json::{Map, Number, Value, json};

impl Table {
    /// `{"name", "title", "rows": [{key: value, …}, …], "notes"}`.
    pub fn to_json(&self) -> Value {
        let object = |row: &Vec<super::Cell>| -> Value {
            let pairs = self.columns.iter().zip(row).map(|(column, cell)| (column.key.clone(), cell.data.clone()));
            Value::Object(pairs.collect::<Map<String, Value>>())
        };
        let rows: Vec<Value> = self.rows.iter().map(object).collect();
        json!({ "name": self.name, "title": self.title, "rows": rows, "notes": self.notes })
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
