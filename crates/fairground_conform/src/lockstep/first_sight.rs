//! What lies before the record: tasks and queues whose virtual times are learnt at first sight.
//!
//! A task's first account tells its virtual time before that account. A queue's floor is known for certain from the
//! first placement that depends on it: what the record gave the task, minus what the placement adds.

use super::Lockstep;
use fairground_model::TraceEvent;
use fairground_sched::TaskState;
use fairground_stdx::{CpuId, TaskId, Vruntime};

/// Virtual times on one queue are never this far apart: a turn at nice 19 is 2 s of virtual time at most.
const ONE_QUEUE_NS: u64 = 1 << 32;

impl Lockstep<'_> {
    /// Puts everybody where he was when the record began.
    pub(super) fn adopt_start(&mut self) {
        for cpu in self.cpus.ids() {
            let running = self.cpus[cpu].running.filter(|&task| self.rows[task].fair);
            if let Some(task) = running {
                if let Some(floor) = self.vruntime_at(task, 0) {
                    self.world.sched.adopt_min_vruntime(cpu, floor);
                    self.cpus[cpu].floor_guessed = true;
                }
                self.adopt_here(0, task, cpu);
                self.world.call(cpu, cpu, |sched, cx| {
                    let leaving = sched.schedule_begin(cx);
                    sched.schedule_following(cx, leaving, running)
                });
            }
            self.world.ear.accounts.clear();
        }
    }

    /// The virtual time that `task` had at record `from`, by its next account. One behind a move to another group tells that of another queue,
    /// and one behind a sleep (our own tasks may run for no time at all before it) where the wake-up placed it.
    fn vruntime_at(&self, task: TaskId, from: usize) -> Option<Vruntime> {
        let account = self.reading.order.next_account(task, from)?;
        let order = &self.reading.order;
        if self.changes_group_between(task, from, account) || order.is_woken_between(task, from, account) {
            return None;
        }
        match self.recording.records[account].event {
            TraceEvent::SchedStatRuntime { runtime, vruntime: Some(after), .. } => {
                Some(self.world.sched.vruntime_before(task, runtime, after))
            }
            _ => None,
        }
    }

    /// The same, if it can be one of the root queue of `cpu`. Virtual times that lie seconds apart are those of different groups, of which
    /// the record says nothing else.
    fn vruntime_on(&mut self, task: TaskId, from: usize, cpu: CpuId) -> Option<Vruntime> {
        let told = self.vruntime_at(task, from)?;
        let row = &self.cpus[cpu];
        let floor = self.world.sched.cfs_rq(cpu).min_vruntime;
        if self.learns && (row.floor_known || row.floor_guessed) && told.since(floor).unsigned_abs() > ONE_QUEUE_NS {
            self.fact("virtual times of other queues: groups of which the trace does not tell");
            return None;
        }
        Some(told)
    }

    /// Queues a task of unknown past on `cpu`.
    pub(super) fn adopt_here(&mut self, index: usize, task: TaskId, cpu: CpuId) {
        let vruntime = self.vruntime_on(task, index, cpu);
        self.vruntimes.adopted += u64::from(vruntime.is_some());
        (self.rows[task].known, self.rows[task].unknown_past) = (true, true);
        self.world.call(cpu, cpu, |sched, cx| sched.adopt_queued(cx, task, vruntime));
        if vruntime.is_none() {
            self.guess(task, false);
        }
        self.hear_accounts(cpu);
    }

    /// A task of unknown past wakes on `cpu`: it slept there with the virtual time that its first account tells.
    pub(super) fn adopt_wakee(&mut self, index: usize, task: TaskId, cpu: CpuId) {
        let told = self.vruntime_on(task, index, cpu);
        self.vruntimes.adopted += u64::from(told.is_some());
        // Of a task that was seen before the core knows it.
        let vruntime = told.or_else(|| self.learns.then(|| self.own_vruntime(task, cpu)).flatten());
        if vruntime.is_none() {
            self.guess(task, !self.world.sched.profile().pick.is_eevdf());
        }
        (self.rows[task].known, self.rows[task].unknown_past) = (true, true);
        if let Some(placed) = told.filter(|_| !self.cpus[cpu].floor_known) {
            // Nobody is placed more than the credit before the floor; a long sleeper just there.
            let highest = placed.plus(self.world.sched.sleeper_credit_of(task));
            let guessed = std::mem::replace(&mut self.cpus[cpu].floor_guessed, true);
            if !guessed || highest.since(self.world.sched.cfs_rq(cpu).min_vruntime) < 0 {
                self.world.sched.adopt_min_vruntime(cpu, highest);
            }
        }
        self.world.sched.adopt_sleeper(task, cpu, vruntime);
        if let Some(&(_, lag)) = self.lags.iter().find(|row| row.0 == task) {
            self.world.sched.adopt_lag(task, lag);
        }
    }

    /// The virtual time of a sleeper that the core knows, as it would be on `cpu`.
    fn own_vruntime(&self, task: TaskId, cpu: CpuId) -> Option<Vruntime> {
        let from = self.world.sched.task(task).cpu;
        let (old, new) = (self.world.sched.cfs_rq(from).min_vruntime, self.world.sched.cfs_rq(cpu).min_vruntime);
        self.rows[task].known.then(|| self.world.sched.se(task).vruntime.minus(old.0).plus(new.0))
    }

    /// A known task sleeps no longer although no wake-up was recorded.
    pub(super) fn revive(&mut self, task: TaskId, cpu: CpuId) {
        if self.state(task) == TaskState::Delayed {
            self.finish_delayed(task);
        }
        self.world.sched.adopt_sleeper(task, cpu, None);
        self.wake_at_once(task, cpu);
    }

    /// A sleeper is queued on `cpu`.
    pub(super) fn wake_at_once(&mut self, task: TaskId, cpu: CpuId) {
        self.world.call(cpu, cpu, |sched, cx| {
            sched.ttwu_select_following(cx, task, super::wake::WAKE);
            sched.ttwu_activate(cx, task, cpu);
        });
        self.hear_accounts(cpu);
    }

    /// Before `task`, whose virtual time is relative now, is queued on `cpu`: the floor there, if it is not known yet.
    pub(super) fn learn_floor(&mut self, index: usize, task: TaskId, cpu: CpuId) {
        if self.cpus[cpu].floor_known || self.is_in_group(task) {
            return;
        }
        if let Some(placed) = self.vruntime_on(task, index, cpu) {
            let relative = self.world.sched.se(task).vruntime;
            self.world.sched.adopt_min_vruntime(cpu, placed.minus(relative.0));
            self.cpus[cpu].floor_known = true;
        }
    }

    /// Whether a task's queue is that of a group: these are made while the record runs, so all of their past is known. What it
    /// tells is not the floor of its CPU's root queue.
    fn is_in_group(&self, task: TaskId) -> bool {
        self.world.sched.task(task).group.is_some()
    }

    /// Before `task` is queued on `cpu` by a wake-up: the same, where its placement depends on the floor.
    pub(super) fn learn_floor_at_wakeup(&mut self, index: usize, task: TaskId, cpu: CpuId) {
        if self.cpus[cpu].floor_known || self.rows[task].unknown_past || self.is_in_group(task) {
            return;
        }
        let Some(placed) = self.vruntime_on(task, index, cpu) else { return };
        let (own, credit) = (self.world.sched.se(task).vruntime, self.world.sched.sleeper_credit_of(task));
        let from = self.world.sched.task(task).cpu;
        let floor = if self.rows[task].bound || from != cpu {
            // Relative to the floor that it left, or leaves; placed at the later of that and the credit.
            let origin = if self.rows[task].bound { Vruntime(0) } else { self.world.sched.cfs_rq(from).min_vruntime };
            placed.0.wrapping_sub(own.since(origin).max(-(credit as i64)) as u64)
        } else if placed.since(own) > 0 {
            placed.0.wrapping_add(credit)
        } else {
            return;
        };
        self.world.sched.adopt_min_vruntime(cpu, Vruntime(floor));
        self.cpus[cpu].floor_known = true;
    }
}
