//! Placement on CPUs of different capacities.

use super::Placing;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::IdleCapacity;
use crate::uclamp::{Demand, Fit};
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, SdId, TaskId};

impl Sched {
    /// What a CPU must have room for: the task's utilisation, brought up to date, and what it asks for, if CPUs differ in capacity at all.
    ///
    /// Kernel: fair.c select_idle_sibling(), v5.11– (select_idle_capacity() before)
    pub(super) fn util_to_fit(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> Option<Demand> {
        if !self.topology.asym_cpucap_active || self.profile.idle_capacity == IdleCapacity::None {
            return None;
        }
        self.sync_entity_load_avg(cx, task);
        Some(self.demand_of(task))
    }

    /// Whether the task fits the CPU, where that is asked before the search.
    ///
    /// Kernel: fair.c asym_fits_cpu(), v5.11–
    #[inline]
    pub(super) fn fits(&self, util: Option<Demand>, cpu: CpuId) -> bool {
        match util {
            Some(demand) if self.profile.idle_capacity == IdleCapacity::AfterKnown => self.fit_of(demand, cpu) == Fit::Yes,
            _ => true,
        }
    }

    /// The search by capacity, where CPUs differ and the target's domains span all kinds: it ends the choice.
    pub(super) fn search_capacity(
        &self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        target: CpuId,
        util: Option<Demand>,
    ) -> Option<(CpuId, Reason)> {
        let (demand, sd) = (util?, self.topology.cpus[target].sd_asym_cpucapacity?);
        let found = self.select_idle_capacity(cx, placing, sd, target, demand);
        Some(found.map_or((target, Reason::SelectTarget), |cpu| (cpu, Reason::SelectIdleCapacity)))
    }

    /// The first free CPU from the target on that the task fits, else of the free ones that which fits best, and of those the one with
    /// the most capacity: what it could have where only the task's least is missed.
    ///
    /// Kernel: fair.c select_idle_capacity(), v5.7–
    fn select_idle_capacity(
        &self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        sd: SdId,
        target: CpuId,
        demand: Demand,
    ) -> Option<CpuId> {
        let span = &self.topology.domains[sd].span;
        let mut best = None;
        let mut best_rank = (Fit::No, 0);
        for cpu in span.iter_wrap_and(&self.tasks[placing.task].cpus_allowed, target) {
            cx.meter.count(Op::ScanCpu);
            if !self.is_free(placing.task, cpu) {
                continue;
            }
            let rank = match self.fit_of(demand, cpu) {
                Fit::Yes => return Some(cpu),
                Fit::MissesMin => (Fit::MissesMin, self.actual_capacity_of(cpu)),
                Fit::No => (Fit::No, self.capacity_of(cpu)),
            };
            if rank > best_rank {
                (best, best_rank) = (Some(cpu), rank);
            }
        }
        best
    }
}
