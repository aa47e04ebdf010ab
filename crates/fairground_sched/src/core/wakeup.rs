//! Waking a task: select a CPU, then queue it there. Two phases, between which time may pass.
//!
//! ```text
//! ttwu_select ──┬─ still queued ───────────────────────────────────────────► done
//!               ├─ on_cpu ─┬─ wake list of the old CPU ────────────────────► done, that CPU queues it
//!               │          └─ wait ── ttwu_off_cpu ──┐
//!               └─ asleep ── select_task_rq ─────────┴─► ttwu_queue ─┬─ direct
//!                                                                    └─ wake list of the target
//! ```

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::EnqueueFlags;
use crate::fair::select_task_rq::{Wake, only_cpu};
use crate::seam::IdleTimeEnd;
use crate::task::TaskState;
use fairground_model::{MachineView, Op, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, TaskId};

/// How a wake-up comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeFlags {
    /// The waker says that it will sleep soon (WF_SYNC).
    pub sync: bool,
    /// Where the wake-up comes from.
    pub context: WakeContext,
}

/// How a task came onto its queue, as far as that decides whether it preempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// By a wake-up or a move of which nothing more is known.
    Plain,
    /// By a synchronous wake-up (WF_SYNC); `selected`: a CPU was selected for it (WF_RQ_SELECTED).
    Sync { selected: bool },
    /// By a fork (WF_FORK).
    Fork,
}

/// What the first phase of a wake-up found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waking {
    /// The task had not left its queue (delayed dequeue included): it is runnable again and nothing is left to do.
    StillQueued,
    /// The task cannot be woken: it runs, is being woken by another CPU, or is dead.
    Nothing,
    /// The task's old CPU has not finished switching away from it, and will queue it there when it has: nothing is left
    /// to do.
    OnWakeList,
    /// The task's old CPU has not finished switching away from it: wait for that, then call [`Sched::ttwu_off_cpu`].
    OnCpu,
    /// The search for a CPU has come to a moment at which something else happens: call [`Sched::ttwu_search`] when what it
    /// has cost so far is paid.
    Searching,
    /// The task goes to this CPU: call [`Sched::ttwu_queue`] when the price of the search is paid.
    Selected(CpuId),
}

/// Which operation it is for `by` to take the free run-queue lock of `cpu`.
#[inline]
pub fn rq_lock_op(machine: &MachineView, by: CpuId, cpu: CpuId) -> Op {
    match by == cpu {
        true => Op::LockFree,
        false if machine.cpus[by].package == machine.cpus[cpu].package => Op::LockRemote,
        false => Op::LockRemoteSocket,
    }
}

impl Sched {
    /// The CPU on whose queue `task` sleeps in delayed dequeue: a wake-up takes that CPU's lock at once.
    ///
    /// Kernel: core.c ttwu_runnable(), v6.12–
    #[inline]
    pub fn ttwu_delayed_on(&self, task: TaskId) -> Option<CpuId> {
        let row = &self.tasks[task];
        (row.state == TaskState::Delayed).then_some(row.cpu)
    }

    /// First phase of a wake-up: is there anything to wake, and where shall it run?
    ///
    /// Kernel: core.c try_to_wake_up() up to set_task_cpu(), v4.12–
    pub fn ttwu_select(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: WakeFlags) -> Waking {
        self.end_migration(cx, task);
        match self.tasks[task].state {
            TaskState::Running | TaskState::Queued | TaskState::Limbo => return self.ttwu_runnable(cx, task, flags),
            TaskState::Delayed => return self.ttwu_delayed(cx, task, flags),
            TaskState::Asleep | TaskState::OffCpuPending => {}
            _ => return Waking::Nothing,
        }
        cx.meter.count(Op::TtwuBase);
        self.record_waking(cx, task, flags);
        self.tasks[task].state = TaskState::Waking;
        self.tasks[task].wakes_sync = flags.sync;
        if !self.tasks[task].on_cpu {
            return self.ttwu_off_cpu(cx, task, flags);
        }
        let old = self.tasks[task].cpu;
        if !self.queues_on_cpu(cx.cpu, task) {
            return Waking::OnCpu;
        }
        self.ttwu_queue_wakelist(cx, task, false);
        self.ttwu_stat(cx.cpu, old);
        Waking::OnWakeList
    }

    /// Selects a CPU for a wakee that no CPU runs any more.
    ///
    /// Kernel: core.c try_to_wake_up() after smp_cond_load_acquire(), v4.12–
    pub fn ttwu_off_cpu(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: WakeFlags) -> Waking {
        let selected = self.select_task_rq(cx, task, Wake::Ttwu { sync: flags.sync, context: flags.context });
        selected.map_or(Waking::Searching, |target| self.ttwu_selected(cx, task, target))
    }

    /// Continues the search for a CPU that was interrupted.
    ///
    /// Kernel: fair.c select_idle_sibling(), v4.12–
    #[inline]
    pub fn ttwu_search(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> Waking {
        self.continue_search(cx).map_or(Waking::Searching, |target| self.ttwu_selected(cx, task, target))
    }

    /// The wakee will be queued on `target`. If that is another core, the lines that this writes come from there first: up to
    /// then `target` looks to others as if nobody had chosen it.
    ///
    /// Kernel: core.c set_task_cpu(), ttwu_queue() up to where nr_running is raised, v4.12–
    #[inline(never)]
    fn ttwu_selected(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) -> Waking {
        let own_core = target == cx.cpu || cx.machine.cpus[cx.cpu].smt.contains(target);
        if !own_core && !self.ttwu_is_left_to_target(cx.cpu, task, target) {
            cx.meter.count(Op::EnqueueRemote);
            self.lines.fetch(cx, target);
        }
        Waking::Selected(target)
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
        let arrival = if flags.sync { Arrival::Sync { selected: false } } else { Arrival::Plain };
        self.check_preempt_curr(cx, cpu, task, arrival);
        // The account of the check stands before it.
        cx.record(TraceEvent::SchedWakeup { task, target_cpu: cpu });
        Waking::StillQueued
    }

    pub(crate) fn record_waking(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: WakeFlags) {
        let waker = self.rqs[cx.cpu].curr.filter(|_| flags.context != WakeContext::Hardirq);
        cx.record(TraceEvent::SchedWaking { task, target_cpu: self.tasks[task].cpu, waker, context: flags.context });
    }

    /// Second phase: the wakee is bound to `target` and queued there, or `target` is left to do that.
    ///
    /// Kernel: core.c try_to_wake_up() from set_task_cpu() on, ttwu_queue(), v4.12–
    pub fn ttwu_queue(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        let migrated = self.ttwu_set_task_cpu(cx, task, target);
        match self.queues_remotely(cx.cpu, task) {
            true => self.ttwu_queue_wakelist(cx, task, migrated),
            false => self.ttwu_do_activate(cx, task, migrated),
        }
        self.ttwu_stat(cx.cpu, target);
    }

    /// As [`Sched::ttwu_queue`], but never left to the target.
    ///
    /// Kernel: core.c ttwu_queue() without TTWU_QUEUE, v4.12–
    pub fn ttwu_activate(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        let migrated = self.ttwu_set_task_cpu(cx, task, target);
        self.ttwu_do_activate(cx, task, migrated);
        self.ttwu_stat(cx.cpu, target);
    }

    /// Binds a wakee to `target`; whether it was elsewhere.
    fn ttwu_set_task_cpu(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) -> bool {
        let migrated = self.tasks[task].cpu != target;
        if migrated {
            self.set_task_cpu(cx, task, target);
        }
        migrated
    }

    /// The wakee is queued on its CPU, under the lock of that one.
    #[inline]
    pub(crate) fn queue_wakee(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, migrated: bool) {
        let cpu = self.tasks[task].cpu;
        let flags = if migrated { EnqueueFlags::WAKEUP.with(EnqueueFlags::MIGRATED) } else { EnqueueFlags::WAKEUP };
        self.count_rq_lock(cx, cpu);
        self.update_rq_clock(cx, cpu);
        self.activate_task(cx, task, flags);
        self.nr_wakeups += 1;
        cx.record(TraceEvent::SchedWakeup { task, target_cpu: cpu });
    }

    /// The wakee is queued on its CPU, and may preempt what runs there.
    ///
    /// Kernel: core.c ttwu_do_activate(), v4.12–
    pub(super) fn ttwu_do_activate(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, migrated: bool) {
        self.queue_wakee(cx, task, migrated);
        let cpu = self.tasks[task].cpu;
        let arrival = match std::mem::take(&mut self.tasks[task].wakes_sync) {
            true => Arrival::Sync { selected: only_cpu(&self.tasks[task].cpus_allowed).is_none() },
            false => Arrival::Plain,
        };
        self.check_preempt_curr(cx, cpu, task, arrival);
        self.task_woken(cx, task);
        if self.profile.idle_time_end == IdleTimeEnd::WakeUp {
            self.update_avg_idle(cx, cpu);
        }
        self.leave_if_forbidden(cx, task);
    }

    /// The task that was just queued goes elsewhere if between the phases its allowed CPUs changed, or its CPU went off line: the
    /// kernel makes both wait until it is queued. Where each schedule() pushes, that moves it.
    ///
    /// Kernel: core.c pi_lock around try_to_wake_up() and wake_up_new_task(), synchronize_rcu() in sched_cpu_deactivate(), v4.12–
    pub(super) fn leave_if_forbidden(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        if !self.is_cpu_allowed(task, cpu) && !self.pushes_off(cpu) {
            self.leave_forbidden_cpu(cx, task);
        }
    }

    /// Counts taking the run-queue lock of `cpu`; where another core decides, that one tells its locks.
    pub(crate) fn count_rq_lock(&self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if !self.is_led() {
            cx.meter.count(rq_lock_op(cx.machine, cx.cpu, cpu));
        }
    }

    /// Whether what was just queued on `cpu` shall run before what runs there.
    ///
    /// Kernel: core.c check_preempt_curr(), wakeup_preempt() from v6.6, v4.12–
    pub(crate) fn check_preempt_curr(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, task: TaskId, arrival: Arrival) {
        if self.rqs[cpu].stop_running {
            return;
        }
        match self.rqs[cpu].curr {
            None => {
                cx.decide(fairground_model::Reason::WakeCurrIdle, Some(task), 0);
                self.resched_curr(cx, cpu);
            }
            Some(curr) if self.is_dl(curr) && self.is_dl(task) => self.check_preempt_curr_dl(cx, cpu, curr, task),
            Some(curr) if !self.is_fair(curr) || !self.is_fair(task) => self.check_preempt_curr_rt(cx, cpu, curr, task),
            Some(_) => self.check_preempt_wakeup(cx, cpu, task, arrival),
        }
        self.skip_clock_if_due(cpu);
    }

    /// A queue event has just read the clock: the schedule() that follows need not read it again. One that is only lazily due may be
    /// far off. In a schedule() the running task may have left its queue already.
    pub(super) fn skip_clock_if_due(&mut self, cpu: CpuId) {
        let rq = &self.rqs[cpu];
        if rq.need_resched && rq.curr.is_none_or(|curr| self.tasks[curr].state.is_on_rq()) {
            self.rq_clock_skip_update(cpu);
        }
    }

    /// Moves a task that is on no queue to `target`. Balance of groups that overlap may bring a pinned task back to
    /// where it was: that is recorded, but no migration.
    ///
    /// Kernel: core.c set_task_cpu(), v4.12–
    pub(crate) fn set_task_cpu(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        let origin = self.tasks[task].cpu;
        cx.record(TraceEvent::SchedMigrateTask { task, orig_cpu: origin, dest_cpu: target });
        if origin == target {
            return;
        }
        self.migrate_task_rq(cx, task, target);
        self.nr_migrations += 1;
    }
}
