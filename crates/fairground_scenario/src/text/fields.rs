//! Reading TOML so that every mistake is found in one pass and points at its line.

use fairground_model::Mistakes;
use fairground_stdx::nearest;
use fairground_stdx::{Ns, units};
use std::ops::Range;
use toml_edit::{Document, Item, Table, TableLike, Value};

/// Syntax errors that are reported before giving up on a text.
const MAX_SYNTAX_ERRORS: usize = 20;

/// A value and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its bytes in the text.
    pub span: Range<usize>,
}

/// Parses a TOML text. A line with a syntax error is reported and left out, so that mistakes behind it
/// are found too.
pub fn parse_toml(text: &str, mistakes: &mut Mistakes) -> Table {
    let mut attempt = text.to_string();
    for _ in 0..MAX_SYNTAX_ERRORS {
        let error = match Document::parse(attempt.as_str()) {
            Ok(document) => return document.into_table(),
            Err(error) => error,
        };
        let span = error.span().unwrap_or(0..0);
        mistakes.at(span.clone(), error.message().replace('\n', "; "), "This line is no valid TOML; see https://toml.io.");
        let line = line_around(&attempt, span.start);
        if attempt[line.clone()].trim().is_empty() {
            break;
        }
        // Blanks keep every later span where it was.
        attempt.replace_range(line.clone(), &" ".repeat(line.len()));
    }
    Table::new()
}

/// The bytes of the line that holds `offset`, without its line end.
fn line_around(text: &str, offset: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let offset = offset.min(bytes.len());
    let start = bytes[..offset].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let end = bytes[offset..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| offset + at);
    start..end
}

/// One table being read. Every key must be asked for; [`Fields::end`] reports the others.
pub struct Fields<'t> {
    table: &'t dyn TableLike,
    span: Range<usize>,
    name: String,
    known: Vec<&'static str>,
}

impl<'t> Fields<'t> {
    /// Begins to read `table`, which is called `name` in messages (`[machine]`).
    pub fn new(table: &'t dyn TableLike, span: Range<usize>, name: impl Into<String>) -> Fields<'t> {
        Fields { table, span, name: name.into(), known: Vec::new() }
    }
    /// The table itself, for readers of their own.
    pub fn raw(&self) -> &'t dyn TableLike {
        self.table
    }
    /// Where the table stands.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
    /// The raw item of `key`.
    pub fn item(&mut self, key: &'static str) -> Option<&'t Item> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.table.get(key)
    }
    /// The raw item of a `key` that the caller refuses: no hint offers it to who did not write it.
    pub fn refused(&mut self, key: &'static str) -> Option<&'t Item> {
        self.table.contains_key(key).then(|| self.item(key)).flatten()
    }
    /// Where the value of `key` stands, or else the table.
    pub fn span_of(&self, key: &str) -> Range<usize> {
        self.table.get(key).and_then(Item::span).unwrap_or_else(|| self.span.clone())
    }
    fn typed<T>(
        &mut self,
        key: &'static str,
        want: &str,
        m: &mut Mistakes,
        get: impl Fn(&'t Item) -> Option<T>,
    ) -> Option<Spanned<T>> {
        let item = self.item(key)?;
        let span = self.span_of(key);
        match get(item) {
            Some(value) => Some(Spanned { value, span }),
            None => {
                m.at(span, format!("`{key}` is {}", a_kind(item)), format!("It must be {want}."));
                None
            }
        }
    }
    /// A string.
    pub fn text(&mut self, key: &'static str, m: &mut Mistakes) -> Option<Spanned<&'t str>> {
        self.typed(key, "a string in quotes", m, |item| item.as_str())
    }
    /// A string, or a whole number as text.
    pub fn text_or_integer(&mut self, key: &'static str, m: &mut Mistakes) -> Option<Spanned<String>> {
        let text = |item: &Item| item.as_str().map(str::to_string).or_else(|| item.as_integer().map(|number| number.to_string()));
        self.typed(key, "a string in quotes, or a whole number", m, text)
    }
    /// A whole number that is not negative.
    pub fn natural(&mut self, key: &'static str, m: &mut Mistakes) -> Option<Spanned<u64>> {
        self.typed(key, "a whole number, 0 or larger", m, |item| item.as_integer().and_then(|n| u64::try_from(n).ok()))
    }
    /// A whole number.
    pub fn integer(&mut self, key: &'static str, m: &mut Mistakes) -> Option<Spanned<i64>> {
        self.typed(key, "a whole number", m, |item| item.as_integer())
    }
    /// `true` or `false`.
    pub fn boolean(&mut self, key: &'static str, m: &mut Mistakes) -> Option<Spanned<bool>> {
        self.typed(key, "true or false", m, |item| item.as_bool())
    }
    /// A length of time with its unit.
    pub fn time(&mut self, key: &'static str, m: &mut Mistakes) -> Option<Spanned<Ns>> {
        let item = self.item(key)?;
        let span = self.span_of(key);
        Some(Spanned { value: time_of(key, item.as_value(), span.clone(), m)?, span })
    }
    /// A size of at most 1 GiB with its unit, or a number of KiB.
    pub fn kib(&mut self, key: &'static str, m: &mut Mistakes) -> Option<Spanned<u32>> {
        self.typed(key, "a size of at most 1024MiB, as in \"12KiB\", or a number of KiB", m, |item| {
            let number = item.as_integer().and_then(|kib| u32::try_from(kib).ok());
            let size = number.or_else(|| units::parse_kib(item.as_str()?).ok());
            size.filter(|&kib| kib <= 1 << 20)
        })
    }
    /// A table: `[key]` or `key = { … }`.
    pub fn table(&mut self, key: &'static str, m: &mut Mistakes) -> Option<Fields<'t>> {
        let name = self.child(key);
        let found = self.typed(key, &format!("a table: `[{name}]` or `{key} = {{ … }}`"), m, |item| item.as_table_like())?;
        Some(Fields::new(found.value, found.span, format!("[{name}]")))
    }
    /// A list of tables: `[[key]]` or `key = [{ … }]`.
    pub fn tables(&mut self, key: &'static str, m: &mut Mistakes) -> Vec<Fields<'t>> {
        let name = format!("[[{}]]", self.child(key));
        let Some(item) = self.item(key) else { return Vec::new() };
        if let Some(list) = item.as_array_of_tables() {
            let row = |table: &'t Table| Fields::new(table, table.span().unwrap_or_else(|| self.span_of(key)), name.clone());
            return list.iter().map(row).collect();
        }
        let Some(list) = item.as_array() else {
            m.at(self.span_of(key), format!("`{key}` is {}", a_kind(item)), format!("It must be a list of tables: `{name}`."));
            return Vec::new();
        };
        let mut rows = Vec::new();
        for value in list {
            let span = value.span().unwrap_or_else(|| self.span_of(key));
            match value.as_inline_table() {
                Some(table) => rows.push(Fields::new(table, span, name.clone())),
                None => m.at(span, format!("`{key}` holds {}", a_value(value)), "Each row must be a table: `{ … }`."),
            }
        }
        rows
    }
    /// A list of strings.
    pub fn texts(&mut self, key: &'static str, m: &mut Mistakes) -> Vec<Spanned<&'t str>> {
        let Some(list) = self.typed(key, "a list of strings: `[\"…\"]`", m, |item| item.as_array()) else { return Vec::new() };
        let mut rows = Vec::new();
        for value in list.value {
            let span = value.span().unwrap_or_else(|| list.span.clone());
            match value.as_str() {
                Some(text) => rows.push(Spanned { value: text, span }),
                None => m.at(span, format!("`{key}` holds {}", a_value(value)), "Each row must be a string in quotes."),
            }
        }
        rows
    }
    /// All keys with their items, without any check: for tables whose keys are free names.
    pub fn free(&mut self) -> Vec<(Spanned<&'t str>, &'t Item)> {
        let rows: Vec<_> = self
            .table
            .iter()
            .map(|(key, item)| {
                let span = self.table.key(key).and_then(|key| key.span());
                let span = span.or_else(|| item.span()).unwrap_or_else(|| self.span.clone());
                (Spanned { value: key, span }, item)
            })
            .collect();
        rows
    }
    /// Keys that nobody asked for.
    pub fn rest(&mut self) -> Vec<(Spanned<&'t str>, &'t Item)> {
        let mut rows = self.free();
        rows.retain(|(key, _)| !self.known.contains(&key.value));
        rows
    }
    /// Reports keys that were not asked for.
    pub fn end(mut self, m: &mut Mistakes) {
        for (key, _) in self.rest() {
            let hint = nearest::hint(key.value, &format!("{} knows", self.name), self.known.iter().copied());
            m.at(key.span, format!("unknown key `{}` in {}", key.value, self.name), hint);
        }
    }
    fn child(&self, key: &str) -> String {
        match self.name.trim_matches(['[', ']']) {
            "" | "scenario" | "sweep" => key.to_string(),
            name => format!("{name}.{key}"),
        }
    }
}

/// A length of time in a TOML value; a bare number is refused with a hint that shows the unit.
fn time_of(key: &str, value: Option<&Value>, span: Range<usize>, m: &mut Mistakes) -> Option<Ns> {
    const HINT: &str = "Write it in quotes with its unit: ns, us, ms, s, min, h or d, as in \"10ms\".";
    match value {
        Some(Value::String(text)) => match units::parse_ns(text.value()) {
            Ok(ns) => return Some(ns),
            Err(error) => m.at(span, format!("`{key} = \"{}\"`: {error}", text.value()), HINT),
        },
        Some(Value::Integer(number)) => {
            let hint = format!("Write it in quotes with its unit, as in `{key} = \"{}ms\"`.", number.value());
            m.at(span, format!("`{key} = {}` has no unit", number.value()), hint);
        }
        _ => m.at(span, format!("`{key}` is no length of time"), HINT),
    }
    None
}

/// What an item is, with its article.
fn a_kind(item: &Item) -> String {
    match item {
        Item::Value(value) => a_value(value),
        Item::None => "nothing".to_string(),
        Item::Table(_) => "a table".to_string(),
        Item::ArrayOfTables(_) => "a list of tables".to_string(),
    }
}
/// What a value is, with its article.
fn a_value(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string \"{}\"", text.value()),
        Value::Integer(number) => format!("the number {}", number.value()),
        Value::Float(number) => format!("the number {}", number.value()),
        Value::Boolean(truth) => format!("the truth value {}", truth.value()),
        Value::Datetime(_) => "a date".to_string(),
        Value::Array(_) => "a list".to_string(),
        Value::InlineTable(_) => "a table".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, mistakes: &Mistakes) -> Vec<usize> {
        mistakes.0.iter().map(|row| row.span.as_ref().map_or(0, |span| Mistakes::line_of(text, span.start))).collect()
    }

    #[test]
    fn every_line_with_a_syntax_error_is_reported_once() {
        let text = "a = \nb = 2\nc = = 3\n[x\nd = \"1s\"\n";
        let mut mistakes = Mistakes::default();
        let table = parse_toml(text, &mut mistakes);
        let mut found = lines(text, &mistakes);
        found.sort_unstable();
        assert_eq!(found, [1, 3, 4], "{mistakes}");
        assert_eq!(table.iter().map(|row| row.0).collect::<Vec<_>>(), ["b", "d"]);
    }

    #[test]
    fn hostile_texts_end() {
        for text in ["\u{feff}", "=", "[[[[[[", "\"", "a=\"\"\"", "\0\0\0", &"[".repeat(5000), &"\n=".repeat(1000)] {
            let mut mistakes = Mistakes::default();
            parse_toml(text, &mut mistakes);
            assert!(mistakes.0.len() <= MAX_SYNTAX_ERRORS);
        }
    }

    #[test]
    fn wrong_kinds_unknown_keys_and_missing_units_are_all_found() {
        let text = "title = 5\ntime = 10\nother = \"5 parsecs\"\nlist = [1]\nsed = 1\n";
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        let mut fields = Fields::new(&table, 0..0, "scenario");
        assert!(fields.text("title", &mut m).is_none());
        assert!(fields.time("time", &mut m).is_none());
        assert!(fields.time("other", &mut m).is_none());
        assert!(fields.texts("list", &mut m).is_empty());
        assert!(fields.natural("seed", &mut m).is_none());
        fields.end(&mut m);
        assert_eq!(lines(text, &m), [1, 2, 3, 4, 5]);
        assert!(m.0[1].hint.contains("\"10ms\""), "{m}");
        assert_eq!(m.0[4].hint, "Did you mean `seed`?");
    }
}
