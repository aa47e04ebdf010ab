//! How long a CPU is idle on average, as wake-ups find it.

use crate::Sched;
use crate::ctx::Ctx;
use fairground_stdx::CpuId;

/// An average that moves by an eighth of the difference; C's division truncates towards zero.
///
/// Kernel: sched.h update_avg(), v4.12–
pub(super) fn update_avg(avg: &mut u64, sample: u64) {
    let difference = sample.wrapping_sub(*avg) as i64;
    *avg = avg.wrapping_add((difference / 8) as u64);
}

/// How long a CPU will be idle, as wake-ups that it makes reckon: what their searches may cost follows from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdleEstimate {
    /// Mean length of its idle times, ns.
    pub avg_idle: u64,
    /// What is left of the estimate that searches use up, ns.
    pub wake_avg_idle: u64,
    /// The jiffy up to which that was aged.
    pub wake_stamp: u64,
}

impl Sched {
    /// How long `cpu` is idle by its wake-ups' reckoning.
    pub fn idle_estimate(&self, cpu: CpuId) -> IdleEstimate {
        let lb = &self.rqs[cpu].lb;
        IdleEstimate { avg_idle: lb.avg_idle, wake_avg_idle: lb.wake_avg_idle, wake_stamp: lb.wake_stamp }
    }

    /// An idle time of `cpu` ends (seam `idle_time_end`): its length goes into the average, which is at most twice what balancing
    /// while idle costs. From v5.12 to v6.6 half of it is what searches of this CPU may use up.
    ///
    /// Kernel: core.c ttwu_do_wakeup(), ttwu_do_activate() from v6.2, update_rq_avg_idle() from v7.0, v4.12–
    pub(crate) fn update_avg_idle(&mut self, cx: &Ctx<'_, '_>, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        if rq.lb.idle_stamp == 0 {
            return;
        }
        let idle_ns = rq.clocks.clock.wrapping_sub(rq.lb.idle_stamp);
        update_avg(&mut rq.lb.avg_idle, idle_ns);
        rq.lb.avg_idle = rq.lb.avg_idle.min(2 * rq.lb.max_idle_balance_cost);
        rq.lb.wake_stamp = cx.jiffies;
        rq.lb.wake_avg_idle = rq.lb.avg_idle / 2;
        rq.lb.idle_stamp = 0;
    }
}
