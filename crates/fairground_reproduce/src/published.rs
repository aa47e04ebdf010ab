//! The published figures, kept in the tree as data.

use fairground_metrics::Decimal;
use fairground_model::Digest;
use fairground_report::Input;
use fairground_scenario::Error;
use toml_edit::{Document, Item, Table};

/// One file of figures.
pub(super) struct Published {
    name: &'static str,
    text: &'static str,
    document: Document<&'static str>,
}

impl Published {
    pub(super) fn open(name: &'static str, text: &'static str) -> Result<Published, Error> {
        let wrong = |error: toml_edit::TomlError| Error::one(name, error.to_string(), "It is part of this build.");
        Ok(Published { name, text, document: Document::parse(text).map_err(wrong)? })
    }
    /// The file as an input of a document: name and digest.
    pub(super) fn input(&self) -> Input {
        let mut digest = Digest::default();
        digest.bytes(self.text.as_bytes());
        Input::new(self.name, digest.value())
    }
    pub(super) fn root(&self) -> &Table {
        self.document.as_table()
    }
    /// The tables of `[[name]]`.
    pub(super) fn rows(&self, name: &str) -> impl Iterator<Item = &Table> {
        self.root().get(name).and_then(Item::as_array_of_tables).into_iter().flat_map(|rows| rows.iter())
    }
}

/// An integer of a table.
pub(super) fn integer(table: &Table, key: &str) -> Option<Decimal> {
    table.get(key).and_then(Item::as_integer).and_then(|value| u64::try_from(value).ok()).map(Decimal::from)
}

/// A decimal number of a table with up to three digits behind the point.
#[allow(clippy::cast_possible_truncation, reason = "published figures are small")]
pub(super) fn decimal(table: &Table, key: &str) -> Option<Decimal> {
    let value = table.get(key)?;
    let thousandths = value.as_float().map(|value| (value * 1000.0).round() as i64);
    let whole = || value.as_integer()?.checked_mul(1000);
    thousandths.or_else(whole).map(Decimal::thousandths)
}
