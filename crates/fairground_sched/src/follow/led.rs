//! Following another core that decides in a run: the tables go where it went.
//!
//! The other core chooses CPUs, picks, moves tasks, and asks for schedule(). What it chose is carried out here, so that
//! records, times and averages are kept as in any run. Nothing here decides: [`Sched::is_led`] is set, and then no rule asks
//! for a schedule() or an interrupt. Sleepers leave their queue at once, since when a delayed dequeue ends is a decision too.

use crate::Sched;
use crate::core::{Switch, WakeFlags, rq_lock_op};
use crate::ctx::Ctx;
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::task::{Task, TaskState};
use fairground_model::features::Feat;
use fairground_model::{Op, PrevState, Reason};
use fairground_stdx::{CpuId, CpuMask, TaskId};

/// The two cores have gone apart: what the other one decided cannot be done here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Astray {
    /// The task that it is about.
    pub task: TaskId,
    /// Where that task is here.
    pub state: TaskState,
}

impl Sched {
    /// From now on another core decides.
    pub fn begin_led(&mut self) {
        self.led = true;
        self.profile.feats.set(Feat::DELAY_DEQUEUE, false);
    }

    /// Whether another core decides.
    #[inline]
    pub fn is_led(&self) -> bool {
        self.led
    }

    /// What the current task of `cpu` is when it next calls schedule().
    pub fn announced_state(&self, cpu: CpuId) -> PrevState {
        self.rqs[cpu].curr.and_then(|task| self.tasks[task].sleep_state).unwrap_or(PrevState::Running)
    }

    /// Counts what an entry of the other core has seen: looks at run queues, in a balance or in a search, and locks of them.
    /// Locks that our tables would take are not counted besides.
    pub fn led_seen(&mut self, cx: &mut Ctx<'_, '_>, looked: &[CpuId], locked: &[CpuId], balances: bool) {
        match balances {
            true => cx.meter.count_n(Op::LbCpu, looked.len() as u64),
            false => looked.iter().for_each(|&cpu| self.count_look(cx, cpu)),
        }
        for &cpu in locked {
            cx.meter.count(rq_lock_op(cx.machine, cx.cpu, cpu));
        }
    }

    /// The flags of `cpu`, as the other core has them: schedule() at once, or at the next return to user mode, and whether the
    /// running task has works to do then.
    pub fn led_flags(&mut self, cpu: CpuId, (at_once, lazy): (bool, bool), user_works: bool) {
        let rq = &mut self.rqs[cpu];
        (rq.need_resched, rq.need_resched_lazy) = (at_once, lazy);
        if let Some(task) = rq.curr {
            self.tasks[task].throttle_work = user_works;
        }
    }

    /// The softirq that balances is raised on `cpu`, or was served.
    pub fn led_softirq(&mut self, cpu: CpuId, raised: bool) {
        self.rqs[cpu].lb.softirq_raised = raised;
    }

    /// A new task is queued on `target`.
    pub fn led_wake_new(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        self.tasks[task].recent_used_cpu = self.tasks[task].cpu;
        self.set_task_rq(task, target);
        self.activate_new_task(cx, task, target);
    }

    /// Whether a wake-up finds a task to wake. One that has only announced its sleep takes that back.
    pub fn led_is_asleep(&mut self, task: TaskId) -> bool {
        let row = &mut self.tasks[task];
        if matches!(row.state, TaskState::Running | TaskState::Queued) {
            row.sleep_state = None;
        }
        matches!(row.state, TaskState::Asleep | TaskState::OffCpuPending)
    }

    /// A sleeping task is woken, and queued on `target` or put on the wake list of that CPU.
    pub fn led_wake(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: WakeFlags, target: CpuId, listed: bool) {
        cx.meter.count(Op::TtwuBase);
        self.record_waking(cx, task, flags);
        let row = &mut self.tasks[task];
        (row.state, row.on_cpu, row.wakes_sync) = (TaskState::Waking, false, false);
        let migrated = row.cpu != target;
        if migrated {
            self.set_task_cpu(cx, task, target);
        }
        if listed {
            cx.meter.count(Op::WakeListAdd);
            self.tasks[task].sched_remote_wakeup = migrated;
            self.rqs[target].wake_list.push(task);
            self.note_idleness(target);
        } else {
            self.queue_wakee(cx, task, migrated);
        }
        self.ttwu_stat(cx.cpu, target);
    }

    /// The tasks on the wake list of `cx.cpu` are queued.
    pub fn led_wake_list(&mut self, cx: &mut Ctx<'_, '_>) {
        for task in std::mem::take(&mut self.rqs[cx.cpu].wake_list) {
            cx.meter.count(Op::WakeListTask);
            self.queue_wakee(cx, task, self.tasks[task].sched_remote_wakeup);
        }
        self.note_idleness(cx.cpu);
    }

    /// schedule() on `cx.cpu` that gives it to the stopper. That moves tasks, and [`Sched::led_schedule`] says who follows.
    pub fn led_schedule_stopper(&mut self, cx: &mut Ctx<'_, '_>, moved: &[(TaskId, CpuId)]) -> Switch {
        let leaving = self.leave_cpu(cx);
        self.rqs[cx.cpu].stop_running = true;
        let switch = self.switch_to(cx, leaving, None);
        if let Some(prev) = switch.prev {
            self.finish_task_switch(prev);
        }
        self.led_moves(cx, moved);
        switch
    }

    /// schedule() on `cx.cpu`: the current task leaves if it sleeps, tasks are moved, and `next` runs.
    pub fn led_schedule(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        moved: &[(TaskId, CpuId)],
        next: Option<TaskId>,
    ) -> Result<Switch, Astray> {
        let leaving = self.leave_cpu(cx);
        let (prev, others): (Vec<_>, Vec<_>) = moved.iter().partition(|row| leaving.prev == Some(row.0));
        self.led_moves(cx, &others);
        if let Some(task) = next {
            let Task { state, cpu, .. } = self.tasks[task];
            let runs_on = state == TaskState::Running && leaving.prev == next;
            if cpu != cx.cpu || !(runs_on || state == TaskState::Queued) {
                return Err(Astray { task, state });
            }
        }
        self.rqs[cx.cpu].stop_running = false;
        if next.is_none() {
            cx.decide(Reason::PickIdle, None, 0);
        }
        let switch = self.switch_to(cx, leaving, next);
        if let Some(prev) = switch.prev.filter(|_| switch.prev != switch.next) {
            self.finish_task_switch(prev);
        }
        self.led_moves(cx, &prev);
        Ok(switch)
    }

    /// Tasks that the other core has moved are moved.
    pub fn led_moves(&mut self, cx: &mut Ctx<'_, '_>, moved: &[(TaskId, CpuId)]) {
        for &(task, target) in moved {
            if self.tasks[task].cpu != target {
                self.led_move(cx, task, target);
            }
        }
    }

    fn led_move(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        let from = self.tasks[task].cpu;
        match self.tasks[task].state {
            TaskState::Queued => {
                self.update_rq_clock(cx, from);
                self.deactivate_task(cx, task, DequeueFlags::MIGRATING);
                self.set_task_cpu(cx, task, target);
                self.count_rq_lock(cx, target);
                self.update_rq_clock(cx, target);
                self.activate_task(cx, task, EnqueueFlags::empty());
            }
            TaskState::Asleep | TaskState::OffCpuPending => {
                self.tasks[task].state = TaskState::Waking;
                self.set_task_cpu(cx, task, target);
                self.tasks[task].state = TaskState::Asleep;
            }
            TaskState::New => self.set_task_rq(task, target),
            _ => {}
        }
    }

    /// The tick of `cx.cpu`: the running task is accounted for.
    pub fn led_tick(&mut self, cx: &mut Ctx<'_, '_>) {
        self.account_curr(cx);
        cx.meter.count(Op::Tick);
    }

    /// The CPUs that a task may use; where it goes the other core says.
    pub fn led_affinity(&mut self, task: TaskId, cpus: CpuMask) {
        self.tasks[task].cpus_allowed = self.shared_mask(cpus.and(&CpuMask::first_n(self.rqs.len())));
    }
}
