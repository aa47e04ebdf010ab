//! A lock: who holds it, who waits, and who gets it next. It knows neither CPUs nor the scheduler.
//!
//! ```text
//!  readers inside        R R
//!  queue, oldest first   W R W R R      one waiting writer closes the lock for new readers;
//!  last reader leaves    W              a writer at the head is woken alone,
//!  that writer leaves    R R R          readers at its head go together, whatever writers stand between them
//! ```

use fairground_model::{LockKind, LockMode, LockSpec};
use fairground_stdx::{Instant, TaskId};
use std::collections::VecDeque;

/// Most readers that one wake-up lets in.
///
/// Kernel: rwsem.c MAX_READERS_WAKEUP, v5.3–
const MAX_READERS_WAKEUP: usize = 0x100;

/// Who holds a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Holder {
    pub(crate) task: TaskId,
    pub(crate) mode: LockMode,
    pub(crate) since: Instant,
    /// Whether throttling has kept it off its CPU since then.
    pub(crate) throttled: bool,
    /// Whether it could run since then, and had no CPU.
    pub(crate) preempted: bool,
}

/// Who waits for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiter {
    pub(crate) task: TaskId,
    pub(crate) mode: LockMode,
    /// The last jiffy in which it lets others steal.
    deadline: u64,
    since: Instant,
}

/// A writer that closes a per-CPU semaphore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Closing {
    pub(crate) task: TaskId,
    /// When every CPU has noticed.
    noticed: Instant,
    /// It sleeps until the last reader has left.
    drains: bool,
}

/// Who asks for a lock, and what it can see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) task: TaskId,
    pub(crate) mode: LockMode,
    pub(crate) now: Instant,
    pub(crate) jiffies: u64,
    /// How many jiffies a waiter lets others steal.
    pub(crate) patience: u64,
    /// Whether it may wait on its CPU: the owner runs, and nobody wants this CPU.
    pub(crate) may_spin: bool,
}

/// What asking came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// It has the lock.
    Got,
    /// It waits on its CPU.
    Spin,
    /// It sleeps until it is woken.
    Sleep,
    /// It sleeps until that time.
    SleepUntil(Instant),
}

/// A lock.
#[derive(Clone, Debug)]
pub(crate) struct Klock {
    pub(crate) spec: LockSpec,
    pub(crate) holders: Vec<Holder>,
    pub(crate) queue: VecDeque<Waiter>,
    /// The first waiter has asked for the lock: nobody steals it any more.
    handoff: bool,
    pub(crate) closing: Option<Closing>,
    /// How many spin for it, those that were taken off their CPUs meanwhile among them: a spin lock of user space.
    pub(crate) spinning: u32,
}

impl Klock {
    pub(crate) fn new(spec: &LockSpec) -> Klock {
        let (holders, queue) = (Vec::with_capacity(16), VecDeque::with_capacity(16));
        Klock { spec: spec.clone(), holders, queue, handoff: false, closing: None, spinning: 0 }
    }
    /// Whether `task` holds it.
    pub(crate) fn is_held_by(&self, task: TaskId) -> bool {
        self.holders.iter().any(|holder| holder.task == task)
    }
    /// The task that holds it alone.
    pub(crate) fn owner(&self) -> Option<TaskId> {
        self.holders.first().filter(|holder| holder.mode == LockMode::Write).map(|holder| holder.task)
    }
    pub(crate) fn is_free(&self) -> bool {
        self.holders.is_empty()
    }
    /// Whether anybody holds it or waits for it.
    pub(crate) fn is_in_use(&self) -> bool {
        !self.is_free() || !self.queue.is_empty() || self.closing.is_some()
    }
    fn grant(&mut self, asker: &Asker) -> Answer {
        self.holders.push(Holder { task: asker.task, mode: asker.mode, since: asker.now, throttled: false, preempted: false });
        Answer::Got
    }
    fn wait(&mut self, asker: &Asker) -> Answer {
        let deadline = asker.jiffies + asker.patience;
        self.queue.push_back(Waiter { task: asker.task, mode: asker.mode, deadline, since: asker.now });
        Answer::Sleep
    }
    fn stop_waiting(&mut self, task: TaskId) {
        self.queue.retain(|waiter| waiter.task != task);
    }

    /// A task asks for the lock for the first time. Whoever gets in with it goes onto `woken`.
    pub(crate) fn ask(&mut self, asker: &Asker, woken: &mut VecDeque<TaskId>) -> Answer {
        match (self.spec.kind, asker.mode) {
            (LockKind::Rwsem, LockMode::Read) => self.down_read(asker, woken),
            (LockKind::Rwsem | LockKind::Mutex, _) => self.down_write(asker),
            (LockKind::PercpuRwsem { .. }, LockMode::Read) => match self.closing.is_none() && self.owner().is_none() {
                true => self.grant(asker),
                false => self.wait(asker),
            },
            (LockKind::PercpuRwsem { .. }, LockMode::Write) => self.percpu_down_write(asker),
            (LockKind::Futex | LockKind::Spin(_), _) => match self.is_free() {
                true => self.grant(asker),
                false => self.wait(asker),
            },
        }
    }

    /// Kernel: rwsem.c __down_read(), rwsem_down_read_slowpath(), v5.13–
    fn down_read(&mut self, asker: &Asker, woken: &mut VecDeque<TaskId>) -> Answer {
        if self.owner().is_none() && self.queue.is_empty() {
            return self.grant(asker);
        }
        // Between the last holder and the writer that was woken, nobody is inside.
        if self.spec.steal && self.is_free() && !self.handoff {
            self.grant(asker);
            if self.queue.front().is_some_and(|first| first.mode == LockMode::Read) {
                self.let_readers_in(asker.now, woken);
            }
            return Answer::Got;
        }
        self.wait(asker)
    }

    /// Kernel: rwsem.c rwsem_down_write_slowpath(), mutex.c __mutex_lock_common(), v5.3–
    fn down_write(&mut self, asker: &Asker) -> Answer {
        if self.is_free() && (self.queue.is_empty() || (self.spec.steal && !self.handoff)) {
            return self.grant(asker);
        }
        match self.spec.spin && asker.may_spin && self.owner().is_some() {
            true => Answer::Spin,
            false => self.wait(asker),
        }
    }

    /// Kernel: percpu-rwsem.c percpu_down_write(), v5.6– (the lock is closed before the wait for RCU here)
    fn percpu_down_write(&mut self, asker: &Asker) -> Answer {
        if self.closing.is_some() || self.owner().is_some() {
            return self.wait(asker);
        }
        self.close(asker.task, asker.now);
        self.finish_closing(asker)
    }

    fn close(&mut self, task: TaskId, since: Instant) {
        let LockKind::PercpuRwsem { rcu_sync } = self.spec.kind else { return };
        self.closing = Some(Closing { task, noticed: since + rcu_sync, drains: false });
    }

    /// The writer that closed the lock goes on to its next wait, or is in.
    fn finish_closing(&mut self, asker: &Asker) -> Answer {
        let Some(closing) = &mut self.closing else { return Answer::Sleep };
        if asker.now < closing.noticed {
            return Answer::SleepUntil(closing.noticed);
        }
        closing.drains = true;
        if !self.is_free() {
            return Answer::Sleep;
        }
        self.closing = None;
        self.grant(asker)
    }

    /// A task that has waited looks again.
    pub(crate) fn look_again(&mut self, asker: &Asker) -> Answer {
        if self.is_held_by(asker.task) {
            return Answer::Got;
        }
        if self.closing.is_some_and(|closing| closing.task == asker.task) {
            return self.finish_closing(asker);
        }
        match self.spec.kind {
            LockKind::Rwsem | LockKind::Mutex => self.try_lock_queued(asker),
            LockKind::Futex | LockKind::Spin(_) if self.is_free() => {
                self.stop_waiting(asker.task);
                self.grant(asker)
            }
            LockKind::Futex if !self.queue.iter().any(|waiter| waiter.task == asker.task) => self.wait(asker),
            LockKind::Futex | LockKind::Spin(_) | LockKind::PercpuRwsem { .. } => Answer::Sleep,
        }
    }

    /// A waiter was woken. If the lock was stolen meanwhile and its patience is over, it asks that this is the last time.
    ///
    /// Kernel: rwsem.c rwsem_try_write_lock(), v5.3–; mutex.c __mutex_trylock_or_handoff(), v4.10–
    fn try_lock_queued(&mut self, asker: &Asker) -> Answer {
        let Some(waiter) = self.queue.iter().copied().find(|waiter| waiter.task == asker.task) else { return Answer::Sleep };
        let first = self.queue.front().is_some_and(|front| front.task == asker.task);
        if waiter.mode == LockMode::Write && self.is_free() && (first || (self.spec.steal && !self.handoff)) {
            self.stop_waiting(asker.task);
            self.handoff &= !first;
            return self.grant(asker);
        }
        if first && waiter.mode == LockMode::Write {
            self.handoff |= self.spec.kind == LockKind::Mutex || asker.jiffies > waiter.deadline;
        }
        Answer::Sleep
    }

    /// `task` releases the lock. Who is woken for that goes onto `woken`. Returns how it was held, if it was.
    pub(crate) fn release(&mut self, task: TaskId, now: Instant, woken: &mut VecDeque<TaskId>) -> Option<Holder> {
        let place = self.holders.iter().position(|holder| holder.task == task)?;
        let held = self.holders.swap_remove(place);
        if !self.is_free() {
            return Some(held);
        }
        match self.spec.kind {
            LockKind::Rwsem => self.wake(now, woken),
            LockKind::Mutex => self.wake_first(now, woken),
            LockKind::Futex => woken.extend(self.queue.pop_front().map(|waiter| waiter.task)),
            // Nobody is woken: who spins looks by himself.
            LockKind::Spin(_) => {}
            LockKind::PercpuRwsem { .. } if held.mode == LockMode::Read => {
                woken.extend(self.closing.filter(|closing| closing.drains).map(|closing| closing.task));
            }
            LockKind::PercpuRwsem { .. } => self.percpu_up_write(now, woken),
        }
        Some(held)
    }

    /// The writer of a rwsem goes on as a reader; waiting readers come in if the first in line is one. False: it is no writer.
    ///
    /// Kernel: rwsem.c __downgrade_write(), rwsem_downgrade_wake(), v5.3–
    pub(crate) fn downgrade(&mut self, task: TaskId, now: Instant, woken: &mut VecDeque<TaskId>) -> bool {
        if self.spec.kind != LockKind::Rwsem || self.owner() != Some(task) {
            return false;
        }
        self.holders.iter_mut().for_each(|holder| holder.mode = LockMode::Read);
        if self.queue.front().is_some_and(|first| first.mode == LockMode::Read) {
            self.let_readers_in(now, woken);
        }
        true
    }

    /// Kernel: rwsem.c rwsem_mark_wake(), v5.3–
    fn wake(&mut self, now: Instant, woken: &mut VecDeque<TaskId>) {
        match self.queue.front() {
            Some(first) if first.mode == LockMode::Write => woken.push_back(first.task),
            Some(_) => self.let_readers_in(now, woken),
            None => {}
        }
    }

    /// All waiting readers get the lock, or as many as one wake-up lets in; writers keep their order.
    fn let_readers_in(&mut self, now: Instant, woken: &mut VecDeque<TaskId>) {
        self.handoff = false;
        let mut room = MAX_READERS_WAKEUP;
        let holders = &mut self.holders;
        self.queue.retain(|waiter| {
            if waiter.mode == LockMode::Write || room == 0 {
                return true;
            }
            room -= 1;
            holders.push(Holder { task: waiter.task, mode: LockMode::Read, since: now, throttled: false, preempted: false });
            woken.push_back(waiter.task);
            false
        });
    }

    /// The first waiter of a mutex is woken; one that asked for it has the lock already.
    ///
    /// Kernel: mutex.c __mutex_unlock_slowpath(), __mutex_handoff(), v4.10–
    fn wake_first(&mut self, now: Instant, woken: &mut VecDeque<TaskId>) {
        let Some(first) = self.queue.front().copied() else { return };
        if std::mem::take(&mut self.handoff) {
            self.queue.pop_front();
            self.holders.push(Holder { task: first.task, mode: LockMode::Write, since: now, throttled: false, preempted: false });
        }
        woken.push_back(first.task);
    }

    /// The lock is open again: those that wait go in, up to the first writer, which closes it.
    ///
    /// Kernel: percpu-rwsem.c percpu_up_write(), percpu_rwsem_wake_function(), v5.6–
    fn percpu_up_write(&mut self, now: Instant, woken: &mut VecDeque<TaskId>) {
        while let Some(first) = self.queue.pop_front() {
            woken.push_back(first.task);
            if first.mode == LockMode::Write {
                self.close(first.task, first.since);
                return;
            }
            self.holders.push(Holder { task: first.task, mode: LockMode::Read, since: now, throttled: false, preempted: false });
        }
    }
}
