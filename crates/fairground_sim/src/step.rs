//! What a task wants next, carried out.

use crate::cpu::{AfterWake, Cpu, Then};
use crate::ending::{Misuse, Stopped};
use crate::kernel::Next;
use crate::other_core::Entry;
use crate::simulation::{STEPS_AT_ONE_INSTANT, Simulation};
use crate::task::{GaveWay, Want};
use fairground_model::{Change, Mode, Op, PrevState, Recorder, Section, Step, Surroundings, TraceEvent, WakeContext};
use fairground_sched::{Refused, UserReturn, WakeFlags};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// Steps of a CPU between two looks at the time that they took.
const STEPS_LOOKED_AT: u32 = 1 << 21;
/// The least time of a step on average. A system call takes ten times as long on any CPU, so only programs in units of nanoseconds come
/// below it, on a machine without prices or with work that is always late: 100 s of them would take hours.
const STEP_MIN: Ns = Ns(10);

impl Simulation {
    /// Asks the current task's program what it wants, and begins to do it. Measurements on the way take no time.
    pub(crate) fn next_step(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, task: TaskId) -> Next {
        loop {
            let row = &mut self.tasks[task];
            let mut around = Surroundings { now: self.now, cpu, rng: &mut row.rng, words: &mut self.memory.words };
            let step = row.frame.next(&self.programs[row.program], &mut around);
            if self.slices.notes_exits {
                (row.gives_way, row.gave_way) = (GaveWay::after(&step), None);
            }
            row.mode = if self.klocks.in_section(task) { Mode::Kernel } else { Mode::User };
            self.show_writes();
            if step == Step::Stuck || self.goes_in_circles(cpu) {
                return self.stop(Stopped::NoProgress { task: self.tasks[task].info.name.clone(), at: self.now });
            }
            match step {
                Step::Mark { marker, value } if self.is_free_to_go_on(cpu, task) => {
                    rec.record(self.now, cpu, TraceEvent::Marker { task, marker, value });
                }
                Step::Part { part } if self.is_free_to_go_on(cpu, task) => self.parts.begin(self.now, task, part),
                _ => return self.carry_out(rec, cpu, task, step),
            }
        }
    }

    /// Whether a step that takes no time leads to the next one: nothing is to be paid, no interrupt is due, and the task is
    /// in user mode or no other one is due.
    #[inline(always)]
    fn is_free_to_go_on(&self, cpu: CpuId, task: TaskId) -> bool {
        self.cpus[cpu].owes_nothing()
            && !self.queue.irq_is_late(cpu)
            && (!self.in_kernel(task) || self.sched.exit_to_user(cpu) == UserReturn::Run)
    }

    #[inline(always)]
    fn carry_out(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, task: TaskId, step: Step) -> Next {
        match step {
            Step::Run { work, mode } => self.want(cpu, task, Want::Work(work), mode),
            Step::RunTime { time, mode } => self.want(cpu, task, Want::Time(time), mode),
            Step::RunUntil { at } => self.want(cpu, task, Want::Until(at), Mode::User),
            Step::SleepFor(time) => self.sleep_until(cpu, task, Instant::from_ns(self.now.ns().saturating_add(time.0))),
            Step::Io(time) => self.wait_for_device(cpu, task, time),
            Step::SleepUntil(at) if at <= self.now => self.syscall(cpu, Then::Resume),
            Step::SleepUntil(at) => self.sleep_until(cpu, task, at),
            Step::Write { pipe, value } => {
                // Entry and copy are one stretch: nobody can see the message before it is whole.
                self.cpus[cpu].meter.count(Op::PipeOp);
                self.syscall(cpu, Then::PipeWrite { pipe, value, slept: false })
            }
            Step::Read { pipe, into } => self.syscall(cpu, Then::PipeRead { pipe, into, slept: false }),
            Step::Poll { pipe } => self.syscall(cpu, Then::PipePoll(pipe)),
            Step::Send { sock, bytes } => {
                self.cpus[cpu].meter.count(Op::Syscall);
                self.sock_send(cpu, sock, bytes)
            }
            Step::Recv { sock, bytes } if self.socks[sock].holds(bytes) => {
                // Entry and body are one stretch: nobody else takes what the task has found.
                self.count_syscall(cpu, task);
                self.sock_recv(cpu, sock, bytes)
            }
            Step::Recv { sock, bytes } => self.syscall(cpu, Then::SockRecv { sock, left: bytes }),
            Step::ServeSoftirqs => self.go_on(cpu, Then::Ksoftirqd),
            Step::Spin { word, value } => {
                self.memory.spin(task, word, value);
                self.want(cpu, task, Want::Change, Mode::User)
            }
            Step::FutexWait { word, value } => {
                self.cpus[cpu].meter.count(Op::FutexOp);
                self.syscall(cpu, Then::FutexWait { word, value })
            }
            Step::FutexWake { word, count } => {
                self.cpus[cpu].meter.count(Op::FutexOp);
                self.syscall(cpu, Then::FutexWake { word, count })
            }
            Step::PageFault { work } => self.page_fault(cpu, task, work),
            Step::Touch { pool, entry, write } => self.touch(cpu, task, pool, entry, write),
            Step::Enter => self.enter_section(cpu, task),
            Step::Leave => self.leave_section(cpu, task),
            Step::CondResched => self.preemption_point(cpu, self.sched.profile().preemption.yields_at_cond_resched()),
            Step::MightSleep => self.preemption_point(cpu, self.sched.profile().preemption.yields_at_might_sleep()),
            Step::Lock { lock, mode } => self.take_lock(cpu, task, lock, mode),
            Step::Unlock { lock } => self.release_lock(cpu, task, lock),
            Step::Downgrade { lock } => self.downgrade_lock(cpu, task, lock),
            Step::Fault => self.stop(Stopped::Fault { task: self.tasks[task].info.name.clone(), at: self.now }),
            Step::Fork { task: child } => self.fork(rec, cpu, task, child),
            Step::WaitChildren => self.wait_children(cpu, task),
            Step::Yield => self.syscall(cpu, Then::Yield),
            Step::Exec => {
                if !self.beside.leads() {
                    self.core(rec, cpu, |sched, cx| sched.sched_exec(cx));
                }
                self.enter(rec, cpu, Entry::Exec);
                self.syscall(cpu, Then::Resume)
            }
            Step::ThreadClock { into } => {
                self.core(rec, cpu, |sched, cx| sched.account_curr(cx));
                if let Some(reg) = into {
                    let shows = self.sched.se(task).sum_exec_runtime;
                    self.tasks[task].frame.set(reg, shows);
                }
                self.syscall(cpu, Then::Resume)
            }
            Step::SetNice { nice } => {
                self.core(rec, cpu, |sched, cx| sched.set_user_nice(cx, task, nice));
                self.enter(rec, cpu, Entry::Change(&Change::Nice { task, nice }));
                self.renice(rec, task);
                self.syscall(cpu, Then::Resume)
            }
            Step::SetPolicy { policy } => {
                if let Err(why) = self.core(rec, cpu, |sched, cx| sched.sched_setscheduler(cx, task, policy)) {
                    return self.not_admitted(task, why);
                }
                self.enter(rec, cpu, Entry::Change(&Change::Policy { task, policy }));
                self.tell_prio(rec, task);
                self.syscall(cpu, Then::Resume)
            }
            Step::SetSlice { slice } => {
                self.core(rec, cpu, |sched, cx| sched.set_slice(cx, task, slice));
                self.enter(rec, cpu, Entry::Change(&Change::Slice { task, slice }));
                self.syscall(cpu, Then::Resume)
            }
            Step::SetClamp { clamp } => {
                // What the task asked for and may not have is EINVAL for it.
                self.core(rec, cpu, |sched, cx| sched.set_clamp(cx, task, clamp));
                self.enter(rec, cpu, Entry::Change(&Change::Clamp { task, clamp }));
                self.syscall(cpu, Then::Resume)
            }
            Step::SetGroup { group } => {
                self.core(rec, cpu, |sched, cx| sched.sched_move_task(cx, task, group));
                self.enter(rec, cpu, Entry::Change(&Change::Group { task, group }));
                self.syscall(cpu, Then::Resume)
            }
            Step::SetAffinity => self.set_own_affinity(rec, cpu, task),
            Step::SetTimerSlack { slack } => {
                self.tasks[task].timer_slack = slack;
                self.syscall(cpu, Then::Resume)
            }
            Step::Mark { marker, value } => {
                rec.record(self.now, cpu, TraceEvent::Marker { task, marker, value });
                self.pay(cpu, Section::Syscall, self.without_entry(task))
            }
            Step::Part { part } => {
                self.parts.begin(self.now, task, part);
                self.pay(cpu, Section::Syscall, self.without_entry(task))
            }
            Step::SliceExt { request } => self.ask_for_slice_extension(cpu, task, request),
            Step::Exit | Step::Stuck => self.exit(rec, cpu, task),
        }
    }

    /// The run cannot go on.
    #[cold]
    pub(crate) fn stop(&mut self, why: Stopped) -> Next {
        self.stopped = Some(why);
        self.over = true;
        Next::Left
    }

    /// A task was refused by the deadline class: what it does then is not told by its program.
    #[cold]
    pub(crate) fn not_admitted(&mut self, task: TaskId, why: Refused) -> Next {
        self.stop(Stopped::NotAdmitted { task: self.tasks[task].info.name.clone(), why, at: self.now })
    }

    /// Whether the programs of `cpu` have taken very many steps without letting time pass, or with hardly any time.
    fn goes_in_circles(&mut self, cpu: CpuId) -> bool {
        let Cpu { steps_at: (at, steps), steps_since: (since, all), .. } = &mut self.cpus[cpu];
        if *at != self.now {
            (*at, *steps) = (self.now, 0);
        }
        *steps += 1;
        *all += 1;
        let mut is_crowded = false;
        if *all == STEPS_LOOKED_AT {
            is_crowded = self.now.since(*since) < Ns(STEP_MIN.0 * u64::from(STEPS_LOOKED_AT));
            (*since, *all) = (self.now, 0);
        }
        is_crowded || *steps > STEPS_AT_ONE_INSTANT
    }

    fn want(&mut self, cpu: CpuId, task: TaskId, want: Want, mode: Mode) -> Next {
        let row = &mut self.tasks[task];
        (row.want, row.mode) = (want, mode);
        self.pay(cpu, Section::Syscall, self.without_entry(task))
    }

    /// A system call, unless the task is in one already.
    pub(crate) fn syscall(&mut self, cpu: CpuId, then: Then) -> Next {
        let task = self.sched.rq(cpu).curr.expect("invariant: a task makes a system call");
        self.count_syscall(cpu, task);
        self.pay(cpu, Section::Syscall, then)
    }

    #[inline]
    fn count_syscall(&mut self, cpu: CpuId, task: TaskId) {
        if self.slices.notes_exits {
            self.tasks[task].gives_way = GaveWay::AfterSyscall;
            self.syscall_ends_slice_extension(cpu, task);
        }
        if !self.klocks.in_section(task) {
            self.cpus[cpu].meter.count(Op::Syscall);
        }
    }

    /// Sleeps on a timer: it may ring up to the task's slack later than asked. Tasks of higher classes than the fair one have none.
    ///
    /// Kernel: hrtimer.c hrtimer_nanosleep(), do_nanosleep(), v4.12–
    pub(crate) fn sleep_until(&mut self, cpu: CpuId, task: TaskId, at: Instant) -> Next {
        if at > Instant::MAX {
            // Later than any run can last: no timer is needed.
            self.sched.set_current_state(cpu, PrevState::Sleeping);
            return self.syscall(cpu, Then::Schedule);
        }
        let slack = if self.sched.task(task).policy.is_fair() { self.tasks[task].timer_slack } else { Ns::ZERO };
        let hard = Instant::from_ns(at.ns().saturating_add(slack.0).min(Instant::MAX.ns()));
        self.arm_task_timer(cpu, task, at, hard);
        self.cpus[cpu].meter.count(Op::TimerProgram);
        self.sched.set_current_state(cpu, PrevState::Sleeping);
        self.syscall(cpu, Then::Schedule)
    }

    /// Waits for a device, which interrupts when it has an answer.
    ///
    /// Kernel: core.c io_schedule(), v4.12–
    fn wait_for_device(&mut self, cpu: CpuId, task: TaskId, time: Ns) -> Next {
        let at = Instant::from_ns(self.now.ns().saturating_add(time.0).min(Instant::MAX.ns()));
        self.arm_task_timer(cpu, task, at, at);
        self.sched.set_current_state(cpu, PrevState::DiskSleep);
        self.sched.io_schedule(cpu);
        self.syscall(cpu, Then::Schedule)
    }

    /// Goes to sleep inside a system call, whose body runs again after the wake-up.
    pub(crate) fn sleep_in(&mut self, cpu: CpuId, task: TaskId, retry: Then) -> Next {
        self.tasks[task].want = Want::Retry(retry);
        self.tasks[task].mode = Mode::Kernel;
        self.cpus[cpu].meter.count(Op::RecvBlock);
        self.sched.set_current_state(cpu, PrevState::Sleeping);
        self.pay(cpu, Section::Syscall, Then::Schedule)
    }

    /// A system call has changed a pipe or socket: the task (if any) that waits for that is woken, with the hint `sync`.
    ///
    /// Kernel: pipe.c wake_up_interruptible_sync_poll() at the end of a read or write, v4.12–
    #[inline(never)]
    pub(crate) fn wake_waiter(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, waiter: Option<TaskId>, sync: bool) -> Next {
        match waiter {
            Some(waiter) => self.wake(rec, cpu, waiter, WakeFlags { sync, context: WakeContext::Task }, AfterWake::Resume),
            None => self.syscall_ends(rec, cpu),
        }
    }

    /// What is left to pay is paid, and the task goes on: at once, if that is nothing.
    #[inline]
    pub(crate) fn syscall_ends(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        match self.cpus[cpu].owes_nothing() {
            true => self.resume(rec, cpu),
            false => self.pay(cpu, Section::Syscall, Then::Resume),
        }
    }

    /// First phase of fork(): the child exists, but is not queued before its making is paid.
    fn fork(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, parent: TaskId, child: TaskId) -> Next {
        if self.tasks[child].parent.is_some() {
            let name = |task: TaskId| self.tasks[task].info.name.clone();
            return self.stop(Stopped::ForkedTwice { task: name(parent), child: name(child), at: self.now });
        }
        self.tasks[parent].live_children += 1;
        self.tasks[child].parent = Some(parent);
        self.core(rec, cpu, |sched, cx| sched.sched_fork(cx, Some(parent), child));
        self.enter(rec, cpu, Entry::Fork { parent: Some(parent), child });
        self.tell_prio(rec, child);
        self.pay(cpu, Section::Syscall, Then::WakeNew(child))
    }

    /// Second phase of fork().
    ///
    /// Kernel: fork.c kernel_clone(), _do_fork() before v5.10, v4.12–
    #[inline(never)]
    pub(crate) fn wake_new(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, child: TaskId) -> Next {
        if self.beside.leads() {
            let goes_on = self.led_wake_new(rec, cpu, child) && self.ask_for_deadline(rec, cpu, child);
            return if goes_on { self.syscall(cpu, Then::Resume) } else { Next::Left };
        }
        let wanted = self.tasks[child].first_cpu;
        let target = self.core(rec, cpu, |sched, cx| sched.select_new_task(cx, child, wanted));
        self.activate_new(rec, cpu, child, target)
    }

    /// The child is queued, under the lock of its CPU.
    pub(crate) fn activate_new(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, child: TaskId, target: CpuId) -> Next {
        if let Some(wait) = self.lock(cpu, target, Section::Syscall, Then::ActivateNew { child, target }) {
            return wait;
        }
        self.core_locked(rec, cpu, target, |sched, cx| sched.activate_new_task(cx, child, target));
        self.tell(cpu, Entry::WakeNew { child, wanted: self.tasks[child].first_cpu });
        if self.ask_for_deadline(rec, cpu, child) { self.syscall(cpu, Then::Resume) } else { Next::Left }
    }

    /// A task that was queued for the first time gets the deadline policy that it is to have. Whoever made it asks for that at
    /// once. False: it is refused, and the run ends.
    pub(crate) fn ask_for_deadline(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, task: TaskId) -> bool {
        match self.core_from_outside(rec, cpu, |sched, cx| sched.ask_for_deadline(cx, task)) {
            Ok(None) => {}
            Ok(Some(policy)) => {
                self.enter(rec, cpu, Entry::Change(&Change::Policy { task, policy }));
                self.tell_prio(rec, task);
            }
            Err(why) => {
                self.not_admitted(task, why);
                return false;
            }
        }
        true
    }

    fn wait_children(&mut self, cpu: CpuId, task: TaskId) -> Next {
        if self.tasks[task].live_children == 0 {
            return self.syscall(cpu, Then::Resume);
        }
        self.tasks[task].waits_for_children = true;
        self.sched.set_current_state(cpu, PrevState::Sleeping);
        self.syscall(cpu, Then::Schedule)
    }

    fn set_own_affinity(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, task: TaskId) -> Next {
        let row = &self.tasks[task];
        let cpus = row.frame.affinity(&self.programs[row.program]).copied();
        if let Some(cpus) = cpus.filter(|cpus| cpus.intersects(&self.view.online)) {
            match self.beside.leads() {
                true => self.sched.led_affinity(task, cpus),
                false => drop(self.core(rec, cpu, |sched, cx| sched.set_cpus_allowed(cx, task, cpus))),
            }
            self.enter(rec, cpu, Entry::Change(&Change::Affinity { task, cpus }));
        }
        self.syscall(cpu, Then::Resume)
    }

    /// Kernel: exit.c do_exit(), v4.12–
    fn exit(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, task: TaskId) -> Next {
        if self.ends_with_lock(task) {
            return self.misuse(task, Misuse::EndsWithLock);
        }
        self.live_tasks -= 1;
        self.over = self.live_tasks == 0;
        self.cpus[cpu].meter.count(Op::Exit);
        rec.record(self.now, cpu, TraceEvent::SchedProcessExit { task });
        self.sched.set_current_state(cpu, PrevState::Dead);
        let Some(parent) = self.tasks[task].parent else { return self.pay(cpu, Section::Syscall, Then::Schedule) };
        let row = &mut self.tasks[parent];
        row.live_children -= 1;
        if row.live_children == 0 && std::mem::take(&mut row.waits_for_children) {
            return self.wake(rec, cpu, parent, WakeFlags { sync: true, context: WakeContext::Task }, AfterWake::Schedule);
        }
        self.pay(cpu, Section::Syscall, Then::Schedule)
    }

    /// Tells sinks of a task's priority if it has changed.
    pub(crate) fn tell_prio(&mut self, rec: &mut Recorder<'_>, task: TaskId) {
        if self.tasks[task].info.prio != self.sched.task(task).prio() {
            self.renice(rec, task);
        }
    }

    /// Tells sinks that a task's priority has changed.
    pub(crate) fn renice(&mut self, rec: &mut Recorder<'_>, task: TaskId) {
        self.tasks[task].info.prio = self.sched.task(task).prio();
        rec.task(task, &self.tasks[task].info);
    }
}
