//! The levels of a machine: for each CPU a set that grows from level to level.

use super::{Level, SdFlags};
use crate::seam::DomainLevels;
use fairground_model::MachineView;
use fairground_stdx::{CpuId, CpuMask};

/// A level, and how its domains are marked before behaviour is derived.
///
/// Kernel: sched/topology.h struct sched_domain_topology_level, v4.12–
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelRow {
    pub(super) level: Level,
    pub(super) flags: SdFlags,
    /// The greatest distance of two nodes of a domain.
    pub(super) distance: u32,
}

/// The levels of `machine`, smallest first.
///
/// Kernel: topology.c sched_init_numa(), v4.12–
pub(super) fn levels(rule: DomainLevels, machine: &MachineView) -> Vec<LevelRow> {
    let row = |level, flags| LevelRow { level, flags, distance: LOCAL_DISTANCE };
    let mut rows = Vec::new();
    if machine.levels.smt && !(rule.drops_unused_smt() && machine.cpus.iter().all(|cpu| cpu.smt.weight() == 1)) {
        rows.push(row(Level::Smt, SdFlags::SHARE_CPUCAPACITY.with(SdFlags::SHARE_LLC)));
    }
    if machine.levels.cluster && rule.has_cluster() {
        rows.push(row(Level::Cluster, SdFlags::SHARE_LLC.with(rule.cluster_flag())));
    }
    if machine.levels.mc {
        rows.push(row(Level::Mc, SdFlags::SHARE_LLC));
    }
    if !numa_in_package(machine) {
        rows.push(row(Level::Die, SdFlags::EMPTY));
    }
    let farther = if machine.levels.numa { distances(machine) } else { Vec::new() };
    if !farther.is_empty() && rule.has_node() {
        rows.push(row(Level::Node, SdFlags::EMPTY));
    }
    rows.extend(farther.iter().zip(1..).map(|(&distance, k)| LevelRow {
        level: Level::Numa(k),
        flags: SdFlags::NUMA.with(rule.overlap_flag()),
        distance,
    }));
    rows
}

/// The distance of a node to itself.
///
/// Kernel: topology.h LOCAL_DISTANCE, v4.12–
pub(super) const LOCAL_DISTANCE: u32 = 10;

/// The distances above the local one that nodes with CPUs have, ascending, each once. A level counts as a byte.
fn distances(machine: &MachineView) -> Vec<u32> {
    let nodes = nodes(machine);
    let pairs = nodes.iter().flat_map(|&a| nodes.iter().map(move |&b| machine.distances[a as usize][b as usize]));
    let mut found: Vec<u32> = pairs.filter(|&distance| distance > LOCAL_DISTANCE).collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(u8::MAX as usize);
    found
}

fn nodes(machine: &MachineView) -> Vec<u32> {
    let mut nodes: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Whether a package holds several nodes: then its span lies between those of the NUMA levels.
///
/// Kernel: smpboot.c build_sched_topology(), v4.12–
fn numa_in_package(machine: &MachineView) -> bool {
    let mut homes: Vec<(u32, u32)> = machine.cpus.iter().map(|cpu| (cpu.package, cpu.node)).collect();
    homes.sort_unstable();
    homes.dedup();
    homes.windows(2).any(|pair| pair[0].0 == pair[1].0)
}

impl LevelRow {
    /// The CPUs of this level around `cpu`, those off line included. A cache ends where its node does; a CPU
    /// without a cluster is one with its core.
    pub(super) fn mask(&self, machine: &MachineView, cpu: CpuId) -> CpuMask {
        let view = &machine.cpus[cpu];
        match self.level {
            Level::Smt => view.smt,
            Level::Cluster => view.cluster.unwrap_or(view.smt),
            Level::Mc => view.llc.and(&within(machine, view.node, LOCAL_DISTANCE)),
            Level::Die => within(machine, view.node, 0),
            Level::Node | Level::Numa(_) => within(machine, view.node, self.distance),
        }
    }
}

/// The level of nodes that the last CPU's domains end with, 0 if they end within a node (sched_domains_curr_level).
///
/// Kernel: topology.c sd_init(), build_sched_domains(), v4.12–
pub(super) fn built_last(machine: &MachineView, rows: &[LevelRow]) -> u8 {
    let spans_all =
        |row: &&LevelRow| machine.online.iter().max().is_some_and(|cpu| machine.online.is_subset(&row.mask(machine, cpu)));
    match rows.iter().find(spans_all).or(rows.last()).map(|row| row.level) {
        Some(Level::Numa(k)) => k,
        _ => 0,
    }
}

/// The CPUs of all nodes that are no farther from `node` than `distance`; its own in any case.
fn within(machine: &MachineView, node: u32, distance: u32) -> CpuMask {
    let near = |other: u32| other == node || machine.distances[node as usize][other as usize] <= distance;
    machine.cpus.iter_enumerated().filter(|(_, cpu)| near(cpu.node)).map(|(id, _)| id).collect()
}
