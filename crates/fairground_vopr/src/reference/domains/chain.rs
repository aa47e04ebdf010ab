//! The chain of domains of one CPU: levels, fields, groups, and what is taken out again.

use super::{Cpus, Era, Flags};
use fairground_machine::{CpuSpec, Machine};
use std::collections::BTreeSet;

/// A part of a domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub(super) span: Cpus,
    pub(super) balance_mask: Cpus,
}

/// One domain as its CPU sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Domain {
    pub(super) span: Cpus,
    pub(super) flags: Flags,
    pub(super) imbalance_pct: u32,
    pub(super) cache_nice_tries: u32,
    pub(super) busy_factor: u32,
    pub(super) busy_idx: u32,
    pub(super) idle_idx: u32,
    pub(super) imb_numa_nr: u32,
    /// In the order of the ring, that of the CPU itself first.
    pub(super) groups: Vec<Group>,
}

/// What a level spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    Smt,
    Cluster,
    Cache,
    Die,
    Node,
    /// Nodes up to this distance.
    Numa(u32),
}

/// The levels of a machine, smallest first.
fn levels(machine: &Machine, era: Era) -> Vec<Level> {
    let built = machine.levels;
    let mut levels = Vec::new();
    if built.smt {
        levels.push(Level::Smt);
    }
    if built.cluster && era.has_clusters() && machine.cpus.iter().any(|cpu| cpu.cluster.is_some()) {
        levels.push(Level::Cluster);
    }
    if built.mc {
        levels.push(Level::Cache);
    }
    let splits = |a: &CpuSpec| machine.cpus.iter().any(|b| a.package == b.package && a.node != b.node);
    if !(built.numa && machine.cpus.iter().any(splits)) {
        levels.push(Level::Die);
    }
    let distances = distances(machine);
    if built.numa && distances.len() > 1 {
        levels.push(Level::Node);
        levels.extend(distances[1..].iter().map(|&distance| Level::Numa(distance)));
    }
    levels
}

/// The distances that there are between nodes with CPUs, each once, the local one first.
fn distances(machine: &Machine) -> Vec<u32> {
    let nodes: BTreeSet<usize> = machine.cpus.iter().map(|cpu| cpu.node as usize).collect();
    let all: BTreeSet<u32> =
        nodes.iter().flat_map(|&a| nodes.iter().map(move |&b| (a, b))).map(|(a, b)| machine.distances[a][b]).collect();
    all.into_iter().collect()
}

/// The CPUs of a level, as CPU `cpu` sees it.
fn span(machine: &Machine, level: Level, cpu: usize) -> Cpus {
    let all = machine.cpus.as_slice();
    let me = &all[cpu];
    let belongs = |other: &CpuSpec| match level {
        Level::Smt => other.core == me.core,
        Level::Cluster => other.core == me.core || (me.cluster.is_some() && other.cluster == me.cluster),
        Level::Cache => other.llc == me.llc,
        Level::Die if machine.levels.numa => other.node == me.node,
        Level::Die => true,
        Level::Node => other.node == me.node || distance(machine, me, other) == distance(machine, me, me),
        Level::Numa(most) => distance(machine, me, other) <= most,
    };
    (0..all.len()).filter(|&other| belongs(&all[other])).collect()
}

fn distance(machine: &Machine, a: &CpuSpec, b: &CpuSpec) -> u32 {
    machine.distances[a.node as usize][b.node as usize]
}

/// A domain without its groups, by kind of level.
fn domain(machine: &Machine, era: Era, level: Level, cpu: usize) -> Domain {
    let span = span(machine, level, cpu);
    let mut flags: Flags = ["SD_BALANCE_NEWIDLE", "SD_BALANCE_EXEC", "SD_BALANCE_FORK", "SD_WAKE_AFFINE"].into();
    if era.has_load_balance_flag() {
        flags.insert("SD_LOAD_BALANCE");
    }
    if era.prefers_siblings_everywhere() {
        flags.insert("SD_PREFER_SIBLING");
    }
    let (pct, busy_factor) = if era.balances_eagerly() { (117, 16) } else { (125, 32) };
    let mut made = Domain {
        span,
        flags,
        imbalance_pct: pct,
        cache_nice_tries: 0,
        busy_factor,
        busy_idx: 0,
        idle_idx: 0,
        imb_numa_nr: 0,
        groups: Vec::new(),
    };
    match level {
        Level::Smt => {
            made.flags.extend(["SD_SHARE_CPUCAPACITY", "SD_SHARE_LLC", "SD_PREFER_SIBLING"]);
            made.imbalance_pct = 110;
        }
        Level::Cluster | Level::Cache => {
            made.flags.insert("SD_SHARE_LLC");
            if level == Level::Cluster && era.marks_clusters() {
                made.flags.insert("SD_CLUSTER");
            }
            (made.imbalance_pct, made.cache_nice_tries, made.busy_idx) = (117, 1, 2);
        }
        Level::Numa(distance) => {
            made.flags.extend(["SD_SERIALIZE", "SD_NUMA"]);
            if !era.since(6, 17) {
                made.flags.insert("SD_OVERLAP");
            }
            made.flags.remove("SD_PREFER_SIBLING");
            (made.cache_nice_tries, made.busy_idx, made.idle_idx) = (2, 3, 2);
            if distance > machine.reclaim_distance {
                ["SD_BALANCE_EXEC", "SD_BALANCE_FORK", "SD_WAKE_AFFINE"].iter().for_each(|flag| {
                    made.flags.remove(flag);
                });
            }
        }
        Level::Die | Level::Node => {
            made.flags.insert("SD_PREFER_SIBLING");
            (made.cache_nice_tries, made.busy_idx, made.idle_idx) = (1, 2, 1);
        }
    }
    if era.since(5, 3) {
        (made.busy_idx, made.idle_idx) = (0, 0);
    }
    made
}

/// The whole chain before anything is taken out.
fn whole_chain(machine: &Machine, era: Era, cpu: usize) -> Vec<Domain> {
    let levels = levels(machine, era);
    let mut chain: Vec<Domain> = levels.iter().map(|&level| domain(machine, era, level, cpu)).collect();
    mark_asymmetry(machine, era, &mut chain);
    if era.allows_numa_imbalance() {
        allow_numa_imbalance(era, &mut chain);
    }
    chain
}

/// Before v5.15 the domains of one level are asymmetric, from v5.10 on with those above; then those that span several capacities.
fn mark_asymmetry(machine: &Machine, era: Era, chain: &mut [Domain]) {
    let of = |cpus: &[usize]| cpus.iter().map(|&cpu| machine.cpus.as_slice()[cpu].capacity).collect::<BTreeSet<u32>>();
    let all = of(&(0..machine.cpus.len()).collect::<Vec<_>>());
    if all.len() < 2 {
        return;
    }
    let level = asymmetric_level(machine, era);
    for row in 0..chain.len() {
        let here = of(&chain[row].span);
        let counts = match level {
            _ if era.knows_full_asymmetry() => here.len() > 1,
            Some(level) => row == level || row > level && era.since(5, 10),
            None => false,
        };
        if !counts {
            continue;
        }
        chain[row].flags.insert("SD_ASYM_CPUCAPACITY");
        if era.knows_full_asymmetry() && here == all {
            chain[row].flags.insert("SD_ASYM_CPUCAPACITY_FULL");
        }
        if era.prefers_siblings_everywhere() && row > 0 {
            chain[row - 1].flags.remove("SD_PREFER_SIBLING");
        }
        if !era.balances_eagerly() {
            chain[..=row].iter_mut().for_each(|domain| {
                domain.flags.insert("SD_BALANCE_WAKE");
            });
        }
    }
}

/// The level from which on no CPU finds a bigger one by looking farther. Levels of nodes show one's own node, as nothing was built yet.
fn asymmetric_level(machine: &Machine, era: Era) -> Option<usize> {
    let levels = levels(machine, era);
    let mut found = None;
    for cpu in 0..machine.cpus.len() {
        let mut biggest = machine.cpus.as_slice()[cpu].capacity;
        for (row, &level) in levels.iter().enumerate() {
            let shown = if matches!(level, Level::Numa(_)) { Level::Node } else { level };
            for other in span(machine, shown, cpu) {
                let capacity = machine.cpus.as_slice()[other].capacity;
                if capacity > biggest {
                    (biggest, found) = (capacity, found.max(Some(row)));
                }
            }
        }
    }
    found
}

/// How many tasks one node may have more than another.
fn allow_numa_imbalance(era: Era, chain: &mut [Domain]) {
    let (mut imb, mut imb_span) = (0, 1);
    for row in 1..chain.len() {
        let (weight, child) = (chain[row].span.len() as u32, chain[row - 1].span.len() as u32);
        let shares = |domain: &Domain| domain.flags.contains("SD_SHARE_LLC");
        if !shares(&chain[row]) && shares(&chain[row - 1]) {
            let caches = weight / child;
            imb = if caches == 1 { weight >> era.one_cache_shift() } else { caches }.max(1);
            let numa = chain[row..].iter().skip(1).find(|domain| domain.flags.contains("SD_NUMA"));
            imb_span = numa.map_or(weight, |domain| domain.span.len() as u32);
            chain[row].imb_numa_nr = imb;
        } else {
            chain[row].imb_numa_nr = imb * (weight / imb_span).max(1);
        }
    }
}

/// The groups of a level: the domains below of CPUs that no group has yet, going round from `cpu`.
fn groups(era: Era, chains: &[Vec<Domain>], row: usize, cpu: usize) -> Vec<Group> {
    let domain = &chains[cpu][row];
    // Groups that overlap are each CPU's own; others are one ring, made by the first CPU, that is entered elsewhere.
    let own = domain.flags.contains("SD_NUMA");
    let from = if own { domain.span.iter().position(|&other| other == cpu).unwrap_or(0) } else { 0 };
    let mut groups: Vec<Group> = Vec::new();
    for &other in domain.span[from..].iter().chain(&domain.span[..from]) {
        if groups.iter().any(|group| group.span.contains(&other)) {
            continue;
        }
        let span = below(era, chains, domain, row, other);
        let owns = |&member: &usize| below(era, chains, domain, row, member) == span;
        let balance_mask = span.iter().copied().filter(owns).collect();
        groups.push(Group { span, balance_mask });
    }
    let mine = groups.iter().position(|group| group.span.contains(&cpu)).unwrap_or(0);
    groups.rotate_left(mine);
    groups
}

/// The part of `domain` that `other` brings: its own domain below, from v5.12 on the largest that does not reach
/// out of `domain`.
fn below(era: Era, chains: &[Vec<Domain>], domain: &Domain, row: usize, other: usize) -> Cpus {
    let reaches_out = |span: &Cpus| span.iter().any(|cpu| !domain.span.contains(cpu));
    let lower = chains[other][..row].iter().rev().map(|domain| &domain.span);
    let mut fitting = lower.skip_while(|span| era.since(5, 12) && reaches_out(span));
    fitting.next().cloned().unwrap_or_else(|| vec![other])
}

/// What makes a domain of one group or CPU useless even if it is set.
const NEEDS_GROUPS: [&str; 14] = [
    "SD_LOAD_BALANCE",
    "SD_BALANCE_NEWIDLE",
    "SD_BALANCE_FORK",
    "SD_BALANCE_EXEC",
    "SD_BALANCE_WAKE",
    "SD_ASYM_CPUCAPACITY",
    "SD_ASYM_CPUCAPACITY_FULL",
    "SD_SHARE_CPUCAPACITY",
    "SD_CLUSTER",
    "SD_SHARE_LLC",
    "SD_ASYM_PACKING",
    "SD_PREFER_SIBLING",
    "SD_OVERLAP",
    "SD_NUMA",
];

/// Those that kernels before v5.9 do not pass over.
const FORMERLY_KEPT: [&str; 3] = ["SD_OVERLAP", "SD_NUMA", "SD_BALANCE_WAKE"];

fn is_degenerate(era: Era, domain: &Domain) -> bool {
    if domain.span.len() == 1 {
        return true;
    }
    let formerly = |flag: &&str| !era.since(5, 9) && (FORMERLY_KEPT.contains(flag) || *flag == "SD_PREFER_SIBLING");
    let wants = |flag: &&str| (NEEDS_GROUPS.contains(flag) && !formerly(flag)) || (*flag == "SD_SERIALIZE" && era.since(5, 9));
    let useful = domain.flags.iter().any(wants) && domain.groups.len() > 1;
    !useful && !domain.flags.contains("SD_WAKE_AFFINE")
}

fn is_degenerate_parent(machine: &Machine, era: Era, domain: &Domain, parent: &Domain) -> bool {
    if is_degenerate(era, parent) {
        return true;
    }
    if domain.span != parent.span {
        return false;
    }
    let one_node = machine.cpus.iter().all(|cpu| cpu.node == machine.cpus.as_slice()[0].node);
    let formerly = |flag: &&str| !era.since(5, 9) && FORMERLY_KEPT.contains(flag);
    let ignored = |flag: &&str| {
        let serialize = *flag == "SD_SERIALIZE" && (one_node || era.since(5, 9));
        parent.groups.len() == 1 && ((NEEDS_GROUPS.contains(flag) && !formerly(flag)) || serialize)
    };
    parent.flags.iter().filter(|flag| !ignored(flag)).all(|flag| domain.flags.contains(flag))
}

/// The chains of all CPUs, with their groups, without what is useless.
pub(super) fn chain_of(machine: &Machine, era: Era) -> Vec<Vec<Domain>> {
    let mut whole: Vec<Vec<Domain>> = (0..machine.cpus.len()).map(|cpu| whole_chain(machine, era, cpu)).collect();
    let bare = whole.clone();
    for (cpu, chain) in whole.iter_mut().enumerate() {
        for (row, domain) in chain.iter_mut().enumerate() {
            domain.groups = groups(era, &bare, row, cpu);
        }
    }
    whole.into_iter().map(|chain| pruned(machine, era, chain)).collect()
}

fn pruned(machine: &Machine, era: Era, mut chain: Vec<Domain>) -> Vec<Domain> {
    let mut row = 0;
    while row + 1 < chain.len() {
        if is_degenerate_parent(machine, era, &chain[row], &chain[row + 1]) {
            let parent = chain.remove(row + 1);
            if parent.flags.contains("SD_PREFER_SIBLING") {
                chain[row].flags.insert("SD_PREFER_SIBLING");
            }
        } else {
            row += 1;
        }
    }
    if chain.first().is_some_and(|lowest| is_degenerate(era, lowest)) {
        chain.remove(0);
    }
    chain
}
