//! The `[[cpu]]` tables of a machine of no regular shape.

use super::fields::Fields;
use crate::machine::{CAPACITY_SCALE, CpuSpec};
use crate::validate::MAX_CPUS;
use fairground_model::Mistakes;
use fairground_stdx::{CpuId, Id, IndexVec, Ns};
use std::collections::BTreeMap;
use std::ops::Range;
use toml_edit::{Item, TableLike, Value};

const KEYS: [&str; 10] =
    ["id", "core", "cluster", "llc", "package", "node", "capacity", "freq_capacity", "freq_domain", "clock_ahead"];
/// Ids above this are a slip of the pen: they only tell CPUs apart.
const MAX_ID: u32 = 1 << 20;

/// The CPUs, in the order of their ids.
pub(super) fn cpus(fields: &Fields, mistakes: &mut Mistakes) -> Option<IndexVec<CpuId, CpuSpec>> {
    let item = fields.item("cpu")?;
    let Some(tables) = tables(item) else {
        fields.wrong("cpu", item, "one `[[cpu]]` table per CPU", mistakes);
        return None;
    };
    if tables.is_empty() || tables.len() > MAX_CPUS {
        let message = format!("a machine of {} CPUs", tables.len());
        mistakes.at(fields.span_of("cpu"), message, format!("A machine has 1 to {MAX_CPUS} CPUs."));
        return None;
    }
    let before = mistakes.0.len();
    let mut rows: BTreeMap<u32, CpuSpec> = BTreeMap::new();
    for (place, (table, span)) in tables.iter().enumerate() {
        let fields = Fields::new(*table, span.clone().unwrap_or(fields.span_of("cpu")));
        fields.refuse_unknown(&KEYS, mistakes);
        let last = tables.len() as u32 - 1;
        let id = if fields.has("id") { fields.integer("id", 0..=last, mistakes) } else { Some(place as u32) };
        let cpu = cpu(&fields, id.unwrap_or(place as u32), mistakes);
        if let Some(id) = id
            && rows.insert(id, cpu).is_some()
        {
            let hint = "Each CPU has one table; without `id` it is numbered by its place in the file.";
            mistakes.at(fields.span_of("id"), format!("CPU {id} is described twice"), hint);
        }
    }
    (mistakes.0.len() == before).then(|| rows.into_values().collect())
}

fn cpu(fields: &Fields, id: u32, mistakes: &mut Mistakes) -> CpuSpec {
    let core = fields.integer("core", 0..=MAX_ID, mistakes).unwrap_or(id);
    let cluster = fields.integer("cluster", 0..=MAX_ID, mistakes);
    let mut or = |key, range, default| fields.integer(key, range, mistakes).unwrap_or(default);
    CpuSpec {
        core,
        cluster,
        llc: or("llc", 0..=MAX_ID, 0),
        package: or("package", 0..=MAX_ID, 0),
        node: or("node", 0..=MAX_CPUS as u32 - 1, 0),
        capacity: or("capacity", 1..=CAPACITY_SCALE, CAPACITY_SCALE),
        freq_capacity: or("freq_capacity", 1..=CAPACITY_SCALE, CAPACITY_SCALE),
        freq_domain: or("freq_domain", 0..=MAX_ID, core),
        clock_ahead: fields.length("clock_ahead", mistakes).unwrap_or(Ns::ZERO),
    }
}

/// Where CPU `cpu` is described.
pub(super) fn span_of(fields: &Fields, cpu: CpuId) -> Option<Range<usize>> {
    let tables = tables(fields.item("cpu")?)?;
    let own = |table: &dyn TableLike| table.get("id").and_then(Item::as_integer) == Some(i64::from(cpu.get()));
    let named = tables.iter().find(|(table, _)| own(*table));
    named.or_else(|| tables.get(cpu.index())).and_then(|(_, span)| span.clone())
}

pub(super) type Tables<'a> = Vec<(&'a dyn TableLike, Option<Range<usize>>)>;

/// The tables of `[[key]]`, or of a list of inline tables; `None` if it is neither.
pub(super) fn tables<'a>(item: &'a Item) -> Option<Tables<'a>> {
    if let Some(tables) = item.as_array_of_tables() {
        return Some(tables.iter().map(|table| (table as &dyn TableLike, table.span())).collect());
    }
    let entry = |value: &'a Value| Some((value.as_inline_table()? as &dyn TableLike, value.span()));
    item.as_array()?.iter().map(entry).collect()
}
