//! Which CPUs are idle, as a set: searches of large domains take the first of it and count the looks that lie before.

use super::idle_cpu::Scan;
use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::{Op, Policy};
use fairground_stdx::{CpuId, CpuMask};

impl Sched {
    /// What makes a CPU idle has changed there: its running task, its queue or its wake list.
    #[inline]
    pub(crate) fn note_idleness(&mut self, cpu: CpuId) {
        self.group_stats.cpu_changes(cpu);
        if self.idle_cpu(cpu) {
            self.idle_cpus.insert(cpu);
        } else {
            self.idle_cpus.remove(cpu);
        }
    }

    /// A task has this policy from now on: only with tasks of policy SCHED_IDLE a CPU that is not idle may be free.
    pub(crate) fn note_policy(&mut self, policy: Policy) {
        self.has_idle_policy |= policy == Policy::Idle;
    }

    /// The first free CPU of `span` that is allowed, from `start` on; the counter `nr` is lowered before each look, and
    /// 0 ends the search.
    pub(super) fn first_free_of(
        &self,
        cx: &mut Ctx<'_, '_>,
        span: &CpuMask,
        allowed: &CpuMask,
        start: CpuId,
        nr: &mut u64,
    ) -> Scan {
        if self.has_idle_policy {
            return self.first_free(cx, span.iter_wrap_and(allowed, start), nr);
        }
        let limit = *nr - 1;
        let found = first_of_three(span, allowed, &self.idle_cpus, start);
        let looks = match found {
            Some(cpu) => span.weight_wrap_and(allowed, start, cpu),
            None => span.weight_and(allowed),
        };
        cx.meter.count_n(Op::ScanCpu, looks.min(limit));
        *nr -= looks.min(limit);
        match found {
            _ if looks > limit => Scan::OutOfBudget,
            Some(cpu) => Scan::Found(cpu),
            None => Scan::Exhausted,
        }
    }
}

/// The first CPU that is in all three sets, from `start` on, wrapping once.
fn first_of_three(a: &CpuMask, b: &CpuMask, c: &CpuMask, start: CpuId) -> Option<CpuId> {
    if !a.intersects_both(b, c) {
        return None;
    }
    a.next_from_all(b, c, start.get()).or_else(|| a.next_from_all(b, c, 0))
}
