//! Balance by how busy groups are (v5.5 on).
//!
//! ```text
//! stats.rs      sums over the CPUs of each group ─► its type ─► the busiest group
//! cpu_stat.rs   what is read of each CPU
//! kept/         those sums, kept from one balance to the next
//! pick.rs       whether a group is busier than the busiest so far
//! decide.rs     whether there is an imbalance between the busiest and the local group
//! imbalance.rs  how much of what makes up for it
//! asym.rs       CPUs of different priority
//! idle_scan.rs  what wake-ups learn from the sums
//! ```

mod asym;
mod cpu_stat;
mod decide;
mod idle_scan;
mod imbalance;
mod kept;
mod pick;
mod stats;

pub(crate) use kept::GroupStats;

use super::LbEnv;
use super::group::{GroupSums, GroupType};
use crate::Profile;
use crate::topology::{CpuIdleType, SchedDomain, SchedGroup, SdFlags};
use fairground_stdx::SgId;

/// What the statistics say of a group.
///
/// Kernel: fair.c struct sg_lb_stats, v5.5–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SgLbStats {
    pub(super) sums: GroupSums,
    /// Sum of the loads of its CPUs.
    pub(super) group_load: u64,
    /// That load over its capacity; only for an overloaded group.
    pub(super) avg_load: u64,
    /// Its fair tasks.
    pub(super) sum_h_nr_running: u64,
    pub(super) idle_cpus: u64,
    pub(super) group_type: GroupType,
    /// Its tasks belong on the balancing CPU, which has a higher priority.
    pub(super) group_asym_packing: bool,
    /// It is a core with more than one task, and the balancing CPU is idle.
    pub(super) group_smt_balance: bool,
    /// The greatest load of a task that needs another CPU.
    pub(super) group_misfit_task_load: u64,
    /// However many tasks it has, it is not overloaded.
    pub(super) never_overloaded: bool,
}

impl SgLbStats {
    /// A group of which nothing is known: any group with a task is busier.
    pub(super) const IDLEST: SgLbStats = SgLbStats {
        sums: GroupSums { group_weight: 0, group_capacity: 0, group_util: 0, group_runnable: 0, sum_nr_running: 0 },
        group_load: 0,
        avg_load: 0,
        sum_h_nr_running: 0,
        idle_cpus: u64::MAX,
        group_type: GroupType::HasSpare,
        group_asym_packing: false,
        group_smt_balance: false,
        group_misfit_task_load: 0,
        never_overloaded: false,
    };

    /// A group none of whose CPUs has been looked at yet.
    fn without_cpus(group: &SchedGroup) -> SgLbStats {
        let (weight, capacity) = (u64::from(group.group_weight), group.capacity);
        let sums = GroupSums { group_weight: weight, group_capacity: capacity, ..GroupSums::default() };
        SgLbStats { sums, idle_cpus: 0, ..SgLbStats::IDLEST }
    }

    /// Load per capacity, times 1024.
    const fn load_over_capacity(&self) -> u64 {
        self.group_load.wrapping_mul(1024) / self.sums.group_capacity
    }
}

/// What the statistics say of a domain.
///
/// Kernel: fair.c struct sd_lb_stats, v5.5–
#[derive(Clone, Copy, Debug)]
pub(super) struct SdLbStats {
    pub(super) local: SgId,
    pub(super) local_stat: SgLbStats,
    pub(super) busiest: Option<SgId>,
    pub(super) busiest_stat: SgLbStats,
    pub(super) total_load: u64,
    pub(super) total_capacity: u64,
    pub(super) total_util: u64,
    /// Tasks wait on some CPU, or one does not fit it (SG_OVERLOAD).
    pub(super) overload: bool,
}

impl SdLbStats {
    /// A domain of which nothing is known.
    const fn new(local: SgId) -> SdLbStats {
        SdLbStats {
            local,
            local_stat: SgLbStats::IDLEST,
            busiest: None,
            busiest_stat: SgLbStats::IDLEST,
            total_load: 0,
            total_capacity: 0,
            total_util: 0,
            overload: false,
        }
    }

    /// A group's sums go into those of the domain.
    const fn add_to_totals(&mut self, stat: &SgLbStats) {
        self.total_load += stat.group_load;
        self.total_capacity += stat.sums.group_capacity;
        self.total_util += stat.sums.group_util;
    }
    /// Mean load per capacity in the domain, times 1024.
    const fn avg_load(&self) -> u64 {
        self.total_load.wrapping_mul(1024) / self.total_capacity
    }
}

/// The busiest group of a domain beside the local one, with all that the decision reads.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) profile: &'a Profile,
    pub(super) domain: &'a SchedDomain,
    pub(super) idle: CpuIdleType,
    pub(super) local_group: &'a SchedGroup,
    pub(super) busiest_group: &'a SchedGroup,
    pub(super) sds: &'a SdLbStats,
    /// Tasks are spread over the groups (SD_PREFER_SIBLING).
    pub(super) prefer_sibling: bool,
}

impl Pair<'_> {
    const fn local(&self) -> &SgLbStats {
        &self.sds.local_stat
    }
    /// The flags of the local group, as this CPU's domain sees it.
    fn local_flags(&self) -> SdFlags {
        self.domain.local_flags.unwrap_or(self.local_group.flags)
    }
    const fn busiest(&self) -> &SgLbStats {
        &self.sds.busiest_stat
    }
    fn balancer_is_idle(&self) -> bool {
        self.idle != CpuIdleType::NotIdle
    }
}

/// Whether exactly one of two groups is a core with several threads.
///
/// Kernel: fair.c smt_vs_nonsmt_groups(), v6.6–
fn smt_vs_nonsmt_groups(a: SdFlags, b: SdFlags) -> bool {
    a.has(SdFlags::SHARE_CPUCAPACITY) != b.has(SdFlags::SHARE_CPUCAPACITY)
}
