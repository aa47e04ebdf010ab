//! From a TOML table to a machine.

use super::{cpus, policies, settings, shape};
use crate::fields::{Fields, parse_document};
use crate::keys::{self, KeyInfo};
use crate::machine::Machine;
use crate::preset_files::{self, Preset, SMP};
use crate::regular::{Regular, default_distances};
use crate::validate::{self, MAX_CPUS, Place};
use fairground_model::Mistakes;
use fairground_stdx::IndexVec;
use std::ops::Range;
use toml_edit::TableLike;

/// The other ways to say which CPUs there are.
fn ways() -> [KeyInfo; 2] {
    [
        KeyInfo { name: "preset", sentence: "A machine that comes with us; all but its CPUs can be changed.", keys: Vec::new() },
        KeyInfo {
            name: "cpu",
            sentence: "One table per CPU, where the machine has no regular shape.",
            keys: keys::info(cpus::KEYS),
        },
    ]
}

/// What can stand in a machine file.
pub fn all_keys() -> Vec<KeyInfo> {
    let tables = [settings::TITLE, settings::SPEEDS, settings::SETTINGS].map(keys::info);
    keys::info(shape::KEYS).into_iter().chain(ways()).chain(tables.into_iter().flatten()).collect()
}

/// Reads a machine file. All mistakes are reported together.
pub fn parse(text: &str) -> Result<Machine, Mistakes> {
    let mut mistakes = Mistakes::default();
    let document = parse_document(text, &mut mistakes);
    let machine = document.and_then(|document| from_table(document.as_table(), 0..text.len(), &mut mistakes));
    mistakes.or(())?;
    machine.ok_or_else(|| Mistakes::one("this file describes no machine", "Write `preset`, `cores` or `[[cpu]]` tables."))
}

/// Reads the machine in `table`, which stands at `span`; adds what is wrong to `mistakes`.
///
/// `None` if the CPUs are not known. A machine that comes with mistakes must not be run.
pub fn from_table(table: &dyn TableLike, span: Range<usize>, mistakes: &mut Mistakes) -> Option<Machine> {
    let fields = Fields::new(table, span);
    fields.refuse_unknown(all_keys().iter().map(|key| key.name), mistakes);
    let machine = base(&fields, mistakes);
    let known = machine.is_some();
    // What does not depend on the CPUs is read in any case, so that its mistakes are found as well.
    let mut machine = machine.unwrap_or_else(|| Machine::new("", IndexVec::new(), Vec::new()));
    for keys in [settings::TITLE, settings::SPEEDS, settings::SETTINGS] {
        keys::read(keys, &fields, &mut machine, mistakes);
    }
    for problem in validate::problems(&machine).into_iter().filter(|problem| known || problem.place != Place::CPUS) {
        mistakes.at(place(&fields, problem.place), problem.message, problem.hint);
    }
    known.then_some(machine)
}

/// The machine with its CPUs and nodes, all else at its default.
fn base(fields: &Fields, mistakes: &mut Mistakes) -> Option<Machine> {
    let shape: Vec<&str> = keys::names(shape::KEYS).chain(["cpu"]).filter(|key| fields.has(key)).collect();
    if fields.has("preset") {
        for key in &shape {
            let hint = "Take the preset as it is, or leave `preset` out and describe the CPUs.";
            mistakes.at(fields.span_of(key), format!("`{key}` beside `preset`: the preset has its own CPUs"), hint);
        }
        let name = fields.text("preset", mistakes)?;
        return match preset(name) {
            Ok(machine) => Some(machine),
            Err(unknown) => {
                unknown.0.into_iter().for_each(|mistake| mistakes.at(fields.span_of("preset"), mistake.message, mistake.hint));
                None
            }
        };
    }
    let (cpus, nodes) = if fields.has("cpu") {
        for key in shape.iter().filter(|key| **key != "cpu") {
            let hint = "Describe either the shape or each CPU.";
            mistakes.at(fields.span_of(key), format!("`{key}` beside `cpu` tables"), hint);
        }
        let cpus = cpus::cpus(fields, mistakes)?;
        let nodes = cpus.iter().map(|cpu| cpu.node as usize + 1).max().unwrap_or(1).min(MAX_CPUS);
        (cpus, nodes)
    } else {
        shape::read(fields, mistakes)?
    };
    Some(Machine::new("machine", cpus, default_distances(nodes)))
}

/// Where in the file a problem has its cause.
fn place(fields: &Fields, place: Place) -> Range<usize> {
    match place {
        Place::Keys(keys) => fields.span_of_first(keys),
        Place::Cpu(cpu) => cpus::span_of(fields, cpu).unwrap_or(fields.span_of_first(&["distances", "cores", "preset"])),
        Place::Policy(row, key) => policies::span_of(fields, row, key).unwrap_or(fields.span_of_first(&["policy", "preset"])),
    }
}

/// The machine preset `name`, `smp-N` included.
pub(crate) fn preset(name: &str) -> Result<Machine, Mistakes> {
    match preset_files::find(name)? {
        Preset::File(text) => parse(text),
        Preset::Smp(cpus) => {
            let shape = Regular { cores: cpus, ..Regular::default() };
            let mut machine = Machine::new(format!("{SMP}{cpus}"), shape.cpus(), default_distances(1));
            machine.description = format!("{cpus} equal CPUs that share one last-level cache");
            Ok(machine)
        }
    }
}
