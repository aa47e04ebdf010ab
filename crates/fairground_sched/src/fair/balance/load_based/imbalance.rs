//! How much load is to be moved from the busiest group to the local one.

use super::{GroupClass, Pair};
use crate::fair::weight::{NICE_0_LOAD, SCHED_FIXEDPOINT_SHIFT};

/// Load of a task of nice 0 that always runs.
const NICE_0_WEIGHT: u64 = NICE_0_LOAD >> SCHED_FIXEDPOINT_SHIFT;

impl Pair<'_> {
    /// Up to the mean of the domain on both sides, but no more than what the busiest group has above its capacity
    /// where both are overloaded. Less than a task's load may be raised to that.
    ///
    /// Kernel: fair.c calculate_imbalance(), v4.12–v5.4
    pub(super) fn calculate_imbalance(mut self) -> u64 {
        let misfit = self.busiest.group_class == GroupClass::MisfitTask;
        if self.busiest.group_class == GroupClass::Imbalanced {
            self.busiest.load_per_task = self.busiest.load_per_task.min(self.avg_load);
        }
        let (local, busiest, mean) = (&self.local, &self.busiest, self.avg_load);
        if !misfit && (busiest.avg_load <= mean || local.avg_load >= mean) {
            return self.fix_small_imbalance(0);
        }
        let max_pull = busiest.avg_load.wrapping_sub(mean).min(self.load_above_capacity());
        let surplus = max_pull.wrapping_mul(busiest.group_capacity);
        let deficit = mean.wrapping_sub(local.avg_load).wrapping_mul(local.group_capacity);
        let mut imbalance = surplus.min(deficit) / 1024;
        if misfit {
            imbalance = imbalance.max(busiest.group_misfit_task_load);
        }
        if imbalance < busiest.load_per_task { self.fix_small_imbalance(imbalance) } else { imbalance }
    }

    /// Where both groups are overloaded: what the tasks beyond the busiest group's capacity amount to, so that no CPU
    /// there becomes idle.
    fn load_above_capacity(&self) -> u64 {
        let busiest = &self.busiest;
        let tasks = busiest.sum_nr_running * 1024;
        let both = busiest.group_class == GroupClass::Overloaded && self.local.group_class == GroupClass::Overloaded;
        match both && tasks > busiest.group_capacity {
            true => (tasks - busiest.group_capacity) * NICE_0_WEIGHT / busiest.group_capacity,
            false => u64::MAX,
        }
    }

    /// A difference below one task's load: a task moves if the groups change places at worst, or if more capacity is
    /// used after that.
    ///
    /// Kernel: fair.c fix_small_imbalance(), v4.12–v5.4
    fn fix_small_imbalance(&self, imbalance: u64) -> u64 {
        let (mut local, busiest) = (self.local, &self.busiest);
        let mut tasks = 2;
        if local.sum_nr_running == 0 {
            local.load_per_task = self.dst_load_per_task;
        } else if busiest.load_per_task > local.load_per_task {
            tasks = 1;
        }
        let scaled_load_per_task = busiest.load_per_task.wrapping_mul(1024) / busiest.group_capacity;
        let busiest_and_one = busiest.avg_load.wrapping_add(scaled_load_per_task);
        if busiest_and_one >= local.avg_load.wrapping_add(scaled_load_per_task.wrapping_mul(tasks)) {
            return busiest.load_per_task;
        }
        let used_now = used(&local, local.avg_load).wrapping_add(used(busiest, busiest.avg_load));
        let local_then = used(&local, local.avg_load.wrapping_add(self.added_load(&local)));
        let used_then = self.used_by_busiest_then(scaled_load_per_task).wrapping_add(local_then);
        if used_then / 1024 > used_now / 1024 { busiest.load_per_task } else { imbalance }
    }

    /// What the busiest group uses of its capacity with one task less, times 1024.
    fn used_by_busiest_then(&self, scaled_load_per_task: u64) -> u64 {
        let busiest = &self.busiest;
        match busiest.avg_load > scaled_load_per_task {
            true => used(busiest, busiest.avg_load - scaled_load_per_task),
            false => 0,
        }
    }

    /// By how much one of the busiest group's tasks raises the local group's load over capacity.
    fn added_load(&self, local: &super::SgLbStats) -> u64 {
        let busiest = &self.busiest;
        let all = busiest.avg_load.wrapping_mul(busiest.group_capacity);
        all.min(busiest.load_per_task.wrapping_mul(1024)) / local.group_capacity
    }
}

/// What a group uses of its capacity with that load over capacity, times 1024.
fn used(group: &super::SgLbStats, avg_load: u64) -> u64 {
    group.group_capacity.wrapping_mul(group.load_per_task.min(avg_load))
}
