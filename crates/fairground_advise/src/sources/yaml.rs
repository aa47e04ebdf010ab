//! YAML as a tree. Names for parts of a text (anchors) are refused: a few lines of them can stand for a text without end.

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

/// Deeper than anything that is written by a program for people.
const DEEPEST: usize = 100;

/// The documents of a text; all scalars are strings. Or the line of what is wrong, and what that is.
pub(super) fn documents(text: &str) -> Result<Vec<Value>, (usize, String)> {
    let mut documents = Vec::new();
    // What is open: a list, or a table with the key that waits for its value.
    let mut open: Vec<(Value, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|wrong| (wrong.marker().line(), wrong.info().to_string()))?;
        let done = match event {
            Event::Scalar(text, ..) => Value::String(text.into_owned()),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= DEEPEST => {
                return Err((span.start.line(), "it is nested too deeply".to_string()));
            }
            Event::SequenceStart(..) => {
                open.push((Value::Array(Vec::new()), None));
                continue;
            }
            Event::MappingStart(..) => {
                open.push((Value::Object(Map::new()), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some((whole, _)) => whole,
                None => continue,
            },
            Event::Alias(_) => return Err((span.start.line(), "names for parts of the text (`*name`) are not read".to_string())),
            _ => continue,
        };
        match open.last_mut() {
            None => documents.push(done),
            Some((Value::Array(list), _)) => list.push(done),
            Some((Value::Object(table), key)) => match (key.take(), done) {
                (Some(key), value) => {
                    table.insert(key, value);
                }
                (None, Value::String(text)) => *key = Some(text),
                (None, _) => return Err((span.start.line(), "a key is a list or a table".to_string())),
            },
            Some(_) => {}
        }
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_becomes_a_tree_of_strings() {
        let text = "a:\n- b: 1\n  c: \"x: y\"\n- {d: [e, f]}\nnote: |\n  - no: list\n---\nz\n";
        let found = documents(text).unwrap();
        assert_eq!(found, [json!({"a": [{"b": "1", "c": "x: y"}, {"d": ["e", "f"]}], "note": "- no: list\n"}), json!("z")]);
        assert_eq!(documents("").unwrap(), Vec::<Value>::new());
    }

    #[test]
    fn what_is_broken_or_grows_without_end_is_refused_with_its_line() {
        for (text, line) in [
            ("a: &x [1]\nb: *x\n".to_string(), 2),
            ("a: 1\nb: [1\n".to_string(), 3),
            ("a:\n\t- b\n".to_string(), 2),
            ("[".repeat(5_000), 1),
            ("? [a]\n: b\n".to_string(), 1),
        ] {
            let wrong = documents(&text).unwrap_err();
            assert!(wrong.0.abs_diff(line) <= 1, "{text:.20}: {wrong:?}");
        }
    }
}
