//! Spin locks of user space: who finds one taken looks at its word in rounds, on its CPU and at its own cost.
//!
//! ```text
//! holder    |== holds ==|  preempted: no CPU  |== ==|
//! spinner   |~r~|~r~|~r~|~r~|~r~| sleeps 1 ms      |~r~|~r~| has it
//!                                                      ^ the first look at which the lock is free
//! ```
//!
//! Nobody is told of a release, so the lock goes to whoever looks first. Rounds are no events: a stretch of spinning ends where its rounds
//! do, and a release moves the end of one stretch only, that of the spinner who looks next. If he is interrupted before he looks, the next
//! one is found. A test-and-set that finds the lock free takes it at that instant, whoever spins.
//!
//! A look is a test-and-set: it needs the line of the lock alone, and gets it behind all others who spin. So a round lasts
//! `round + others * tas_contend`, by how many others there are when a batch of rounds begins.

use super::{LockMode, Op};
use crate::cpu::{Doing, Then};
use crate::kernel::Next;
use crate::queue::Slot;
use crate::simulation::Simulation;
use crate::task::{GaveWay, Want};
use fairground_model::{LockKind, Mode, Section, SpinSpec};
use fairground_stdx::{CpuId, Instant, LockId, Ns, TaskId};

/// What a task knows while it waits for a spin lock, and what it has learnt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spinner {
    /// What is left of its batch of rounds.
    left: Ns,
    /// How long each of these is.
    round: Ns,
    /// The rounds that come behind them before it sleeps.
    more: u32,
    /// The sleep that comes next; 0: it has not slept in this wait.
    sleep: Ns,
    /// The rounds before a sleep that it has learnt; 0: nothing yet.
    rounds: u32,
    /// It was taken off its CPU between two looks.
    off_cpu: bool,
    /// The CPU time that it has spun in all, for all locks.
    pub(super) spun: Ns,
}

/// Rounds of one length: then it is asked again how many others spin.
const BATCH: u32 = 16;

impl Spinner {
    /// Of a task that has never spun.
    pub(super) const UNUSED: Spinner =
        Spinner { left: Ns::ZERO, round: Ns::ZERO, more: 0, sleep: Ns::ZERO, rounds: 0, off_cpu: false, spun: Ns::ZERO };

    /// How long it is until its next look, if it has so much left of its batch: 0 at the border of two rounds.
    fn until_look(&self, left: Ns) -> Ns {
        Ns(left.0 % self.round.0)
    }
}

/// So long somebody waits before a spin lock counts as one that is not given back: far beyond any hold without the kernel.
const HELD_UP_AFTER: Ns = Ns::from_ms(100);

/// A spin lock that others still wait for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldUp {
    /// The lock.
    pub lock: LockId,
    /// Who holds it, and since when; nobody, if all who want it sleep.
    pub holder: Option<(TaskId, Instant)>,
    /// Who waits, first come first.
    pub waiters: Vec<TaskId>,
    /// Since when the first does.
    pub since: Instant,
}

impl Simulation {
    /// The spin locks for which somebody has waited for 100 ms or more, and does so now.
    pub fn held_up(&self) -> Vec<HeldUp> {
        let of_lock = |(lock, klock): (LockId, &super::Klock)| {
            let waiters: Vec<TaskId> = klock.queue.iter().map(|waiter| waiter.task).collect();
            let since = self.klocks.lockers[*waiters.first()?].since;
            let holder = klock.holders.first().map(|holder| (holder.task, holder.since));
            let is_long = matches!(klock.spec.kind, LockKind::Spin(_)) && self.now.since(since) >= HELD_UP_AFTER;
            is_long.then_some(HeldUp { lock, holder, waiters, since })
        };
        self.klocks.locks.iter_enumerated().filter_map(of_lock).collect()
    }

    /// The CPU time that a task has spun for spin locks of user space.
    pub fn spun_by(&self, task: TaskId) -> Ns {
        self.klocks.lockers[task].spinner.spun
    }

    /// Whether a task is on its CPU and spins: if the lock is free it looks at it within a round.
    pub fn spins_now(&self, task: TaskId) -> bool {
        let cpu = self.sched.task(task).cpu;
        let on_cpu = self.sched.rq(cpu).curr == Some(task) && self.cpus[cpu].doing == Doing::Compute;
        on_cpu && self.tasks[task].refill == Ns::ZERO && matches!(self.tasks[task].want, Want::Spin { .. })
    }

    fn spin_spec(&self, lock: LockId) -> SpinSpec {
        match self.klocks.locks[lock].spec.kind {
            LockKind::Spin(spec) => spec,
            _ => unreachable!("invariant: only spin locks are spun for in user mode"),
        }
    }

    /// The current task asks for a spin lock.
    pub(super) fn take_spin_lock(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Next {
        if self.klocks.locks[lock].is_free() {
            return self.get_spin_lock(cpu, task, lock);
        }
        let asker = self.asker(cpu, task, lock, LockMode::Write);
        self.klocks.locks[lock].ask(&asker, &mut self.cpus[cpu].wake_q);
        self.klocks.begins_to_wait(task, lock, LockMode::Write, self.now);
        self.klocks.lockers[task].spinner.sleep = Ns::ZERO;
        self.begin_to_spin(cpu, task, lock)
    }

    /// It finds the lock taken, and has all its rounds before it.
    fn begin_to_spin(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Next {
        let spec = self.spin_spec(lock);
        let spinner = &mut self.klocks.lockers[task].spinner;
        spinner.more = spec.rounds_of(spinner.rounds);
        self.begin_batch(cpu, task, lock);
        self.klocks.locks[lock].spinning += 1;
        (self.tasks[task].want, self.tasks[task].mode) = (Want::Spin { lock }, Mode::User);
        self.tasks[task].gives_way = GaveWay::InUser;
        self.pay(cpu, Section::Syscall, Then::GoOn)
    }

    /// The next rounds: all that are left, if others do not make them longer. The task itself is not counted among those who spin.
    fn begin_batch(&mut self, cpu: CpuId, task: TaskId, lock: LockId) {
        let others = u64::from(self.klocks.locks[lock].spinning);
        let line_ps = self.cpus[cpu].meter.price_ps(Op::TasContend);
        let round = self.spin_spec(lock).round;
        let spinner = &mut self.klocks.lockers[task].spinner;
        let rounds = if line_ps == 0 { spinner.more } else { spinner.more.min(BATCH) };
        spinner.more -= rounds;
        spinner.round = Ns(round.0.saturating_add(line_ps.saturating_mul(others) / 1000));
        spinner.left = Ns(spinner.round.0.saturating_mul(u64::from(rounds)));
    }

    /// The lock is free, and its test-and-set goes well. The line of the lock comes to it past all who spin.
    fn get_spin_lock(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Next {
        let asker = self.asker(cpu, task, lock, LockMode::Write);
        let klock = &mut self.klocks.locks[lock];
        klock.look_again(&asker);
        self.klocks.has_got(task, lock, LockMode::Write, self.now);
        self.count_lock(cpu, lock);
        self.count_line(cpu, lock);
        self.tasks[task].want = Want::Nothing;
        self.pay(cpu, Section::Syscall, self.without_entry(task))
    }

    /// Who takes or releases a lock needs its line, behind all who spin.
    pub(super) fn count_line(&mut self, cpu: CpuId, lock: LockId) {
        self.cpus[cpu].meter.count_n(Op::TasContend, u64::from(self.klocks.locks[lock].spinning));
    }

    /// A task leaves its CPU: if it spins, it does so no longer.
    pub(super) fn spinner_leaves(&mut self, task: TaskId) {
        let spinner = &mut self.klocks.lockers[task].spinner;
        if let Want::Spin { lock } = self.tasks[task].want
            && !spinner.off_cpu
        {
            spinner.off_cpu = true;
            self.klocks.locks[lock].spinning -= 1;
        }
    }

    /// A task that spins goes on: it looks at the lock, if that is what comes next.
    pub(crate) fn spin_on(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Next {
        if std::mem::take(&mut self.klocks.lockers[task].spinner.off_cpu) {
            self.klocks.locks[lock].spinning += 1;
        }
        let spec = self.spin_spec(lock);
        let Spinner { left, more, .. } = self.klocks.lockers[task].spinner;
        if self.klocks.lockers[task].spinner.until_look(left) > Ns::ZERO {
            return self.compute(cpu, task, self.now);
        }
        if self.klocks.locks[lock].is_free() {
            self.klocks.locks[lock].spinning -= 1;
            let spinner = &mut self.klocks.lockers[task].spinner;
            spinner.rounds = spec.learn(spec.rounds_of(spinner.rounds), spinner.sleep > Ns::ZERO);
            return self.get_spin_lock(cpu, task, lock);
        }
        if left == Ns::ZERO {
            match spec.sleep {
                _ if more > 0 => {}
                Some((first, _)) => return self.back_off(cpu, task, lock, first),
                None => self.klocks.lockers[task].spinner.more = spec.rounds.1,
            }
            self.klocks.locks[lock].spinning -= 1;
            self.begin_batch(cpu, task, lock);
            self.klocks.locks[lock].spinning += 1;
        }
        self.compute(cpu, task, self.now)
    }

    /// It has spun long enough, and sleeps.
    fn back_off(&mut self, cpu: CpuId, task: TaskId, lock: LockId, first: Ns) -> Next {
        let spec = self.spin_spec(lock);
        self.klocks.locks[lock].spinning -= 1;
        let before = self.klocks.lockers[task].spinner.sleep;
        let time = match before {
            Ns::ZERO => first,
            before => spec.next_sleep(before, Ns(self.tasks[task].rng.between(0, before.0))),
        };
        self.klocks.lockers[task].spinner.sleep = time;
        self.klocks.accounts[lock].report.spin.sleeps += 1;
        (self.tasks[task].want, self.tasks[task].mode) = (Want::Retry(Then::SpinAwake { lock }), Mode::User);
        self.sleep_until(cpu, task, Instant::from_ns(self.now.ns().saturating_add(time.0)))
    }

    /// It is back from its sleep: it looks at once, and spins again if that is in vain.
    pub(crate) fn spin_awake(&mut self, cpu: CpuId, lock: LockId) -> Next {
        let task = self.sched.rq(cpu).curr.expect("invariant: who takes a lock is current");
        if self.klocks.locks[lock].is_free() {
            let spec = self.spin_spec(lock);
            let spinner = &mut self.klocks.lockers[task].spinner;
            spinner.rounds = spec.learn(spec.rounds_of(spinner.rounds), true);
            return self.get_spin_lock(cpu, task, lock);
        }
        self.begin_to_spin(cpu, task, lock)
    }

    /// When a stretch of spinning from `from` on ends: with the rounds, or with the next look if the lock is free.
    pub(crate) fn spin_ends(&self, task: TaskId, lock: LockId, from: Instant) -> Option<u64> {
        let spinner = &self.klocks.lockers[task].spinner;
        let time = if self.klocks.locks[lock].is_free() { spinner.until_look(spinner.left) } else { spinner.left };
        from.ns().checked_add(time.0)
    }

    /// So much time of a stretch of spinning is over.
    pub(crate) fn has_spun(&mut self, task: TaskId, lock: LockId, at: Instant, ran: Ns) {
        let spinner = &mut self.klocks.lockers[task].spinner;
        let ran = ran.min(spinner.left);
        spinner.left -= ran;
        spinner.spun += ran;
        self.klocks.accounts[lock].report.spin.spun += ran;
        self.parts.spun(task, lock, at, ran);
    }

    /// What is left of the rounds of a task that spins.
    pub(crate) fn spin_left(&self, task: TaskId) -> Ns {
        self.klocks.lockers[task].spinner.left
    }

    /// A spinner is interrupted. If it was to look at a lock that is free, somebody else does so first.
    pub(crate) fn spinner_is_interrupted(&mut self, cpu: CpuId, lock: LockId) {
        if self.klocks.locks[lock].is_free() {
            self.next_look(lock, Some(cpu));
        }
    }

    /// The lock is free: who spins for it and looks next ends its stretch there; of several at one instant who waits longest.
    pub(super) fn next_look(&mut self, lock: LockId, but: Option<CpuId>) {
        let looks = self.klocks.locks[lock].queue.iter().filter_map(|waiter| {
            let task = waiter.task;
            let cpu = self.sched.task(task).cpu;
            let (row, own) = (&self.tasks[task], &self.cpus[cpu]);
            let spins = self.sched.rq(cpu).curr == Some(task) && own.doing == Doing::Compute && Some(cpu) != but;
            if !spins || row.refill > Ns::ZERO || row.want != (Want::Spin { lock }) {
                return None;
            }
            let from = own.computes_from.max(self.now);
            let done = self.now.saturating_since(own.computes_from);
            let spinner = &self.klocks.lockers[task].spinner;
            Some((from + spinner.until_look(spinner.left.saturating_sub(done)), cpu))
        });
        // The queue is in the order of arrival, so the first of equals waits longest.
        let Some((at, cpu)) = looks.min_by_key(|row| row.0) else { return };
        let at = self.queue.irqs_held_until(cpu).max(at);
        self.queue.set(cpu, Slot::Segment, Some(at));
    }
}
