//! One row per key of a table: how it is read, when and how it is written, and what it says.
//!
//! A key that sets one field is a line of [`field!`]; one that is more has its two functions in the row.

use crate::fields::Fields;
use crate::idle::IdleGovernor;
use crate::regular::{Level, Numbering};
use fairground_model::Mistakes;
use fairground_stdx::Ns;
use std::fmt::Write;

/// A key of a table that describes a `T`.
pub(crate) struct Key<T> {
    pub(crate) name: &'static str,
    pub(crate) sentence: &'static str,
    /// The keys of its own table or tables, if it has any.
    pub(crate) inner: fn() -> Vec<KeyInfo>,
    /// Sets what the key says, if it is there.
    pub(crate) read: fn(&Fields, &mut T, &mut Mistakes),
    /// Its lines in a file; empty if that would say no more than the second argument, what is read from a file without the key.
    pub(crate) write: fn(&T, &T) -> String,
}

/// What a key of machine files says, for lists and schemas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyInfo {
    /// The key.
    pub name: &'static str,
    /// What it says.
    pub sentence: &'static str,
    /// The keys of its table, or of each of its tables; none: it has no table.
    pub keys: Vec<KeyInfo>,
}

/// What the keys of a table say.
pub(crate) fn info<T>(keys: &[Key<T>]) -> Vec<KeyInfo> {
    keys.iter().map(|key| KeyInfo { name: key.name, sentence: key.sentence, keys: (key.inner)() }).collect()
}

impl<T> Key<T> {
    /// A key that is more than one field.
    pub(crate) const fn new(
        name: &'static str,
        sentence: &'static str,
        read: fn(&Fields, &mut T, &mut Mistakes),
        write: fn(&T, &T) -> String,
    ) -> Key<T> {
        Key { name, sentence, inner: Vec::new, read, write }
    }
    /// A key that is never written, as others say the same, or that another key reads.
    pub(crate) const fn read_only(
        name: &'static str,
        sentence: &'static str,
        read: fn(&Fields, &mut T, &mut Mistakes),
    ) -> Key<T> {
        Key::new(name, sentence, read, |_, _| String::new())
    }
    /// The same key with the keys of its table.
    pub(crate) const fn with(self, inner: fn() -> Vec<KeyInfo>) -> Key<T> {
        Key { inner, ..self }
    }
}

/// A row of a key that sets a field, read by a method of [`Fields`]: `always` written, or only if it is `changed`.
macro_rules! field {
    ($name:literal always $method:ident($($arg:expr)?), $($field:ident).+, $sentence:literal) => {
        $crate::keys::field!($name $method($($arg)?), $($field).+, $sentence, |_, _| true)
    };
    ($name:literal changed $method:ident($($arg:expr)?), $($field:ident).+, $sentence:literal) => {
        $crate::keys::field!($name $method($($arg)?), $($field).+, $sentence, |value, without| value != without)
    };
    ($name:literal $method:ident($($arg:expr)?), $($field:ident).+, $sentence:literal, $written:expr) => {
        $crate::keys::Key::new(
            $name,
            $sentence,
            |fields, into, mistakes| {
                if let Some(value) = fields.$method($name, $($arg,)? mistakes) {
                    into.$($field).+ = value.into();
                }
            },
            |from, without| $crate::keys::line_if($name, &from.$($field).+, &without.$($field).+, $written),
        )
    };
}
pub(crate) use field;

pub(crate) fn line_if<V: Value>(key: &str, value: &V, without: &V, written: fn(&V, &V) -> bool) -> String {
    if written(value, without) { line(key, &value.text()) } else { String::new() }
}

/// Reads all keys of a table.
pub(crate) fn read<T>(keys: &[Key<T>], fields: &Fields, into: &mut T, mistakes: &mut Mistakes) {
    keys.iter().for_each(|key| (key.read)(fields, into, mistakes));
}

/// The lines of all keys.
pub(crate) fn write<T>(keys: &[Key<T>], from: &T, without: &T) -> String {
    keys.iter().map(|key| (key.write)(from, without)).collect()
}

pub(crate) fn names<T>(keys: &'static [Key<T>]) -> impl Iterator<Item = &'static str> {
    keys.iter().map(|key| key.name)
}

/// `key = value`.
pub(crate) fn line(key: &str, value: &str) -> String {
    format!("{key} = {value}\n")
}

/// A TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => write!(quoted, "\\u{:04X}", u32::from(c)).expect("invariant: a String takes all text"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// What can be the value of a key.
pub(crate) trait Value {
    /// As a file has it.
    fn text(&self) -> String;
}

macro_rules! values {
    ($($of:ty: |$value:ident| $text:expr;)*) => {
        $(impl Value for $of {
            fn text(&self) -> String {
                let $value = self;
                $text
            }
        })*
    };
}

values! {
    String: |text| quoted(text);
    bool: |truth| truth.to_string();
    u32: |number| number.to_string();
    Ns: |length| format!("\"{length}\"");
    Vec<Vec<u32>>: |rows| format!("{rows:?}");
    Numbering: |name| name_of(&Numbering::NAMES, name);
    Level: |name| name_of(&Level::NAMES, name);
    IdleGovernor: |name| name_of(&IdleGovernor::NAMES, name);
}

impl<V: Value> Value for Option<V> {
    fn text(&self) -> String {
        self.as_ref().map_or_else(String::new, V::text)
    }
}

/// The name of a value, quoted.
fn name_of<T: PartialEq>(names: &[(&str, T)], value: &T) -> String {
    quoted(names.iter().find(|row| row.1 == *value).map_or("", |row| row.0))
}
