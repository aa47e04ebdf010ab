//! From a TOML table to a machine.

use super::explicit;
use super::fields::Fields;
use super::governor;
use super::idle;
use super::policies;
use crate::cost;
use crate::idle::IdleGovernor;
use crate::machine::{CpuSpec, Machine, tick_of};
use crate::presets;
use crate::regular::{Level, Numbering, Regular, default_distances};
use crate::validate::{self, MAX_CPUS, Place};
use fairground_model::Mistakes;
use fairground_stdx::{CpuId, IndexVec, Ns};
use std::ops::Range;
use toml_edit::TableLike;

/// Keys that say which CPUs there are.
const SHAPE: [&str; 9] = ["sockets", "nodes", "llcs", "clusters", "cores", "threads", "numbering", "freq_domains", "cpu"];
/// Keys of every machine.
const COMMON: [&str; 32] = [
    "preset",
    "name",
    "description",
    "distances",
    "reclaim_distance",
    "smt",
    "cluster",
    "mc",
    "numa",
    "capacity",
    "capacities",
    "freq_capacity",
    "hz",
    "tick",
    "tick_jitter",
    "tick_jitter_seed",
    "tick_offset",
    "tick_phase",
    "skew_tick",
    "irq_time_accounting",
    "nohz_idle",
    "round_of_turns",
    "scan_atomic",
    "smt_percent",
    "core_cache",
    "policy",
    "governor",
    "freq_invariant",
    "idle_state",
    "idle_governor",
    "costs",
    "asym_priority",
];

/// Reads the machine in `table`, which stands at `span`; adds what is wrong to `mistakes`.
///
/// `None` if the CPUs are not known. A machine that comes with mistakes must not be run.
pub fn from_table(table: &dyn TableLike, span: Range<usize>, mistakes: &mut Mistakes) -> Option<Machine> {
    let fields = Fields::new(table, span);
    let known: Vec<&str> = SHAPE.iter().chain(&COMMON).copied().collect();
    fields.refuse_unknown(&known, mistakes);
    if fields.has("asym_priority") {
        let hint = "Leave it out: no CPU is preferred to another.";
        mistakes.at(fields.span_of("asym_priority"), "packing by CPU priority (`asym_priority`) is not modelled yet", hint);
    }
    let machine = base(&fields, mistakes);
    let known = machine.is_some();
    // What does not depend on the CPUs is read in any case, so that its mistakes are found as well.
    let mut machine = machine.unwrap_or_else(|| Machine::new("", IndexVec::new(), Vec::new()));
    common(&fields, &mut machine, mistakes);
    for problem in validate::problems(&machine).into_iter().filter(|problem| known || problem.place != Place::Cpus) {
        mistakes.at(place(&fields, problem.place), problem.message, problem.hint);
    }
    known.then_some(machine)
}

/// The machine with its CPUs and nodes, all else at its default.
fn base(fields: &Fields, mistakes: &mut Mistakes) -> Option<Machine> {
    let shape: Vec<&str> = SHAPE.iter().copied().filter(|key| fields.has(key)).collect();
    if fields.has("preset") {
        for key in &shape {
            let hint = "Take the preset as it is, or leave `preset` out and describe the CPUs.";
            mistakes.at(fields.span_of(key), format!("`{key}` beside `preset`: the preset has its own CPUs"), hint);
        }
        let name = fields.text("preset", mistakes)?;
        return match presets::load(name) {
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
        let cpus = explicit::cpus(fields, mistakes)?;
        let nodes = cpus.iter().map(|cpu| cpu.node as usize + 1).max().unwrap_or(1).min(MAX_CPUS);
        (cpus, nodes)
    } else {
        regular(fields, mistakes)?
    };
    Some(Machine::new("machine", cpus, default_distances(nodes)))
}

fn regular(fields: &Fields, mistakes: &mut Mistakes) -> Option<(IndexVec<CpuId, CpuSpec>, usize)> {
    if !fields.has("cores") {
        let hint = "Write `preset = \"…\"`, `cores = N` with the rest of the shape, or one `[[cpu]]` table per CPU.";
        mistakes.at(fields.span(), "which CPUs does the machine have?", hint);
    }
    let before = mistakes.0.len();
    let mut part = |key| fields.integer(key, 1..=MAX_CPUS as u32, mistakes);
    let shape = Regular {
        sockets: part("sockets").unwrap_or(1),
        nodes: part("nodes").unwrap_or(1),
        llcs: part("llcs").unwrap_or(1),
        clusters: part("clusters"),
        cores: part("cores").unwrap_or(1),
        threads: part("threads").unwrap_or(1),
        numbering: fields.one_of("numbering", &Numbering::NAMES, mistakes).unwrap_or_default(),
        freq_domains: fields.one_of("freq_domains", &Level::NAMES, mistakes).unwrap_or_default(),
    };
    if !fields.has("cores") || mistakes.0.len() > before {
        return None;
    }
    if shape.total() > MAX_CPUS as u64 {
        let hint = format!("At most {MAX_CPUS} CPUs can be simulated.");
        mistakes.at(fields.span_of("cores"), format!("this shape has {} CPUs", shape.total()), hint);
        return None;
    }
    Some((shape.cpus(), shape.total_nodes()))
}

/// Sets everything that is no shape.
fn common(fields: &Fields, machine: &mut Machine, mistakes: &mut Mistakes) {
    if let Some(name) = fields.text("name", mistakes) {
        machine.name = name.to_string();
    }
    if let Some(description) = fields.text("description", mistakes) {
        machine.description = description.to_string();
    }
    if let Some(distances) = fields.matrix("distances", mistakes) {
        machine.distances = distances;
    }
    if let Some(distance) = fields.integer("reclaim_distance", 0..=u32::MAX, mistakes) {
        machine.reclaim_distance = distance;
    }
    levels(fields, machine, mistakes);
    capacities(fields, machine, mistakes);
    ticks(fields, machine, mistakes);
    if let Some(on) = fields.boolean("irq_time_accounting", mistakes) {
        machine.irq_time_accounting = on;
    }
    if let Some(on) = fields.boolean("nohz_idle", mistakes) {
        machine.nohz_idle = on;
    }
    if let Some(policies) = policies::policies(fields, mistakes) {
        machine.policies = policies;
        policies::set_freq_domains(fields, machine);
    }
    if let Some(governor) = governor::governor(fields, mistakes) {
        governor::of_all_policies(fields, machine, governor, mistakes);
    }
    if let Some(on) = fields.boolean("freq_invariant", mistakes) {
        machine.freq_invariant = on;
    }
    if let Some(states) = idle::idle_states(fields, mistakes) {
        machine.idle_states = states;
    }
    if let Some(governor) = fields.one_of("idle_governor", &IdleGovernor::NAMES, mistakes) {
        machine.idle_governor = governor;
    }
    if let Some(costs) = fields.item("costs").and_then(|item| cost::read_item(item, fields.span_of("costs"), mistakes)) {
        machine.costs = costs;
    }
}

/// Which levels of scheduling domains the kernel was built with.
fn levels(fields: &Fields, machine: &mut Machine, mistakes: &mut Mistakes) {
    let levels = &mut machine.levels;
    let switches =
        [("smt", &mut levels.smt), ("cluster", &mut levels.cluster), ("mc", &mut levels.mc), ("numa", &mut levels.numa)];
    for (key, level) in switches {
        if let Some(on) = fields.boolean(key, mistakes) {
            *level = on;
        }
    }
}

fn capacities(fields: &Fields, machine: &mut Machine, mistakes: &mut Mistakes) {
    if fields.has("capacity") && fields.has("capacities") {
        let hint = "Write one of them; each takes one number for all CPUs, or a list.";
        mistakes.at(fields.span_of("capacities"), "`capacity` and `capacities` are the same", hint);
    }
    if machine.cpus.is_empty() {
        return;
    }
    let key = if fields.has("capacities") { "capacities" } else { "capacity" };
    if let Some(list) = fields.integers(key, machine.cpus.len(), mistakes) {
        machine.cpus.iter_mut().zip(list).for_each(|(cpu, capacity)| cpu.capacity = capacity);
    }
    if let Some(list) = fields.integers("freq_capacity", machine.cpus.len(), mistakes) {
        machine.cpus.iter_mut().zip(list).for_each(|(cpu, capacity)| cpu.freq_capacity = capacity);
    }
}

fn ticks(fields: &Fields, machine: &mut Machine, mistakes: &mut Mistakes) {
    if let Some(hz) = fields.integer("hz", 1..=u32::MAX, mistakes) {
        (machine.hz, machine.tick) = (hz, tick_of(hz));
    }
    if let Some(tick) = fields.length("tick", mistakes) {
        machine.tick = tick;
    }
    if let Some(jitter) = fields.length("tick_jitter", mistakes) {
        machine.tick_jitter = jitter;
    }
    if let Some(seed) = fields.integer("tick_jitter_seed", 0..=u32::MAX, mistakes) {
        machine.tick_jitter_seed = Some(seed);
    }
    let skew = fields.boolean("skew_tick", mistakes);
    if skew.is_some() && fields.has("tick_offset") {
        let hint = "`skew_tick = true` spreads the ticks as the kernel does; `tick_offset` sets the distance yourself.";
        mistakes.at(fields.span_of("tick_offset"), "`tick_offset` beside `skew_tick`", hint);
    }
    if let Some(on) = skew {
        machine.tick_offset = if on { machine.skewed_tick_offset() } else { Ns::ZERO };
    }
    if let Some(offset) = fields.length("tick_offset", mistakes) {
        machine.tick_offset = offset;
    }
    if let Some(phase) = fields.length("tick_phase", mistakes) {
        machine.tick_phase = phase;
    }
    if let Some(round) = fields.length("round_of_turns", mistakes) {
        machine.round_of_turns = round;
    }
    if let Some(atomic) = fields.boolean("scan_atomic", mistakes) {
        machine.scan_atomic = atomic;
    }
    if let Some(percent) = fields.integer("smt_percent", 1..=100, mistakes) {
        machine.smt_percent = percent;
    }
    if let Some(kib) = fields.kib("core_cache", mistakes) {
        machine.core_cache_kib = kib;
    }
}

/// Where in the file a problem has its cause.
fn place(fields: &Fields, place: Place) -> Range<usize> {
    let first = |keys: &[&str]| keys.iter().find(|key| fields.has(key)).map_or(fields.span(), |key| fields.span_of(key));
    match place {
        Place::Cpus => first(&["cpu", "cores", "preset"]),
        Place::Cpu(cpu) => explicit::span_of(fields, cpu).unwrap_or(first(&["distances", "cores", "preset"])),
        Place::Capacity => first(&["capacity", "capacities", "cpu", "preset"]),
        Place::FreqCapacity => first(&["freq_capacity", "cpu", "preset"]),
        Place::Distances => first(&["distances", "nodes", "cpu"]),
        Place::ReclaimDistance => first(&["reclaim_distance"]),
        Place::Levels => first(&["numa", "nodes", "cpu"]),
        Place::Hz => first(&["hz"]),
        Place::Tick => first(&["tick", "hz"]),
        Place::TickJitter => first(&["tick_jitter"]),
        Place::TickOffset => first(&["tick_offset", "skew_tick"]),
        Place::TickPhase => first(&["tick_phase"]),
        Place::RoundOfTurns => first(&["round_of_turns"]),
        Place::SmtPercent => first(&["smt_percent"]),
        Place::Policy(row, key) => policies::span_of(fields, row, key).unwrap_or(first(&["policy", "preset"])),
    }
}
