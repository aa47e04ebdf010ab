//! Typed access to the keys of a TOML table, with a mistake for each that is not as expected.

use crate::suggest::{self, clip};
use fairground_model::Mistakes;
use fairground_stdx::Ns;
use fairground_stdx::units::{UnitError, parse_kib, parse_ns};
use std::ops::{Range, RangeInclusive};
use toml_edit::{Document, Item, TableLike, Value};

/// Parses TOML; a syntax error becomes a mistake.
pub(crate) fn parse_document<'a>(text: &'a str, mistakes: &mut Mistakes) -> Option<Document<&'a str>> {
    match Document::parse(text) {
        Ok(document) => Some(document),
        Err(error) => {
            let message = format!("this is no TOML: {}", error.message().lines().next().unwrap_or("syntax error"));
            let hint = "A machine file is TOML: `key = value` lines and `[[cpu]]` tables.";
            mistakes.at(error.span().unwrap_or(0..text.len()), message, hint);
            None
        }
    }
}

/// The keys of one table.
pub(crate) struct Fields<'a> {
    table: &'a dyn TableLike,
    span: Range<usize>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(table: &'a dyn TableLike, span: Range<usize>) -> Fields<'a> {
        Fields { table, span }
    }
    /// Where the table stands.
    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }
    pub(crate) fn item(&self, key: &str) -> Option<&'a Item> {
        self.table.get(key)
    }
    /// Where the value of `key` stands, or the table if it has none.
    pub(crate) fn span_of(&self, key: &str) -> Range<usize> {
        let value = self.table.get(key).and_then(Item::span);
        value.or_else(|| self.table.get_key_value(key).and_then(|(key, _)| key.span())).unwrap_or(self.span())
    }
    /// A mistake for each key that is not in `known`.
    pub(crate) fn refuse_unknown<'k>(&self, known: impl IntoIterator<Item = &'k str>, mistakes: &mut Mistakes) {
        let known: Vec<&str> = known.into_iter().collect();
        for (key, _) in self.table.iter().filter(|(key, _)| !known.contains(key)) {
            let span = self.table.get_key_value(key).and_then(|(key, _)| key.span()).unwrap_or(self.span());
            mistakes.at(span, format!("unknown key `{}`", clip(key)), suggest::hint(key, &known));
        }
    }
    /// A mistake at `key`, which holds something else than `expected`.
    pub(crate) fn wrong(&self, key: &str, item: &Item, expected: &str, mistakes: &mut Mistakes) {
        let message = format!("`{key}` is {}", describe(item));
        mistakes.at(self.span_of(key), message, format!("Expected {expected}."));
    }
    /// Where the value of the first of `keys` stands that the table has, or the table.
    pub(crate) fn span_of_first(&self, keys: &[&str]) -> Range<usize> {
        keys.iter().find(|key| self.has(key)).map_or(self.span(), |key| self.span_of(key))
    }
    /// The tables of `[[key]]`, if the key is there and holds tables.
    pub(crate) fn tables(&self, key: &str) -> Option<Vec<Fields<'a>>> {
        let tables = tables(self.item(key)?)?;
        Some(tables.into_iter().map(|(table, span)| Fields::new(table, span.unwrap_or(self.span_of(key)))).collect())
    }
    /// The same; a mistake if the key is there and holds something else.
    pub(crate) fn read_tables(&self, key: &str, expected: &str, mistakes: &mut Mistakes) -> Option<Vec<Fields<'a>>> {
        let tables = self.tables(key);
        if let (Some(item), None) = (self.item(key), &tables) {
            self.wrong(key, item, expected, mistakes);
        }
        tables
    }
    pub(crate) fn text(&self, key: &str, mistakes: &mut Mistakes) -> Option<&'a str> {
        let item = self.item(key)?;
        if item.as_str().is_none() {
            self.wrong(key, item, "a text in quotes", mistakes);
        }
        item.as_str()
    }
    pub(crate) fn boolean(&self, key: &str, mistakes: &mut Mistakes) -> Option<bool> {
        let item = self.item(key)?;
        if item.as_bool().is_none() {
            self.wrong(key, item, "true or false", mistakes);
        }
        item.as_bool()
    }
    pub(crate) fn integer(&self, key: &str, range: RangeInclusive<u32>, mistakes: &mut Mistakes) -> Option<u32> {
        let item = self.item(key)?;
        let value = item.as_integer().and_then(|value| within(value, &range));
        if value.is_none() {
            self.wrong(key, item, &format!("a whole number from {} to {}", range.start(), range.end()), mistakes);
        }
        value
    }
    /// A size in KiB, 1 KiB to 1 GiB.
    pub(crate) fn kib(&self, key: &str, mistakes: &mut Mistakes) -> Option<u32> {
        let item = self.item(key)?;
        let written = item.as_str().map(str::to_string).or_else(|| item.as_integer().map(|kib| format!("{kib}KiB")));
        let size = written.and_then(|text| parse_kib(&text).ok()).filter(|kib| (1..=1 << 20).contains(kib));
        if size.is_none() {
            self.wrong(key, item, "a size from 1KiB to 1024MiB, as in \"2MiB\", or a number of KiB", mistakes);
        }
        size
    }
    pub(crate) fn length(&self, key: &str, mistakes: &mut Mistakes) -> Option<Ns> {
        let item = self.item(key)?;
        let Some(text) = item.as_str() else {
            self.wrong(key, item, "a length of time with its unit, as in \"4ms\"", mistakes);
            return None;
        };
        match parse_ns(text) {
            Ok(length) => Some(length),
            Err(error) => {
                self.bad_length(key, text, &error, mistakes);
                None
            }
        }
    }
    /// A mistake at `key`, whose length of time was not understood.
    pub(crate) fn bad_length(&self, key: &str, text: &str, error: &UnitError, mistakes: &mut Mistakes) {
        let message = format!("`{key}` is \"{}\": {error}", clip(text));
        mistakes.at(self.span_of(key), message, "Write a number and one of ns, us, ms, s, as in \"4ms\".");
    }
    /// One of several names.
    pub(crate) fn one_of<T: Copy>(&self, key: &str, names: &[(&str, T)], mistakes: &mut Mistakes) -> Option<T> {
        let text = self.text(key, mistakes)?;
        let found = names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            mistakes.at(self.span_of(key), format!("`{key}` is \"{}\"", clip(text)), suggest::hint(text, &known));
        }
        found
    }
    /// A list of `length` numbers, or one number that stands for all.
    pub(crate) fn integers(&self, key: &str, length: usize, mistakes: &mut Mistakes) -> Option<Vec<u32>> {
        let item = self.item(key)?;
        if let Some(value) = item.as_integer().and_then(|value| within(value, &(0..=u32::MAX))) {
            return Some(vec![value; length]);
        }
        let Some(list) = item.as_array() else {
            self.wrong(key, item, "a whole number, or a list with one for each CPU", mistakes);
            return None;
        };
        if list.len() != length {
            let message = format!("`{key}` lists {} numbers", list.len());
            mistakes.at(self.span_of(key), message, format!("The machine has {length} CPUs: one number for each."));
            return None;
        }
        list.iter().map(|value| self.element(key, value, mistakes)).collect()
    }
    /// One row after the other of a matrix of numbers.
    pub(crate) fn matrix(&self, key: &str, mistakes: &mut Mistakes) -> Option<Vec<Vec<u32>>> {
        let item = self.item(key)?;
        let expected = "a list of rows, as in [[10, 21], [21, 10]]";
        let Some(rows) = item.as_array() else {
            self.wrong(key, item, expected, mistakes);
            return None;
        };
        let mut matrix = Vec::new();
        for row in rows {
            let Some(row) = row.as_array() else {
                self.wrong(key, item, expected, mistakes);
                return None;
            };
            matrix.push(row.iter().map(|value| self.element(key, value, mistakes)).collect::<Option<_>>()?);
        }
        Some(matrix)
    }
    fn element(&self, key: &str, value: &Value, mistakes: &mut Mistakes) -> Option<u32> {
        let number = value.as_integer().and_then(|value| within(value, &(0..=u32::MAX)));
        if number.is_none() {
            let span = value.span().unwrap_or(self.span_of(key));
            let message = format!("`{key}` holds {}", describe(&Item::Value(value.clone())));
            mistakes.at(span, message, "Each element is a whole number that is not negative.");
        }
        number
    }
}

type Tables<'a> = Vec<(&'a dyn TableLike, Option<Range<usize>>)>;

/// The tables of `[[key]]`, or of a list of inline tables; `None` if it is neither.
fn tables<'a>(item: &'a Item) -> Option<Tables<'a>> {
    if let Some(tables) = item.as_array_of_tables() {
        return Some(tables.iter().map(|table| (table as &dyn TableLike, table.span())).collect());
    }
    let entry = |value: &'a Value| Some((value.as_inline_table()? as &dyn TableLike, value.span()));
    item.as_array()?.iter().map(entry).collect()
}

fn within(value: i64, range: &RangeInclusive<u32>) -> Option<u32> {
    u32::try_from(value).ok().filter(|value| range.contains(value))
}

/// What an item is, in words.
fn describe(item: &Item) -> String {
    match item.as_value() {
        Some(Value::Integer(value)) => format!("{}", value.value()),
        Some(Value::String(value)) => format!("\"{}\"", clip(value.value())),
        Some(Value::Boolean(value)) => format!("{}", value.value()),
        Some(Value::Float(_)) => "a number with a fraction".to_string(),
        Some(Value::Datetime(_)) => "a date".to_string(),
        Some(Value::Array(list)) => format!("a list of {}", list.len()),
        Some(Value::InlineTable(_)) | None => "a table".to_string(),
    }
}
