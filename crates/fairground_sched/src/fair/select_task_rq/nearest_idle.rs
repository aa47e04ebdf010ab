//! A stand-in for the kernel's search: the previous CPU if it is idle, else the first idle CPU that
//! shares its cache, else the first idle CPU, else the previous CPU.

use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, CpuMask};

impl Sched {
    pub(super) fn nearest_idle(&self, cx: &mut Ctx<'_, '_>, prev: CpuId, allowed: &CpuMask) -> (CpuId, Reason) {
        let may_stay = allowed.contains(prev);
        if may_stay && self.is_idle(cx, prev) {
            return (prev, Reason::SelectPrevIdle);
        }
        let near = allowed.and(&cx.machine.cpus[prev].llc);
        for span in [&near, allowed] {
            if let Some(cpu) = span.iter_wrap(prev).find(|&cpu| self.is_idle(cx, cpu)) {
                return (cpu, Reason::SelectIdle);
            }
        }
        match may_stay {
            true => (prev, Reason::SelectPrev),
            false => (self.fewest_tasks(cx, prev, allowed), Reason::SelectFewest),
        }
    }

    /// The allowed CPU with the fewest runnable tasks; among equals the first from `prev` on.
    pub(super) fn fewest_tasks(&self, cx: &mut Ctx<'_, '_>, prev: CpuId, allowed: &CpuMask) -> CpuId {
        cx.meter.count_n(Op::ScanCpu, allowed.weight() as u64);
        let fewest = allowed.iter_wrap(prev).min_by_key(|&cpu| self.rqs[cpu].nr_running);
        fewest.expect("invariant: a task has at least one allowed CPU of the machine")
    }

    fn is_idle(&self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> bool {
        cx.meter.count(Op::ScanCpu);
        let rq = &self.rqs[cpu];
        rq.curr.is_none() && rq.nr_running == 0
    }
}
