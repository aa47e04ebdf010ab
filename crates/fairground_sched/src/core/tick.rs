//! The periodic tick.

use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::features::Feat;
use fairground_model::{Op, QueueAct, Reason, TraceEvent};
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// The tick of `cx.cpu`: clocks, accounting, load tracking, and whether the slice is over.
    ///
    /// Kernel: core.c scheduler_tick(), sched_tick() from v6.10, v4.12–
    #[inline]
    pub fn sched_tick(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        match self.plain_tick_of(cx) {
            Some(task) => self.task_tick_plain(cx, task),
            None => self.task_tick(cx, cpu),
        }
        if self.profile.feats.has(Feat::LATENCY_WARN) {
            self.cpu_resched_latency(cx);
        }
        self.update_cpu_load_active(cx, cpu);
        cx.meter.count(Op::Tick);
        self.trigger_load_balance(cx);
        if cx.trace.wants_samples() {
            self.sample(cx);
        }
    }

    /// The clocks of `cpu`, and the tick of the class of who runs there.
    ///
    /// Kernel: core.c scheduler_tick(), sched_tick() from v6.10, v4.12–
    #[inline(never)]
    fn task_tick(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.update_rq_clock(cx, cpu);
        self.tell_call(cx, QueueAct::Tick);
        self.update_hw_load_avg(cpu);
        if let Some(task) = self.rqs[cpu].curr {
            if self.rqs[cpu].need_resched_lazy {
                self.end_laziness(cx, task);
            }
            if !self.is_fair(task) {
                match self.is_dl(task) {
                    true => self.task_tick_dl(cx),
                    false => self.task_tick_rt(cx, task),
                }
            } else {
                self.touch_levels(task);
                self.task_tick_fair(cx, task);
                self.update_misfit_status(cx, cpu, Some(task));
                self.update_overutilized_status(cpu);
            }
        } else {
            self.task_tick_idle(cx);
        }
    }

    /// The running task did not give way to a lazy reschedule since the last tick: it becomes a full one.
    ///
    /// Kernel: core.c sched_tick(), v6.13–
    #[cold]
    fn end_laziness(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        if !self.rqs[cx.cpu].need_resched {
            cx.decide(Reason::TickLazyDue, Some(task), 0);
            self.resched_curr(cx, cx.cpu);
        }
    }

    /// Samples of the queue for counter tracks; no part of what happens. Entities give theirs at each update.
    fn sample(&self, cx: &mut Ctx<'_, '_>) {
        let rq = &self.rqs[cx.cpu];
        let avg = &self.pelt_cfs[rq.cfs];
        cx.record(TraceEvent::CfsSample { nr_running: rq.nr_running, util_avg: avg.util_avg, load_avg: avg.load_avg });
    }

    /// Accounts what the current tasks have run, at the very end of a run, so that figures are complete.
    pub fn settle(&mut self, cx: &mut Ctx<'_, '_>) {
        self.update_rq_clock(cx, cx.cpu);
        self.update_curr_of_class(cx);
    }
}
