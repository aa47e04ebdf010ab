//! Balance by load (up to v5.4): groups are compared with the mean load of their domain.
//!
//! ```text
//! stats.rs      sums over the CPUs of each group ─► its class ─► the busiest group
//! decide.rs     whether there is an imbalance between the busiest and the local group
//! imbalance.rs  how much load makes up for it
//! ```

mod decide;
mod imbalance;
mod stats;

use crate::Profile;
use crate::topology::{CpuIdleType, SchedDomain, SdFlags};
use fairground_stdx::SgId;

/// How busy a group is, idlest first.
///
/// Kernel: fair.c enum group_type, v4.12–v5.4
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum GroupClass {
    Other,
    /// It has a task that needs a bigger CPU (v4.20–).
    MisfitTask,
    /// A lower level could not balance it.
    Imbalanced,
    Overloaded,
}

/// What the statistics say of a group.
///
/// Kernel: fair.c struct sg_lb_stats, v4.12–v5.4
#[derive(Clone, Copy, Debug)]
pub(super) struct SgLbStats {
    /// Load over capacity, times 1024.
    pub(super) avg_load: u64,
    /// Sum of the loads of its CPUs, biased as the balance wants it.
    pub(super) group_load: u64,
    /// Sum of their loads as they are.
    pub(super) sum_weighted_load: u64,
    pub(super) load_per_task: u64,
    pub(super) group_capacity: u64,
    pub(super) group_util: u64,
    /// Its fair tasks.
    pub(super) sum_nr_running: u64,
    pub(super) idle_cpus: u64,
    pub(super) group_weight: u64,
    pub(super) group_class: GroupClass,
    /// It has more tasks than it can take.
    pub(super) group_no_capacity: bool,
    /// The greatest load of a task that needs a bigger CPU.
    pub(super) group_misfit_task_load: u64,
}

impl SgLbStats {
    /// A group without load and tasks.
    pub(super) const EMPTY: SgLbStats = SgLbStats {
        avg_load: 0,
        group_load: 0,
        sum_weighted_load: 0,
        load_per_task: 0,
        group_capacity: 0,
        group_util: 0,
        sum_nr_running: 0,
        idle_cpus: 0,
        group_weight: 0,
        group_class: GroupClass::Other,
        group_no_capacity: false,
        group_misfit_task_load: 0,
    };

    /// Whether there is something left that tasks could use.
    ///
    /// Kernel: fair.c group_has_capacity(), v4.12–v5.4
    pub(super) const fn has_capacity(&self, imbalance_pct: u32) -> bool {
        self.sum_nr_running < self.group_weight || self.group_capacity * 100 > self.group_util * imbalance_pct as u64
    }

    /// Whether tasks want more than there is.
    ///
    /// Kernel: fair.c group_is_overloaded(), v4.12–v5.4
    pub(super) const fn is_overloaded(&self, imbalance_pct: u32) -> bool {
        self.sum_nr_running > self.group_weight && self.group_capacity * 100 < self.group_util * imbalance_pct as u64
    }

    /// Kernel: fair.c group_classify(), v4.12–v5.4
    const fn classify(&self, imbalance_flag: bool) -> GroupClass {
        if self.group_no_capacity {
            GroupClass::Overloaded
        } else if imbalance_flag {
            GroupClass::Imbalanced
        } else if self.group_misfit_task_load > 0 {
            GroupClass::MisfitTask
        } else {
            GroupClass::Other
        }
    }
}

/// What the statistics say of a domain.
///
/// Kernel: fair.c struct sd_lb_stats, v4.12–v5.4
#[derive(Clone, Copy, Debug)]
pub(super) struct SdLbStats {
    pub(super) local: SgId,
    pub(super) local_stat: SgLbStats,
    pub(super) busiest: Option<SgId>,
    pub(super) busiest_stat: SgLbStats,
    pub(super) total_load: u64,
    pub(super) total_capacity: u64,
}

/// The busiest group of a domain beside the local one, with all that the decision reads.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) profile: &'a Profile,
    pub(super) domain: &'a SchedDomain,
    pub(super) idle: CpuIdleType,
    pub(super) local: SgLbStats,
    pub(super) busiest: SgLbStats,
    /// Mean load over capacity in the domain, times 1024.
    pub(super) avg_load: u64,
    /// Mean load of a task on the balancing CPU.
    pub(super) dst_load_per_task: u64,
}

impl Pair<'_> {
    fn local_has_capacity(&self) -> bool {
        self.local.has_capacity(self.domain.imbalance_pct)
    }
}

/// Whether the child domain of `domain` prefers its tasks to go to siblings first.
fn prefers_siblings(child: Option<&SchedDomain>) -> bool {
    child.is_some_and(|child| child.flags.has(SdFlags::PREFER_SIBLING))
}
