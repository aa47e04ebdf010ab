//! What each CPU remembers of its domains.

use super::{CpuDomains, SchedDomain, SdFlags, Topology};
use fairground_stdx::{CpuId, SdId};

impl CpuDomains {
    /// Those of a CPU without domains.
    pub(super) fn alone(cpu: CpuId) -> CpuDomains {
        CpuDomains {
            base: None,
            sd_llc: None,
            llc_size: 1,
            llc_id: cpu,
            share_id: cpu,
            sd_llc_shared: None,
            idle_cores_shared: None,
            sd_numa: None,
            sd_asym_packing: None,
            sd_asym_cpucapacity: None,
        }
    }
}

/// Looks the domains of `cpu` up, whose smallest is `base`. `asym` marks the domain where tasks find every capacity.
///
/// Kernel: topology.c update_top_cache_domain(), v4.12–
pub(super) fn remember(topology: &Topology, cpu: CpuId, base: Option<SdId>, asym: SdFlags) -> CpuDomains {
    let chain: Vec<(SdId, &SchedDomain)> =
        std::iter::successors(base, |&sd| topology.domains[sd].parent).map(|sd| (sd, &topology.domains[sd])).collect();
    let lowest = |flag| chain.iter().find(|(_, sd)| sd.flags.has(flag)).copied();
    // Such flags hold from the smallest domain on without a gap.
    let highest = |flag| chain.iter().take_while(|(_, sd)| sd.flags.has(flag)).last().copied();
    let first = |sd: &SchedDomain| sd.span.first().unwrap_or(cpu);
    let llc = highest(SdFlags::SHARE_LLC);
    let llc_id = llc.map_or(cpu, |(_, sd)| first(sd));
    let capacities = lowest(asym);
    let shared = llc.and_then(|(_, sd)| sd.shared);
    // Only what shares a cache has a shared record before v7.2, and a cache below that spans all counts for itself.
    let of_capacities = capacities.filter(|(_, sd)| !sd.flags.has(SdFlags::SHARE_LLC)).and_then(|(_, sd)| sd.shared);
    CpuDomains {
        base,
        sd_llc: llc.map(|(id, _)| id),
        llc_size: llc.map_or(1, |(_, sd)| sd.span_weight),
        llc_id,
        share_id: lowest(SdFlags::CLUSTER).map_or(llc_id, |(_, sd)| first(sd)),
        sd_llc_shared: shared,
        idle_cores_shared: of_capacities.or(shared),
        sd_numa: lowest(SdFlags::NUMA).map(|(id, _)| id),
        sd_asym_packing: highest(SdFlags::ASYM_PACKING).map(|(id, _)| id),
        sd_asym_cpucapacity: capacities.map(|(id, _)| id),
    }
}
