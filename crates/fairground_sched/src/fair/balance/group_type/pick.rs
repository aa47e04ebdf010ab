//! Whether a group is busier than the busiest one so far.

use super::super::busiest_group::sched_asym_prefer;
use super::super::group::GroupType;
use super::super::loads::capacity_greater;
use super::{LbEnv, SdLbStats, SgLbStats, smt_vs_nonsmt_groups};
use crate::Sched;
use crate::seam::SiblingBalance;
use crate::topology::{SchedGroup, SdFlags};
use fairground_stdx::SgId;

impl Sched {
    /// Kernel: fair.c update_sd_pick_busiest(), v5.5–
    #[inline(always)]
    pub(super) fn is_busier(&self, env: &LbEnv, sds: &SdLbStats, group: SgId, stat: &SgLbStats) -> bool {
        if stat.sum_h_nr_running == 0 || stat.group_type < sds.busiest_stat.group_type {
            return false;
        }
        let row = &self.topology.groups[group];
        let asymmetric = self.topology.domains[env.sd].flags.has(SdFlags::ASYM_CPUCAPACITY);
        let dst_capacity = self.capacity_of(env.dst_cpu);
        let can_help = capacity_greater(dst_capacity, row.max_capacity) && sds.local_stat.group_type == GroupType::HasSpare;
        if stat.group_type == GroupType::MisfitTask && asymmetric && !can_help {
            return false;
        }
        let busier = stat.group_type > sds.busiest_stat.group_type || self.is_busier_within_type(sds, row, stat);
        busier && !self.is_bigger(env, row, stat)
    }

    /// Whether a group without waiting tasks has bigger CPUs than the one that would take from it.
    fn is_bigger(&self, env: &LbEnv, row: &SchedGroup, stat: &SgLbStats) -> bool {
        self.topology.domains[env.sd].flags.has(SdFlags::ASYM_CPUCAPACITY)
            && stat.group_type <= GroupType::FullyBusy
            && capacity_greater(row.min_capacity, self.capacity_of(env.dst_cpu))
    }

    fn is_busier_within_type(&self, sds: &SdLbStats, row: &SchedGroup, stat: &SgLbStats) -> bool {
        let best = sds.busiest.map(|busiest| &self.topology.groups[busiest]);
        match stat.group_type {
            GroupType::Overloaded => stat.avg_load > sds.busiest_stat.avg_load,
            GroupType::Imbalanced => false,
            GroupType::AsymPacking => best.is_some_and(|best| !sched_asym_prefer(row.asym_prefer_cpu, best.asym_prefer_cpu)),
            GroupType::MisfitTask => self.has_bigger_misfit(&sds.busiest_stat, stat),
            GroupType::SmtBalance if stat.idle_cpus != 0 || sds.busiest_stat.idle_cpus != 0 => {
                self.has_less_spare(best, &sds.busiest_stat, row, stat)
            }
            GroupType::SmtBalance | GroupType::FullyBusy => self.is_more_fully_busy(best, &sds.busiest_stat, stat),
            GroupType::HasSpare => self.has_less_spare(best, &sds.busiest_stat, row, stat),
        }
    }

    fn has_bigger_misfit(&self, best: &SgLbStats, stat: &SgLbStats) -> bool {
        match self.profile.sibling_balance {
            SiblingBalance::TaskCount => stat.group_misfit_task_load >= best.group_misfit_task_load,
            SiblingBalance::ByCores => stat.group_misfit_task_load > best.group_misfit_task_load,
        }
    }

    /// Groups without waiting tasks have no mean load, so the first stays, unless it is no core of several threads.
    fn is_more_fully_busy(&self, best: Option<&SchedGroup>, best_stat: &SgLbStats, stat: &SgLbStats) -> bool {
        match self.profile.sibling_balance {
            SiblingBalance::TaskCount => stat.avg_load > best_stat.avg_load,
            SiblingBalance::ByCores => {
                let best_is_smt = best.is_some_and(|best| best.flags.has(SdFlags::SHARE_CPUCAPACITY));
                stat.avg_load > best_stat.avg_load || (stat.avg_load == best_stat.avg_load && !best_is_smt)
            }
        }
    }

    /// Fewer idle CPUs, or as many and more tasks. A core of several threads with one task is left alone where there
    /// are others.
    fn has_less_spare(&self, best: Option<&SchedGroup>, best_stat: &SgLbStats, row: &SchedGroup, stat: &SgLbStats) -> bool {
        let by_cores = self.profile.sibling_balance == SiblingBalance::ByCores;
        if by_cores && best.is_some_and(|best| smt_vs_nonsmt_groups(best, row)) {
            return !(row.flags.has(SdFlags::SHARE_CPUCAPACITY) && stat.sum_h_nr_running <= 1);
        }
        let (tasks, best_tasks) = (stat.sums.sum_nr_running, best_stat.sums.sum_nr_running);
        stat.idle_cpus < best_stat.idle_cpus || (stat.idle_cpus == best_stat.idle_cpus && tasks > best_tasks)
    }
}
