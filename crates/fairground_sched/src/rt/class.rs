//! What the core calls: a real-time task is picked, runs, is looked at by the tick, leaves the CPU.

use super::RtRq;
use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::{Policy, Reason};
use fairground_stdx::time::NSEC_PER_SEC;
use fairground_stdx::{CpuId, Ns, TaskId};

/// The slice of a SCHED_RR task.
///
/// Kernel: rt.h RR_TIMESLICE, v4.12–
const RR_TIMESLICE: Ns = Ns::from_ms(100);

impl Sched {
    /// Accounts the running task of `cpu`, if it is of this class.
    ///
    /// Kernel: rt.c update_curr_rt(), v4.12–
    pub(crate) fn update_curr_rt(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let Some(task) = self.rqs[cpu].curr.filter(|&task| self.is_rt(task)) else { return };
        if let Some(ran) = self.update_curr_common(cx, task) {
            self.account_rt_runtime(cx, cpu, ran.0);
        }
    }

    /// Kernel: pelt.c update_rt_rq_load_avg(), v4.19–
    pub(super) fn update_rt_rq_load_avg(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, running: bool) {
        self.update_class_load_avg(cx, cpu, running, |rq| &mut rq.avg_rt);
    }

    /// The first task of the calling CPU's queue.
    ///
    /// Kernel: rt.c pick_task_rt(), v4.12–
    #[cold]
    pub(crate) fn pick_task_rt(&mut self, cx: &mut Ctx<'_, '_>) -> TaskId {
        let first = self.rqs[cx.cpu].rt.queue.first().expect("invariant: a queue that counts has a task").1;
        cx.decide(Reason::PickRt, Some(first), 0);
        first
    }

    /// The running task leaves the CPU; it keeps its place if it is still queued.
    ///
    /// Kernel: rt.c put_prev_task_rt(), v4.12–
    pub(crate) fn put_prev_task_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        self.update_curr_rt(cx, cpu);
        self.update_rt_rq_load_avg(cx, cpu, true);
        if self.tasks[task].rt.on_list {
            self.enqueue_pushable_task(cpu, task);
        }
    }

    /// A task runs from now on. `first`: it was picked; else something about it has changed. `after_rt`: a task of this class ran
    /// before it.
    ///
    /// Kernel: rt.c set_next_task_rt(), v4.12–
    pub(crate) fn set_next_task_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, first: bool, after_rt: bool) {
        let cpu = self.tasks[task].cpu;
        self.ses[self.tasks[task].se].exec_start = self.rqs[cpu].clocks.clock_task;
        self.dequeue_pushable_task(cpu, task);
        if first && !after_rt {
            self.update_rt_rq_load_avg(cx, cpu, false);
        }
    }

    /// The tick: accounts, and ends the slice of a SCHED_RR task if others of its priority wait.
    ///
    /// Kernel: rt.c task_tick_rt(), v4.12–
    #[cold]
    pub(crate) fn task_tick_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = cx.cpu;
        self.update_curr_rt(cx, cpu);
        self.update_rt_rq_load_avg(cx, cpu, true);
        if !matches!(self.tasks[task].policy, Policy::RoundRobin(_)) {
            return;
        }
        let whole = rr_timeslice(cx.machine.hz());
        let left = &mut self.tasks[task].rt.time_slice;
        *left = if *left == 0 { whole } else { *left } - 1;
        if *left > 0 || self.is_alone_at_its_prio(task) {
            return;
        }
        self.requeue_task_rt(task, false);
        cx.decide(Reason::TickRrExpired, Some(task), 0);
        self.resched_curr(cx, cpu);
    }

    /// Kernel: rt.c yield_task_rt(), v4.12–
    pub(crate) fn yield_task_rt(&mut self, task: TaskId) -> Reason {
        self.requeue_task_rt(task, false);
        Reason::YieldTail
    }

    /// Whether a real-time task that was just queued preempts the one that runs; or one of them is of another class.
    ///
    /// Kernel: core.c check_preempt_curr(), wakeup_preempt() from v6.6, rt.c check_preempt_curr_rt(), v4.12–
    #[cold]
    pub(crate) fn check_preempt_curr_rt(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, curr: TaskId, wakee: TaskId) {
        let (running, woken) = (self.tasks[curr].prio(), self.tasks[wakee].prio());
        let reason = match () {
            () if self.is_fair(wakee) => Reason::WakeLowerPriority,
            () if woken < running => Reason::WakeHigherPriority,
            () if woken == running && self.makes_room::<RtRq>(cx, cpu, curr, wakee) => Reason::WakeMakesRoom,
            () => Reason::WakeLowerPriority,
        };
        cx.decide2(reason, Some(wakee), Some(curr));
        match reason {
            Reason::WakeHigherPriority => self.resched_curr(cx, cpu),
            Reason::WakeMakesRoom => {
                self.requeue_task_rt(wakee, true);
                self.resched_curr(cx, cpu);
            }
            _ => {}
        }
    }
}

/// The slice of SCHED_RR in ticks, at least one; rounded down.
///
/// Kernel: rt.c sched_rr_timeslice, v4.12–
fn rr_timeslice(hz: u64) -> u32 {
    (RR_TIMESLICE.0 * hz / NSEC_PER_SEC).max(1) as u32
}
