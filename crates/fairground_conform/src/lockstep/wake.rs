//! Wake-ups and births.

use super::Lockstep;
use super::class::Other;
use crate::outcome::Kind;
use crate::places::Wake;
use fairground_model::WakeContext;
use fairground_sched::{TaskState, WakeFlags};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

pub(super) const WAKE: WakeFlags = WakeFlags { sync: false, context: WakeContext::Task };

impl Lockstep<'_> {
    /// A wake-up begins.
    pub(super) fn waking(&mut self, writer: CpuId, at: Instant, task: TaskId, prev_cpu: CpuId) {
        let is_inferred = self.recording.is_inferred(self.next);
        let choice = self.next_wake().filter(|wake| !is_inferred || self.is_told_by_wakeup(wake));
        if !self.rows[task].fair {
            return;
        }
        match choice {
            Some(wake) => self.choose(at, &wake),
            None if matches!(self.state(task), TaskState::Asleep | TaskState::OffCpuPending) && self.rows[task].known => {
                self.world.idle_until(prev_cpu, if self.curr(prev_cpu).is_none() { at } else { self.world.clocks[prev_cpu] });
                self.world.call(writer, prev_cpu, |sched, cx| sched.ttwu_select_following(cx, task, WAKE));
            }
            None => {}
        }
    }

    /// Whether a wake-up whose beginning is missing tells what was chosen where: by its `sched_wakeup`, if that was written by the waker's
    /// CPU. An interrupt on the wakee's CPU may finish what another one began.
    fn is_told_by_wakeup(&self, wake: &Wake) -> bool {
        !self.recording.is_inferred(wake.queued as usize) && (wake.waker.is_some() || wake.this != wake.target)
    }

    /// The wakee is queued.
    pub(super) fn wakeup(&mut self, index: usize, writer: CpuId, at: Instant, task: TaskId, target: CpuId) {
        if !self.rows[task].fair {
            if !matches!(self.rows[task].other, Other::Runs(_)) {
                self.follow_other(task, Other::Waits(target));
            }
            return;
        }
        self.arrived(task);
        self.land(index, task, at);
        self.close_stale(target, Ns::ZERO);
        if self.curr(target).is_none() {
            self.world.idle_until(target, at);
        }
        let is_inferred = self.recording.is_inferred(index);
        let adopted =
            !self.rows[task].known || (is_inferred && matches!(self.state(task), TaskState::Asleep | TaskState::OffCpuPending));
        if adopted {
            self.adopt_wakee(index, task, target);
        }
        if self.state(task) == TaskState::Delayed && self.world.sched.task(task).cpu != target {
            self.finish_delayed(task);
        }
        self.bring_clock(target, task, at);
        let was_due = self.world.sched.resched_due(target);
        match self.state(task) {
            TaskState::Waking => {}
            TaskState::Asleep | TaskState::OffCpuPending => {
                self.world.call(writer, target, |sched, cx| sched.ttwu_select_following(cx, task, WAKE));
            }
            TaskState::Delayed => {
                let cpu = self.world.sched.task(task).cpu;
                self.world.call(writer, cpu, |sched, cx| sched.ttwu_select_following(cx, task, WAKE));
                if self.state(task) != TaskState::Waking {
                    self.asked_about(task, writer, cpu, at, was_due);
                    return self.hear_accounts(cpu);
                }
            }
            TaskState::Running | TaskState::Queued => return self.settle(target),
            _ => return self.fact("wake-ups of tasks that cannot be woken"),
        }
        if self.state(task) != TaskState::Waking {
            return self.fact("wake-ups of tasks that cannot be woken");
        }
        self.rows[task].ran_since_wakeup = Ns::ZERO;
        self.learn_floor_at_wakeup(index, task, target);
        let bound = std::mem::take(&mut self.rows[task].bound) && self.world.sched.task(task).cpu == target;
        self.world.call(writer, target, |sched, cx| match bound {
            true => sched.ttwu_activate_migrated(cx, task),
            false => sched.ttwu_activate(cx, task, target),
        });
        if !adopted {
            self.end_guess_if_placed(task);
        }
        self.asked_about(task, writer, target, at, was_due);
        self.hear_accounts(target);
    }

    /// A child is made. It starts with its parent's nice value.
    pub(super) fn fork(&mut self, index: usize, writer: CpuId, at: Instant, parent: Option<TaskId>, child: TaskId) {
        if !self.rows[child].fair || self.state(child) != TaskState::New {
            return;
        }
        let parent = parent.filter(|&parent| self.rows[parent].fair && self.rows[parent].known);
        let cpu = parent.map_or(writer, |parent| self.world.sched.task(parent).cpu);
        if let Some(parent) = parent {
            self.inherit_nice(parent, child);
        }
        self.rows[child].known = true;
        (self.rows[child].made_at, self.rows[child].recent) = (Some(index as u32), Some(writer));
        self.close_stale(cpu, Ns::ZERO);
        let was_due = self.world.sched.resched_due(cpu);
        self.world.call(writer, cpu, |sched, cx| sched.sched_fork(cx, parent, child));
        if self.world.sched.account_may_resched() && self.world.sched.profile().fork_accounts_parent() {
            self.asked(writer, cpu, at, Kind::UpdatePreempt, was_due);
        }
        self.hear_accounts(cpu);
    }

    /// Where the trace gives a child another priority than its parent's, the child changes it by its first own act.
    fn inherit_nice(&mut self, parent: TaskId, child: TaskId) {
        let (inherited, own) = (self.world.sched.task(parent).nice, self.world.sched.task(child).nice);
        if inherited != own {
            self.rows[child].nice_due = Some(own);
            let cpu = self.world.sched.task(child).cpu;
            self.world.call(cpu, cpu, |sched, cx| sched.set_user_nice(cx, child, inherited));
        }
    }

    /// A new task is queued for the first time.
    pub(super) fn wakeup_new(&mut self, index: usize, writer: CpuId, at: Instant, task: TaskId, target: CpuId) {
        if !self.rows[task].fair {
            self.follow_other(task, Other::Waits(target));
            return;
        }
        if self.state(task) != TaskState::New {
            return self.fact("births of tasks that live already");
        }
        self.close_stale(target, Ns::ZERO);
        if self.curr(target).is_none() {
            self.world.idle_until(target, at);
        }
        if self.recording.is_inferred(index) {
            return self.adopt_here(index, task, target);
        }
        if self.rows[task].known {
            self.choose_for_child(index, writer, at, task, target);
            self.learn_floor(index, task, target);
        } else {
            self.rows[task].known = true;
            self.world.call(writer, target, |sched, cx| sched.sched_fork(cx, None, task));
            self.fact("births without a fork in the record");
        }
        self.bring_clock(target, task, at);
        let was_due = self.world.sched.resched_due(target);
        self.world.call(writer, target, |sched, cx| sched.wake_up_new_task(cx, task, Some(target)));
        self.asked_about(task, writer, target, at, was_due);
        self.hear_accounts(target);
    }
}
