//! What differs between kernels.

use fairground_model::features::Feat;
use fairground_model::version::{KernelVersion, v};
use fairground_sched::Profile;
use fairground_sched::seam::SchedIdleCpu;

/// The rules of one kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    base: KernelVersion,
    /// SIS_PROP: searches have a budget by their cost.
    pub(super) sis_prop: bool,
    /// SIS_UTIL: a search is limited by how much its cache is used.
    pub(super) sis_util: bool,
    /// SIS_AVG_CPU: a CPU that is hardly ever idle does not search.
    pub(super) sis_avg_cpu: bool,
    /// What is free by tasks of policy SCHED_IDLE is not for one of that policy itself (v7.2, or a kernel with that rule).
    pub(super) idle_policy_is_for_others: bool,
}

/// What becomes of the CPU that is remembered as used before the previous one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Recent {
    /// It is not known yet.
    Unknown,
    /// The previous CPU takes its place when it was chosen.
    OnHit,
    /// Always, and it is the previous CPU that is asked whether it is allowed.
    AlwaysUnchecked,
    /// Always.
    Always,
}

/// Whose threads are looked at beside the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Threads {
    /// Those of the target, when nothing else was found.
    OfTarget,
    /// Those of the previous CPU and itself, before the search.
    OfPrev,
    /// Those of the previous CPU without itself, before the search.
    BesidePrev,
}

impl Rules {
    pub(super) fn of(profile: &Profile) -> Rules {
        let has = |feat| profile.feats.has(feat);
        Rules {
            base: profile.base,
            sis_prop: has(Feat::SIS_PROP),
            sis_util: has(Feat::SIS_UTIL),
            sis_avg_cpu: has(Feat::SIS_AVG_CPU),
            idle_policy_is_for_others: profile.sched_idle_cpu == SchedIdleCpu::FreeForOthers,
        }
    }

    fn since(&self, major: u8, minor: u8) -> bool {
        self.base >= v(major, minor)
    }

    /// A CPU with nothing but tasks of policy SCHED_IDLE is as good as an idle one.
    pub(super) fn idle_policy_is_free(&self) -> bool {
        self.since(5, 7) || self.idle_policy_is_for_others
    }
    /// A per-CPU kernel thread may keep its wakee on its own CPU.
    pub(super) fn kthreads_stack(&self) -> bool {
        self.since(5, 6)
    }
    pub(super) fn recent(&self) -> Recent {
        match () {
            () if !self.since(4, 16) => Recent::Unknown,
            () if !self.since(5, 14) => Recent::OnHit,
            () if !self.since(6, 0) => Recent::AlwaysUnchecked,
            () => Recent::Always,
        }
    }
    /// Known CPUs outside of the target's cluster are only a last resort, and its cluster is searched first.
    pub(super) fn knows_clusters(&self) -> bool {
        self.since(6, 7)
    }
    /// Cores and CPUs are searched in one pass from behind the target.
    pub(super) fn one_pass(&self) -> bool {
        self.since(5, 13)
    }
    pub(super) fn threads(&self) -> Threads {
        match () {
            () if !self.one_pass() => Threads::OfTarget,
            () if !self.since(6, 0) => Threads::OfPrev,
            () => Threads::BesidePrev,
        }
    }
    /// A CPU that shares its cache with nobody does not search, whatever limits there are.
    pub(super) fn loners_never_search(&self) -> bool {
        !self.since(6, 0)
    }
    /// CPUs that the task may not use are passed over without using up the budget, and a core is left at its first
    /// busy thread.
    pub(super) fn skips_forbidden(&self) -> bool {
        self.since(5, 7)
    }
    /// Between caches the loads of two nodes are added up to decide towards which CPU the task goes.
    pub(super) fn compares_nodes(&self) -> bool {
        !self.since(4, 14)
    }
    /// CPUs of different capacities have a search of their own, which is not looked at here.
    pub(super) fn searches_capacity(&self) -> bool {
        self.since(5, 7)
    }
}
