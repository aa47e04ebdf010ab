//! Groups of domains, and the rings that they form.

use super::chain::Chains;
use super::{SchedDomain, SchedGroup, SdFlags, Topology};
use crate::seam::OverlapGroups;
use fairground_model::MachineView;
use fairground_stdx::{CpuId, CpuMask, SgId};
use std::collections::BTreeMap;

/// Makes groups and rings, each once.
pub(super) struct Groups<'a> {
    machine: &'a MachineView,
    overlap: OverlapGroups,
    /// Groups by level, balancing CPU and first CPU: what the kernel keeps once (struct sched_group_capacity).
    known: BTreeMap<(usize, CpuId, CpuId), Vec<SgId>>,
    /// Rings of domains that do not overlap, by level and first CPU.
    rings: BTreeMap<(usize, CpuId), std::ops::Range<u32>>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(machine: &'a MachineView, overlap: OverlapGroups) -> Groups<'a> {
        Groups { machine, overlap, known: BTreeMap::new(), rings: BTreeMap::new() }
    }

    /// Gives the domain of `cpu` at `level` its ring, entered at the group that holds the CPU.
    pub(super) fn attach(&mut self, topology: &mut Topology, chains: &mut Chains, cpu: CpuId, level: usize) {
        let ring = if chains[cpu][level].flags.intersects(SdFlags::NUMA.with(SdFlags::OVERLAP)) {
            let ring = self.overlapping_ring(topology, chains, cpu, level);
            store(topology, &ring)
        } else {
            self.ring(topology, chains, cpu, level)
        };
        let own = ring.clone().find(|&at| topology.groups[topology.rings[at as usize]].span.contains(cpu));
        let sd = &mut chains[cpu][level];
        sd.ring_start = own.unwrap_or(ring.start);
        sd.first_group = topology.rings[sd.ring_start as usize];
        sd.groups = ring;
    }

    /// The ring of a domain whose groups do not intersect: the spans of the domains below, in the order in which
    /// the last CPU of the domain meets them.
    ///
    /// Kernel: topology.c build_sched_groups(), get_group(), v4.12–
    fn ring(&mut self, topology: &mut Topology, chains: &Chains, cpu: CpuId, level: usize) -> std::ops::Range<u32> {
        let span = chains[cpu][level].span;
        let key = (level, span.first().unwrap_or(cpu));
        if let Some(ring) = self.rings.get(&key) {
            return ring.clone();
        }
        let (mut covered, mut ring) = (CpuMask::EMPTY, Vec::new());
        for other in span.iter_wrap(last(&span).unwrap_or(cpu)) {
            if !covered.contains(other) {
                let group = below(chains, other, level);
                let group_span = group.map_or(CpuMask::only(other), |sd| sd.span);
                covered = covered.or(&group_span);
                ring.push(self.group(topology, level, group_span, group_span, flags(group)));
            }
        }
        let ring = store(topology, &ring);
        self.rings.insert(key, ring.clone());
        ring
    }

    /// The ring of a domain whose groups may intersect, as `cpu` meets them: what the domain below spans for the
    /// first CPU that no group has yet, again and again.
    ///
    /// Kernel: topology.c build_overlap_sched_groups(), v4.12–
    fn overlapping_ring(&mut self, topology: &mut Topology, chains: &Chains, cpu: CpuId, level: usize) -> Vec<SgId> {
        let span = chains[cpu][level].span;
        let (mut covered, mut ring) = (CpuMask::EMPTY, Vec::new());
        for other in span.iter_wrap(cpu) {
            // A CPU from which fewer levels reach everything has no domain here.
            if covered.contains(other) || chains[other].len() <= level {
                continue;
            }
            let level = match self.overlap {
                OverlapGroups::Child => level,
                OverlapGroups::WithinDomain => descended(chains, other, level, &span),
            };
            let group = below(chains, other, level);
            let group_span = group.map_or(chains[other][level].span, |sd| sd.span);
            covered = covered.or(&group_span);
            let mask = balance_mask(chains, level, &group_span);
            ring.push(self.group(topology, level, group_span, mask, flags(group)));
        }
        ring
    }

    /// The group with that span and balance mask, made if it is not known yet.
    fn group(&mut self, topology: &mut Topology, level: usize, span: CpuMask, balance_mask: CpuMask, flags: SdFlags) -> SgId {
        let first = span.first().expect("invariant: a group holds a CPU");
        let known = self.known.entry((level, balance_mask.first().unwrap_or(first), first)).or_default();
        if let Some(&id) = known.iter().find(|&&id| topology.groups[id].span == span) {
            return id;
        }
        let id = topology.groups.push(SchedGroup {
            span,
            cpus: span.iter().collect(),
            group_weight: span.weight() as u32,
            balance_mask,
            cores: cores(self.machine, span),
            flags,
            asym_prefer_cpu: first,
            capacity: 0,
            min_capacity: 0,
            max_capacity: 0,
            next_update: 0,
            imbalance: false,
        });
        known.push(id);
        id
    }
}

fn flags(group: Option<&SchedDomain>) -> SdFlags {
    group.map_or(SdFlags::EMPTY, |sd| sd.flags)
}

/// Appends a ring to the table of rings.
fn store(topology: &mut Topology, ring: &[SgId]) -> std::ops::Range<u32> {
    let start = topology.rings.len() as u32;
    topology.rings.extend_from_slice(ring);
    start..topology.rings.len() as u32
}

/// The domain of `cpu` below `level`.
fn below(chains: &Chains, cpu: CpuId, level: usize) -> Option<&SchedDomain> {
    chains[cpu].get(level.checked_sub(1)?)
}

fn last(mask: &CpuMask) -> Option<CpuId> {
    mask.iter().last()
}

/// The level whose domain below lies within `span`: on machines of three hops the next one may not.
///
/// Kernel: topology.c find_descended_sibling(), v5.12–
fn descended(chains: &Chains, cpu: CpuId, mut level: usize, span: &CpuMask) -> usize {
    let chain = &chains[cpu];
    if level == 0 || chain[level - 1].span.is_subset(span) {
        return level;
    }
    while level > 0 && !chain[level - 1].span.is_subset(span) {
        level -= 1;
    }
    // Domains that span what the one below does are removed later.
    while level > 0 && chain[level - 1].span == chain[level].span {
        level -= 1;
    }
    level
}

/// The CPUs of a group that may balance for it: those whose own domain below is the group.
///
/// Kernel: topology.c build_balance_mask(), v4.12–
fn balance_mask(chains: &Chains, level: usize, span: &CpuMask) -> CpuMask {
    let arrives = |cpu: &CpuId| chains[*cpu].len() > level && below(chains, *cpu, level).is_some_and(|sd| sd.span == *span);
    let mask: CpuMask = span.iter().filter(arrives).collect();
    if mask.is_empty() { *span } else { mask }
}

/// How many cores the CPUs belong to.
///
/// Kernel: topology.c init_sched_groups_capacity(), v6.6–
fn cores(machine: &MachineView, mut span: CpuMask) -> u32 {
    let mut cores = 0;
    while let Some(cpu) = span.first() {
        cores += 1;
        span.remove(cpu);
        machine.cpus[cpu].smt.iter().for_each(|sibling| span.remove(sibling));
    }
    cores
}
