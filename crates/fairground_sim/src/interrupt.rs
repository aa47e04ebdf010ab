//! Interrupts: timers, reschedule requests from other CPUs, the tick.

use crate::cpu::{AfterWake, Doing, Interrupted, Then};
use crate::kernel::Next;
use crate::queue::{EventQueue, Slot};
use crate::simulation::Simulation;
use crate::task::Want;
use fairground_model::{Mode, Op, Recorder, Section, WakeContext};
use fairground_sched::WakeFlags;
use fairground_stdx::{CpuId, Instant, Ns};

impl<Q: EventQueue> Simulation<Q> {
    /// Timers of `cpu` expire or another CPU's interrupt arrives: one interrupt serves both.
    pub(crate) fn interrupt(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) {
        let mut section = Section::HrtimerInterrupt;
        if self.queue.get(cpu, Slot::Ipi).is_some_and(|at| at <= self.now) {
            self.queue.set(cpu, Slot::Ipi, None);
            self.cpus[cpu].meter.count(Op::IpiBody);
            section = Section::RescheduleIpi;
        }
        self.irq_enter(cpu, section);
        self.kernel(rec, cpu, Then::ExpireTimers);
    }

    fn irq_enter(&mut self, cpu: CpuId, section: Section) {
        let idle = self.cpus[cpu].doing == Doing::Idle;
        if idle {
            self.cpus[cpu].meter.count(Op::IdleExit);
        } else {
            self.pause(cpu, self.now);
        }
        self.cpus[cpu].interrupted = Some(Interrupted { idle, since: self.now, section });
    }

    /// Wakes the next task whose timer an interrupt at this instant may expire.
    ///
    /// Kernel: hrtimer.c hrtimer_interrupt(), hrtimer_wakeup(), v4.12–
    pub(crate) fn expire_timers(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        let section = self.cpus[cpu].interrupted.map_or(Section::HrtimerInterrupt, |irq| irq.section);
        match self.queue.expire_timer(cpu) {
            Some(wakee) => {
                self.cpus[cpu].meter.count(Op::HrtimerIrq);
                self.wake(rec, cpu, wakee, WakeFlags { sync: false, context: WakeContext::Hardirq }, AfterWake::ExpireTimers)
            }
            None => Next::Pay(section, Then::IrqExit),
        }
    }

    /// The interrupt is over: its time is booked, and the CPU reschedules or goes on where it was.
    pub(crate) fn irq_exit(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        let irq = self.cpus[cpu].interrupted.take().expect("invariant: an interrupt that ends has begun");
        let took = self.now.since(irq.since);
        if self.view.irq_time_accounting {
            self.sched.irq_time(cpu, took);
        }
        if !irq.idle {
            return self.resume(rec, cpu);
        }
        match self.sched.rq(cpu).need_resched {
            true => self.schedule(rec, cpu),
            false => self.go_idle(cpu),
        }
    }

    /// The tick of `cpu`.
    pub(crate) fn tick(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) {
        self.ticks += 1;
        self.jiffies.tick(cpu, self.now);
        let due = self.cpus[cpu].tick.advance(self.now);
        self.core(rec, cpu, |sched, cx| sched.sched_tick(cx));
        let expires = self.queue.first_timer(cpu).is_some_and(|timer| timer.1 <= self.now);
        if expires || self.cpus[cpu].doing == Doing::Idle || self.must_leave_user_mode(cpu) {
            self.queue.set(cpu, Slot::Tick, Some(due));
            self.irq_enter(cpu, Section::SchedTick);
            self.kernel(rec, cpu, Then::ExpireTimers);
        } else {
            self.delay_stretch(rec, cpu, due);
        }
    }

    /// Whether the return from an interrupt leads to schedule(). Kernel mode goes on to its end (no and
    /// voluntary preemption), or until a reschedule is fully due (lazy preemption).
    fn must_leave_user_mode(&self, cpu: CpuId) -> bool {
        let rq = self.sched.rq(cpu);
        let in_kernel = || rq.curr.is_some_and(|task| self.tasks[task].mode == Mode::Kernel);
        rq.resched_on_user_return() && (!in_kernel() || self.sched.preempts_in_kernel(cpu))
    }

    /// The common tick: nothing follows from it, so the task's stretch just ends that much later.
    #[inline]
    fn delay_stretch(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, due: Instant) {
        let row = &mut self.cpus[cpu];
        let took = row.price();
        let until = self.now + took;
        self.queue.ticked(cpu, due, until);
        if took == Ns::ZERO {
            return;
        }
        row.book(Section::SchedTick, took);
        row.computes_from += took;
        if self.view.irq_time_accounting {
            self.sched.irq_time(cpu, took);
        }
        self.show_section(rec, cpu, Section::SchedTick, took);
        let Some(end) = self.queue.get(cpu, Slot::Segment) else { return };
        let fixed = self.sched.rq(cpu).curr.is_some_and(|task| matches!(self.tasks[task].want, Want::Until(_)));
        self.queue.set(cpu, Slot::Segment, Some(if fixed { end.max(until) } else { end + took }));
    }
}
