//! TOML in one fixed spelling: the text that is printed, hashed and sent by mail.

use fairground_stdx::{Instant, Ns};
use toml_edit::{Item, TableLike, Value};

/// A string as a TOML value: quoted in one fixed way.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A longer text as a TOML value that stays readable: one line in the file per line of the text.
pub(crate) fn block(text: &str) -> String {
    let plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    if text.contains("'''") || text.ends_with('\'') || !text.chars().all(plain) {
        return quoted(text);
    }
    // The line end behind the opening quotes does not belong to the text.
    format!("'''\n{text}'''")
}

/// A key as it stands in a file.
pub(crate) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_string() } else { quoted(name) }
}

/// The line that says when measurements count; none if they always do.
pub(crate) fn window(window: Option<(Instant, Instant)>) -> String {
    window.map_or(String::new(), |(from, to)| format!("window = {{ from = \"{}\", to = \"{}\" }}\n", Ns(from.ns()), Ns(to.ns())))
}

/// The rows of a table as `key = value` lines, in the order in which they were written.
pub(crate) fn rows(table: &dyn TableLike) -> String {
    table.iter().map(|(name, item)| format!("{} = {}\n", key(name), of_item(item))).collect()
}

/// An item on one line.
pub(crate) fn of_item(item: &Item) -> String {
    match item {
        Item::None => String::new(),
        Item::Value(value) => of_value(value),
        Item::Table(table) => inline(table),
        Item::ArrayOfTables(list) => {
            let rows: Vec<String> = list.iter().map(|table| inline(table)).collect();
            format!("[{}]", rows.join(", "))
        }
    }
}

fn of_value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text.value()),
        Value::Integer(number) => number.value().to_string(),
        Value::Float(number) => number.value().to_string(),
        Value::Boolean(truth) => truth.value().to_string(),
        Value::Datetime(date) => date.value().to_string(),
        Value::Array(list) => {
            let rows: Vec<String> = list.iter().map(of_value).collect();
            format!("[{}]", rows.join(", "))
        }
        Value::InlineTable(table) => inline(table),
    }
}

fn inline(table: &dyn TableLike) -> String {
    let rows: Vec<String> = table.iter().map(|(name, item)| format!("{} = {}", key(name), of_item(item))).collect();
    if rows.is_empty() { "{}".to_string() } else { format!("{{ {} }}", rows.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fields::parse_toml;
    use fairground_model::Mistakes;

    fn print(text: &str) -> String {
        let mut mistakes = Mistakes::default();
        let table = parse_toml(text, &mut mistakes);
        assert!(mistakes.0.is_empty(), "{mistakes}");
        rows(&table)
    }

    #[test]
    fn spelling_does_not_depend_on_the_writer() {
        let one = "a = 'x\"y' # why\n\"b c\" = [ 1,2 ]\nt = {u=true}\n[[l]]\nn=1\n[[l]]\nn=2\n";
        let printed = print(one);
        assert_eq!(printed, "a = \"x\\\"y\"\n\"b c\" = [1, 2]\nt = { u = true }\nl = [{ n = 1 }, { n = 2 }]\n");
        assert_eq!(print(&printed), printed);
    }

    #[test]
    fn blocks_read_back_exactly() {
        for text in ["{\n  \"a\": 1\n}\n", "it's", "'''", "x'", "\u{7}", ""] {
            let mut mistakes = Mistakes::default();
            let source = format!("t = {}\n", block(text));
            let table = parse_toml(&source, &mut mistakes);
            assert_eq!(table.get("t").and_then(Item::as_str), Some(text), "{source}");
        }
    }
}
