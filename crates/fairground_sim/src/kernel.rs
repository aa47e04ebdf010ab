//! Phases of kernel work on a CPU: call the core, price what it counted, spend that, go on.

use crate::cpu::{Doing, Then};
use crate::other_core::Entry;
use crate::queue::Slot;
use crate::simulation::Simulation;
use crate::task::{GaveWay, Want};
use crate::timers::Timer;
use fairground_model::{Mode, Op, Recorder, Section, TraceEvent};
use fairground_sched::{Ctx, Request, Sched, UserReturn};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// What a phase leads to. The phase that follows stands in the CPU's row.
#[derive(Clone, Copy)]
pub(crate) enum Next {
    /// Pay what was counted, then go on.
    Pay(Section),
    /// Go on at once; nothing was counted.
    Go,
    /// The CPU has left the kernel: it idles or computes.
    Left,
}

impl Simulation {
    /// Calls the core in a phase of `cpu` and carries out what it asks for.
    #[inline]
    pub(crate) fn core<R>(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R,
    ) -> R {
        self.set_turns(cpu);
        self.call_core(rec, cpu, call)
    }

    /// As [`Simulation::core`], by the turns of the CPU as they are set.
    #[inline(always)]
    pub(crate) fn call_core<R>(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R,
    ) -> R {
        let mut cx = Ctx {
            now: self.now,
            cpu,
            jiffies: self.jiffies.count(),
            until: Instant::MAX,
            switched: None,
            machine: &self.view,
            meter: &mut self.cpus[cpu].meter,
            requests: &mut self.requests,
            trace: rec,
        };
        let result = call(&mut self.sched, &mut cx);
        if !self.requests.is_empty() {
            self.send_requests(cpu);
        }
        result
    }

    #[inline(never)]
    pub(crate) fn send_requests(&mut self, from: CpuId) {
        if self.beside.leads() {
            return self.requests.clear();
        }
        // In the order of the call: of two that concern the same frequency or timer the later one holds.
        self.requests.reverse();
        while let Some(request) = self.requests.pop() {
            let (cpu, at) = match request {
                Request::ReschedIpi { cpu, at }
                | Request::WakeListIpi { cpu, at }
                | Request::UnthrottleIpi { cpu, at }
                | Request::HrtickIpi { cpu, at }
                | Request::RtPushIpi { cpu, at } => (cpu, at),
                Request::PeriodTimer { group, at } => {
                    self.arm_timer_at(from, Timer::Period(group), at);
                    continue;
                }
                Request::SlackTimer { group, at } => {
                    self.arm_timer_at(from, Timer::Slack(group), at);
                    continue;
                }
                Request::RtPeriodTimer { at } => {
                    self.arm_timer_at(from, Timer::RtPeriod, at);
                    continue;
                }
                Request::HrtickTimer { cpu } => {
                    self.move_hrtick_timer(cpu);
                    continue;
                }
                Request::FrequencyThread { policy } => {
                    let at = self.now + self.thread_wakes_after(from);
                    self.arm_timer_at(from, Timer::Frequency(policy), at);
                    continue;
                }
                Request::FrequencyTimer { policy, at } => {
                    self.arm_timer_at(from, Timer::Frequency(policy), at);
                    continue;
                }
                Request::SetFrequency { policy, khz } => {
                    self.set_policy_frequency(policy, khz);
                    continue;
                }
                Request::DlTimer { timer, at } => {
                    self.queue.cancel_timer(self.timer_id(Timer::Deadline(timer)));
                    if let Some(at) = at {
                        self.arm_timer_at(from, Timer::Deadline(timer), at);
                    }
                    continue;
                }
                Request::NohzKick { cpu, at } => {
                    self.cpus[cpu].nohz_kick = true;
                    (cpu, at)
                }
            };
            if self.polls(cpu) {
                self.send_ipi(cpu, at);
                continue;
            }
            let flight = Ns(self.cpus[from].meter.price_ps(Op::IpiFlight) / 1000);
            self.cpus[from].meter.note(Op::IpiFlight);
            self.send_ipi(cpu, at + flight);
        }
    }

    /// The hrtick timer of `cpu` fires when the scheduler says, or not at all; on that CPU, also while its tasks leave it.
    pub(crate) fn move_hrtick_timer(&mut self, cpu: CpuId) {
        self.queue.cancel_timer(self.timer_id(Timer::Hrtick(cpu)));
        if let Some(at) = self.sched.hrtick_expiry(cpu) {
            let at = at.max(self.now);
            self.queue.arm_timer(cpu, self.timer_id(Timer::Hrtick(cpu)), at, at);
        }
    }

    pub(crate) fn arm_timer_at(&mut self, cpu: CpuId, timer: Timer, at: Instant) {
        let at = at.max(self.now);
        self.queue.arm_timer(self.nearest_online(cpu), self.timer_id(timer), at, at);
    }

    /// An interrupt will arrive at `cpu`, or it will see its flag; one that is under way earlier serves for both.
    pub(crate) fn send_ipi(&mut self, cpu: CpuId, arrives: Instant) {
        let pending = self.queue.get(cpu, Slot::Ipi);
        if pending.is_none_or(|earlier| arrives < earlier) {
            self.queue.set(cpu, Slot::Ipi, Some(arrives));
        }
    }

    /// Runs the chain of phases of `cpu`, until one of them costs time or the CPU leaves the kernel. With free
    /// operations the whole chain happens at one instant.
    ///
    /// It is the body of the loop over events. Phases that are rare or large stand apart from it.
    #[inline(always)]
    pub(crate) fn kernel(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) {
        loop {
            match self.phase(rec, cpu) {
                Next::Left => return,
                Next::Go => {}
                Next::Pay(section) => {
                    if let Some(until) = self.spend(rec, cpu, section) {
                        self.queue.busy(cpu, until);
                        if self.over || !self.queue.advance_if_next(cpu, until, self.horizon) {
                            return;
                        }
                        // Nothing happens anywhere before this stretch ends: go on at once.
                        self.now = until;
                    }
                }
            }
        }
    }

    /// What was counted is paid as `section`, then `then` follows.
    #[inline]
    pub(crate) fn pay(&mut self, cpu: CpuId, section: Section, then: Then) -> Next {
        self.cpus[cpu].then = then;
        Next::Pay(section)
    }

    /// `then` follows at once.
    #[inline]
    pub(crate) fn go_on(&mut self, cpu: CpuId, then: Then) -> Next {
        self.cpus[cpu].then = then;
        Next::Go
    }

    /// Shows a stretch of kernel time to whom samples are wanted by.
    #[inline]
    pub(crate) fn show_section(&self, rec: &mut Recorder<'_>, cpu: CpuId, section: Section, took: Ns) {
        if rec.wants_samples() {
            rec.record(self.now, cpu, TraceEvent::KernelSection { section, took });
        }
    }

    /// The phase that the CPU has come to. It stands in the loop over events itself: a call for each would save and restore registers.
    #[inline(always)]
    fn phase(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        match self.cpus[cpu].then {
            Then::Schedule => self.schedule(rec, cpu),
            Then::NewidleBalance(leaving) => self.newidle_balance(rec, cpu, leaving),
            Then::FinishSchedule(leaving) => self.finish_schedule(rec, cpu, leaving),
            Then::Stopper(prev) => self.stopper(rec, cpu, prev),
            Then::Switched(prev) => self.switched(rec, cpu, prev),
            Then::Resume => self.resume(rec, cpu),
            Then::GoOn => {
                let task = self.sched.rq(cpu).curr.expect("invariant: who is in user mode is current");
                self.go_on_with_task(rec, cpu, task)
            }
            Then::ThrottleWork => self.throttle_work(rec, cpu),
            Then::ExpireTimers => self.expire_timers(rec, cpu),
            Then::GivenBack { took, told } => self.given_back(cpu, took, told),
            Then::SpinOnCpu { wakee, flags, after } => self.spin_on_cpu(rec, cpu, wakee, flags, after),
            Then::Search { wakee, flags, after } => {
                let waking = self.search(rec, cpu, |sched, cx| sched.ttwu_search(cx, wakee));
                self.select(cpu, wakee, flags, after, waking)
            }
            Then::Wake { wakee, flags, after } => self.wake(rec, cpu, wakee, flags, after),
            Then::Activate { wakee, flags, target, after } => self.activate(rec, cpu, (wakee, flags), target, after),
            Then::WakeNew(child) => self.wake_new(rec, cpu, child),
            Then::ActivateNew { child, target } => self.activate_new(rec, cpu, child, target),
            Then::Locked => self.locked(rec, cpu),
            Then::Interrupt { ticks, polled } => self.serve_interrupt(rec, cpu, ticks, polled),
            Then::PeriodTimer(tick) => self.period_timer(rec, cpu, tick),
            Then::Distribute(distribution) => self.distribute(rec, cpu, distribution),
            Then::Hrtick => self.hrtick(rec, cpu),
            Then::Tick => self.serve_tick(rec, cpu),
            Then::IrqExit => self.irq_exit(rec, cpu),
            Then::Softirq => self.softirq(rec, cpu),
            Then::SchedSoftirq => self.sched_softirq(rec, cpu),
            Then::SoftirqRound => self.softirq_round_ends(rec, cpu),
            Then::SoftirqEnd => self.softirq_ends(rec, cpu),
            Then::Ksoftirqd => self.ksoftirqd(cpu),
            Then::NetReceive(packet) => self.net_receive(rec, cpu, packet),
            Then::SockSend { sock, left } => self.sock_send(cpu, sock, left),
            Then::NetTransmit { sock, bytes, left } => self.net_transmit(cpu, sock, bytes, left),
            Then::SockRecv { sock, left } => self.sock_recv(cpu, sock, left),
            Then::Yield => {
                if let Some(wait) = self.lock(cpu, cpu, Section::Syscall, Then::Yield) {
                    return wait;
                }
                if !self.beside.leads() {
                    self.core_locked(rec, cpu, cpu, |sched, cx| sched.sched_yield(cx));
                }
                self.enter(rec, cpu, Entry::Yield);
                self.schedule(rec, cpu)
            }
            Then::PipeWrite { pipe, value, slept } => self.pipe_write(cpu, pipe, value, slept),
            Then::PipeRead { pipe, into, slept } => self.pipe_read(rec, cpu, pipe, into, slept),
            Then::PipePoll(pipe) => self.pipe_poll(cpu, pipe),
            Then::PipeWake(pipe, wakes) => self.pipe_wake(cpu, pipe, wakes),
            Then::UnixSend { sock, bytes } => self.unix_send(rec, cpu, sock, bytes),
            Then::UnixWriteSpace { sock, left } => self.unix_write_space(rec, cpu, sock, left),
            Then::FutexWait { word, value } => self.futex_wait(cpu, word, value),
            Then::FutexWake { word, count } => self.futex_wake(cpu, word, count),
            Then::SpinAwake { lock } => self.spin_awake(cpu, lock),
            Then::FaultEnds => {
                self.pages.fault_ends(cpu);
                self.resume(rec, cpu)
            }
            Then::LockSlow { lock, mode } => self.lock_slow(cpu, lock, mode),
            Then::WakeUpQ { sync } => self.wake_up_q(rec, cpu, sync),
            Then::WakeReader(pipe) => {
                let (reader, sync) = (self.pipes[pipe].next_reader(), self.pipes[pipe].sync);
                self.wake_waiter(rec, cpu, reader, sync)
            }
            Then::WakeWriter(pipe) => {
                let (writer, sync) = (self.pipes[pipe].next_writer(), self.pipes[pipe].sync);
                self.wake_waiter(rec, cpu, writer, sync)
            }
        }
    }

    /// The same in a copy of its own, for who comes to it in the middle of a phase: with a lock that it has waited for.
    #[inline(never)]
    pub(crate) fn phase_apart(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        self.phase(rec, cpu)
    }

    /// The tick of `cpu` begins (again), on the grid.
    pub(crate) fn start_tick(&mut self, cpu: CpuId) {
        let due = self.cpus[cpu].tick.restart(self.now);
        self.queue.set(cpu, Slot::Tick, Some(due));
    }

    /// The CPU has nothing to do. Where its tick stops for that, others balance for it from now on.
    ///
    /// Kernel: idle.c do_idle(), tick-sched.c tick_nohz_idle_stop_tick(), v4.12–
    pub(crate) fn go_idle(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        let row = &mut self.cpus[cpu];
        (row.doing, row.idle_since) = (Doing::Idle, self.now);
        self.core_is_left(cpu);
        let online = self.view.online.contains(cpu);
        if self.machine.nohz_idle || !online {
            let ticked = self.queue.get(cpu, Slot::Tick).is_some();
            self.queue.idle(cpu);
            self.jiffies.stop(cpu);
            if ticked && online {
                self.core(rec, cpu, |sched, cx| sched.nohz_balance_enter_idle(cx));
            }
        } else {
            self.queue.set(cpu, Slot::Segment, None);
        }
        self.enter_idle_state(cpu);
        Next::Left
    }

    /// The current task is about to go on: in user mode after a last look at the reschedule flag. A kernel thread is
    /// never on its way there: between two stretches of work it goes on as within one.
    pub(crate) fn resume(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        let Some(task) = self.sched.rq(cpu).curr else { return self.schedule(rec, cpu) };
        match self.sched.exit_to_user(cpu) {
            UserReturn::Resched if !self.in_kernel(task) || self.preempts_in_kernel(cpu, task) => {
                return if self.gives_way(cpu, task) {
                    self.schedule(rec, cpu)
                } else {
                    self.pay(cpu, Section::Syscall, Then::Resume)
                };
            }
            UserReturn::ThrottleWork if !self.in_kernel(task) => return self.go_on(cpu, Then::ThrottleWork),
            _ => {}
        }
        self.go_on_with_task(rec, cpu, task)
    }

    /// Whether the current task gives way to the reschedule that is due. Where it does is noted for whoever asks about locks.
    #[inline(never)]
    fn gives_way(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let place = if self.in_kernel(task) { GaveWay::InKernel } else { self.tasks[task].gives_way };
        if self.puts_off_resched(cpu, task) || self.grants_slice_extension(cpu, task, place) {
            return false;
        }
        self.tasks[task].gave_way = Some(place);
        true
    }

    /// Where a step leads for which the current task did not enter the kernel: from user mode there is no way to the
    /// reschedule flags but an interrupt.
    ///
    /// ```text
    /// user | user | user            nobody looks between them
    /// user | system call | user     at the end of the call
    /// user ^ user                   at the end of the interrupt
    /// ```
    #[inline]
    pub(crate) fn without_entry(&self, task: TaskId) -> Then {
        if self.in_kernel(task) { Then::Resume } else { Then::GoOn }
    }

    /// The current task goes on with what it wants, or is asked for that.
    fn go_on_with_task(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, task: TaskId) -> Next {
        let row = &self.tasks[task];
        if row.refill > Ns::ZERO {
            return self.compute(cpu, task, self.now);
        }
        // One that was held back by the phase before. Whoever computes takes it from the stretch that begins now.
        if matches!(row.want, Want::Nothing | Want::Retry(_)) && self.queue.irq_is_late(cpu) {
            return self.enable_irqs(cpu);
        }
        match row.want {
            Want::Nothing => self.next_step(rec, cpu, task),
            Want::Retry(then) => {
                self.tasks[task].want = Want::Nothing;
                self.go_on(cpu, then)
            }
            Want::Change if !self.memory.spins(task) => {
                self.memory.leave(task);
                self.tasks[task].want = Want::Nothing;
                self.next_step(rec, cpu, task)
            }
            Want::Lock { lock, mode } => {
                self.tasks[task].want = Want::Nothing;
                self.go_on(cpu, Then::LockSlow { lock, mode })
            }
            Want::Spin { lock } => self.spin_on(cpu, task, lock),
            Want::Work(_) | Want::Time(_) | Want::Until(_) | Want::Change => self.compute(cpu, task, self.now),
        }
    }

    /// Between two phases the CPU takes the interrupts that are late, at this instant: it is in the kernel, and nothing but them can end that.
    /// Then the current task goes on, or the CPU idles.
    ///
    /// Kernel: irqflags.h local_irq_enable(), v4.12–
    #[inline(never)]
    pub(crate) fn enable_irqs(&mut self, cpu: CpuId) -> Next {
        let row = &mut self.cpus[cpu];
        (row.doing, row.spins_since) = (Doing::Kernel, self.now);
        self.queue.set(cpu, Slot::Segment, None);
        self.queue.hold_irqs(cpu, self.now);
        Next::Left
    }

    /// The current task, which is about to return to user mode, leaves its queue if that is throttled; schedule() follows then.
    ///
    /// Kernel: fair.c throttle_cfs_rq_work(), v6.18–
    #[inline(never)]
    fn throttle_work(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        if self.beside.leads() {
            self.enter(rec, cpu, Entry::UserReturn);
            return self.pay(cpu, Section::Syscall, Then::Resume);
        }
        if let Some(wait) = self.lock(cpu, cpu, Section::Syscall, Then::ThrottleWork) {
            return wait;
        }
        self.core_locked(rec, cpu, cpu, |sched, cx| sched.throttle_cfs_rq_work(cx));
        self.tell(cpu, Entry::UserReturn);
        self.pay(cpu, Section::Syscall, Then::Resume)
    }

    /// The current task computes from `from` on, or fetches what it needs for that, which is now or the end of the interrupt that is being served.
    pub(crate) fn compute(&mut self, cpu: CpuId, task: TaskId, from: Instant) -> Next {
        let row = &mut self.cpus[cpu];
        row.doing = Doing::Compute;
        row.computes_from = from;
        let (want, refill) = (self.tasks[task].want, self.tasks[task].refill);
        let end = match want {
            _ if refill > Ns::ZERO => from.ns().checked_add(refill.0),
            Want::Work(work) => from.ns().checked_add(self.work_lasts(cpu, work).0),
            Want::Time(time) => from.ns().checked_add(time.0),
            Want::Until(at) => Some(at.max(from).ns()),
            Want::Change => (!self.memory.spins(task)).then_some(from.ns()),
            Want::Lock { .. } => None,
            Want::Spin { lock } => self.spin_ends(task, lock, from),
            Want::Nothing | Want::Retry(_) => Some(from.ns()),
        };
        let end = end.filter(|&ns| ns <= Instant::MAX.ns()).map(Instant::from_ns);
        self.queue.set(cpu, Slot::Segment, end);
        if let Some(end) = end.filter(|_| self.has_irqs_off(task)) {
            self.queue.hold_irqs(cpu, end);
        }
        Next::Left
    }

    /// Whether a task that computes has interrupts off. While it fetches what it needs for that they are on.
    pub(crate) fn has_irqs_off(&self, task: TaskId) -> bool {
        self.tasks[task].mode == Mode::IrqOff && self.tasks[task].refill == Ns::ZERO
    }

    /// The current task stops computing for a while: what it has done until `at` is taken off what it wants.
    /// Whoever calls goes on to decide what the CPU does next, and so when its stretch ends.
    pub(crate) fn pause(&mut self, cpu: CpuId, at: Instant) {
        let Some(task) = self.sched.rq(cpu).curr else { return };
        let ran = at.saturating_since(self.cpus[cpu].computes_from);
        if self.tasks[task].refill > Ns::ZERO {
            return self.refilled(cpu, task, ran);
        }
        let done = self.work_done(cpu, ran);
        match &mut self.tasks[task].want {
            Want::Work(work) => *work = work.saturating_sub(done),
            Want::Time(time) => *time = time.saturating_sub(ran),
            Want::Spin { lock } => {
                let lock = *lock;
                self.has_spun(task, lock, at, ran);
                self.spinner_is_interrupted(cpu, lock);
            }
            Want::Until(_) | Want::Change | Want::Lock { .. } | Want::Nothing | Want::Retry(_) => {}
        }
    }

    /// The stretch that a CPU was busy with is over. Returns whether a phase of the kernel follows, which may be on another CPU.
    #[inline(always)]
    pub(crate) fn stretch_ends(&mut self, rec: &mut Recorder<'_>, cpu: &mut CpuId) -> bool {
        let row = &mut self.cpus[*cpu];
        match row.doing {
            Doing::Kernel if matches!(row.then, Then::Search { .. }) => return self.searches_go_on(rec, cpu),
            Doing::Kernel => {}
            Doing::Compute => {
                (row.doing, row.then) = (Doing::Kernel, Then::Resume);
                if let Some(task) = self.sched.rq(*cpu).curr {
                    self.cpus[*cpu].then = self.without_entry(task);
                    self.task_is_done(*cpu, task);
                }
            }
            Doing::Idle => {
                self.queue.set(*cpu, Slot::Segment, None);
                return false;
            }
        }
        true
    }

    /// The current task has what it fetched, or has computed what it wanted. One that looks at a word decides itself
    /// whether it is done.
    #[inline(never)]
    fn task_is_done(&mut self, cpu: CpuId, task: TaskId) {
        let row = &mut self.tasks[task];
        if row.refill > Ns::ZERO {
            self.refilled(cpu, task, Ns(u64::MAX));
        } else if let Want::Spin { lock } = row.want {
            let ran = self.now.saturating_since(self.cpus[cpu].computes_from);
            self.has_spun(task, lock, self.now, ran);
        } else if !matches!(row.want, Want::Change | Want::Lock { .. }) {
            row.want = Want::Nothing;
        }
    }
}
