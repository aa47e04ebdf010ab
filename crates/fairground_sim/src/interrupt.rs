//! Interrupts: timers, reschedule requests from other CPUs, the tick.

use crate::cpu::{AfterWake, Doing, Interrupted, Then};
use crate::kernel::Next;
use crate::other_core::Entry;
use crate::queue::Slot;
use crate::simulation::Simulation;
use crate::softirq::Server;
use crate::task::Want;
use crate::timers::Timer;
use fairground_model::{Mode, Op, Recorder, Section, WakeContext};
use fairground_sched::seam::CallOrder;
use fairground_sched::{Ctx, Distribution, PeriodTick, Sched, UserReturn, WakeFlags};
use fairground_stdx::{CpuId, Instant, Ns, TaskId, TimerId};

impl Simulation {
    /// Timers of `cpu` expire or another CPU's interrupt arrives: one interrupt serves both. Returns whether a phase of
    /// the kernel follows.
    pub(crate) fn interrupt(&mut self, cpu: CpuId) -> bool {
        if !self.noise.is_empty() && self.steals_idle(cpu) {
            return false;
        }
        // A CPU that polls sees a flag that is set in this very moment, whatever woke it.
        let polled = self.polls(cpu) && self.queue.get(cpu, Slot::Ipi).is_some();
        let ipi = polled || self.ipi_due(cpu);
        let ticks = !polled && self.ticks_for_timer(cpu);
        let section = match (polled, ticks, ipi) {
            (true, ..) => Section::IdleExit,
            (false, true, _) => Section::SchedTick,
            (false, false, true) => Section::RescheduleIpi,
            (false, false, false) if self.nic_interrupts(cpu) => Section::DeviceInterrupt,
            (false, false, false) => Section::HrtimerInterrupt,
        };
        self.irq_enter(cpu, section);
        self.cpus[cpu].then = Then::Interrupt { ticks, polled };
        true
    }

    /// What an interrupt came for, but for timers: they follow.
    pub(crate) fn serve_interrupt(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, ticks: bool, polled: bool) -> Next {
        let csd_pending = self.sched.cfsb_csd_pending(cpu) || self.sched.hrtick_csd_pending(cpu);
        if ticks || self.sched.ttwu_pending(cpu) || csd_pending || self.sched.rt_push_asked(cpu) {
            let section = self.cpus[cpu].interrupted.map_or(Section::RescheduleIpi, |irq| irq.section);
            if let Some(wait) = self.lock(cpu, cpu, section, Then::Interrupt { ticks, polled }) {
                return wait;
            }
        }
        if ticks {
            self.ticks += 1;
            self.sched_tick(rec, cpu);
        }
        if polled || self.ipi_due(cpu) {
            if !polled {
                self.cpus[cpu].meter.count(Op::IpiBody);
            }
            self.scheduler_ipi(rec, cpu);
        }
        self.go_on(cpu, Then::ExpireTimers)
    }

    /// Whether the interrupt that ends an idle time is a tick. Kernel threads sleep on the timer wheel, which is looked
    /// at in ticks: for its next timer a CPU whose tick is stopped has one, and balances in it.
    ///
    /// Kernel: tick-sched.c tick_nohz_next_event(), tick_nohz_handler(), v4.12–
    fn ticks_for_timer(&self, cpu: CpuId) -> bool {
        let idle = self.cpus[cpu].doing == Doing::Idle && self.queue.get(cpu, Slot::Tick).is_none();
        let wakes_kthread = |timer| matches!(self.timer_of(timer), Timer::Task(task) if self.tasks[task].kthread);
        let due = |(timer, _, hard): (TimerId, Instant, Instant)| hard <= self.now && wakes_kthread(timer);
        idle && self.queue.first_timer(cpu).is_some_and(due)
    }

    /// Whether the first of what interrupts `cpu` is the network device.
    pub(crate) fn nic_interrupts(&self, cpu: CpuId) -> bool {
        self.queue.first_timer(cpu).is_some_and(|row| matches!(self.timer_of(row.0), Timer::Nic(_)))
    }

    pub(crate) fn ipi_due(&self, cpu: CpuId) -> bool {
        self.queue.get(cpu, Slot::Ipi).is_some_and(|at| at <= self.now)
    }

    /// Another CPU's interrupt has arrived, or an idle CPU has seen its flag: what that was for is done. A mere reschedule is done by the way out.
    ///
    /// Kernel: core.c scheduler_ipi(), v4.12–; smp.c flush_smp_call_function_queue(), v5.8–
    #[inline(never)]
    pub(crate) fn scheduler_ipi(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) {
        self.queue.set(cpu, Slot::Ipi, None);
        let wakes_last = self.sched.profile().call_order == CallOrder::WakeListLast;
        if !wakes_last {
            self.wake_list(rec, cpu);
        }
        while self.sched.cfsb_csd_pending(cpu) {
            self.core_locked(rec, cpu, cpu, |sched, cx| sched.cfsb_csd_unthrottle(cx));
        }
        if self.sched.hrtick_csd_pending(cpu) {
            self.core_locked(rec, cpu, cpu, |sched, cx| sched.hrtick_csd(cx));
        }
        if self.sched.rt_push_asked(cpu) {
            self.core_locked(rec, cpu, cpu, |sched, cx| sched.rto_push_irq_work_func(cx));
        }
        if wakes_last {
            self.wake_list(rec, cpu);
        }
        if std::mem::take(&mut self.cpus[cpu].nohz_kick) {
            self.core(rec, cpu, |sched, cx| sched.nohz_csd_func(cx));
        }
        self.enter(rec, cpu, Entry::Ipi);
    }

    /// Queues the tasks that others have put on the wake list of `cpu`.
    fn wake_list(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) {
        if self.sched.ttwu_pending(cpu) {
            match self.beside.leads() {
                true => self.core(rec, cpu, |sched, cx| sched.led_wake_list(cx)),
                false => self.core_locked(rec, cpu, cpu, |sched, cx| sched.sched_ttwu_pending(cx)),
            }
        }
    }

    fn irq_enter(&mut self, cpu: CpuId, section: Section) {
        if self.cpus[cpu].doing == Doing::Idle {
            self.end_idle_theft(cpu);
            let row = &mut self.cpus[cpu];
            row.idle_time += self.now.since(row.idle_since);
            self.core_is_entered(cpu);
            self.leave_idle_state(cpu);
            self.jiffies.catch_up(self.now);
        } else {
            self.pause(cpu, self.now);
        }
        let row = &mut self.cpus[cpu];
        (row.doing, row.interrupted) = (Doing::Kernel, Some(Interrupted { since: self.now, section }));
    }

    /// The next timer that an interrupt at this instant may expire: a task wakes, or a quota's pool is served.
    ///
    /// Kernel: hrtimer.c hrtimer_interrupt(), hrtimer_wakeup(), v4.12–
    pub(crate) fn expire_timers(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        let section = self.cpus[cpu].interrupted.map_or(Section::HrtimerInterrupt, |irq| irq.section);
        let Some(timer) = self.queue.expire_timer(cpu) else { return self.pay(cpu, section, Then::IrqExit) };
        let timer = self.timer_of(timer);
        match timer {
            Timer::Noise(_) => {}
            // The interrupt of a device has no price of its own.
            Timer::Nic(_) => self.cpus[cpu].meter.count(Op::IpiBody),
            _ => self.cpus[cpu].meter.count(Op::HrtimerIrq),
        }
        match timer {
            Timer::Noise(row) => self.disturb(rec, cpu, row),
            Timer::Task(wakee) => {
                rec.timer(self.now, cpu, wakee, self.tasks[wakee].timer_due);
                self.wake(rec, cpu, wakee, WakeFlags { sync: false, context: WakeContext::Hardirq }, AfterWake::ExpireTimers)
            }
            Timer::Period(group) => self.go_on(cpu, Then::PeriodTimer(PeriodTick::new(group))),
            Timer::Nic(cpu) => {
                self.softirqs[cpu].ring.schedule();
                self.softirqs[cpu].raise_net_rx();
                self.go_on(cpu, Then::ExpireTimers)
            }
            Timer::SliceExt(_) => {
                self.slice_extension_expires(cpu);
                self.go_on(cpu, Then::ExpireTimers)
            }
            Timer::Hrtick(_) => self.go_on(cpu, Then::Hrtick),
            Timer::Leader(_) => {
                self.enter(rec, cpu, Entry::Timer);
                self.go_on(cpu, Then::ExpireTimers)
            }
            Timer::RtPeriod => {
                self.core(rec, cpu, |sched, cx| sched.sched_rt_period_timer(cx));
                self.enter(rec, cpu, Entry::Timer);
                self.go_on(cpu, Then::ExpireTimers)
            }
            Timer::Frequency(policy) if self.softirqs[cpu].is_served() => {
                self.softirqs[cpu].thread_waits(policy);
                self.go_on(cpu, Then::ExpireTimers)
            }
            Timer::Frequency(policy) => {
                if !self.beside.leads() {
                    self.core(rec, cpu, |sched, cx| sched.frequency_timer(cx, policy));
                }
                self.enter(rec, cpu, Entry::Frequency { policy });
                self.go_on(cpu, Then::ExpireTimers)
            }
            Timer::Deadline(timer) => {
                self.core(rec, cpu, |sched, cx| sched.dl_timer(cx, timer));
                self.enter(rec, cpu, Entry::Timer);
                self.go_on(cpu, Then::ExpireTimers)
            }
            Timer::Slack(group) => match self.core(rec, cpu, |sched, cx| sched.sched_cfs_slack_timer(cx, group)) {
                Some(distribution) => self.go_on(cpu, Then::Distribute(distribution)),
                None => {
                    self.enter(rec, cpu, Entry::Timer);
                    self.go_on(cpu, Then::ExpireTimers)
                }
            },
        }
    }

    /// The timer that ends turns has fired.
    ///
    /// Kernel: core.c hrtick(), v4.12–
    #[inline(never)]
    pub(crate) fn hrtick(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        if let Some(wait) = self.lock(cpu, cpu, Section::HrtimerInterrupt, Then::Hrtick) {
            return wait;
        }
        self.core_locked(rec, cpu, cpu, |sched, cx| sched.hrtick(cx));
        self.enter(rec, cpu, Entry::Timer);
        self.go_on(cpu, Then::ExpireTimers)
    }

    /// The next phase of a period timer's interrupt.
    #[inline(never)]
    pub(crate) fn period_timer(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, mut tick: PeriodTick) -> Next {
        let rq = tick.distribution().and_then(|distribution| self.sched.next_visit(distribution));
        let again = Then::PeriodTimer(tick);
        let run = |sched: &mut Sched, cx: &mut Ctx<'_, '_>| sched.sched_cfs_period_timer(cx, &mut tick);
        let more = match rq {
            None => self.core(rec, cpu, run),
            Some(rq) => match self.lock(cpu, rq, Section::HrtimerInterrupt, again) {
                Some(wait) => return wait,
                None => self.core_locked(rec, cpu, rq, run),
            },
        };
        if !more {
            self.enter(rec, cpu, Entry::Timer);
        }
        self.pay(cpu, Section::HrtimerInterrupt, if more { Then::PeriodTimer(tick) } else { Then::ExpireTimers })
    }

    /// The next queue that gets what a slack timer hands out.
    #[inline(never)]
    pub(crate) fn distribute(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, mut distribution: Distribution) -> Next {
        let (rq, again) = (self.sched.next_visit(&distribution), Then::Distribute(distribution));
        let run = |sched: &mut Sched, cx: &mut Ctx<'_, '_>| sched.distribute_cfs_runtime(cx, &mut distribution);
        let more = match rq {
            None => self.core(rec, cpu, run),
            Some(rq) => match self.lock(cpu, rq, Section::HrtimerInterrupt, again) {
                Some(wait) => return wait,
                None => self.core_locked(rec, cpu, rq, run),
            },
        };
        if !more {
            self.enter(rec, cpu, Entry::Timer);
        }
        self.pay(cpu, Section::HrtimerInterrupt, if more { Then::Distribute(distribution) } else { Then::ExpireTimers })
    }

    /// The interrupt is over: its time is booked, raised softirqs run, and the CPU reschedules or goes on where it was.
    ///
    /// Kernel: softirq.c irq_exit(), invoke_softirq(), v4.12–
    pub(crate) fn irq_exit(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        if self.softirqs[cpu].is_served() {
            return self.nested_irq_exit(cpu);
        }
        let irq = self.cpus[cpu].interrupted.as_mut().expect("invariant: an interrupt that ends has begun");
        let took = self.now.since(std::mem::replace(&mut irq.since, self.now));
        if self.view.irq_time_accounting {
            self.sched.irq_time(cpu, took);
        }
        if self.serves_softirqs(cpu) {
            return self.begin_softirqs(cpu, Server::IrqExit);
        }
        self.leave_irq(rec, cpu)
    }

    /// The way out of the interrupt, softirqs included, is over.
    pub(crate) fn leave_irq(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        let irq = self.cpus[cpu].interrupted.take();
        assert!(irq.is_some(), "invariant: an interrupt that is left has begun");
        let rq = self.sched.rq(cpu);
        match rq.curr {
            Some(_) => self.resume(rec, cpu),
            None if rq.need_resched => self.schedule(rec, cpu),
            None => self.go_idle(rec, cpu),
        }
    }

    /// What a tick does, and when the next one is due.
    #[inline]
    pub(crate) fn scheduler_tick(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Instant {
        self.ticks += 1;
        self.jiffies.tick(cpu, self.now);
        let due = self.cpus[cpu].tick.advance(self.now);
        self.sched_tick(rec, cpu);
        due
    }

    #[inline(always)]
    fn sched_tick(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) {
        match self.beside.leads() {
            true => self.core(rec, cpu, |sched, cx| sched.led_tick(cx)),
            false => self.core_locked(rec, cpu, cpu, |sched, cx| sched.sched_tick(cx)),
        }
        self.enter(rec, cpu, Entry::Tick);
    }

    /// The ticks of `cpu` and of the CPUs that follow it, as long as each is the next event and nothing follows from it. Returns
    /// whether a phase of the kernel follows, on the CPU that ticked last. No other core has a part in the run.
    #[inline(always)]
    pub(crate) fn ticks(&mut self, rec: &mut Recorder<'_>, cpu: &mut CpuId) -> bool {
        let in_kernel = loop {
            let in_kernel = match self.locks.is_free_for(*cpu, *cpu, self.now) {
                true => self.plain_tick(rec, *cpu),
                false => self.tick(rec, *cpu),
            };
            if in_kernel {
                break true;
            }
            match self.queue.next_tick() {
                Some(next) => *cpu = next,
                None => break false,
            }
        };
        self.queue.end_of_ticks();
        in_kernel
    }

    /// What [`Simulation::tick`] does where the lock is free, CPUs take no turns and nobody leads.
    #[inline(always)]
    fn plain_tick(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> bool {
        self.ticks += 1;
        self.jiffies.tick(cpu, self.now);
        let due = self.cpus[cpu].tick.advance(self.now);
        self.call_core_locked(rec, cpu, cpu, Op::LockFree, |sched, cx| sched.sched_tick(cx));
        self.tick_ends(rec, cpu, due)
    }

    /// The tick of `cpu`. Returns whether a phase of the kernel follows.
    pub(crate) fn tick(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> bool {
        if !self.locks.is_free_for(cpu, cpu, self.now) {
            self.irq_enter(cpu, Section::SchedTick);
            self.cpus[cpu].then = Then::Tick;
            return true;
        }
        let due = self.scheduler_tick(rec, cpu);
        self.tick_ends_apart(rec, cpu, due)
    }

    /// The same in a copy of its own.
    #[inline(never)]
    fn tick_ends_apart(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, due: Instant) -> bool {
        self.tick_ends(rec, cpu, due)
    }

    /// The end of a tick, after which the next one is due at `due`.
    #[inline(always)]
    fn tick_ends(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, due: Instant) -> bool {
        let expires = self.queue.first_timer(cpu).is_some_and(|timer| timer.1 <= self.now);
        let softirq = self.softirq_pending(cpu);
        if expires || softirq || self.cpus[cpu].doing != Doing::Compute || self.must_leave_user_mode(cpu) {
            self.queue.set(cpu, Slot::Tick, Some(due));
            self.irq_enter(cpu, Section::SchedTick);
            self.cpus[cpu].then = Then::ExpireTimers;
            return true;
        }
        self.delay_stretch(rec, cpu, due);
        false
    }

    /// A tick that comes while another CPU has the lock of its run queue.
    #[inline(never)]
    pub(crate) fn serve_tick(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        if let Some(wait) = self.lock(cpu, cpu, Section::SchedTick, Then::Tick) {
            return wait;
        }
        let due = self.scheduler_tick(rec, cpu);
        self.queue.set(cpu, Slot::Tick, Some(due));
        self.go_on(cpu, Then::ExpireTimers)
    }

    /// Whether the return from an interrupt leads to schedule(). Kernel mode goes on to its end (no and
    /// voluntary preemption), or until a reschedule is fully due (lazy preemption).
    #[inline(always)]
    fn must_leave_user_mode(&self, cpu: CpuId) -> bool {
        let asked = self.sched.exit_to_user(cpu);
        asked != UserReturn::Run && self.must_leave_for(cpu, asked)
    }

    #[inline(never)]
    fn must_leave_for(&self, cpu: CpuId, asked: UserReturn) -> bool {
        let rq = self.sched.rq(cpu);
        let in_kernel =
            |task: TaskId| self.tasks[task].kthread || self.klocks.in_section(task) || self.tasks[task].mode != Mode::User;
        let stays = |task: TaskId| in_kernel(task) && !self.preempts_in_kernel(cpu, task);
        match asked {
            UserReturn::Run => false,
            UserReturn::Resched => !rq.curr.is_some_and(stays),
            UserReturn::ThrottleWork => !rq.curr.is_some_and(in_kernel),
        }
    }

    /// The common tick: nothing follows from it, so the task's stretch just ends that much later.
    #[inline(always)]
    fn delay_stretch(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, due: Instant) {
        let price = self.cpus[cpu].price();
        let took = self.lasts(cpu, price);
        let row = &mut self.cpus[cpu];
        let until = self.now + took;
        if took == Ns::ZERO {
            return self.queue.ticked(cpu, due, until);
        }
        row.book(Section::SchedTick, self.now, took);
        row.computes_from += took;
        if self.view.irq_time_accounting {
            self.sched.irq_time(cpu, took);
        }
        self.show_section(rec, cpu, Section::SchedTick, took);
        let (sched, tasks) = (&self.sched, &self.tasks);
        let is_fixed = || {
            sched.rq(cpu).curr.is_some_and(|task| {
                let row = &tasks[task];
                row.refill == Ns::ZERO && matches!(row.want, Want::Until(_) | Want::Change | Want::Lock { .. })
            })
        };
        let moved = |end: Instant| if is_fixed() { end.max(until) } else { end + took };
        self.queue.ticked_in_stretch(cpu, due, until, moved);
    }
}
