//! How much is to be moved from the busiest group to the local one, and of what.

use super::super::MigrationType;
use super::super::group::GroupType;
use super::Pair;
use crate::seam::{AboveMean, NumaImbalance, SiblingBalance};
use crate::topology::SdFlags;

/// So many tasks on another node are no imbalance: a pair that talks to each other.
///
/// Kernel: fair.c NUMA_IMBALANCE_MIN, v5.12– (a literal before)
const NUMA_IMBALANCE_MIN: i64 = 2;

impl Pair<'_> {
    /// Kernel: fair.c calculate_imbalance(), v5.5–
    pub(super) fn calculate_imbalance(&self) -> (MigrationType, i64) {
        let (local, busiest) = (self.local(), self.busiest());
        match busiest.group_type {
            GroupType::MisfitTask if self.domain.flags.has(SdFlags::ASYM_CPUCAPACITY) => (MigrationType::Misfit, 1),
            GroupType::MisfitTask => (MigrationType::Load, busiest.group_misfit_task_load as i64),
            GroupType::AsymPacking => (MigrationType::Task, busiest.sum_h_nr_running as i64),
            GroupType::SmtBalance | GroupType::Imbalanced => (MigrationType::Task, 1),
            _ if local.group_type == GroupType::HasSpare => self.fill_spare_capacity(),
            _ => (MigrationType::Load, self.even_out_load()),
        }
    }

    /// The local group takes what it has room for, without emptying the busiest one.
    fn fill_spare_capacity(&self) -> (MigrationType, i64) {
        let busiest = self.busiest();
        if busiest.group_type > GroupType::FullyBusy && !self.domain.flags.has(SdFlags::SHARE_LLC) {
            return self.fill_spare_util();
        }
        (MigrationType::Task, self.halve_and_spare_nodes(self.task_difference()))
    }

    /// Between caches: utilisation up to the local capacity. An idle balancer takes a task even where there is none left.
    fn fill_spare_util(&self) -> (MigrationType, i64) {
        let sums = &self.local().sums;
        let spare = sums.group_capacity.saturating_sub(sums.group_util) as i64;
        if spare == 0 && self.balancer_is_idle() { (MigrationType::Task, 1) } else { (MigrationType::Util, spare) }
    }

    /// By how many tasks, or idle CPUs, the groups differ: twice what is to be moved.
    fn task_difference(&self) -> i64 {
        let (local, busiest) = (self.local(), self.busiest());
        if busiest.sums.group_weight == 1 || self.prefer_sibling {
            match self.profile.sibling_balance {
                SiblingBalance::TaskCount => busiest.sums.sum_nr_running.saturating_sub(local.sums.sum_nr_running) as i64,
                SiblingBalance::ByCores => self.sibling_imbalance(),
            }
        } else {
            // Both are unsigned, of 32 bits: a busiest group with more idle CPUs asks for 2^31 - 1 tasks, in every kernel.
            i64::from((local.idle_cpus as u32).wrapping_sub(busiest.idle_cpus as u32))
        }
    }

    /// By how many tasks the busiest group has more than its share: more than 1 is worth a move.
    pub(super) fn sibling_excess(&self) -> i64 {
        match self.profile.sibling_balance {
            SiblingBalance::TaskCount => self.busiest().sums.sum_nr_running as i64 - self.local().sums.sum_nr_running as i64,
            SiblingBalance::ByCores => self.sibling_imbalance(),
        }
    }

    /// Twice the number of tasks by which the busiest group exceeds its share by number of cores, rounded.
    ///
    /// 2 * (cores(local) * nr(busiest) - cores(busiest) * nr(local)) / (cores(local) + cores(busiest))
    ///
    /// Kernel: fair.c sibling_imbalance(), v6.6–
    fn sibling_imbalance(&self) -> i64 {
        let tasks = |sums: &super::GroupSums| sums.sum_nr_running as i64;
        let (nr_busiest, nr_local) = (tasks(&self.busiest().sums), tasks(&self.local().sums));
        if !self.balancer_is_idle() || nr_busiest == 0 {
            return 0;
        }
        let (cores_busiest, cores_local) = (i64::from(self.busiest_group.cores), i64::from(self.local_group.cores));
        if cores_busiest == cores_local {
            return (nr_busiest - nr_local).max(0);
        }
        let excess = (cores_local * nr_busiest - cores_busiest * nr_local).max(0);
        let cores = cores_local + cores_busiest;
        let imbalance = (2 * excess + cores) / cores;
        // An idle group takes one of several tasks, however small it is.
        if imbalance <= 1 && nr_local == 0 && nr_busiest > 1 { 2 } else { imbalance }
    }

    /// Half of the difference; between nodes a small one is left alone.
    fn halve_and_spare_nodes(&self, difference: i64) -> i64 {
        let half = difference >> 1;
        if !self.domain.flags.has(SdFlags::NUMA) {
            return half;
        }
        match self.profile.numa_imbalance {
            NumaImbalance::FewAtSource if self.busiest().sums.sum_nr_running <= NUMA_IMBALANCE_MIN as u64 => 0,
            NumaImbalance::FewAtSource => half,
            NumaImbalance::HalvedFew => self.adjust_numa_imbalance(half),
            NumaImbalance::Few => self.adjust_numa_imbalance(difference) >> 1,
        }
    }

    /// Kernel: fair.c adjust_numa_imbalance(), v5.18–
    fn adjust_numa_imbalance(&self, imbalance: i64) -> i64 {
        let room = self.local().sums.sum_nr_running < u64::from(self.domain.imb_numa_nr);
        if room && imbalance <= NUMA_IMBALANCE_MIN { 0 } else { imbalance }
    }

    /// The local group is, or would become, overloaded too: load up to the mean of the domain, but no more than the
    /// busiest group has above it.
    fn even_out_load(&self) -> i64 {
        let (local, busiest, mean) = (self.local(), self.busiest(), self.sds.avg_load());
        let mut local_load = local.avg_load;
        if local.group_type < GroupType::Overloaded {
            local_load = local.load_over_capacity();
            let above_mean = local_load >= mean && self.profile.above_mean == AboveMean::Balanced;
            if local_load >= busiest.avg_load || above_mean {
                return 0;
            }
        }
        let surplus = busiest.avg_load.wrapping_sub(mean).wrapping_mul(busiest.sums.group_capacity);
        let deficit = mean.wrapping_sub(local_load).wrapping_mul(local.sums.group_capacity);
        (surplus.min(deficit) / 1024) as i64
    }
}
