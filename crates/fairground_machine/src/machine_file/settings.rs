//! The keys of a machine, but for those that say which CPUs it has.

use super::{governor, idle, policies};
use crate::cost;
use crate::fields::Fields;
use crate::idle::IdleGovernor;
use crate::keys::{self, Key, field, line, quoted};
use crate::machine::{CpuSpec, Machine, tick_of};
use fairground_model::{Mistakes, PageSize};
use fairground_stdx::Ns;

/// What stands above the shape.
pub(super) static TITLE: &[Key<Machine>] = &[
    field!("name" always text(), name, "How reports call it."),
    field!("description" changed text(), description, "What it stands for, in one line."),
];

/// Capacities, which CPUs in tables of their own have there.
pub(super) static SPEEDS: &[Key<Machine>] = &[
    Key::new(
        "capacity",
        "Full capacity of all CPUs, or a list with one number for each; 1024 is the biggest.",
        |fields, machine, mistakes| speeds(fields, "capacity", |cpu| &mut cpu.capacity, machine, mistakes),
        |machine, _| speed_line("capacity", |cpu| cpu.capacity, machine),
    ),
    Key::read_only("capacities", "Another name of `capacity`.", |fields, machine, mistakes| {
        if fields.has("capacity") && fields.has("capacities") {
            let hint = "Write one of them; each takes one number for all CPUs, or a list.";
            mistakes.at(fields.span_of("capacities"), "`capacity` and `capacities` are the same", hint);
        }
        speeds(fields, "capacities", |cpu| &mut cpu.capacity, machine, mistakes);
    }),
    Key::new(
        "freq_capacity",
        "Current frequency over the highest, 1 to 1024, of all CPUs or one by one.",
        |fields, machine, mistakes| speeds(fields, "freq_capacity", |cpu| &mut cpu.freq_capacity, machine, mistakes),
        |machine, _| speed_line("freq_capacity", |cpu| cpu.freq_capacity, machine),
    ),
];

pub(super) static SETTINGS: &[Key<Machine>] = &[
    field!("distances" changed matrix(), distances, "Distance of each NUMA node to each, 10 on the diagonal."),
    field!("reclaim_distance" changed integer(0..=u32::MAX), reclaim_distance,
        "Nodes farther apart share no wake-ups, forks and execs; 30, on AMD Zen 32."),
    field!("smt" changed boolean(), levels.smt, "Whether the kernel has the SMT level of scheduling domains."),
    field!("cluster" changed boolean(), levels.cluster, "Whether it has the CLUSTER level."),
    field!("mc" changed boolean(), levels.mc, "Whether it has the MC level."),
    field!("numa" changed boolean(), levels.numa, "Whether it has NUMA levels."),
    Key::new(
        "hz",
        "Ticks per second: 100, 250, 300 or 1000.",
        |fields, machine, mistakes| {
            if let Some(hz) = fields.integer("hz", 1..=u32::MAX, mistakes) {
                (machine.hz, machine.tick) = (hz, tick_of(hz));
            }
        },
        |machine, _| line("hz", &machine.hz.to_string()),
    ),
    field!("tick" changed length(), tick, "Length of a tick; 1/hz if left out."),
    field!("tick_jitter" changed length(), tick_jitter, "A tick is late by 0 up to so much."),
    field!("tick_jitter_seed" changed integer(0..=u32::MAX), tick_jitter_seed,
        "Start of the jitter's own generator; a random stream of the run if left out."),
    Key::read_only("skew_tick", "Whether the ticks of the CPUs are spread over half a tick.", skew_tick),
    field!("tick_offset" changed length(), tick_offset, "CPU n ticks n times this later."),
    field!("tick_phase" changed length(), tick_phase, "All tick so long after whole ticks of the clock, as in kernels from v4.19 to v6.3."),
    field!("irq_time_accounting" always boolean(), irq_time_accounting, "Whether interrupt time is taken out of the task clock."),
    field!("nohz_idle" always boolean(), nohz_idle, "Whether an idle CPU stops its tick."),
    field!("round_of_turns" changed length(), round_of_turns,
        "An emulator executes all CPUs on one thread, in rounds of this length; all run at once if left out."),
    field!("scan_atomic" changed boolean(), scan_atomic,
        "Whether a search for an idle CPU reads all run queues at its beginning, not each at its moment."),
    field!("smt_percent" changed integer(1..=100), smt_percent, "Throughput of a thread beside a busy one of its core, in percent."),
    Key::new(
        "core_cache",
        "What a core's own cache holds, which its tasks share.",
        |fields, machine, mistakes| machine.core_cache_kib = fields.kib("core_cache", mistakes).unwrap_or(machine.core_cache_kib),
        |machine, without| {
            let size = format!("{}KiB", machine.core_cache_kib);
            if machine.core_cache_kib == without.core_cache_kib { String::new() } else { line("core_cache", &quoted(&size)) }
        },
    ),
    Key::new(
        "page_sizes",
        "The sizes of pages that memory may have: some of 4KiB, 64KiB, 2MiB and 1GiB.",
        |fields, machine, mistakes| machine.page_sizes = page_sizes(fields, mistakes).unwrap_or(machine.page_sizes.clone()),
        |machine, without| {
            let names: Vec<String> = machine.page_sizes.iter().map(|size| quoted(size.name())).collect();
            let row = line("page_sizes", &format!("[{}]", names.join(", ")));
            if machine.page_sizes == without.page_sizes { String::new() } else { row }
        },
    ),
    Key::new(
        "nic_cpus",
        "The CPUs that the network device interrupts, such as 0-7; all if left out.",
        |fields, machine, mistakes| machine.nic_cpus = policies::cpus(fields, "nic_cpus", mistakes).or(machine.nic_cpus),
        |machine, _| machine.nic_cpus.map_or(String::new(), |cpus| line("nic_cpus", &quoted(&cpus.to_string()))),
    ),
    field!("wire" changed length(), wire, "How long a message from or to another machine is on the wire."),
    field!("idle_governor" changed one_of(&IdleGovernor::NAMES), idle_governor, "Who chooses among the idle states."),
    field!("freq_invariant" changed boolean(), freq_invariant, "Whether the kernel knows the frequency at which each CPU runs."),
    Key::new(
        "costs",
        "What kernel paths cost: a price list, or a table of prices.",
        |fields, machine, mistakes| {
            let costs = fields.item("costs").and_then(|item| cost::read_item(item, fields.span_of("costs"), mistakes));
            machine.costs = costs.unwrap_or_else(|| std::mem::take(&mut machine.costs));
        },
        |machine, _| cost::write(&machine.costs),
    ),
    Key::<Machine>::new(
        "policy",
        "One table per set of CPUs that change frequency together.",
        |fields, machine, mistakes| {
            if let Some(policies) = policies::policies(fields, mistakes) {
                machine.policies = policies;
                policies::set_freq_domains(fields, machine);
            }
        },
        |machine, _| policies::write(&machine.policies),
    )
    .with(|| keys::info(policies::KEYS)),
    Key::read_only("governor", "The governor of all policies, whatever they say.", governor::of_all_policies)
        .with(governor::keys),
    Key::<Machine>::new(
        "idle_state",
        "One table per idle state of the CPUs, shallowest first.",
        |fields, machine, mistakes| {
            let states = idle::idle_states(fields, mistakes);
            machine.idle_states = states.unwrap_or_else(|| std::mem::take(&mut machine.idle_states));
        },
        |machine, _| idle::write(&machine.idle_states),
    )
    .with(|| keys::info(idle::KEYS)),
    Key::read_only("asym_priority", "Packing by CPU priority, which is not modelled yet.", |fields, _, mistakes| {
        if fields.has("asym_priority") {
            let message = "packing by CPU priority (`asym_priority`) is not modelled yet";
            mistakes.at(fields.span_of("asym_priority"), message, "Leave it out: no CPU is preferred to another.");
        }
    }),
];

/// One number for all CPUs, or one for each.
fn speeds(fields: &Fields, key: &str, of: fn(&mut CpuSpec) -> &mut u32, machine: &mut Machine, mistakes: &mut Mistakes) {
    if machine.cpus.is_empty() {
        return;
    }
    if let Some(list) = fields.integers(key, machine.cpus.len(), mistakes) {
        machine.cpus.iter_mut().zip(list).for_each(|(cpu, value)| *of(cpu) = value);
    }
}

/// The sizes in their order; a mistake if there is none, or one that no machine has.
fn page_sizes(fields: &Fields, mistakes: &mut Mistakes) -> Option<Vec<PageSize>> {
    let item = fields.item("page_sizes")?;
    let names: Option<Vec<&str>> = item.as_array().and_then(|list| list.iter().map(|name| name.as_str()).collect());
    let sizes: Option<Vec<PageSize>> = names.and_then(|names| names.into_iter().map(PageSize::by_name).collect());
    let Some(mut sizes) = sizes.filter(|sizes| !sizes.is_empty()) else {
        let hint = format!("A list of {}: page_sizes = [\"4KiB\", \"2MiB\"].", PageSize::list(&PageSize::ALL));
        mistakes.at(fields.span_of("page_sizes"), "`page_sizes` is no list of sizes of pages", hint);
        return None;
    };
    sizes.sort();
    sizes.dedup();
    Some(sizes)
}

fn speed_line(key: &str, of: fn(&CpuSpec) -> u32, machine: &Machine) -> String {
    let list: Vec<u32> = machine.cpus.iter().map(of).collect();
    let equal = list.windows(2).all(|pair| pair[0] == pair[1]);
    line(key, &if equal { list.first().copied().unwrap_or(0).to_string() } else { format!("{list:?}") })
}

fn skew_tick(fields: &Fields, machine: &mut Machine, mistakes: &mut Mistakes) {
    let Some(skew) = fields.boolean("skew_tick", mistakes) else { return };
    if fields.has("tick_offset") {
        let hint = "`skew_tick = true` spreads the ticks as the kernel does; `tick_offset` sets the distance yourself.";
        mistakes.at(fields.span_of("tick_offset"), "`tick_offset` beside `skew_tick`", hint);
    }
    machine.tick_offset = if skew { machine.skewed_tick_offset() } else { Ns::ZERO };
}
