//! Locks that tasks take on purpose, and sections of kernel code between the entry into the kernel and the way back.
//!
//! # The problem
//!
//! The scheduler decides who runs, a lock decides who *can* run. They meet where a lock holder is not running. Whether
//! that happens depends on three things: where throttling takes a task off its CPU, whether a section in the kernel can
//! be preempted, and whether the holder sleeps inside.
//!
//! # What goes wrong without it
//!
//! - A model of user time alone cannot show why throttling by queue (up to v6.17) hung systems, nor why v6.18 changed
//!   it.
//! - With plain mutual exclusion a throttled *reader* looks harmless. In fact one waiting writer closes an rwsem to new
//!   readers, so everybody waits behind a reader that is throttled.
//! - Without preemption models half of all kernels get a wrong answer: with `none` and `voluntary` a section that does
//!   not sleep is finished first.
//!
//! # The rule
//!
//! Waiting goes through the scheduler like any other sleep: the waiter calls schedule(), and the task that releases the
//! lock wakes it. So a woken waiter can be late, throttled, or beaten to the lock.
//!
//! - **rwsem**: readers share. A waiting writer stops new readers. When readers come next, all that wait go in, up to
//!   256. A waiter lets others steal the lock for 4 ms; then it asks for a handoff.
//! - **per-CPU rwsem**: readers touch nothing shared. A writer closes the lock, waits for an RCU grace period, then
//!   until all readers have left.
//! - **mutex**: waiters in order of arrival. A task may spin while the owner runs, or steal a free lock, until a waiter
//!   that lost to it asks for a handoff.
//! - **spin**: a lock of user space. Who finds it taken looks at it in rounds on its CPU, sleeps after a while, and looks again.
//! - **futex**: free, it is taken in user mode. Waiters sleep, are woken one at a time, and compete.
//!
//! A task that is in the kernel is not stopped for quota from v6.18 on: the mark is looked at on the way to user mode.
//!
//! Each wait is split by what the holder did meanwhile: running, waiting for a CPU, throttled, asleep. Chains of
//! waiters and holders are followed, up to eight long, and a cycle is reported as a deadlock with its tasks and locks.
//!
//! # What changed
//!
//! Locks follow v6.12 in every profile. The preemption model is the seam `preemption`.
//!
//! - v5.3 "locking/rwsem: Implement lock handoff to prevent lock starvation"
//! - v5.3 "locking/rwsem: Wake up almost all readers in wait queue"
//! - v5.11 "locking/rwsem: Remove reader optimistic spinning"
//! - v6.13 "sched: Add Lazy preemption model"
//! - v6.18 "sched/fair: Switch to task based throttle model": no task stops with a lock of the kernel
//!
//! # The parts
//!
//! `object.rs` is a lock by itself; it knows neither CPUs nor the scheduler. This file is what tasks do with it.
//! `graph.rs` follows chains, `stats.rs` keeps what is reported. Locks of run queues are another thing: `../locks.rs`.
//!
//! # Read also
//!
//! docs/model/12-kernel-sections-and-locks.md, docs/locks.md; Documentation/locking/percpu-rw-semaphore.rst and
//! mutex-design.rst; LWN "The long road to lazy preemption" (<https://lwn.net/Articles/994322/>).

mod graph;
mod keep;
mod locker;
mod object;
mod spin;
mod stats;
#[cfg(test)]
mod tests;

use crate::cpu::{Doing, Then};
use crate::ending::{Misuse, Stopped};
use crate::kernel::Next;
use crate::queue::Slot;
use crate::simulation::Simulation;
use crate::task::Want;
use fairground_model::task_set::HUNG_TASK_TIMEOUT;
use fairground_model::{LockAct, LockEvent, LockKind, LockMode, Mode, Op, PrevState, Recorder, Section, TaskSet};
use fairground_sched::Sched;
use fairground_stdx::{CpuId, Id, IndexVec, Instant, LockId, LogLinear, Ns, Rare, TaskId};
use graph::Graph;
use locker::Locker;
use object::{Answer, Asker, Klock};
use stats::Account;

pub use graph::Deadlock;
pub use spin::HeldUp;
pub use stats::{HolderIs, LockReport, LockWaits, SpinReport};

/// How long a waiter of an rwsem lets others steal it.
///
/// Kernel: rwsem.c RWSEM_WAIT_TIMEOUT, v5.3–
const RWSEM_WAIT_TIMEOUT: Ns = Ns::from_ms(4);
/// Deadlocks that are kept; a task that waits for ever does so once.
const MAX_DEADLOCKS: usize = 64;
/// Up to so many tasks the waits of each are kept.
pub const MAX_TASKS_TOLD_APART: usize = 64;

/// The locks of a run.
#[derive(Clone, Debug)]
pub(crate) struct Klocks {
    locks: IndexVec<LockId, Klock>,
    accounts: IndexVec<LockId, Account>,
    lockers: IndexVec<TaskId, Rare<Locker>>,
    /// The lock that each task waits for, and how.
    waits: IndexVec<TaskId, Option<(LockId, LockMode)>>,
    /// Who waits on its CPU, first come first.
    spinners: Vec<(TaskId, LockId)>,
    /// Locks that are held or waited for.
    in_use: Vec<LockId>,
    deadlocks: Vec<Deadlock>,
    hung_after: Ns,
    /// Whether there are spin locks of user space.
    spin_locks: bool,
    /// Whether who holds a lock keeps its CPU, which no kernel does.
    holders_stay: bool,
    /// What was done with locks in this event, for who watches.
    events: Vec<LockEvent>,
    /// The waits of each task for all locks; empty if there are too many tasks to tell them apart.
    by_task: IndexVec<TaskId, LogLinear>,
}

impl Klocks {
    pub(crate) fn new(set: &TaskSet) -> Klocks {
        let locks: IndexVec<LockId, Klock> = set.locks.iter().map(Klock::new).collect();
        let told_apart = !locks.is_empty() && set.tasks.len() <= MAX_TASKS_TOLD_APART;
        Klocks {
            accounts: locks.iter().map(Account::new).collect(),
            lockers: set.tasks.iter().map(|_| Rare::default()).collect(),
            waits: set.tasks.iter().map(|_| None).collect(),
            spinners: Vec::new(),
            in_use: Vec::with_capacity(locks.len()),
            deadlocks: Vec::new(),
            events: Vec::with_capacity(16),
            by_task: set.tasks.iter().map(|_| LogLinear::new()).take(if told_apart { set.tasks.len() } else { 0 }).collect(),
            spin_locks: locks.iter().any(|lock| matches!(lock.spec.kind, LockKind::Spin(_))),
            holders_stay: false,
            hung_after: set.hung_task_timeout.unwrap_or(HUNG_TASK_TIMEOUT),
            locks,
        }
    }
    /// Whether a task is between its entry into the kernel and the way back.
    #[inline]
    pub(crate) fn in_section(&self, task: TaskId) -> bool {
        self.lockers[task].in_section
    }
    /// Whether a lock is held or waited for.
    #[inline]
    pub(crate) fn are_in_use(&self) -> bool {
        !self.in_use.is_empty()
    }
    /// Brings the accounts of all locks that are in use up to now.
    pub(crate) fn settle(&mut self, now: Instant, sched: &Sched) {
        let mut row = 0;
        while let Some(&lock) = self.in_use.get(row) {
            self.accounts[lock].settle(&mut self.locks[lock], now, sched);
            match self.locks[lock].is_in_use() {
                true => row += 1,
                false => {
                    self.in_use.swap_remove(row);
                }
            }
        }
    }
    /// Tells whoever watches what was done with locks.
    pub(crate) fn tell(&mut self, rec: &mut Recorder<'_>, now: Instant, cpu: CpuId) {
        self.events.drain(..).for_each(|event| rec.lock(now, cpu, &event));
    }
    fn note(&mut self, task: TaskId, lock: LockId, mode: LockMode, act: LockAct) {
        self.events.push(LockEvent { lock, task, mode, act });
    }
    fn use_lock(&mut self, lock: LockId, now: Instant, sched: &Sched) {
        if !self.in_use.contains(&lock) {
            self.accounts[lock].settle(&mut self.locks[lock], now, sched);
            self.in_use.push(lock);
        }
    }
    /// `task` goes on with the lock.
    fn has_got(&mut self, task: TaskId, lock: LockId, mode: LockMode, now: Instant) {
        self.note(task, lock, mode, LockAct::Holds);
        let locker = &mut self.lockers[task];
        locker.held += 1;
        locker.held_of_kernel += u32::from(self.locks[lock].spec.kind.is_of_kernel());
        let (waited, time) = (std::mem::take(&mut locker.waited), now.since(locker.since));
        self.waits[task] = None;
        let report = &mut self.accounts[lock].report;
        report.hung_tasks += u64::from(report.kind.is_of_kernel() && time > self.hung_after);
        let waits = report.waits_mut(mode);
        waits.times.add(time.0);
        if task.index() < self.by_task.len() {
            self.by_task[task].add(time.0);
        }
        waits.contended += u64::from(waited);
    }
    /// `task` begins to wait: its chain is followed.
    fn begins_to_wait(&mut self, task: TaskId, lock: LockId, mode: LockMode, now: Instant) {
        self.note(task, lock, mode, LockAct::Waits);
        self.waits[task] = Some((lock, mode));
        self.lockers[task].waited = true;
        let (length, cycle) = Graph { locks: &self.locks, waits: &self.waits }.follow(task);
        let report = &mut self.accounts[lock].report;
        report.longest_chain = report.longest_chain.max(length);
        if let Some(waits) = cycle.filter(|_| self.deadlocks.len() < MAX_DEADLOCKS) {
            self.deadlocks.push(Deadlock { at: now, waits });
        }
    }
}

/// The lock for which a task waits, with those that it waits for.
pub(crate) fn whom_it_waits_for(klocks: &Klocks, task: TaskId) -> Option<(LockId, Vec<TaskId>)> {
    let (lock, mode) = klocks.waits[task]?;
    let graph = Graph { locks: &klocks.locks, waits: &klocks.waits };
    Some((lock, graph.ahead(task, lock, mode).filter(|&other| other != task).collect()))
}

impl Simulation {
    /// Whether the current task is in the kernel where it now is: on the way back to user mode it is not any more.
    pub(crate) fn in_kernel(&self, task: TaskId) -> bool {
        let row = &self.tasks[task];
        self.tasks[task].kthread || self.klocks.in_section(task) || (row.mode != Mode::User && row.want != Want::Nothing)
    }

    /// Whether an interrupt that ends now may take the current task off where it is in the kernel.
    pub(crate) fn preempts_in_kernel(&self, cpu: CpuId, task: TaskId) -> bool {
        let row = &self.tasks[task];
        (row.mode.is_preemptible() || row.want == Want::Nothing) && self.sched.preempts_in_kernel(cpu)
    }

    /// A system call, a fault: the task is in the kernel from now on.
    pub(crate) fn enter_section(&mut self, cpu: CpuId, task: TaskId) -> Next {
        if self.klocks.in_section(task) {
            return self.misuse(task, Misuse::EntersTwice);
        }
        self.syscall_ends_slice_extension(cpu, task);
        self.cpus[cpu].meter.count(Op::Syscall);
        self.klocks.lockers[task].in_section = true;
        self.pay(cpu, Section::Syscall, Then::Resume)
    }

    /// The way back to user mode.
    pub(crate) fn leave_section(&mut self, cpu: CpuId, task: TaskId) -> Next {
        let locker = &self.klocks.lockers[task];
        if !locker.in_section {
            return self.misuse(task, Misuse::LeavesOutside);
        }
        if locker.held_of_kernel > 0 {
            return self.misuse(task, Misuse::LeavesWithLock);
        }
        self.klocks.lockers[task].in_section = false;
        self.tasks[task].mode = Mode::User;
        self.pay(cpu, Section::Syscall, Then::Resume)
    }

    /// A point in the kernel where a task gives way if that is due and `here` says so.
    pub(crate) fn preemption_point(&mut self, cpu: CpuId, here: bool) -> Next {
        let due = here && self.sched.rq(cpu).resched_on_user_return();
        self.go_on(cpu, if due { Then::Schedule } else { Then::Resume })
    }

    /// A task asks for a lock.
    pub(crate) fn take_lock(&mut self, cpu: CpuId, task: TaskId, lock: LockId, mode: LockMode) -> Next {
        let klock = &self.klocks.locks[lock];
        let (of_kernel, held) = (klock.spec.kind.is_of_kernel(), klock.is_held_by(task));
        if held {
            return self.misuse_of(task, lock, Misuse::TakesTwice);
        }
        if of_kernel && !self.klocks.in_section(task) && !self.tasks[task].kthread {
            return self.misuse_of(task, lock, Misuse::OutsideKernel);
        }
        let spins = matches!(klock.spec.kind, LockKind::Spin(_));
        if spins && (self.klocks.in_section(task) || self.tasks[task].kthread) {
            return self.misuse_of(task, lock, Misuse::SpinsInKernel);
        }
        self.klocks.use_lock(lock, self.now, &self.sched);
        self.klocks.lockers[task].since = self.now;
        if spins {
            return self.take_spin_lock(cpu, task, lock);
        }
        if !of_kernel && klock_is_taken(&self.klocks.locks[lock]) {
            self.cpus[cpu].meter.count(Op::FutexOp);
            return self.syscall(cpu, Then::LockSlow { lock, mode });
        }
        self.ask_for_lock(cpu, lock, mode, self.without_entry(task))
    }

    /// The current task asks for a lock, or looks again whether it has it.
    pub(crate) fn lock_slow(&mut self, cpu: CpuId, lock: LockId, mode: LockMode) -> Next {
        self.ask_for_lock(cpu, lock, mode, Then::Resume)
    }

    /// The same; `then` follows if it gets the lock.
    fn ask_for_lock(&mut self, cpu: CpuId, lock: LockId, mode: LockMode, then: Then) -> Next {
        let task = self.sched.rq(cpu).curr.expect("invariant: who takes a lock is current");
        // Between the release and the waiter that was woken nobody may have used it.
        self.klocks.use_lock(lock, self.now, &self.sched);
        let asker = self.asker(cpu, task, lock, mode);
        let klock = &mut self.klocks.locks[lock];
        let woken = &mut self.cpus[cpu].wake_q;
        let waits = self.klocks.waits[task].is_some() && !self.klocks.spinners.iter().any(|row| row.0 == task);
        let answer = if waits { klock.look_again(&asker) } else { klock.ask(&asker, woken) };
        self.klocks.spinners.retain(|row| row.0 != task || answer == Answer::Spin);
        if answer == Answer::Got {
            self.klocks.has_got(task, lock, mode, self.now);
            self.count_lock(cpu, lock);
            return self.after_lock(cpu, then);
        }
        if self.klocks.waits[task].is_none() {
            self.klocks.begins_to_wait(task, lock, mode, self.now);
        }
        if answer == Answer::Spin {
            return self.spin_for_lock(cpu, task, lock, mode);
        }
        self.sleep_for_lock(cpu, task, lock, mode, answer)
    }

    /// A lock was taken, or is released: what that costs, beside waiting and waking.
    fn count_lock(&mut self, cpu: CpuId, lock: LockId) {
        let of_kernel = self.klocks.locks[lock].spec.kind.is_of_kernel();
        self.cpus[cpu].meter.count(if of_kernel { Op::KernelLock } else { Op::FutexFast });
    }

    fn after_lock(&mut self, cpu: CpuId, then: Then) -> Next {
        match self.cpus[cpu].wake_q.is_empty() {
            true => self.pay(cpu, Section::Syscall, then),
            false => self.go_on(cpu, Then::WakeUpQ { sync: false }),
        }
    }

    fn asker(&self, cpu: CpuId, task: TaskId, lock: LockId, mode: LockMode) -> Asker {
        let owner = self.klocks.locks[lock].owner();
        let runs = |owner: TaskId| self.sched.rq(self.sched.task(owner).cpu).curr == Some(owner);
        Asker {
            task,
            mode,
            now: self.now,
            jiffies: self.jiffies.count(),
            patience: RWSEM_WAIT_TIMEOUT.0.div_ceil(self.machine.tick.0),
            may_spin: owner.is_some_and(runs) && !self.sched.rq(cpu).resched_on_user_return(),
        }
    }

    /// Kernel: mutex.c mutex_spin_on_owner(), rwsem.c rwsem_spin_on_owner(), v4.12–
    fn spin_for_lock(&mut self, cpu: CpuId, task: TaskId, lock: LockId, mode: LockMode) -> Next {
        if !self.klocks.spinners.iter().any(|row| row.0 == task) {
            self.klocks.spinners.push((task, lock));
        }
        (self.tasks[task].want, self.tasks[task].mode) = (Want::Lock { lock, mode }, Mode::Kernel);
        self.compute(cpu, task, self.now)
    }

    /// Kernel: rwsem.c rwsem_down_read_slowpath(), mutex.c __mutex_lock_common(), percpu-rwsem.c percpu_rwsem_wait(), v4.12–
    fn sleep_for_lock(&mut self, cpu: CpuId, task: TaskId, lock: LockId, mode: LockMode, answer: Answer) -> Next {
        if let Answer::SleepUntil(at) = answer {
            self.arm_task_timer(cpu, task, at, at);
        }
        (self.tasks[task].want, self.tasks[task].mode) = (Want::Retry(Then::LockSlow { lock, mode }), Mode::Kernel);
        let of_kernel = self.klocks.locks[lock].spec.kind.is_of_kernel();
        self.sched.set_current_state(cpu, if of_kernel { PrevState::DiskSleep } else { PrevState::Sleeping });
        self.pay(cpu, Section::Syscall, Then::Schedule)
    }

    /// The current task releases a lock, and wakes who is next.
    pub(crate) fn release_lock(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Next {
        let woken = &mut self.cpus[cpu].wake_q;
        let Some(held) = self.klocks.locks[lock].release(task, self.now, woken) else {
            return self.misuse_of(task, lock, Misuse::NotHeld);
        };
        let contended = !woken.is_empty();
        self.klocks.accounts[lock].released(&held, self.now);
        self.klocks.note(task, lock, held.mode, LockAct::Releases);
        self.count_lock(cpu, lock);
        let of_kernel = self.klocks.locks[lock].spec.kind.is_of_kernel();
        let locker = &mut self.klocks.lockers[task];
        (locker.held, locker.held_of_kernel) = (locker.held - 1, locker.held_of_kernel - u32::from(of_kernel));
        if let LockKind::Spin(_) = self.klocks.locks[lock].spec.kind {
            self.count_line(cpu, lock);
            self.next_look(lock, None);
        }
        self.call_spinners(Some(lock), None);
        let owes = self.asks_for_resched_put_off(cpu, task);
        if of_kernel || !contended {
            return self.after_lock(cpu, if owes { Then::Resume } else { self.without_entry(task) });
        }
        self.cpus[cpu].meter.count(Op::FutexOp);
        self.syscall(cpu, Then::WakeUpQ { sync: false })
    }

    /// The current task keeps a rwsem to read only, and wakes the readers that come in.
    pub(crate) fn downgrade_lock(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Next {
        // Nobody spins for a lock that readers have.
        self.call_spinners(None, Some(task));
        let woken = &mut self.cpus[cpu].wake_q;
        if !self.klocks.locks[lock].downgrade(task, self.now, woken) {
            return self.misuse_of(task, lock, Misuse::NotWritten);
        }
        self.klocks.note(task, lock, LockMode::Read, LockAct::Holds);
        self.count_lock(cpu, lock);
        self.after_lock(cpu, self.without_entry(task))
    }

    /// A lock is free: who spins for it first looks again. Or its `owner` has left its CPU: all do. Who is interrupted looks when it goes on.
    fn call_spinners(&mut self, free: Option<LockId>, owner: Option<TaskId>) {
        for row in 0..self.klocks.spinners.len() {
            let (task, lock) = self.klocks.spinners[row];
            let concerned = free == Some(lock) || (owner.is_some() && self.klocks.locks[lock].owner() == owner);
            let cpu = self.sched.task(task).cpu;
            if concerned && self.sched.rq(cpu).curr == Some(task) && self.cpus[cpu].doing == Doing::Compute {
                let at = self.queue.irqs_held_until(cpu).max(self.now);
                self.queue.set(cpu, Slot::Segment, Some(at));
                if free.is_some() {
                    return;
                }
            }
        }
    }

    /// `task` leaves its CPU.
    #[inline]
    pub(crate) fn lock_owner_leaves(&mut self, task: TaskId) {
        if self.klocks.holders_stay {
            self.klocks.lockers[task].owes_resched = false;
        }
        if !self.klocks.spinners.is_empty() {
            self.call_spinners(None, Some(task));
        }
        if self.klocks.spin_locks {
            self.spinner_leaves(task);
        }
    }

    /// Whether a task that ends still holds a lock.
    pub(crate) fn ends_with_lock(&self, task: TaskId) -> bool {
        self.klocks.lockers[task].held > 0
    }

    #[cold]
    pub(crate) fn misuse(&mut self, task: TaskId, what: Misuse) -> Next {
        let why = Stopped::Misuse { task: self.tasks[task].info.name.clone(), lock: None, what, at: self.now };
        self.stop(why)
    }

    #[cold]
    fn misuse_of(&mut self, task: TaskId, lock: LockId, what: Misuse) -> Next {
        let lock = Some(self.klocks.locks[lock].spec.name.clone());
        let why = Stopped::Misuse { task: self.tasks[task].info.name.clone(), lock, what, at: self.now };
        self.stop(why)
    }

    /// What came of each lock up to now. Waits that go on count as hung where they are longer than the limit, but nowhere else.
    pub fn lock_reports(&self) -> Vec<LockReport> {
        let mut reports: Vec<LockReport> = self.klocks.accounts.iter().map(|account| account.report.clone()).collect();
        for (task, wait) in self.klocks.waits.iter_enumerated() {
            let Some((lock, _)) = wait else { continue };
            let waited = self.now().since(self.klocks.lockers[task].since);
            let report = &mut reports[lock.index()];
            report.hung_tasks += u64::from(report.kind.is_of_kernel() && waited > self.klocks.hung_after);
        }
        reports
    }

    /// How long a task has waited for locks, each time that it took one; nothing in a run of very many tasks.
    pub fn lock_waits_of(&self, task: TaskId) -> Option<&LogLinear> {
        self.klocks.by_task.get(task)
    }

    /// Tasks that wait for one another for ever.
    pub fn deadlocks(&self) -> &[Deadlock] {
        &self.klocks.deadlocks
    }

    /// The lock that a task waits for now, and how.
    pub fn lock_wait_of(&self, task: TaskId) -> Option<(LockId, LockMode)> {
        self.klocks.waits[task]
    }

    /// Who holds a lock now, and how, in no order.
    pub fn lock_holders(&self, lock: LockId) -> impl Iterator<Item = (TaskId, LockMode)> + '_ {
        self.klocks.locks[lock].holders.iter().map(|holder| (holder.task, holder.mode))
    }

    /// Who waits for a lock now, and how, first come first.
    pub fn lock_waiters(&self, lock: LockId) -> impl Iterator<Item = (TaskId, LockMode)> + '_ {
        self.klocks.locks[lock].queue.iter().map(|waiter| (waiter.task, waiter.mode))
    }
}

/// Whether somebody has a lock of user space, so that the kernel is needed to wait for it.
fn klock_is_taken(lock: &Klock) -> bool {
    lock.spec.kind == LockKind::Futex && !lock.holders.is_empty()
}
