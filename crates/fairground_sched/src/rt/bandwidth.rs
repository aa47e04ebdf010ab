//! Real-time tasks of a CPU may run 950 ms of each second (`sched_rt_runtime_us`, `sched_rt_period_us`); the rest is left to others. Kernels from v6.12 on stop none: there the fair
//! class has a deadline server (`deadline/server.rs`).
//!
//! ```text
//! time += what ran          time > runtime: throttled, none is picked
//! each period, all CPUs     time -= min(time, runtime * periods); throttled and time < runtime: go on
//! RT_RUNTIME_SHARE          runtime += (spare time of each other CPU) / CPUs, up to the whole period
//! ```

use crate::Sched;
use crate::ctx::{Ctx, Request};
use crate::seam::RtBandwidth;
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, Ns};

impl Sched {
    /// Kernel: rt.c rt_bandwidth_enabled(), v4.12–v6.11
    fn rt_bandwidth_enabled(&self) -> bool {
        self.profile.rt_bandwidth == RtBandwidth::Throttle && self.tunables.rt.runtime_ns.is_some() && !self.is_led()
    }

    /// What real-time tasks of a CPU may run in a period, ns.
    ///
    /// Kernel: rt.c sysctl_sched_rt_runtime, sched_rt_runtime(), v4.12–v6.11
    pub(super) fn rt_runtime(&self, cpu: CpuId) -> u64 {
        let limit = self.tunables.rt;
        limit.runtime_ns.unwrap_or(limit.period_ns).saturating_add_signed(self.rqs[cpu].rt.borrowed)
    }

    /// Kernel: rt.c sysctl_sched_rt_period, sched_rt_period(), v4.12–v6.11
    fn rt_period(&self) -> u64 {
        self.tunables.rt.period_ns
    }

    /// A real-time task of `cpu` has run. On a CPU that is off line there is no limit.
    ///
    /// Kernel: rt.c update_curr_rt(), sched_rt_runtime_exceeded(), v4.12–v6.11
    pub(super) fn account_rt_runtime(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, ran_ns: u64) {
        if !self.rt_bandwidth_enabled() || !self.rqs[cpu].online {
            return;
        }
        self.rqs[cpu].rt.time += ran_ns;
        if !self.rqs[cpu].rt.throttled {
            if self.rt_runtime(cpu) >= self.rt_period() {
                return;
            }
            self.balance_runtime(cx, cpu);
            if self.rqs[cpu].rt.time <= self.rt_runtime(cpu) {
                return;
            }
            self.dequeue_top_rt_rq(cpu);
            self.rqs[cpu].rt.throttled = true;
            cx.decide_who(Reason::RtThrottle, cpu.get(), 0);
            self.rt_queue_changes(cx, cpu);
        }
        self.resched_curr(cx, cpu);
    }

    /// What a deadline task of `cpu` has run counts too, while it could matter; only real-time tasks stop by it.
    ///
    /// Kernel: deadline.c update_curr_dl(), rt.c sched_rt_bandwidth_account(), v4.12–v6.11
    pub(crate) fn account_dl_in_rt_runtime(&mut self, cpu: CpuId, ran_ns: u64) {
        if self.rt.period_expires.is_some() || self.rqs[cpu].rt.time < self.rt_runtime(cpu) {
            self.rqs[cpu].rt.time += ran_ns;
        }
    }

    /// With RT_RUNTIME_SHARE a queue that has used up its time borrows what others have left, from each a part.
    ///
    /// Kernel: rt.c balance_runtime(), do_balance_runtime(), v4.12–v6.11
    fn balance_runtime(&mut self, cx: &Ctx<'_, '_>, cpu: CpuId) {
        if !self.profile.feats.has(Feat::RT_RUNTIME_SHARE) || self.rqs[cpu].rt.time <= self.rt_runtime(cpu) {
            return;
        }
        let weight = cx.machine.online.weight() as u64;
        for other in cx.machine.online.iter().filter(|&other| other != cpu) {
            let spare = self.rt_runtime(other).saturating_sub(self.rqs[other].rt.time);
            let room = self.rt_period().saturating_sub(self.rt_runtime(cpu));
            // Rounded down.
            let part = (spare / weight).min(room) as i64;
            self.rqs[other].rt.borrowed -= part;
            self.rqs[cpu].rt.borrowed += part;
            if self.rt_runtime(cpu) == self.rt_period() {
                break;
            }
        }
    }

    /// A real-time task is queued: the period timer runs from now on. It fires at the end of the period that it knew of last, or as soon
    /// as a timer can if that is over: in 1 ns.
    ///
    /// Kernel: rt.c start_rt_bandwidth(), hrtimer.c hrtimer_forward() with no interval, v4.12–v6.11
    pub(super) fn start_rt_bandwidth(&mut self, cx: &mut Ctx<'_, '_>) {
        if self.rt_bandwidth_enabled() && self.rt.period_expires.is_none() {
            let at = self.rt.period_ends.max(cx.clock() + Ns(1));
            self.rt.period_expires = Some(at);
            cx.requests.push(Request::RtPeriodTimer { at });
        }
    }

    /// The period timer has fired. It is armed again unless there are no real-time tasks.
    ///
    /// Kernel: rt.c sched_rt_period_timer(), v4.12–v6.11
    pub fn sched_rt_period_timer(&mut self, cx: &mut Ctx<'_, '_>) {
        let expires = self.rt.period_expires.expect("invariant: a timer that fires was armed");
        let periods = cx.clock().saturating_since(expires).0 / self.rt_period() + 1;
        let mut idle = true;
        for cpu in cx.machine.online.iter() {
            idle &= self.rt_period_begins(cx, cpu, periods);
        }
        self.rt.period_ends = expires + Ns(self.rt_period() * periods);
        self.rt.period_expires = (!idle).then_some(self.rt.period_ends);
        if let Some(at) = self.rt.period_expires {
            cx.requests.push(Request::RtPeriodTimer { at });
        }
    }

    /// A period begins on a CPU, or several have. Whether it has nothing to do with real-time tasks.
    ///
    /// Kernel: rt.c do_sched_rt_period_timer(), v4.12–v6.11
    fn rt_period_begins(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, periods: u64) -> bool {
        let rt = &mut self.rqs[cpu].rt;
        if !self.profile.feats.has(Feat::RT_RUNTIME_SHARE) {
            rt.borrowed = 0;
        }
        if rt.time == 0 && rt.queue.is_empty() {
            return true;
        }
        self.count_rq_lock(cx, cpu);
        self.update_rq_clock(cx, cpu);
        let mut goes_on = !self.rqs[cpu].rt.throttled;
        if self.rqs[cpu].rt.time > 0 {
            goes_on = false;
            if self.rqs[cpu].rt.throttled {
                self.balance_runtime(cx, cpu);
            }
            let runtime = self.rt_runtime(cpu);
            let rt = &mut self.rqs[cpu].rt;
            rt.time -= rt.time.min(periods * runtime);
            if rt.throttled && rt.time < runtime {
                goes_on = true;
                self.unthrottle_rt(cx, cpu);
            }
        }
        let rt = &self.rqs[cpu].rt;
        let idle = rt.time == 0 && rt.queue.is_empty();
        if goes_on {
            self.sched_rt_rq_enqueue(cx, cpu);
        }
        idle
    }

    fn unthrottle_rt(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        if std::mem::take(&mut rq.rt.throttled) {
            cx.decide_who(Reason::RtUnthrottle, cpu.get(), 0);
        }
        if rq.curr.is_none() {
            // Else the time for which a task that was woken waited here would count as run time.
            rq.clock_skip.requested = false;
        }
    }

    /// Kernel: rt.c sched_rt_rq_enqueue(), v4.12–v6.11
    fn sched_rt_rq_enqueue(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if !self.rqs[cpu].rt.queue.is_empty() {
            self.enqueue_top_rt_rq(cpu);
            self.rt_queue_changes(cx, cpu);
            self.resched_curr(cx, cpu);
        }
    }

    /// `cpu` is about to go off line: what it lent comes back from others, as far as they have it, and what it borrowed goes to one of
    /// them. Without a limit all of its tasks can leave.
    ///
    /// Kernel: rt.c rq_offline_rt(), __disable_runtime(), v4.12–v6.11
    pub(crate) fn rq_offline_rt(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.rt.overloaded.remove(cpu);
        self.leave_push_round(cx, cpu);
        let mut want = -std::mem::take(&mut self.rqs[cpu].rt.borrowed);
        for other in cx.machine.online.iter().filter(|&other| other != cpu) {
            let part = want.min(self.rt_runtime(other) as i64);
            self.rqs[other].rt.borrowed -= part;
            want -= part;
        }
        self.unthrottle_rt(cx, cpu);
        self.sched_rt_rq_enqueue(cx, cpu);
    }

    /// `cpu` is back on line.
    ///
    /// Kernel: rt.c rq_online_rt(), __enable_runtime(), v4.12–v6.11
    pub(crate) fn rq_online_rt(&mut self, cpu: CpuId) {
        let rt = &mut self.rqs[cpu].rt;
        (rt.time, rt.borrowed, rt.throttled) = (0, 0, false);
        self.update_rt_overload(cpu);
    }
}
