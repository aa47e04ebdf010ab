//! Tasks of other classes than the fair one (priorities below 100), and those that change their class: for a policy of their own, or
//! since a mutex or a binder lends them a priority.
//!
//! The core has the fair class alone here. A task of another class is on no queue of it, and the CPU that it takes is taken away from
//! the fair ones. Where such tasks wait and run is followed from the records, and each pick beside a waiting one is held
//! against the rule that all classes share: the higher priority first.
//!
//! One that waits and is passed over proves nothing yet: it may be pushed to another CPU, which few traces tell. Its next switch does.

use super::{Lockstep, nice_of_prio};
use fairground_sched::TaskState;
use fairground_stdx::{CpuId, TaskId};

/// Where a task is that is not of the fair class, by the record.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Other {
    #[default]
    Away,
    Waits(CpuId),
    Runs(CpuId),
}

impl Lockstep<'_> {
    /// From the next record on `task` has another class.
    pub(super) fn change_class(&mut self, task: TaskId, prio: i32) {
        self.fact("changes between the fair class and others: followed");
        match self.rows[task].fair {
            true => self.leave_fair(task),
            false => self.join_fair(task, prio),
        }
    }

    fn leave_fair(&mut self, task: TaskId) {
        let cpu = self.world.sched.task(task).cpu;
        let runs = self.curr(cpu) == Some(task);
        if runs {
            self.settle(cpu);
            self.drop_group(cpu, "preemption questions about a task that left the fair class meanwhile");
            self.schedule_begin(cpu);
            if let Some(leaving) = self.cpus[cpu].leaving.take() {
                self.world.call(cpu, cpu, |sched, cx| sched.schedule_other_class(cx, leaving));
            }
            self.hear_accounts(cpu);
            self.world.sched.follow_other_class(cpu, true);
        }
        self.land(self.next, task, self.world.at);
        match self.state(task) {
            TaskState::Queued => {
                self.world.call(cpu, cpu, |sched, cx| sched.detach_task(cx, task, cpu));
                self.hear_accounts(cpu);
                self.rows[task].other = if runs { Other::Runs(cpu) } else { Other::Waits(cpu) };
            }
            TaskState::Delayed => self.finish_delayed(task),
            _ => {}
        }
        self.rows[task].fair = false;
    }

    fn join_fair(&mut self, task: TaskId, prio: i32) {
        let other = std::mem::take(&mut self.rows[task].other);
        self.rows[task].fair = true;
        self.rows[task].passed_over = 0;
        match other {
            Other::Waits(cpu) | Other::Runs(cpu) => self.queue_as_fair(task, cpu),
            Other::Away if self.state(task) == TaskState::Migrating => self.world.sched.follow_rest(task),
            Other::Away => {}
        }
        if let Some(nice) = nice_of_prio(prio) {
            self.set_nice(task, nice);
        }
    }

    fn queue_as_fair(&mut self, task: TaskId, cpu: CpuId) {
        let due = self.world.sched.resched_due(cpu);
        if self.curr(cpu).is_none() {
            self.world.idle_until(cpu, self.world.at);
        }
        match self.state(task) {
            TaskState::Migrating => {
                let moves = self.world.sched.task(task).cpu != cpu;
                self.world.call(cpu, cpu, |sched, cx| {
                    if moves {
                        sched.ttwu_migrate(cx, task, cpu);
                    }
                    sched.attach_task(cx, task);
                });
                self.hear_accounts(cpu);
            }
            TaskState::New => self.adopt_here(self.next, task, cpu),
            TaskState::Asleep | TaskState::OffCpuPending | TaskState::Waking => self.wake_at_once(task, cpu),
            _ => {}
        }
        self.world.sched.follow_need_resched(cpu, due);
    }

    /// What an event tells of a task that is not of the fair class.
    pub(super) fn follow_other(&mut self, task: TaskId, other: Other) {
        if !self.rows[task].fair {
            self.rows[task].other = other;
        }
    }

    /// One `sched_switch` to `next` on `cpu`: the classes in their order.
    pub(super) fn judge_class(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        let Some(next) = next.filter(|_| !self.recording.is_inferred(self.next)) else { return };
        if !self.rows[next].fair {
            let beaten = u64::from(std::mem::take(&mut self.rows[next].passed_over));
            let stayed = self.rows[next].other == Other::Waits(cpu);
            if stayed {
                self.classes.decisions += beaten;
            }
        }
        let prio = self.rows[next].prio;
        let (mut beside, mut passed) = (self.world.sched.cfs_rq(cpu).h_nr_runnable > u32::from(self.rows[next].fair), false);
        for task in self.rows.ids() {
            let row = &self.rows[task];
            if row.fair || row.other != Other::Waits(cpu) || task == next || Some(task) == prev {
                continue;
            }
            beside = true;
            if row.prio < prio {
                passed = true;
                self.rows[task].passed_over += 1;
            }
        }
        if beside && !passed && !self.rows[next].fair {
            self.classes.count(true);
        }
    }
}
