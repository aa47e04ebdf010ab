//! Placement on CPUs of different capacities.

use super::Placing;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::balance::loads::fits_capacity;
use crate::seam::IdleCapacity;
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, SdId, TaskId};

impl Sched {
    /// What a CPU must have room for: the task's utilisation, brought up to date, if CPUs differ in capacity at all.
    ///
    /// Kernel: fair.c select_idle_sibling(), v5.11– (select_idle_capacity() before)
    pub(super) fn util_to_fit(&mut self, cx: &Ctx<'_, '_>, task: TaskId) -> Option<u64> {
        if !self.topology.asym_cpucap_active || self.profile.idle_capacity == IdleCapacity::None {
            return None;
        }
        self.sync_entity_load_avg(cx, task);
        Some(self.task_util_est(task))
    }

    /// Whether the task fits the CPU, where that is asked before the search.
    ///
    /// Kernel: fair.c asym_fits_cpu(), v5.11–
    #[inline]
    pub(super) fn fits(&self, util: Option<u64>, cpu: CpuId) -> bool {
        match util {
            Some(util) if self.profile.idle_capacity == IdleCapacity::AfterKnown => fits_capacity(util, self.capacity_of(cpu)),
            _ => true,
        }
    }

    /// The search by capacity, where CPUs differ and the target's domains span all kinds: it ends the choice.
    pub(super) fn search_capacity(
        &self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        target: CpuId,
        util: Option<u64>,
    ) -> Option<(CpuId, Reason)> {
        let (util, sd) = (util?, self.topology.cpus[target].sd_asym_cpucapacity?);
        let found = self.select_idle_capacity(cx, placing, sd, target, util);
        Some(found.map_or((target, Reason::SelectTarget), |cpu| (cpu, Reason::SelectIdleCapacity)))
    }

    /// The first free CPU from the target on that the task fits, else the free one with the most capacity.
    ///
    /// Kernel: fair.c select_idle_capacity(), v5.7–
    fn select_idle_capacity(&self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId, target: CpuId, util: u64) -> Option<CpuId> {
        let span = &self.topology.domains[sd].span;
        let mut best = None;
        let mut best_capacity = 0;
        for cpu in span.iter_wrap_and(&self.tasks[placing.task].cpus_allowed, target) {
            cx.meter.count(Op::ScanCpu);
            if !self.is_free(cpu) {
                continue;
            }
            let capacity = self.capacity_of(cpu);
            if fits_capacity(util, capacity) {
                return Some(cpu);
            }
            if capacity > best_capacity {
                (best, best_capacity) = (Some(cpu), capacity);
            }
        }
        best
    }
}
