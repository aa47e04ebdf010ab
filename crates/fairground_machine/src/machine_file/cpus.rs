//! The `[[cpu]]` tables of a machine of no regular shape.

use crate::fields::Fields;
use crate::keys::{self, Key, field, line};
use crate::machine::{CAPACITY_SCALE, CpuSpec};
use crate::validate::MAX_CPUS;
use fairground_model::Mistakes;
use fairground_stdx::{CpuId, Id, IndexVec};
use std::collections::BTreeMap;
use std::ops::Range;
use toml_edit::Item;

/// Ids above this are a slip of the pen: they only tell CPUs apart.
const MAX_ID: u32 = 1 << 20;

/// A CPU with the number that its table gives it.
pub(super) struct Numbered {
    id: u32,
    cpu: CpuSpec,
}

pub(super) static KEYS: &[Key<Numbered>] = &[
    Key::new("id", "Its number; by its place in the file if left out.", |_, _, _| (), |from, _| line("id", &from.id.to_string())),
    Key::new(
        "core",
        "The core, of which SMT siblings have one; its own if left out.",
        |fields, into, mistakes| {
            if let Some(core) = fields.integer("core", 0..=MAX_ID, mistakes) {
                (into.cpu.core, into.cpu.freq_domain) = (core, core);
            }
        },
        |from, _| line("core", &from.cpu.core.to_string()),
    ),
    field!("cluster" changed integer(0..=MAX_ID), cpu.cluster, "The group of cores below the last-level cache; none if left out."),
    field!("llc" always integer(0..=MAX_ID), cpu.llc, "The last-level cache."),
    field!("package" always integer(0..=MAX_ID), cpu.package, "The package (socket)."),
    field!("node" always integer(0..=MAX_CPUS as u32 - 1), cpu.node, "The NUMA node: a row of the distances."),
    field!("capacity" always integer(1..=CAPACITY_SCALE), cpu.capacity, "Full capacity, 1 to 1024."),
    field!("freq_capacity" always integer(1..=CAPACITY_SCALE), cpu.freq_capacity, "Current frequency over the highest, 1 to 1024."),
    field!("freq_domain" always integer(0..=MAX_ID), cpu.freq_domain, "CPUs of one domain change frequency together; the core if left out."),
    field!("clock_ahead" changed length(), cpu.clock_ahead, "How far its scheduler clock is ahead of the clock."),
];

/// The CPUs, in the order of their ids.
pub(super) fn cpus(fields: &Fields, mistakes: &mut Mistakes) -> Option<IndexVec<CpuId, CpuSpec>> {
    let tables = fields.read_tables("cpu", "one `[[cpu]]` table per CPU", mistakes)?;
    if tables.is_empty() || tables.len() > MAX_CPUS {
        let message = format!("a machine of {} CPUs", tables.len());
        mistakes.at(fields.span_of("cpu"), message, format!("A machine has 1 to {MAX_CPUS} CPUs."));
        return None;
    }
    let before = mistakes.0.len();
    let mut rows: BTreeMap<u32, CpuSpec> = BTreeMap::new();
    for (place, fields) in tables.iter().enumerate() {
        fields.refuse_unknown(keys::names(KEYS), mistakes);
        let last = tables.len() as u32 - 1;
        let id = if fields.has("id") { fields.integer("id", 0..=last, mistakes) } else { Some(place as u32) };
        let number = id.unwrap_or(place as u32);
        let mut numbered = Numbered { id: number, cpu: CpuSpec::alone(number) };
        keys::read(KEYS, fields, &mut numbered, mistakes);
        if let Some(id) = id
            && rows.insert(id, numbered.cpu).is_some()
        {
            let hint = "Each CPU has one table; without `id` it is numbered by its place in the file.";
            mistakes.at(fields.span_of("id"), format!("CPU {id} is described twice"), hint);
        }
    }
    (mistakes.0.len() == before).then(|| rows.into_values().collect())
}

/// Where CPU `cpu` is described.
pub(super) fn span_of(fields: &Fields, cpu: CpuId) -> Option<Range<usize>> {
    let tables = fields.tables("cpu")?;
    let own = |table: &&Fields| table.item("id").and_then(Item::as_integer) == Some(i64::from(cpu.get()));
    tables.iter().find(own).or_else(|| tables.get(cpu.index())).map(Fields::span)
}

/// One table per CPU.
pub(super) fn write(cpus: &IndexVec<CpuId, CpuSpec>) -> String {
    let row = |(id, cpu): (CpuId, &CpuSpec)| {
        let without = Numbered { id: id.get(), cpu: CpuSpec::alone(id.get()) };
        format!("\n[[cpu]]\n{}", keys::write(KEYS, &Numbered { id: id.get(), cpu: cpu.clone() }, &without))
    };
    cpus.iter_enumerated().map(row).collect()
}
