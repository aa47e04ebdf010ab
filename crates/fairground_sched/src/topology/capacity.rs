//! Capacities when domains are built.

use super::{SchedDomain, SdFlags, Topology};
use crate::profile::Profile;
use crate::seam::{NumaAllowance, SmtCapacity};
use fairground_model::MachineView;
use fairground_stdx::CpuId;

/// The capacity of a core whose threads all work, in 1/1024 of a core with one thread.
///
/// Kernel: topology.c smt_gain, v4.12–v4.20
const SMT_GAIN: u32 = 1178;

/// The full capacity of a CPU, before interrupts and other classes take their part.
///
/// Kernel: topology.h arch_scale_cpu_capacity(), v4.12–
pub(super) fn capacity_orig(profile: &Profile, machine: &MachineView, cpu: CpuId) -> u32 {
    let view = &machine.cpus[cpu];
    let threads = view.smt.and(&machine.online).weight() as u32;
    match profile.smt_capacity {
        SmtCapacity::Shared if machine.levels.smt && threads > 1 => (SMT_GAIN / threads).max(1),
        SmtCapacity::Shared | SmtCapacity::Full => view.capacity,
    }
}

/// Sets the capacities of all groups: the sum, the smallest and the biggest of their CPUs.
///
/// Kernel: topology.c init_sched_groups_capacity(), v4.12–
pub(super) fn init_group_capacity(topology: &mut Topology) {
    let capacity_orig = &topology.capacity_orig;
    for group in topology.groups.iter_mut() {
        let capacities = || group.span.iter().map(|cpu| u64::from(capacity_orig[cpu]));
        group.capacity = capacities().sum();
        group.min_capacity = capacities().min().unwrap_or(0);
        group.max_capacity = capacities().max().unwrap_or(0);
    }
}

/// Sets how many tasks a node of `chain` may have more than another.
///
/// At the first domain above the caches: n = weight / weight of the cache; allowance = n, or weight >> shift if
/// n = 1, at least 1. Above: allowance * (weight / weight of the lowest NUMA domain, at least 1).
///
/// Kernel: topology.c build_sched_domains(), v5.18–
pub(super) fn numa_imbalance(rule: NumaAllowance, chain: &mut [SchedDomain]) {
    let Some(shift) = rule.one_cache_shift() else { return };
    let (mut imb, mut imb_span) = (0, 1);
    for at in 0..chain.len() {
        let weight = chain[at].span_weight;
        let shares = |sd: &SchedDomain| sd.flags.has(SdFlags::SHARE_LLC);
        let child = at.checked_sub(1).map(|below| &chain[below]).filter(|child| shares(child));
        if let Some(child) = child.filter(|_| !shares(&chain[at])) {
            let caches = weight / child.span_weight;
            imb = if caches == 1 { weight >> shift } else { caches }.max(1);
            imb_span = chain[at + 1..].iter().find(|sd| sd.flags.has(SdFlags::NUMA)).map_or(weight, |sd| sd.span_weight);
            chain[at].imb_numa_nr = imb;
        } else {
            chain[at].imb_numa_nr = imb * (weight / imb_span).max(1);
        }
    }
}
