//! Whether a group is busier than the busiest one so far.

use super::super::busiest_group::sched_asym_prefer;
use super::super::group::GroupType;
use super::super::loads::{capacity_greater, fits_capacity};
use super::{LbEnv, SdLbStats, SgLbStats, smt_vs_nonsmt_groups};
use crate::Sched;
use crate::seam::{BiggerCapacity, BiggerGroup, MisfitHelper, SiblingBalance};
use crate::topology::{SchedGroup, SdFlags};
use fairground_stdx::SgId;

/// A group of which it is asked whether it is the busiest.
pub(super) struct Candidate<'a> {
    pub(super) group: &'a SchedGroup,
    pub(super) stat: &'a SgLbStats,
}

impl Sched {
    /// Kernel: fair.c update_sd_pick_busiest(), v5.5–
    pub(super) fn is_busier(&self, env: &LbEnv, sds: &SdLbStats, group: SgId, stat: &SgLbStats) -> bool {
        if stat.sum_h_nr_running == 0 || stat.group_type < sds.busiest_stat.group_type {
            return false;
        }
        let row = &self.topology.groups[group];
        let asymmetric = self.topology.domains[env.sd].flags.has(SdFlags::ASYM_CPUCAPACITY);
        if asymmetric && stat.group_type == GroupType::MisfitTask && !self.can_help(env, sds, row) {
            return false;
        }
        let best = sds.busiest.filter(|_| stat.group_type == sds.busiest_stat.group_type);
        let best = best.map(|best| Candidate { group: &self.topology.groups[best], stat: &sds.busiest_stat });
        let busier = best.is_none_or(|best| self.is_busier_within_type(&best, &Candidate { group: row, stat }));
        // At first nothing is busiest, and that counts as a group with spare capacity.
        let asks = self.profile.bigger_group == BiggerGroup::Always || stat.group_type == sds.busiest_stat.group_type;
        busier && !(asymmetric && asks && self.is_bigger(env, sds, row, stat))
    }

    /// Whether a task that is too big for a group would be better off here.
    fn can_help(&self, env: &LbEnv, sds: &SdLbStats, row: &SchedGroup) -> bool {
        let may = self.profile.misfit_helper == MisfitHelper::Bigger || self.has_idle_siblings(env.dst_cpu);
        let has_more = match self.profile.bigger_capacity {
            BiggerCapacity::Quarter => fits_capacity(row.max_capacity, self.topology.groups[sds.local].max_capacity),
            BiggerCapacity::Twentieth => capacity_greater(self.capacity_of(env.dst_cpu), row.max_capacity),
        };
        may && has_more && sds.local_stat.group_type == GroupType::HasSpare
    }

    /// Whether a group without waiting tasks has bigger CPUs than the one that would take from it.
    fn is_bigger(&self, env: &LbEnv, sds: &SdLbStats, row: &SchedGroup, stat: &SgLbStats) -> bool {
        let bigger = || match self.profile.bigger_capacity {
            BiggerCapacity::Quarter => fits_capacity(self.topology.groups[sds.local].min_capacity, row.min_capacity),
            BiggerCapacity::Twentieth => capacity_greater(row.min_capacity, self.capacity_of(env.dst_cpu)),
        };
        stat.group_type <= GroupType::FullyBusy && bigger()
    }

    /// Whether a group is busier than the best so far, which is of the same type.
    pub(super) fn is_busier_within_type(&self, best: &Candidate<'_>, one: &Candidate<'_>) -> bool {
        match one.stat.group_type {
            GroupType::Overloaded => one.stat.avg_load > best.stat.avg_load,
            GroupType::Imbalanced => false,
            GroupType::AsymPacking => !sched_asym_prefer(one.group.asym_prefer_cpu, best.group.asym_prefer_cpu),
            GroupType::MisfitTask => self.has_bigger_misfit(best.stat, one.stat),
            GroupType::SmtBalance if one.stat.idle_cpus != 0 || best.stat.idle_cpus != 0 => self.has_less_spare(best, one),
            GroupType::SmtBalance | GroupType::FullyBusy => self.is_more_fully_busy(best, one),
            GroupType::HasSpare => self.has_less_spare(best, one),
        }
    }

    fn has_bigger_misfit(&self, best: &SgLbStats, stat: &SgLbStats) -> bool {
        match self.profile.sibling_balance {
            SiblingBalance::TaskCount => stat.group_misfit_task_load >= best.group_misfit_task_load,
            SiblingBalance::ByCores => stat.group_misfit_task_load > best.group_misfit_task_load,
        }
    }

    /// Groups without waiting tasks have no mean load, so the first stays, unless it is no core of several threads.
    fn is_more_fully_busy(&self, best: &Candidate<'_>, one: &Candidate<'_>) -> bool {
        let (load, best_load) = (one.stat.avg_load, best.stat.avg_load);
        match self.profile.sibling_balance {
            SiblingBalance::TaskCount => load > best_load,
            SiblingBalance::ByCores => {
                let best_is_smt = best.group.flags.has(SdFlags::SHARE_CPUCAPACITY);
                load > best_load || (load == best_load && !best_is_smt)
            }
        }
    }

    /// Fewer idle CPUs, or as many and more tasks. A core of several threads with one task is left alone where there
    /// are others.
    fn has_less_spare(&self, best: &Candidate<'_>, one: &Candidate<'_>) -> bool {
        let by_cores = self.profile.sibling_balance == SiblingBalance::ByCores;
        if by_cores && smt_vs_nonsmt_groups(best.group.flags, one.group.flags) {
            return !(one.group.flags.has(SdFlags::SHARE_CPUCAPACITY) && one.stat.sum_h_nr_running <= 1);
        }
        let (tasks, best_tasks) = (one.stat.sums.sum_nr_running, best.stat.sums.sum_nr_running);
        let (idle, best_idle) = (one.stat.idle_cpus, best.stat.idle_cpus);
        idle < best_idle || (idle == best_idle && tasks > best_tasks)
    }
}
