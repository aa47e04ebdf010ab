//! schedule() in phases: what leaves, the look for work elsewhere, the switch; and the stopper.

use crate::cpu::{Doing, Then};
use crate::kernel::Next;
use crate::other_core::Entry;
use crate::queue::Slot;
use crate::simulation::Simulation;
use fairground_model::{Recorder, Section};
use fairground_sched::{BalanceStep, Ctx, Leaving, Sched, Switch};
use fairground_stdx::{CpuId, Instant, TaskId};

impl Simulation {
    /// schedule() up to the switch, or up to newidle balance where nothing is left to run.
    pub(crate) fn schedule(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        if self.beside.leads() {
            return self.led_schedule(rec, cpu);
        }
        if let Some(wait) = self.lock(cpu, cpu, Section::Schedule, Then::Schedule) {
            return wait;
        }
        if self.sched.stop_work_due(cpu) {
            return match self.core_locked(rec, cpu, cpu, |sched, cx| sched.schedule_to_stopper(cx)) {
                Ok(switch) => self.stopper_runs(cpu, switch),
                Err(leaving) => self.pay(cpu, Section::Schedule, Then::NewidleBalance(leaving)),
            };
        }
        let switch = self.core_locked(rec, cpu, cpu, |sched, cx| {
            if let Some(switch) = sched.schedule_plain(cx) {
                return Ok(switch);
            }
            let leaving = sched.schedule_start(cx);
            match leaving.found_nothing() && sched.wants_newidle_balance(cx.cpu, &leaving) {
                true => Err(leaving),
                false => sched.schedule_finish(cx, leaving).ok_or(leaving),
            }
        });
        match switch {
            Ok(switch) => {
                let prev = self.left(cpu, switch);
                self.pay(cpu, Section::Schedule, Then::Switched(prev))
            }
            Err(leaving) => self.pay(cpu, Section::Schedule, Then::NewidleBalance(leaving)),
        }
    }

    /// One phase of newidle balance, after which the next one follows, or the switch after the last. All that time the
    /// leaving task is current, so that the CPU is not idle for others, and interrupts are off.
    #[inline(never)]
    pub(crate) fn newidle_balance(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, leaving: Leaving) -> Next {
        let again = Then::NewidleBalance(leaving);
        let step = match self.balance_phase(rec, cpu, None, Section::NewidleBalance, again, |sched, cx| sched.newidle_balance(cx))
        {
            Ok(step) => step,
            Err(wait) => return wait,
        };
        match step {
            BalanceStep::More => Next::Pay(Section::NewidleBalance),
            BalanceStep::Done => self.pay(cpu, Section::NewidleBalance, Then::FinishSchedule(leaving)),
        }
    }

    /// The rest of schedule() after newidle balance.
    pub(crate) fn finish_schedule(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, leaving: Leaving) -> Next {
        if let Some(wait) = self.lock(cpu, cpu, Section::Schedule, Then::FinishSchedule(leaving)) {
            return wait;
        }
        if self.sched.stop_work_due(cpu) {
            let switch = self.core_locked(rec, cpu, cpu, |sched, cx| sched.schedule_stopper(cx, Some(leaving)));
            return self.stopper_runs(cpu, switch);
        }
        let switch = self.core_locked(rec, cpu, cpu, |sched, cx| sched.schedule_finish(cx, leaving));
        // What was found is gone again: once more.
        let Some(switch) = switch else { return self.pay(cpu, Section::Schedule, Then::NewidleBalance(leaving)) };
        let prev = self.left(cpu, switch);
        self.pay(cpu, Section::Schedule, Then::Switched(prev))
    }

    #[inline(never)]
    fn stopper_runs(&mut self, cpu: CpuId, switch: Switch) -> Next {
        let prev = self.left(cpu, switch);
        self.pay(cpu, Section::Stopper, Then::Stopper(prev))
    }

    /// One phase of the stopper; schedule() follows the last.
    #[inline(never)]
    pub(crate) fn stopper(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, prev: Option<TaskId>) -> Next {
        self.finish_task_switch(cpu, prev);
        let run = |sched: &mut Sched, cx: &mut Ctx<'_, '_>| sched.run_stopper(cx);
        let step = match self.balance_phase(rec, cpu, Some(cpu), Section::Stopper, Then::Stopper(None), run) {
            Ok(step) => step,
            Err(wait) => return wait,
        };
        match step {
            BalanceStep::More => self.pay(cpu, Section::Stopper, Then::Stopper(None)),
            BalanceStep::Done => self.pay(cpu, Section::Stopper, Then::Schedule),
        }
    }

    /// One phase of a balance of `cpu`, under the lock of the run queue that it takes tasks off or queues them on, or else
    /// of `other`; or the wait for that lock, after which comes `then`.
    pub(crate) fn balance_phase(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        other: Option<CpuId>,
        section: Section,
        then: Then,
        call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> BalanceStep,
    ) -> Result<BalanceStep, Next> {
        let rq = if self.locks.exist() { self.sched.balance_locks(cpu).or(other) } else { None };
        let Some(rq) = rq else { return Ok(self.core(rec, cpu, call)) };
        match self.lock(cpu, rq, section, then) {
            Some(wait) => Err(wait),
            None => Ok(self.core_locked(rec, cpu, rq, call)),
        }
    }

    /// The switch away from `prev` (if any) is over: the current task goes on, or the CPU idles.
    pub(crate) fn switched(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, prev: Option<TaskId>) -> Next {
        self.finish_task_switch(cpu, prev);
        // schedule() itself chooses again: who was chosen on a CPU that is off line does not begin.
        if !self.view.online.contains(cpu) && self.sched.stop_work_due(cpu) {
            return self.schedule(rec, cpu);
        }
        if self.sched.rq(cpu).curr.is_none() && !self.sched.rq(cpu).need_resched {
            // One that came during the switch is served before the tick stops.
            return if self.queue.irq_is_late(cpu) { self.enable_irqs(cpu) } else { self.go_idle(rec, cpu) };
        }
        if self.queue.get(cpu, Slot::Tick).is_none() {
            self.core(rec, cpu, |sched, cx| sched.tick_nohz_restart(cx));
            self.start_tick(cpu);
        }
        if let Some(task) = self.sched.rq(cpu).curr {
            self.enter_cache(cpu, task);
        }
        self.resume(rec, cpu)
    }

    /// The task that a switch takes off `cpu`.
    pub(crate) fn left(&mut self, cpu: CpuId, switch: Switch) -> Option<TaskId> {
        let left = switch.prev.filter(|_| switch.prev != switch.next);
        if let Some(task) = left {
            self.leave_cache(cpu, task);
            self.lock_owner_leaves(task);
        }
        self.slices.left(left);
        self.parts.switch(self.now, switch.prev, switch.next);
        self.tell(cpu, Entry::Schedule { prev_state: switch.prev_state });
        left
    }

    fn finish_task_switch(&mut self, cpu: CpuId, prev: Option<TaskId>) {
        let Some(task) = prev else { return };
        // One that the stopper moved was off this CPU before, and may be current or asleep elsewhere.
        if self.sched.task(task).cpu == cpu {
            self.sched.finish_task_switch(task);
        }
        if let Some(waker) = self.cpus[cpu].spinner.take() {
            self.release(waker);
        }
    }

    /// `waker` waits, interrupts off, until `cpu` has finished the switch that is under way there.
    pub(crate) fn park(&mut self, waker: CpuId, cpu: CpuId, then: Then) -> Next {
        self.cpus[cpu].spinner = Some(waker);
        let row = &mut self.cpus[waker];
        (row.doing, row.then, row.spins_since) = (Doing::Kernel, then, self.now);
        self.queue.set(waker, Slot::Segment, None);
        self.queue.hold_irqs(waker, Instant::MAX);
        Next::Left
    }

    /// What `waker` waited for has come: it goes on at this instant. Its wait is booked, but not shown as a section: when
    /// it began nobody knew how long it would be.
    fn release(&mut self, waker: CpuId) {
        let row = &mut self.cpus[waker];
        row.book(Section::TryToWakeUp, row.spins_since, self.now.since(row.spins_since));
        self.queue.busy(waker, self.now);
    }
}
