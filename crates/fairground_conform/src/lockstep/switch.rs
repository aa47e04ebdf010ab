//! schedule(): the core is asked who shall run, then the record is followed.

use super::Lockstep;
use super::class::Other;
use fairground_model::PrevState;
use fairground_sched::TaskState;
use fairground_stdx::{CpuId, Instant, TaskId};

/// Questions that were open where records are missing.
const CUT_OFF: &str = "preemption questions whose outcome is missing from the record";

/// Questions that were open when a reschedule came for another reason.
const OVERTAKEN_BY_QUOTA: &str = "preemption questions that the end of a quota overtook";

impl Lockstep<'_> {
    /// schedule() kept the running task of `cpu`.
    pub(super) fn kept(&mut self, cpu: CpuId, at: Instant) {
        let Some(curr) = self.curr(cpu) else { return };
        match self.told.calls && self.cpus[cpu].quota_stop {
            true => self.drop_group(cpu, OVERTAKEN_BY_QUOTA),
            false => self.rescheduled(cpu, true, Some(curr)),
        }
        let candidates = self.world.sched.cfs_rq(cpu).h_nr_runnable;
        let answer = self.world.call(cpu, cpu, |sched, cx| {
            let leaving = sched.schedule_begin(cx);
            sched.schedule_following(cx, leaving, Some(curr))
        });
        self.picked(at, cpu, Some(curr), answer, candidates);
        self.hear_accounts(cpu);
    }

    /// One `sched_switch`.
    pub(super) fn switch(
        &mut self,
        index: usize,
        cpu: CpuId,
        at: Instant,
        (prev, prev_state): (Option<TaskId>, PrevState),
        next: Option<TaskId>,
    ) {
        if prev.is_some() && prev == next {
            return self.fact("switches from a task to itself, which no kernel makes: left out");
        }
        let prev_state = self.reading.order.prev_state(index, prev_state);
        let fair = |task: Option<TaskId>| task.filter(|&task| self.rows[task].fair);
        let (fair_prev, fair_next) = (fair(prev), fair(next));
        if self.cpus[cpu].running != prev {
            self.fact("switches away from a task that did not run: records are missing");
        }
        self.force_curr(cpu, at, fair_prev);
        if fair_prev.is_none() {
            self.world.idle_until(cpu, at);
        }
        if self.recording.is_inferred(index) {
            self.drop_group(cpu, CUT_OFF);
        }
        match fair_prev {
            None => self.drop_group(cpu, "preemption questions without an outcome in the record"),
            Some(_) if self.told.calls && self.cpus[cpu].leaving.is_some() => {}
            Some(_) => {
                self.end_questions(cpu, prev_state, (next, fair_next));
                if prev_state != PrevState::Running && self.cpus[cpu].leaving.is_none() {
                    self.world.sched.set_current_state(cpu, prev_state);
                }
            }
        }
        if let Some(task) = fair_next {
            self.land(index, task, at);
            self.force_queued(index, task, cpu);
        }
        self.schedule_begin(cpu);
        self.judge_class(cpu, prev, next);
        if let Some(prev) = prev {
            let waits = prev_state == PrevState::Running;
            self.follow_other(prev, if waits { Other::Waits(cpu) } else { Other::Away });
        }
        if let Some(next) = next {
            self.follow_other(next, Other::Runs(cpu));
        }
        self.leave_and_enter(cpu, at, next, fair_next);
        self.world.sched.follow_other_class(cpu, next.is_some() && fair_next.is_none());
        self.settle(cpu);
        if let Some(prev) = fair_prev {
            self.world.sched.finish_task_switch(prev);
            if prev_state != PrevState::Running
                && let Some(nice) = self.rows[prev].nice_due.take()
            {
                // It did not do it itself: its maker does while it sleeps.
                self.set_nice(prev, nice);
            }
        }
        (self.cpus[cpu].running, self.cpus[cpu].quota_stop) = (next, false);
    }

    /// The fair task of `cpu` is about to leave it, in this state, for `next`.
    pub(super) fn end_questions(&mut self, cpu: CpuId, state: PrevState, (next, fair_next): (Option<TaskId>, Option<TaskId>)) {
        match state {
            PrevState::Running if next.is_some() && fair_next.is_none() => self.overtaken(cpu),
            PrevState::Running if self.cpus[cpu].quota_stop => {
                self.drop_group(cpu, OVERTAKEN_BY_QUOTA);
            }
            PrevState::Running => self.rescheduled(cpu, false, fair_next),
            _ => self.overtaken(cpu),
        }
    }

    fn leave_and_enter(&mut self, cpu: CpuId, at: Instant, next: Option<TaskId>, fair_next: Option<TaskId>) {
        self.schedule_begin(cpu);
        let leaving = self.cpus[cpu].leaving.take().expect("invariant: the first half of schedule() was just done");
        if next.is_some() && fair_next.is_none() {
            self.world.call(cpu, cpu, |sched, cx| sched.schedule_other_class(cx, leaving));
            self.cpus[cpu].instead = None;
            return self.hear_accounts(cpu);
        }
        let candidates = self.world.sched.cfs_rq(cpu).h_nr_runnable;
        let answer = self.world.call(cpu, cpu, |sched, cx| sched.schedule_following(cx, leaving, fair_next));
        self.picked(at, cpu, fair_next, answer, candidates);
        if fair_next.is_none() && answer.answer.is_some() {
            self.fact("CPUs that go idle although the core has a task for them: records are missing");
        }
        self.hear_accounts(cpu);
        if next.is_none() {
            self.age_idle(cpu, at);
        }
    }

    /// The first half of schedule(), unless it is done already.
    pub(super) fn schedule_begin(&mut self, cpu: CpuId) {
        if self.cpus[cpu].leaving.is_none() {
            let leaving = self.world.call(cpu, cpu, |sched, cx| sched.schedule_begin(cx));
            self.hear_accounts(cpu);
            self.cpus[cpu].leaving = Some(leaving);
            self.cpus[cpu].found_nobody = false;
        }
    }

    /// Makes `task` the current one of `cpu` in the core, if lost records left another one there.
    fn force_curr(&mut self, cpu: CpuId, at: Instant, task: Option<TaskId>) {
        if self.curr(cpu) == task {
            return;
        }
        self.settle(cpu);
        self.drop_group(cpu, CUT_OFF);
        self.world.idle_until(cpu, at);
        if let Some(task) = task {
            self.land(self.next, task, at);
            self.force_queued(self.next, task, cpu);
        }
        self.schedule_begin(cpu);
        let leaving = self.cpus[cpu].leaving.take().expect("invariant: the first half of schedule() was just done");
        self.world.call(cpu, cpu, |sched, cx| match task {
            Some(_) => {
                sched.schedule_following(cx, leaving, task);
            }
            None => sched.schedule_other_class(cx, leaving),
        });
        self.hear_accounts(cpu);
    }

    /// A schedule() of another CPU that has begun to take `task` off it comes to its end, before the task is somewhere else.
    fn leave_elsewhere(&mut self, task: TaskId, cpu: CpuId) {
        let elsewhere = self.world.sched.task(task).cpu;
        if elsewhere == cpu || self.curr(elsewhere) != Some(task) {
            return;
        }
        let Some(leaving) = self.cpus[elsewhere].leaving.take() else { return };
        self.fact("tasks that run on two CPUs: records are missing");
        self.settle(elsewhere);
        self.drop_group(elsewhere, CUT_OFF);
        self.world.call(elsewhere, elsewhere, |sched, cx| sched.schedule_other_class(cx, leaving));
        self.cpus[elsewhere].running = None;
    }

    /// Makes sure that `task` waits (or runs) on `cpu`, if lost records left it elsewhere.
    pub(super) fn force_queued(&mut self, index: usize, task: TaskId, cpu: CpuId) {
        self.release_who_runs(task);
        self.leave_elsewhere(task, cpu);
        let row = self.world.sched.task(task);
        match row.state {
            TaskState::Running | TaskState::Queued if row.cpu == cpu => {}
            TaskState::Running => {
                let elsewhere = row.cpu;
                self.fact("tasks that run on two CPUs: records are missing");
                self.settle(elsewhere);
                self.drop_group(elsewhere, CUT_OFF);
                self.schedule_begin(elsewhere);
                let leaving = self.cpus[elsewhere].leaving.take().expect("invariant: the first half of schedule() was just done");
                self.world.call(elsewhere, elsewhere, |sched, cx| sched.schedule_other_class(cx, leaving));
                self.cpus[elsewhere].running = None;
                self.move_queued(task, elsewhere, cpu);
            }
            TaskState::Queued => {
                let elsewhere = row.cpu;
                self.fact("tasks that get the CPU while they wait on another: records are missing");
                self.move_queued(task, elsewhere, cpu);
            }
            TaskState::New if !self.rows[task].known => {
                self.fact("tasks that get the CPU without a wake-up in the record");
                self.adopt_here(index, task, cpu);
            }
            _ => {
                self.fact("tasks that get the CPU without a wake-up in the record");
                self.revive(task, cpu);
            }
        }
    }
}
