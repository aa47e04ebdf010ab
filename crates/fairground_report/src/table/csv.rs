//! CSV as RFC 4180 has it, with `\n` at line ends.

use super::Table;
use fairground_stdx::outside::harmless_cell;
use serde_json::Value;

impl Table {
    /// The plain values, headed by the columns' keys.
    pub fn to_csv(&self) -> String {
        let keys = self.columns.iter().map(|column| quoted(&column.key)).collect::<Vec<_>>().join(",");
        let mut text = keys + "\n";
        for row in &self.rows {
            text += &row.iter().map(|cell| quoted(&plain(&cell.data))).collect::<Vec<_>>().join(",");
            text.push('\n');
        }
        text
    }
}

fn plain(data: &Value) -> String {
    match data {
        Value::Null => String::new(),
        Value::String(text) => harmless_cell(text).into_owned(),
        other => other.to_string(),
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_string() }
}
