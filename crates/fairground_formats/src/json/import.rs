//! From our own JSON to events, one record in memory at a time.

use crate::flat::{Column, Row};
use crate::import::{ImportStats, OwnRows};
use crate::json::KIND;
use fairground_model::Sink;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::io::BufRead;

/// Whether `head`, the beginning of a file, is our own JSON.
pub fn sniff(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.trim_start().starts_with('{') && text.contains(&format!("\"{KIND}\""))
}

/// Reads our own JSON to its end. What makes no sense is counted and noted, never fatal.
pub fn read(source: impl BufRead, sink: &mut dyn Sink) -> ImportStats {
    let mut rows = OwnRows::new(super::NAME, sink);
    let mut json = serde_json::Deserializer::from_reader(source);
    let outcome = Document { rows: &mut rows }.deserialize(&mut json).and_then(|digest| json.end().map(|()| digest));
    match outcome {
        Err(error) => rows.feed.stats.warn(0, &format!("the document is cut off or broken: {error}")),
        Ok(None) => rows.feed.stats.warn(0, "the document has no digest: it may be incomplete"),
        Ok(Some(digest)) if digest != format!("{:032x}", rows.digest()) => {
            rows.feed.stats.warn(0, "the records are not those that the document's digest was made of");
        }
        Ok(Some(_)) => {}
    }
    rows.finish()
}

/// The document; gives its digest.
struct Document<'d, 'a> {
    rows: &'d mut OwnRows<'a>,
}

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = Option<String>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<String>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = Option<String>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `records`")
    }
    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Option<String>, M::Error> {
        let mut digest = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "records" => map.next_value_seed(Records { rows: &mut *self.rows })?,
                "digest" => digest = map.next_value::<Value>()?.as_str().map(str::to_string),
                _ => map.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
        Ok(digest)
    }
}

/// The value of `records`.
struct Records<'d, 'a> {
    rows: &'d mut OwnRows<'a>,
}

impl<'de> DeserializeSeed<'de> for Records<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }
    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<(), S::Error> {
        let mut number = 0;
        while let Some(value) = seq.next_element::<Value>()? {
            number += 1;
            match row(&value) {
                Some(row) => self.rows.push(number, &row),
                None => self.rows.feed.stats.skip(number, "a record that is no object of known columns was left out"),
            }
        }
        Ok(())
    }
}

/// The columns of a record.
fn row(value: &Value) -> Option<Row> {
    let mut row = Row::default();
    for (key, value) in value.as_object()? {
        match key.as_str() {
            "event" => row.event = value.as_str()?.to_string(),
            "what" => row.what = Some(value.as_str()?.to_string()),
            key => {
                let column = Column::ALL.into_iter().find(|column| column.name() == key)?;
                row.numbers[column as usize] = Some(value.as_u64().map(i128::from).or(value.as_i64().map(i128::from))?);
            }
        }
    }
    Some(row)
}
