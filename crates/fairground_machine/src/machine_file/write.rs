//! From a machine to the text of a machine file.

use crate::cost::CostModel;
use crate::idle::{IdleGovernor, IdleState};
use crate::machine::{CpuSpec, DEFAULT_CORE_CACHE_KIB, Machine, tick_of};
use crate::regular::{Level, Numbering, Regular, default_distances};
use fairground_model::machine_view::{DomainLevels, RECLAIM_DISTANCE};
use fairground_model::{FreqPolicy, Governor, Op, Tunable, TunableUnit};
use fairground_stdx::{CpuId, IndexVec, Ns};
use std::fmt::Write;

/// The machine file that reads back as `machine`: the regular form if it is regular, else one table per CPU.
pub fn write(machine: &Machine) -> String {
    let mut text = format!("name = {}\n", quoted(&machine.name));
    if !machine.description.is_empty() {
        line(&mut text, "description", &quoted(&machine.description));
    }
    let shape = shape_of(&machine.cpus);
    if let Some(shape) = &shape {
        write_shape(&mut text, shape);
        write_capacities(&mut text, machine);
    }
    let nodes = machine.cpus.iter().map(|cpu| cpu.node as usize + 1).max().unwrap_or(1);
    if machine.distances != default_distances(nodes) {
        line(&mut text, "distances", &format!("{:?}", machine.distances));
    }
    write_domains(&mut text, machine);
    write_ticks(&mut text, machine);
    line(&mut text, "irq_time_accounting", &machine.irq_time_accounting.to_string());
    line(&mut text, "nohz_idle", &machine.nohz_idle.to_string());
    if machine.round_of_turns != Ns::ZERO {
        line(&mut text, "round_of_turns", &quoted(&machine.round_of_turns.to_string()));
    }
    if machine.scan_atomic {
        line(&mut text, "scan_atomic", "true");
    }
    if machine.smt_percent != 100 {
        line(&mut text, "smt_percent", &machine.smt_percent.to_string());
    }
    if machine.core_cache_kib != DEFAULT_CORE_CACHE_KIB {
        line(&mut text, "core_cache", &quoted(&format!("{}KiB", machine.core_cache_kib)));
    }
    if machine.idle_governor != IdleGovernor::default() {
        let name = IdleGovernor::NAMES.iter().find(|row| row.1 == machine.idle_governor).map_or("", |row| row.0);
        line(&mut text, "idle_governor", &quoted(name));
    }
    if !machine.freq_invariant {
        line(&mut text, "freq_invariant", "false");
    }
    write_costs(&mut text, &machine.costs);
    write_policies(&mut text, &machine.policies);
    write_idle_states(&mut text, &machine.idle_states);
    if shape.is_none() {
        write_cpus(&mut text, &machine.cpus);
    }
    text
}

fn line(text: &mut String, key: &str, value: &str) {
    writeln!(text, "{key} = {value}").expect("invariant: a String takes all text");
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
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

/// The regular shape whose CPUs these are, whatever their capacities, if there is one.
fn shape_of(cpus: &IndexVec<CpuId, CpuSpec>) -> Option<Regular> {
    let distinct = |key: fn(&CpuSpec) -> u32| {
        let mut ids: Vec<u32> = cpus.iter().map(key).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.len() as u32
    };
    let (sockets, nodes) = (distinct(|cpu| cpu.package), distinct(|cpu| cpu.node));
    let (llcs, cores) = (distinct(|cpu| cpu.llc), distinct(|cpu| cpu.core));
    let clustered = cpus.iter().all(|cpu| cpu.cluster.is_some());
    let clusters = clustered.then(|| distinct(|cpu| cpu.cluster.unwrap_or(0)));
    let total = cpus.len() as u32;
    let parts = |whole: u32, parts: u32| parts.checked_div(whole).filter(|n| *n > 0);
    let shape = Regular {
        sockets: parts(1, sockets)?,
        nodes: parts(sockets, nodes)?,
        llcs: parts(nodes, llcs)?,
        clusters: match clusters {
            Some(clusters) => Some(parts(llcs, clusters)?),
            None => None,
        },
        cores: parts(clusters.unwrap_or(llcs), cores)?,
        threads: parts(cores, total)?,
        ..Regular::default()
    };
    let variants = Numbering::NAMES.iter().flat_map(|(_, numbering)| {
        Level::NAMES.iter().map(|(_, freq_domains)| Regular {
            numbering: *numbering,
            freq_domains: *freq_domains,
            ..shape.clone()
        })
    });
    let same = |a: &CpuSpec, b: &CpuSpec| CpuSpec { capacity: b.capacity, freq_capacity: b.freq_capacity, ..a.clone() } == *b;
    variants.into_iter().find(|shape| {
        let regular = shape.cpus();
        regular.len() == cpus.len() && regular.iter().zip(cpus.iter()).all(|(a, b)| same(a, b))
    })
}

fn write_shape(text: &mut String, shape: &Regular) {
    let number = |text: &mut String, key, value: u32| line(text, key, &value.to_string());
    number(text, "sockets", shape.sockets);
    number(text, "nodes", shape.nodes);
    number(text, "llcs", shape.llcs);
    if let Some(clusters) = shape.clusters {
        number(text, "clusters", clusters);
    }
    number(text, "cores", shape.cores);
    number(text, "threads", shape.threads);
    let name = Numbering::NAMES.iter().find(|(_, value)| *value == shape.numbering).map_or("", |(name, _)| *name);
    line(text, "numbering", &quoted(name));
    let name = Level::NAMES.iter().find(|(_, value)| *value == shape.freq_domains).map_or("", |(name, _)| *name);
    line(text, "freq_domains", &quoted(name));
}

fn write_capacities(text: &mut String, machine: &Machine) {
    let list = |key: fn(&CpuSpec) -> u32| {
        let list: Vec<u32> = machine.cpus.iter().map(key).collect();
        let equal = list.windows(2).all(|pair| pair[0] == pair[1]);
        if equal { list.first().copied().unwrap_or(0).to_string() } else { format!("{list:?}") }
    };
    line(text, "capacity", &list(|cpu| cpu.capacity));
    line(text, "freq_capacity", &list(|cpu| cpu.freq_capacity));
}

/// What is not as most kernels have it.
fn write_domains(text: &mut String, machine: &Machine) {
    if machine.reclaim_distance != RECLAIM_DISTANCE {
        line(text, "reclaim_distance", &machine.reclaim_distance.to_string());
    }
    let DomainLevels { smt, cluster, mc, numa } = machine.levels;
    for (key, on) in [("smt", smt), ("cluster", cluster), ("mc", mc), ("numa", numa)] {
        if !on {
            line(text, key, "false");
        }
    }
}

fn write_ticks(text: &mut String, machine: &Machine) {
    line(text, "hz", &machine.hz.to_string());
    let length = |text: &mut String, key, length: Ns| line(text, key, &format!("\"{length}\""));
    if machine.tick != tick_of(machine.hz) {
        length(text, "tick", machine.tick);
    }
    if machine.tick_jitter != Ns::ZERO {
        length(text, "tick_jitter", machine.tick_jitter);
    }
    if let Some(seed) = machine.tick_jitter_seed {
        line(text, "tick_jitter_seed", &seed.to_string());
    }
    if machine.tick_offset != Ns::ZERO {
        length(text, "tick_offset", machine.tick_offset);
    }
    if machine.tick_phase != Ns::ZERO {
        length(text, "tick_phase", machine.tick_phase);
    }
}

fn write_costs(text: &mut String, costs: &CostModel) {
    let preset = CostModel::preset(&costs.name).ok();
    if preset.as_ref() == Some(costs) {
        line(text, "costs", &quoted(&costs.name));
        return;
    }
    text.push_str("\n[costs]\n");
    if preset.is_some() {
        line(text, "preset", &quoted(&costs.name));
    } else {
        line(text, "name", &quoted(&costs.name));
    }
    if preset.as_ref().is_none_or(|preset| preset.description != costs.description) {
        line(text, "description", &quoted(&costs.description));
    }
    for &op in Op::ALL {
        let same = |preset: &CostModel| preset.price_ps(op) == costs.price_ps(op) && preset.source(op) == costs.source(op);
        if !preset.as_ref().is_some_and(same) {
            let price = format!("{{ price = \"{}ps\", source = {} }}", costs.price_ps(op), quoted(costs.source(op)));
            line(text, op.key(), &price);
        }
    }
}

fn write_policies(text: &mut String, policies: &[FreqPolicy]) {
    for policy in policies {
        text.push_str("\n[[policy]]\n");
        line(text, "cpus", &quoted(&policy.cpus.to_string()));
        let khz: Vec<u32> = policy.opps.iter().map(|opp| opp.khz).collect();
        line(text, "khz", &format!("{khz:?}"));
        if let Some(power) = policy.opps.iter().map(|opp| opp.power_mw).collect::<Option<Vec<u32>>>() {
            line(text, "power_mw", &format!("{power:?}"));
        }
        line(text, "transition_latency", &format!("\"{}\"", policy.transition_latency));
        if let Some(delay) = policy.transition_delay {
            line(text, "transition_delay", &format!("\"{delay}\""));
        }
        line(text, "fast_switch", &policy.fast_switch.to_string());
        if policy.governor != Governor::default() {
            line(text, "governor", &governor(&policy.governor));
        }
    }
}

/// A governor as an inline table.
fn governor(governor: &Governor) -> String {
    let key = |&tunable: &Tunable| {
        let (row, value) = (tunable.row(), governor.said(tunable)?);
        Some(match row.unit {
            TunableUnit::Time => format!("{} = \"{}\"", row.key, Ns(value)),
            TunableUnit::Khz | TunableUnit::Number => format!("{} = {value}", row.key),
        })
    };
    let name = format!("name = {}", quoted(governor.kind.name()));
    let keys: Vec<String> = [name].into_iter().chain(Tunable::ALL.iter().filter_map(key)).collect();
    format!("{{ {} }}", keys.join(", "))
}

fn write_idle_states(text: &mut String, states: &[IdleState]) {
    for state in states {
        text.push_str("\n[[idle_state]]\n");
        line(text, "name", &quoted(&state.name));
        line(text, "exit_latency", &format!("\"{}\"", state.exit_latency));
        if state.exit_time != state.exit_latency {
            line(text, "exit_time", &format!("\"{}\"", state.exit_time));
        }
        line(text, "target_residency", &format!("\"{}\"", state.target_residency));
        line(text, "polling", &state.polling.to_string());
    }
}

fn write_cpus(text: &mut String, cpus: &IndexVec<CpuId, CpuSpec>) {
    for (id, cpu) in cpus.iter_enumerated() {
        text.push_str("\n[[cpu]]\n");
        let mut number = |key, value: u32| line(text, key, &value.to_string());
        number("id", id.get());
        number("core", cpu.core);
        if let Some(cluster) = cpu.cluster {
            number("cluster", cluster);
        }
        number("llc", cpu.llc);
        number("package", cpu.package);
        number("node", cpu.node);
        number("capacity", cpu.capacity);
        number("freq_capacity", cpu.freq_capacity);
        number("freq_domain", cpu.freq_domain);
        if cpu.clock_ahead != Ns::ZERO {
            line(text, "clock_ahead", &format!("\"{}\"", cpu.clock_ahead));
        }
    }
}
