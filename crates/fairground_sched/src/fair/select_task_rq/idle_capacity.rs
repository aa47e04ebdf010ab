//! Placement on CPUs of different capacities.

use super::Placing;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::IdleCapacity;
use crate::uclamp::{Demand, Fit};
use fairground_model::features::Feat;
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

    /// Whether the task fits the CPU, where that is asked before the search; and whether its core is idle but for it, where that counts.
    ///
    /// Kernel: fair.c asym_fits_cpu(), v5.11–
    #[inline]
    pub(super) fn fits(&self, util: Option<Demand>, cpu: CpuId) -> bool {
        match util {
            Some(demand) if self.profile.idle_capacity.asks_known_first() => {
                let ranked = self.profile.idle_capacity == IdleCapacity::Ranked;
                (!ranked || self.has_idle_siblings(cpu)) && self.fit_of(demand, cpu) == Fit::Yes
            }
            _ => true,
        }
    }

    /// Whether all other threads of the core of `cpu` are idle.
    ///
    /// Kernel: fair.c is_core_idle(), v5.13–
    pub(crate) fn has_idle_siblings(&self, cpu: CpuId) -> bool {
        self.topology.threads.of(cpu).iter().all(|&sibling| sibling == cpu || self.idle_cpus.contains(sibling))
    }

    /// The search by capacity, where CPUs differ and the target's domains span all kinds: it ends the choice.
    pub(super) fn search_capacity(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        target: CpuId,
        util: Option<Demand>,
    ) -> Option<(CpuId, Reason)> {
        let (demand, sd) = (util?, self.topology.cpus[target].sd_asym_cpucapacity?);
        let found = match self.profile.idle_capacity {
            IdleCapacity::Ranked => self.select_ranked_capacity(cx, placing, sd, target, demand),
            _ => self.select_idle_capacity(cx, placing, sd, target, demand),
        };
        Some(found.map_or((target, Reason::SelectTarget), |cpu| (cpu, Reason::SelectIdleCapacity)))
    }

    /// The first free CPU from the target on that the task fits, else of the free ones that which fits best, and of those the one with
    /// the most capacity: what it could have where only the task's least is missed.
    ///
    /// Kernel: fair.c select_idle_capacity(), v5.7–v7.1
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
                fit => (fit, self.capacity_for(fit, cpu)),
            };
            if rank > best_rank {
                (best, best_rank) = (Some(cpu), rank);
            }
        }
        best
    }

    /// What makes one of several CPUs that fit alike the better one.
    fn capacity_for(&self, fit: Fit, cpu: CpuId) -> u64 {
        match fit {
            Fit::MissesMin => self.actual_capacity_of(cpu),
            Fit::Yes | Fit::No => self.capacity_of(cpu),
        }
    }

    /// While some core may be idle, a CPU of an idle core comes before any thread beside a busy one:
    ///
    /// ```text
    /// idle core:  fits, at once > misses the least > does not fit
    /// thread:     fits > misses the least > does not fit
    /// ```
    ///
    /// Without idle cores the search looks at no more CPUs than the last balance of the domain allows. If no CPU of an idle
    /// core was found, none is known any more.
    ///
    /// Kernel: fair.c select_idle_capacity(), v7.2–
    fn select_ranked_capacity(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        sd: SdId,
        target: CpuId,
        demand: Demand,
    ) -> Option<CpuId> {
        let cores = self.topology.smt_active && self.test_idle_cores(target);
        let domain = &self.topology.domains[sd];
        let limits = self.profile.feats.has(Feat::SIS_UTIL);
        let allowed = domain.shared.filter(|_| limits).map(|shared| self.topology.shared[shared].nr_idle_scan);
        if allowed == Some(0) {
            return None;
        }
        let most = if cores { None } else { allowed };
        let cpus = domain.span.iter_wrap_and(&self.tasks[placing.task].cpus_allowed, target);
        let mut best = None;
        let mut best_rank = (false, Fit::No, 0);
        for cpu in cpus.take(most.map_or(usize::MAX, |most| most as usize)) {
            cx.meter.count(Op::ScanCpu);
            if !self.is_free(placing.task, cpu) {
                continue;
            }
            let on_idle_core = !cores || self.has_idle_siblings(cpu);
            let fit = self.fit_of(demand, cpu);
            if fit == Fit::Yes && on_idle_core {
                return Some(cpu);
            }
            let rank = (on_idle_core, fit, self.capacity_for(fit, cpu));
            if rank > best_rank {
                (best, best_rank) = (Some(cpu), rank);
            }
        }
        if cores && !best_rank.0 {
            self.set_idle_cores(target, false);
        }
        best
    }
}
