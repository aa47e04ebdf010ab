//! Tables as JSON.

use super::Table;
use serde_json::{Map, Value, json};

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
