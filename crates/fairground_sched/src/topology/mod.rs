//! Scheduling domains and groups: within what spans of CPUs tasks are placed and balanced.
//!
//! Every CPU has its own chain of domains, smallest span first; each domain is divided into groups. Domains of
//! one level and span differ only in whose they are, which group is the first, and in their state of balancing.

mod asym;
mod build;
mod cached;
mod capacity;
mod chain;
mod degenerate;
mod domain;
mod flags;
mod groups;
mod interval;
mod levels;
#[cfg(test)]
mod tests;
mod threads;

pub(crate) use domain::SMT_IMBALANCE_PCT;
pub use fairground_model::{LbStats, SdStats};
pub use flags::SdFlags;
pub use threads::Threads;

use crate::ctx::SCHED_CLOCK_AT_START;
use crate::seam::DomainNames;
use fairground_stdx::{CpuId, CpuMask, IndexVec, SdId, SdSharedId, SgId};

/// What a domain spans.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// The threads of a core.
    Smt,
    /// The cores of a cluster.
    Cluster,
    /// The CPUs of a last-level cache.
    Mc,
    /// The CPUs of a node (DIE, PKG from v6.7).
    Die,
    /// The node, where nodes differ in distance.
    Node,
    /// All CPUs up to the so-many-th distance above the local one, counted from 1.
    Numa(u8),
}

impl Level {
    /// The name in debugfs.
    pub const fn debugfs_name(self, names: DomainNames) -> &'static str {
        match self {
            Level::Smt => "SMT",
            Level::Cluster => "CLS",
            Level::Mc => "MC",
            Level::Die => names.die(),
            Level::Node => "NODE",
            Level::Numa(_) => "NUMA",
        }
    }
}

/// A scheduling domain: a level as one CPU sees it.
///
/// Kernel: sched/topology.h struct sched_domain, v4.12–
#[derive(Clone, Debug)]
pub struct SchedDomain {
    /// Whose view it is.
    pub cpu: CpuId,
    /// What it spans.
    pub level: Level,
    /// The place of that level in the machine's list of levels, those removed included (`level` in debugfs).
    pub level_index: u32,
    /// Its CPUs.
    pub span: CpuMask,
    /// How many they are.
    pub span_weight: u32,
    /// What it is for.
    pub flags: SdFlags,
    /// The next larger domain of this CPU.
    pub parent: Option<SdId>,
    /// The next smaller one.
    pub child: Option<SdId>,
    /// Its groups: a ring, which stands here in [`Topology::rings`].
    pub groups: std::ops::Range<u32>,
    /// Where in [`Topology::rings`] the ring is entered.
    pub ring_start: u32,
    /// The group there: the one that holds `cpu`.
    pub first_group: SgId,
    /// The flags of that group, if they are others than those that other CPUs' domains see: of domains between nodes, each CPU has
    /// groups of its own, and only in them do the flags follow domains that are removed.
    pub local_flags: Option<SdFlags>,
    /// Bounds of the balance interval, ms.
    pub min_interval: u32,
    /// The upper bound, ms.
    pub max_interval: u32,
    /// By how much the interval is longer while the CPU is busy.
    pub busy_factor: u32,
    /// From which ratio of loads on, in percent, there is an imbalance.
    pub imbalance_pct: u32,
    /// How many failed balances make the cache not matter.
    pub cache_nice_tries: u32,
    /// Which of the older loads a busy balancer looks at (up to v5.2).
    pub busy_idx: u32,
    /// Which one an idle balancer looks at.
    pub idle_idx: u32,
    /// How many tasks a node may have more than another without that being an imbalance (from v5.18).
    pub imb_numa_nr: u32,
    /// What the CPUs of one cache share, if it spans no more than one.
    pub shared: Option<SdSharedId>,

    /// jiffies of the last balance; negative: it was before the run began.
    pub last_balance: i64,
    /// The present interval, ms.
    pub balance_interval: u32,
    /// Balances in a row that failed to move a task.
    pub nr_balance_failed: u32,
    /// The highest cost of a newidle balance of late, ns.
    pub max_newidle_lb_cost: u64,
    /// jiffies of the last (up to v5.15: next) decay of that cost.
    pub last_decay_max_lb_cost: u64,
    /// Mean cost of a search for an idle CPU, ns (SIS_PROP, SIS_AVG_CPU).
    pub avg_scan_cost: u64,
    /// NI_RANDOM: calls, calls that pulled a task, and the rate of the past in 1/1024.
    pub newidle: NewidleRate,
    /// Counters (/proc/schedstat).
    pub stats: SdStats,
}

/// How often newidle balance was tried in a domain, and with what success.
///
/// Kernel: fair.c update_newidle_stats(), v6.18– (carried back into stable kernels)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewidleRate {
    /// Calls since the rate was taken last.
    pub call: u32,
    /// How many pulled something, weighted by the inverse of their probability.
    pub success: u32,
    /// The rate, in 1/1024.
    pub ratio: u32,
    /// When the rate was taken last, by the scheduler's clock in ns.
    pub stamp: u64,
}

impl Default for NewidleRate {
    fn default() -> NewidleRate {
        NewidleRate { call: 512, success: 256, ratio: 512, stamp: SCHED_CLOCK_AT_START }
    }
}

/// A scheduling group: a part of a domain.
///
/// Kernel: sched.h struct sched_group with sched_group_capacity, v4.12–
#[derive(Clone, Debug)]
pub struct SchedGroup {
    /// Its CPUs.
    pub span: CpuMask,
    /// The same in order of their numbers: balance goes through them again and again.
    pub cpus: Box<[CpuId]>,
    /// How many they are.
    pub group_weight: u32,
    /// The CPUs that may balance on its behalf (group_balance_mask).
    pub balance_mask: CpuMask,
    /// How many cores they belong to (from v6.6).
    pub cores: u32,
    /// The flags of the child domain (from v5.15; empty at the lowest level), also where that is removed since a smaller one
    /// spans the same. Of the group that holds the CPU see [`SchedDomain::local_flags`].
    pub flags: SdFlags,
    /// The CPU of the highest priority (ASYM_PACKING).
    pub asym_prefer_cpu: CpuId,
    /// Sum of the capacities of its CPUs.
    pub capacity: u64,
    /// The smallest of them.
    pub min_capacity: u64,
    /// The biggest of them.
    pub max_capacity: u64,
    /// jiffies from when on the capacity is refreshed by newidle balance too.
    pub next_update: u64,
    /// A lower level could not balance for lack of allowed CPUs.
    pub imbalance: bool,
}

/// What the CPUs of one cache share.
///
/// Kernel: sched/topology.h struct sched_domain_shared, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedDomainShared {
    /// CPUs whose tick runs.
    pub nr_busy_cpus: u32,
    /// Whether there may be a core all of whose threads are idle.
    pub has_idle_cores: bool,
    /// How many CPUs a search for an idle one may look at (SIS_UTIL); 0 in new domains until they are first balanced.
    pub nr_idle_scan: u32,
}

/// What a CPU remembers of its domains.
///
/// Kernel: topology.c update_top_cache_domain(), v4.12–
#[derive(Clone, Copy, Debug)]
pub struct CpuDomains {
    /// The smallest domain; none on a machine of one CPU or off line.
    pub base: Option<SdId>,
    /// The highest one that shares a cache.
    pub sd_llc: Option<SdId>,
    /// How many CPUs that spans, 1 if there is none.
    pub llc_size: u32,
    /// The first of them, or the CPU itself: two CPUs share a cache if this is equal.
    pub llc_id: CpuId,
    /// The first CPU of its cluster, else `llc_id` (sd_share_id).
    pub share_id: CpuId,
    /// What those that share the cache share.
    pub sd_llc_shared: Option<SdSharedId>,
    /// Where it is noted whether there is an idle core: there, or in what those of the domain of all capacities share.
    pub idle_cores_shared: Option<SdSharedId>,
    /// The lowest NUMA domain.
    pub sd_numa: Option<SdId>,
    /// The highest domain with ASYM_PACKING.
    pub sd_asym_packing: Option<SdId>,
    /// The lowest domain that spans all capacities of the machine.
    pub sd_asym_cpucapacity: Option<SdId>,
}

/// All domains of the machine.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// The domains of all CPUs.
    pub domains: IndexVec<SdId, SchedDomain>,
    /// Their groups.
    pub groups: IndexVec<SgId, SchedGroup>,
    /// The rings that groups form, one after the other; views of one group share its row.
    pub rings: Vec<SgId>,
    /// What caches share.
    pub shared: IndexVec<SdSharedId, SchedDomainShared>,
    /// What each CPU remembers.
    pub cpus: IndexVec<CpuId, CpuDomains>,
    /// The threads of each core.
    pub threads: Threads,
    /// The full capacity of each CPU, before interrupts and other classes take their part.
    pub capacity_orig: IndexVec<CpuId, u32>,
    /// Ticks in a second.
    pub hz: u64,
    /// Busy CPUs balance a jiffy earlier than the interval says (from v5.10).
    pub short_intervals: bool,
    /// Upper bound of every balance interval, jiffies: HZ * CPUs / 10, those that were on line before the last one came.
    pub max_load_balance_interval: u64,
    /// Some CPU has two tasks or more (root_domain.overload).
    pub overload: bool,
    /// The biggest capacity of any CPU (max_cpu_capacity).
    pub max_cpu_capacity: u32,
    /// Some core has more than one thread (sched_smt_active).
    pub smt_active: bool,
    /// Some domain is a cluster (sched_cluster_active).
    pub cluster_active: bool,
    /// The level of nodes that was built last, 0 if none was.
    pub(super) numa_level: u8,
    /// CPUs differ in capacity (sched_asym_cpucap_active).
    pub asym_cpucap_active: bool,
}

impl Topology {
    /// The domains of `cpu`, smallest first.
    #[inline]
    pub fn domains_of(&self, cpu: CpuId) -> impl Iterator<Item = SdId> + '_ {
        std::iter::successors(self.cpus[cpu].base, |&sd| self.domains[sd].parent)
    }

    /// The groups of a domain, that of its own CPU first.
    #[inline]
    pub fn groups_of(&self, sd: SdId) -> impl Iterator<Item = SgId> + '_ {
        let SchedDomain { groups, ring_start, .. } = &self.domains[sd];
        (*ring_start..groups.end).chain(groups.start..*ring_start).map(|at| self.rings[at as usize])
    }

    /// Whether two CPUs share their last-level cache.
    ///
    /// Kernel: core.c cpus_share_cache(), v4.12–
    #[inline]
    pub fn cpus_share_cache(&self, a: CpuId, b: CpuId) -> bool {
        self.cpus[a].llc_id == self.cpus[b].llc_id
    }
}

/// In what state a CPU balances.
///
/// Kernel: sched/idle.h enum cpu_idle_type, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuIdleType {
    /// It runs a task.
    NotIdle,
    /// It is idle.
    Idle,
    /// It has just run out of tasks.
    NewlyIdle,
}
