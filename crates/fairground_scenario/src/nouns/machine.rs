//! `[machine]` and `--machine`.

use crate::error::Error;
use crate::text::canonical;
use crate::text::fields::{Fields, parse_toml};
use crate::text_file::{Texts, text_of};
use fairground_machine::{Imported, Machine, lstopo, machine_file, synthetic};
use fairground_model::Mistakes;
use std::path::Path;
use toml_edit::Table;

/// Settings of the machine begin with this in `--set`.
pub(crate) const PREFIX: &str = "machine.";

/// Reads `[machine]`.
pub(crate) fn read(table: Fields<'_>, m: &mut Mistakes) -> Option<Machine> {
    let span = table.span();
    machine_file::from_table(table.raw(), span, m)
}

/// A machine as `--machine` names it: a preset, a machine file, an lstopo file, or an hwloc synthetic string. What the
/// importers of the latter two assumed is added to `notes`.
pub(crate) fn from_flag(text: &str, texts: &Texts, notes: &mut Vec<String>) -> Result<Machine, Error> {
    let imported = |found: Imported| {
        notes.extend(found.notes.into_iter().map(|note| format!("--machine: {note}")));
        found.machine
    };
    let path = Path::new(text);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
    match ending {
        "toml" => {
            let content = text_of(path, texts)?;
            machine_file::parse(&content).map_err(|mistakes| Error::input(text, content, mistakes))
        }
        "xml" => {
            let content = text_of(path, texts)?;
            lstopo::parse(&content).map(imported).map_err(|mistakes| Error::input(text, content, mistakes))
        }
        _ if text.contains(':') => {
            synthetic::parse(text).map(imported).map_err(|mistakes| Error::input("--machine", text, mistakes))
        }
        _ => Machine::preset(text).map_err(|mistakes| Error::input("--machine", "", mistakes)),
    }
}

/// The machine with one key of its file changed.
pub(crate) fn with_key(machine: &Machine, key: &str, value: &str) -> Result<Machine, Mistakes> {
    let mut mistakes = Mistakes::default();
    let mut table = parse_toml(&machine_file::write(machine), &mut mistakes);
    // Numbers, lists and truth values as they are, everything else is text.
    let literal = format!("v = {value}");
    let item = match literal.parse::<toml_edit::DocumentMut>() {
        Ok(mut document) => document.remove("v"),
        Err(_) => None,
    };
    table.insert(key, item.unwrap_or_else(|| toml_edit::value(value)));
    machine_file::parse(&canonical::rows(&table)).map_err(|mistakes| {
        Mistakes(
            mistakes
                .0
                .into_iter()
                .map(|mut row| {
                    row.span = None;
                    row
                })
                .collect(),
        )
    })
}

/// How the machine stands in a canonical scenario: the rows of `[machine]`.
pub(crate) fn canonical(machine: &Machine) -> String {
    if Machine::preset(&machine.name).is_ok_and(|preset| preset == *machine) {
        return format!("preset = {}\n", canonical::quoted(&machine.name));
    }
    let table: Table = parse_toml(&machine_file::write(machine), &mut Mistakes::default());
    canonical::rows(&table)
}
