//! The search of a cache domain in steps: an idle core, an idle CPU, an idle sibling.

use super::Placing;
use super::idle_cpu::Scan;
use super::scan_budget::ScanClock;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::IdleSearch;
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, SdId};

impl Sched {
    /// Kernel: fair.c select_idle_sibling(), v4.12–v5.11
    pub(super) fn search_in_steps(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, target: CpuId) -> Option<(CpuId, Reason)> {
        let sd = self.topology.cpus[target].sd_llc?;
        let smt = self.topology.smt_active;
        if smt
            && self.test_idle_cores(target)
            && let Some(core) = self.step_idle_core(cx, placing, sd, target)
        {
            return Some((core, Reason::SelectIdleCore));
        }
        if let Some(cpu) = self.step_idle_cpu(cx, placing, sd, target) {
            return Some((cpu, Reason::SelectIdleCpu));
        }
        let sibling = if smt { self.select_idle_smt(cx, placing, sd, target) } else { None };
        sibling.map(|cpu| (cpu, Reason::SelectIdleSmt))
    }

    /// The first idle core from the target on; if there is none, the domain is known to have none.
    ///
    /// Kernel: fair.c select_idle_core(), v4.12–v5.11
    fn step_idle_core(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId, target: CpuId) -> Option<CpuId> {
        let mut cpus = self.topology.domains[sd].span.and(&self.tasks[placing.task].cpus_allowed);
        for (mut from, end) in [(target.get(), u32::MAX), (0, target.get())] {
            while let Some(cpu) = cpus.next_from(from).filter(|cpu| cpu.get() < end) {
                if self.are_threads_idle(cx, cpu) {
                    return Some(cpu);
                }
                self.remove_core(&mut cpus, cpu);
                from = cpu.get() + 1;
            }
        }
        self.set_idle_cores(target, false);
        None
    }

    /// Whether all threads of the core of `cpu` are idle. Up to v5.6 all are looked at, whatever the first says.
    fn are_threads_idle(&self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> bool {
        let looks_at_all = self.profile.idle_search == IdleSearch::Steps;
        let mut idle = true;
        for &sibling in self.topology.threads.of(cpu) {
            cx.meter.count(Op::ScanCpu);
            idle &= self.idle_cpus.contains(sibling);
            if !idle && !looks_at_all {
                return false;
            }
        }
        idle
    }

    /// The first free CPU from the target on, within the budget. Only a search that ends by itself is accounted.
    ///
    /// Kernel: fair.c select_idle_cpu(), v4.12–v5.11
    fn step_idle_cpu(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId, target: CpuId) -> Option<CpuId> {
        let this_sd = self.topology.cpus[placing.this].sd_llc?;
        let nr = self.budget_by_avg_idle(placing.this, this_sd, self.topology.domains[sd].span_weight)?;
        let clock = ScanClock::start(cx, this_sd);
        let outcome = self.scan_from_target(cx, placing, sd, target, nr);
        if !matches!(outcome, Scan::OutOfBudget) {
            self.update_avg_scan_cost(cx, &clock);
        }
        match outcome {
            Scan::Found(cpu) => Some(cpu),
            Scan::Exhausted | Scan::OutOfBudget => None,
        }
    }

    fn scan_from_target(&self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId, target: CpuId, mut nr: u64) -> Scan {
        let (span, allowed) = (&self.topology.domains[sd].span, &self.tasks[placing.task].cpus_allowed);
        if self.profile.idle_search == IdleSearch::StepsOfAllowed {
            return self.first_free_of(cx, span, allowed, target, &mut nr);
        }
        for cpu in span.iter_wrap(target) {
            nr -= 1;
            if nr == 0 {
                return Scan::OutOfBudget;
            }
            if !allowed.contains(cpu) {
                continue;
            }
            cx.meter.count(Op::ScanCpu);
            if self.is_free(cpu) {
                return Scan::Found(cpu);
            }
        }
        Scan::Exhausted
    }
}
