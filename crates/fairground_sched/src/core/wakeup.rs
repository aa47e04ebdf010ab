//! Waking a task: select a CPU, then queue it there. Two phases, between which time may pass.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::EnqueueFlags;
use crate::task::TaskState;
use fairground_model::{Op, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, TaskId};

/// How a wake-up comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeFlags {
    /// The waker says that it will sleep soon (WF_SYNC).
    pub sync: bool,
    /// Where the wake-up comes from.
    pub context: WakeContext,
}

/// What the first phase of a wake-up found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waking {
    /// The task had not left its queue (delayed dequeue included): it is runnable again and nothing is left to do.
    StillQueued,
    /// The task cannot be woken: it runs, is being woken by another CPU, or is dead.
    Nothing,
    /// The task goes to this CPU: call [`Sched::ttwu_activate`] when the price of the search is paid.
    Selected(CpuId),
}

impl Sched {
    /// First phase of a wake-up: is there anything to wake, and where shall it run?
    ///
    /// Kernel: core.c try_to_wake_up() up to set_task_cpu(), v4.12–
    pub fn ttwu_select(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: WakeFlags) -> Waking {
        match self.tasks[task].state {
            TaskState::Running | TaskState::Queued => return self.ttwu_runnable(cx, task, flags),
            TaskState::Delayed => return self.ttwu_delayed(cx, task, flags),
            TaskState::Asleep | TaskState::OffCpuPending => {}
            _ => return Waking::Nothing,
        }
        cx.meter.count(Op::TtwuBase);
        self.record_waking(cx, task, flags);
        if self.tasks[task].state == TaskState::OffCpuPending {
            // The waker spins until the old CPU has finished switching away (smp_cond_load_acquire on on_cpu).
            let wait = self.tasks[task].on_cpu_until.saturating_since(cx.clock());
            cx.meter.spend(wait);
        }
        self.tasks[task].state = TaskState::Waking;
        Waking::Selected(self.select_task_rq(cx, task, false))
    }

    /// The wakee never left its queue: its wish to sleep is taken back.
    ///
    /// Kernel: core.c ttwu_runnable(), ttwu_remote() before v5.10, v4.12–
    fn ttwu_runnable(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: WakeFlags) -> Waking {
        if self.tasks[task].sleep_state.take().is_none() {
            return Waking::Nothing;
        }
        cx.meter.count(Op::TtwuBase);
        self.record_waking(cx, task, flags);
        self.ttwu_stat(cx.cpu, self.tasks[task].cpu);
        cx.record(TraceEvent::SchedWakeup { task, target_cpu: self.tasks[task].cpu });
        Waking::StillQueued
    }

    /// The wakee sleeps on its queue: it is runnable again there, and may preempt what runs. Its queue's
    /// running task is accounted only then.
    ///
    /// Kernel: core.c ttwu_runnable(), v6.12–
    fn ttwu_delayed(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: WakeFlags) -> Waking {
        let cpu = self.tasks[task].cpu;
        cx.meter.count(Op::TtwuBase);
        self.record_waking(cx, task, flags);
        self.count_rq_lock(cx, cpu);
        self.update_rq_clock(cx, cpu);
        self.requeue_delayed_task(cx, task);
        self.nr_wakeups += 1;
        self.ttwu_stat(cx.cpu, cpu);
        cx.record(TraceEvent::SchedWakeup { task, target_cpu: cpu });
        self.check_preempt_curr(cx, cpu, task, false);
        Waking::StillQueued
    }

    fn record_waking(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: WakeFlags) {
        let waker = self.rqs[cx.cpu].curr.filter(|_| flags.context == WakeContext::Task);
        cx.record(TraceEvent::SchedWaking { task, target_cpu: self.tasks[task].cpu, waker, context: flags.context });
    }

    /// Second phase: the wakee is queued on `target`, and may preempt what runs there.
    ///
    /// Kernel: core.c ttwu_queue(), ttwu_do_activate(), v4.12–
    pub fn ttwu_activate(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        self.count_rq_lock(cx, target);
        let mut flags = EnqueueFlags::WAKEUP;
        if self.tasks[task].cpu != target {
            flags = flags.with(EnqueueFlags::MIGRATED);
            self.set_task_cpu(cx, task, target);
        }
        self.update_rq_clock(cx, target);
        self.activate_task(cx, task, flags);
        self.nr_wakeups += 1;
        self.ttwu_stat(cx.cpu, target);
        cx.record(TraceEvent::SchedWakeup { task, target_cpu: target });
        self.check_preempt_curr(cx, target, task, false);
        if !self.tasks[task].cpus_allowed.contains(target) {
            // The allowed CPUs changed between the phases; that change had to wait for the wake-up (pi_lock).
            self.leave_forbidden_cpu(cx, task);
        }
    }

    /// Counts taking the run-queue lock of `cpu`.
    pub(crate) fn count_rq_lock(&self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        cx.meter.count(if cpu == cx.cpu { Op::LockFree } else { Op::LockRemote });
    }

    /// Whether what was just queued on `cpu` shall run before what runs there.
    ///
    /// Kernel: core.c check_preempt_curr(), wakeup_preempt() from v6.6, v4.12–
    pub(crate) fn check_preempt_curr(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, task: TaskId, fork: bool) {
        if self.rqs[cpu].curr.is_none() {
            cx.decide(fairground_model::Reason::WakeCurrIdle, Some(task), 0);
            self.resched_curr(cx, cpu);
        } else {
            self.check_preempt_wakeup(cx, cpu, task, fork);
        }
        // A queue event has just read the clock: the schedule() that follows need not read it again. One that
        // is only lazily due may be far off.
        if self.rqs[cpu].need_resched {
            self.rq_clock_skip_update(cpu);
        }
    }

    /// Moves a task that is on no queue to `target`.
    ///
    /// Kernel: core.c set_task_cpu(), v4.12–
    pub(crate) fn set_task_cpu(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        let origin = self.tasks[task].cpu;
        self.migrate_task_rq_fair(cx, task);
        self.nr_migrations += 1;
        cx.record(TraceEvent::SchedMigrateTask { task, orig_cpu: origin, dest_cpu: target });
        self.set_task_rq(task, target);
    }
}
