//! What a kernel warns of, each once per boot: states that it takes for impossible, and what its switches ask for. No schedule depends on it.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::OfflineClock;
use fairground_model::features::Feat;
use fairground_model::{KernelWarn, Reason, TraceEvent};
use fairground_stdx::CpuId;
use fairground_stdx::time::NSEC_PER_MSEC;

/// A reschedule that is due for longer than this is told of, ns.
///
/// Kernel: core.c sysctl_resched_latency_warn_ms, v5.13–
const RESCHED_LATENCY_WARN: u64 = 100 * NSEC_PER_MSEC;

/// Which warnings there were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Warned {
    resched_latency: bool,
    double_clock: bool,
    /// By [`KernelWarn`].
    conditions: [bool; KernelWarn::ALL.len()],
}

impl Sched {
    /// The kernel finds a state that it takes for impossible. It says so once, and goes on.
    #[cold]
    pub(crate) fn warn_on_once(&mut self, cx: &mut Ctx<'_, '_>, warn: KernelWarn) {
        if !std::mem::replace(&mut self.warned.conditions[warn as usize], true) {
            cx.record(TraceEvent::KernelWarn(warn));
        }
    }

    /// The tick of `cx.cpu` looks for how long a reschedule has been due there.
    ///
    /// Kernel: core.c cpu_resched_latency(), resched_latency_warn(), v5.13–
    #[cold]
    pub(super) fn cpu_resched_latency(&mut self, cx: &mut Ctx<'_, '_>) {
        let rq = &mut self.rqs[cx.cpu];
        if self.warned.resched_latency || !rq.need_resched {
            return;
        }
        let now = rq.clocks.clock;
        if rq.last_seen_need_resched == 0 {
            rq.last_seen_need_resched = now;
            return;
        }
        let latency = now - rq.last_seen_need_resched;
        if latency > RESCHED_LATENCY_WARN {
            self.warned.resched_latency = true;
            cx.decide_who(Reason::ReschedLatencyWarn, cx.cpu.get(), latency.min(u64::from(u32::MAX)) as u32);
        }
    }

    /// A CPU that goes off line releases the `nth` of its throttled queues under one lock, and reads its clock for each.
    ///
    /// Kernel: core.c update_rq_clock() under WARN_DOUBLE_CLOCK, from fair.c unthrottle_offline_cfs_rqs(), v4.12–v6.4
    pub(crate) fn warn_double_clock(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, nth: u32) {
        let reads_again = nth > 1 && self.profile.offline_clock == OfflineClock::EachQueue;
        if reads_again && self.profile.feats.has(Feat::WARN_DOUBLE_CLOCK) && !self.warned.double_clock {
            self.warned.double_clock = true;
            cx.decide_who(Reason::WarnDoubleClock, cpu.get(), 0);
        }
    }
}
