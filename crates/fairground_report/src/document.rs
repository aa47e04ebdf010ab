//! JSON documents: the part that all of them share.

use crate::table::Table;
use fairground_stdx::outside::is_steering;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The version of the documents' layout. Fields may be added under the same number; a change of
/// meaning or a removal raises it.
const SCHEMA: u32 = 1;

/// A file that a result depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    name: String,
    digest: u128,
}

impl Input {
    /// An input by its name, of which only the part behind the last `/` is kept, and its digest.
    pub fn new(name: &str, digest: u128) -> Input {
        let last = name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(name);
        Input { name: last.to_string(), digest }
    }
}

impl Input {
    /// Its name, without folders.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A digest as everywhere in output: 32 hexadecimal digits.
pub fn hex(digest: u128) -> String {
    format!("{digest:032x}")
}

/// One JSON document. Fields appear in the order in which they were set.
#[derive(Clone, PartialEq, Debug)]
pub struct Document(Map<String, Value>);

impl Document {
    /// The fields that each document has. `seed` and `digest` are null where a command has none.
    pub fn new(command: &str, inputs: &[Input], seed: Option<u64>, digest: Option<u128>) -> Document {
        let inputs: Vec<Value> = inputs.iter().map(|input| json!({ "name": input.name, "digest": hex(input.digest) })).collect();
        let mut document = Document(Map::new());
        document
            .set("schema", SCHEMA)
            .set("tool", json!({ "name": "fairground", "version": env!("CARGO_PKG_VERSION") }))
            .set("command", command)
            .set("inputs", inputs)
            .set("seed", seed)
            .set("digest", digest.map(hex));
        document
    }
    /// Sets a field.
    pub fn set(&mut self, field: &str, value: impl Into<Value>) -> &mut Document {
        self.0.insert(field.to_string(), value.into());
        self
    }
    /// Sets the field `tables`.
    pub fn set_tables(&mut self, tables: &[Table]) -> &mut Document {
        self.set("tables", tables.iter().map(Table::to_json).collect::<Vec<_>>())
    }
    /// A field, if it is set.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field)
    }
}

/// Indented by two blanks, with a line end. Letters that steer a terminal can stand in texts only, where JSON has an escape for each.
impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:#}\n", Value::Object(self.0.clone()));
        if !text.contains(is_harmful) {
            return f.write_str(&text);
        }
        for letter in text.chars() {
            // None of them lies beyond U+FFFF.
            if is_harmful(letter) { write!(f, "\\u{:04x}", u32::from(letter))? } else { f.write_char(letter)? }
        }
        Ok(())
    }
}

fn is_harmful(letter: char) -> bool {
    letter != '\n' && is_steering(letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn every_document_has_the_same_head() {
        let inputs = [Input::new("/home/me/player.json", 0xab), Input::new("sets\\hogs/", 1)];
        let mut document = Document::new("run", &inputs, Some(7), Some(u128::MAX));
        document.set("events", 3u64);
        expect![[r#"
            {
              "schema": 1,
              "tool": {
                "name": "fairground",
                "version": "VERSION"
              },
              "command": "run",
              "inputs": [
                {
                  "name": "player.json",
                  "digest": "000000000000000000000000000000ab"
                },
                {
                  "name": "hogs",
                  "digest": "00000000000000000000000000000001"
                }
              ],
              "seed": 7,
              "digest": "ffffffffffffffffffffffffffffffff",
              "events": 3
            }
        "#]]
        .assert_eq(&document.to_string().replace(env!("CARGO_PKG_VERSION"), "VERSION"));
        assert_eq!(document.get("events"), Some(&json!(3)));
    }

    #[test]
    fn what_a_command_does_not_have_is_null() {
        let document = Document::new("list", &[], None, None);
        assert_eq!((document.get("seed"), document.get("digest")), (Some(&Value::Null), Some(&Value::Null)));
    }
}
