//! Migrations of waiting tasks, as recorded.

use super::Lockstep;
use super::class::Other;
use super::wake::WAKE;
use crate::outcome::Kind;
use crate::read::Mark;
use fairground_model::{PrevState, TraceEvent};
use fairground_sched::TaskState;
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

impl Lockstep<'_> {
    /// One `sched_migrate_task`. Inside a wake-up it is part of that.
    pub(super) fn migrate(&mut self, index: usize, writer: CpuId, at: Instant, task: TaskId, (from, to): (CpuId, CpuId)) {
        self.balanced(index, at);
        self.land(index, task, at);
        let mark = self.mark(index);
        if !self.rows[task].fair {
            if let Other::Waits(_) = self.rows[task].other {
                self.follow_other(task, Other::Waits(to));
            }
            return;
        }
        if mark == Mark::WakeMove {
            self.bind_woken(writer, task, to);
            return self.on_its_way(task, to);
        }
        if self.curr(from).is_none() {
            self.world.idle_until(from, at);
        }
        if mark == Mark::Pull {
            if self.cpus[to].leaving.is_none() {
                self.begin_sleep(index, to);
            }
            if self.curr(to).is_some() {
                // Who leaves for want of quota does not sleep.
                self.schedule_begin(to);
            }
            self.look_for_next(to);
        }
        let row = self.world.sched.task(task);
        let waits = matches!(row.state, TaskState::Queued | TaskState::Delayed) && row.cpu == from;
        if !waits || self.curr(from) == Some(task) {
            return self.fact("migrations of tasks that do not wait on the CPU that they leave");
        }
        self.close_stale(from, Ns::ZERO);
        self.bring_clock(from, task, at);
        let was_due = self.world.sched.resched_due(from);
        self.world.call(from, from, |sched, cx| sched.detach_task(cx, task, to));
        if self.world.sched.account_may_resched() {
            self.asked(writer, from, at, Kind::UpdatePreempt, was_due);
        }
        self.hear_accounts(from);
        self.cpus[writer].in_flight.push(task);
        self.rows[task].in_flight = true;
        if !self.arrival_follows(index, (from, to)) {
            self.attach_all(index, writer, at);
        }
    }

    /// The schedule() of `cpu` between its halves looks who runs next.
    pub(super) fn look_for_next(&mut self, cpu: CpuId) {
        self.cpus[cpu].found_nobody = self.world.call(cpu, cpu, |sched, cx| sched.schedule_found_nothing(cx));
    }

    /// A migration inside a wake-up.
    fn bind_woken(&mut self, writer: CpuId, task: TaskId, target: CpuId) {
        if matches!(self.state(task), TaskState::Asleep | TaskState::OffCpuPending) && self.rows[task].known {
            self.world.call(writer, target, |sched, cx| sched.ttwu_select_following(cx, task, WAKE));
        }
        let old = self.world.sched.task(task).cpu;
        if self.state(task) == TaskState::Waking && old != target {
            self.read_clock_ahead(writer, old);
            self.world.call(writer, old, |sched, cx| sched.ttwu_migrate(cx, task, target));
            self.rows[task].bound = true;
        }
    }

    /// Whether the same CPU goes on with another migration, or with the account that comes before the arrival.
    fn arrival_follows(&self, index: usize, way: (CpuId, CpuId)) -> bool {
        self.reading.order.next(index).is_some_and(|next| match self.recording.records[next].event {
            TraceEvent::SchedStatRuntime { .. } if self.mark(next) == Mark::Detach => {
                !self.is_read_between(way.1, index, next) && self.arrival_follows(next, way)
            }
            TraceEvent::SchedStatRuntime { .. } => self.mark(next) == Mark::Attach,
            TraceEvent::SchedMigrateTask { orig_cpu, dest_cpu, .. } => {
                (orig_cpu, dest_cpu) == way
                    && matches!(self.mark(next), Mark::Move | Mark::Pull)
                    && !self.is_read_between(way.1, index, next)
            }
            _ => false,
        })
    }

    /// All that `writer` has taken off queues arrives.
    pub(super) fn attach_all(&mut self, index: usize, writer: CpuId, at: Instant) {
        let arriving = std::mem::take(&mut self.cpus[writer].in_flight);
        for &task in &arriving {
            self.learn_floor(index, task, self.world.sched.task(task).cpu);
        }
        // The kernel's list is a stack.
        for task in arriving.into_iter().rev() {
            self.rows[task].in_flight = false;
            self.attach(writer, task, at);
        }
    }

    /// A task that something happens to has arrived, whatever comes later.
    pub(super) fn land(&mut self, index: usize, task: TaskId, at: Instant) {
        if self.rows[task].in_flight {
            let mover = self.cpus.ids().find(|&cpu| self.cpus[cpu].in_flight.contains(&task));
            if let Some(mover) = mover {
                self.attach_all(index, mover, at);
            }
        }
    }

    fn attach(&mut self, writer: CpuId, task: TaskId, at: Instant) {
        let cpu = self.world.sched.task(task).cpu;
        if self.curr(cpu).is_none() {
            self.world.idle_until(cpu, at);
        }
        self.close_stale(cpu, Ns::ZERO);
        self.read_clock_ahead(writer, cpu);
        self.bring_clock(cpu, task, at);
        let was_due = self.world.sched.resched_due(cpu);
        self.exhaust_ahead(writer);
        self.world.call(cpu, cpu, |sched, cx| sched.attach_task(cx, task));
        if self.cpus[cpu].leaving.is_none() {
            self.asked_about(task, writer, cpu, at, was_due);
        }
        self.hear_accounts(cpu);
    }

    /// If the running task of `cpu` goes to sleep at the next switch, it leaves the queue now: before the CPU switches
    /// away tasks may be pulled there, and others may read what the queue's floor is then.
    pub(super) fn begin_sleep(&mut self, index: usize, cpu: CpuId) {
        let Some(state) = self.sleeps_next(index) else { return };
        if self.curr(cpu).is_some() && self.cpus[cpu].leaving.is_none() {
            self.overtaken(cpu);
            self.world.sched.set_current_state(cpu, state);
            self.schedule_begin(cpu);
        }
    }

    /// The state in which the CPU of `index` leaves its task at its next switch, if that sleeps.
    pub(super) fn sleeps_next(&self, index: usize) -> Option<PrevState> {
        let mut next = self.reading.order.next(index);
        while let Some(at) = next {
            if let TraceEvent::SchedSwitch { prev_state, .. } = self.recording.records[at].event {
                return Some(self.reading.order.prev_state(at, prev_state)).filter(|&state| state != PrevState::Running);
            }
            next = self.reading.order.next(at);
        }
        None
    }

    /// A task that the core has in delayed dequeue is off its queue.
    pub(super) fn finish_delayed(&mut self, task: TaskId) {
        let cpu = self.world.sched.task(task).cpu;
        self.world.call(cpu, cpu, |sched, cx| sched.finish_delayed_dequeue(cx, task));
        self.hear_accounts(cpu);
    }

    /// Moves a waiting task without a record of it.
    pub(super) fn move_queued(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        self.world.call(from, from, |sched, cx| sched.detach_task(cx, task, to));
        self.hear_accounts(from);
        self.world.call(to, to, |sched, cx| sched.attach_task(cx, task));
        self.hear_accounts(to);
    }
}
