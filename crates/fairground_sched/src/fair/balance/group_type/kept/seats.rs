//! Which groups a CPU is in.

use super::rank::Ranks;
use super::{GroupStats, Ring, Row};
use crate::Sched;
use crate::fair::balance::group_type::cpu_stat::CpuStat;
use crate::topology::{SchedDomain, SdFlags, Topology};
use fairground_stdx::{CpuId, IndexVec, SdId, SgId, SgRingId};
use std::collections::BTreeMap;

/// The statistics of a domain of fewer CPUs are added up as fast as what would be kept of them.
const FEWEST_CPUS: u32 = 8;

/// The group of a CPU in a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) ring: SgRingId,
    pub(super) place: usize,
}

/// The seats of all CPUs.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    of_cpu: IndexVec<CpuId, Box<[Seat]>>,
    of_domain: IndexVec<SdId, Option<SgRingId>>,
}

impl Seats {
    /// Those of a CPU.
    #[inline]
    pub(super) fn of(&self, cpu: CpuId) -> &[Seat] {
        &self.of_cpu[cpu]
    }

    /// The ring of a domain, if anything is kept of it.
    #[inline]
    pub(super) fn ring_of(&self, sd: SdId) -> Option<SgRingId> {
        self.of_domain[sd]
    }
}

impl SchedDomain {
    /// Whether it pays to keep the statistics of its groups, and they depend on nothing but the CPUs in them: groups do
    /// not intersect, and none is better than another.
    fn is_kept(&self) -> bool {
        let special = SdFlags::NUMA.with(SdFlags::ASYM_PACKING).with(SdFlags::ASYM_CPUCAPACITY);
        self.span_weight >= FEWEST_CPUS && !self.flags.intersects(special)
    }
}

impl Ring {
    /// The ring of a domain, with no CPU counted yet.
    fn of(topology: &Topology, domain: &SchedDomain) -> Ring {
        let groups = topology.rings[domain.groups.start as usize..domain.groups.end as usize].to_vec();
        let is_smt = |&group: &SgId| topology.groups[group].flags.has(SdFlags::SHARE_CPUCAPACITY);
        let smt_groups = groups.iter().filter(|&group| is_smt(group)).count();
        Ring {
            start: domain.groups.start,
            rows: groups.iter().map(|&group| Row::without_cpus(&topology.groups[group])).collect(),
            ranks: Ranks::new(groups.len()),
            stale: Vec::with_capacity(groups.len()),
            total_load: 0,
            total_util: 0,
            total_capacity: groups.iter().map(|&group| topology.groups[group].capacity).sum(),
            overloaded_cpus: 0,
            alike: smt_groups == 0 || smt_groups == groups.len(),
            groups,
        }
    }
}

impl Sched {
    /// Finds out which groups CPUs are in. All CPUs are to be read anew. Domains of before a hotplug, in which a balance
    /// may still go on, have no ring.
    #[inline(never)]
    pub(super) fn seat_cpus(&mut self) {
        let topology = &self.topology;
        let mut seats = Seats { of_cpu: IndexVec::new(), of_domain: IndexVec::filled(None, topology.domains.len()) };
        let mut rings: IndexVec<SgRingId, Ring> = IndexVec::new();
        let mut known: BTreeMap<u32, SgRingId> = BTreeMap::new();
        for cpu in self.rqs.ids() {
            let mut own = Vec::new();
            for sd in topology.domains_of(cpu).filter(|&sd| topology.domains[sd].is_kept()) {
                let domain = &topology.domains[sd];
                let ring = *known.entry(domain.groups.start).or_insert_with(|| rings.push(Ring::of(topology, domain)));
                seats.of_domain[sd] = Some(ring);
                own.push(Seat { ring, place: rings[ring].local(domain) });
            }
            seats.of_cpu.push(own.into());
        }
        self.group_stats = GroupStats {
            changed: self.rqs.ids().collect(),
            seats: Some(seats),
            cpus: IndexVec::filled(CpuStat::default(), self.rqs.len()),
            rings,
        };
    }
}
