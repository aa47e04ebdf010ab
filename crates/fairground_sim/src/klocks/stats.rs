//! What is kept of a lock: how long it was held and waited for, and what its holders did meanwhile.
//!
//! ```text
//! a wait of      |------------------------------------------|
//! the holder     | runs | waits for its CPU | throttled      | runs |
//! ```
//!
//! Time is split between two events by what was the case after the first of them, so nothing has to be told by the scheduler.

use super::object::{Holder, Klock};
use fairground_model::{LockKind, LockMode, LockSpec};
use fairground_sched::Sched;
use fairground_sched::TaskState;
use fairground_stdx::{Instant, LogLinear, Ns, TaskId};

/// What the holder of a lock does on whom others wait. Of several holders the one counts that is furthest from releasing it:
/// the later a state stands here, the further.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HolderIs {
    /// On a CPU.
    Running = 0,
    /// Runnable, and others run.
    Waiting = 1,
    /// Asleep, perhaps for another lock.
    Asleep = 2,
    /// Off its CPU only because its group is throttled.
    Throttled = 3,
}

impl HolderIs {
    /// All of them in order.
    pub const ALL: [HolderIs; 4] = [HolderIs::Running, HolderIs::Waiting, HolderIs::Asleep, HolderIs::Throttled];
}

/// Waits for a lock in one mode. Only those count that are over.
#[derive(Clone, Debug, Default)]
pub struct LockWaits {
    /// From asking to going on with the lock; 0 where it was free.
    pub times: LogLinear,
    /// How many of them slept or spun.
    pub contended: u64,
    /// Time of all waits by what the holder did, in the order of [`HolderIs::ALL`]; the rest of it nobody held the lock, or a wake-up was on
    /// its way.
    pub while_holder: [Ns; HolderIs::ALL.len()],
}

/// What came of a lock in a run.
#[derive(Clone, Debug)]
pub struct LockReport {
    /// Its name.
    pub name: String,
    /// What kind of lock.
    pub kind: LockKind,
    /// How long it was held each time; holds that are not over at the end do not count.
    pub holds: LogLinear,
    /// In how many of them throttling kept the holder off its CPU.
    pub throttled_holds: u64,
    /// How long somebody of another group has waited while a holder was kept off its CPU by throttling only.
    pub throttled_hold_wait: Ns,
    /// Waits to read.
    pub reads: LockWaits,
    /// Waits to write.
    pub writes: LockWaits,
    /// The longest chain of waiters and holders that began with a wait for it: 1 is a wait for a holder that waits for nothing.
    pub longest_chain: u32,
    /// Uninterruptible waits that were longer than the limit.
    pub hung_tasks: u64,
    /// In how many of the holds the holder was taken off its CPU, though it could run.
    pub preempted_holds: u64,
    /// What was spent on spinning for it in user mode.
    pub spin: SpinReport,
}

/// What tasks spent on a spin lock of user space; nothing for other locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpinReport {
    /// CPU time of those who spun.
    pub spun: Ns,
    /// How often one that had spun long enough slept.
    pub sleeps: u64,
    /// For how long the holder waited for a CPU while others spun.
    pub holder_waits: Ns,
}

impl LockReport {
    /// Nothing yet.
    pub fn new(spec: &LockSpec) -> LockReport {
        LockReport {
            name: spec.name.clone(),
            kind: spec.kind,
            holds: LogLinear::new(),
            throttled_holds: 0,
            throttled_hold_wait: Ns::ZERO,
            reads: LockWaits::default(),
            writes: LockWaits::default(),
            longest_chain: 0,
            hung_tasks: 0,
            preempted_holds: 0,
            spin: SpinReport::default(),
        }
    }
    /// Waits in a mode.
    pub fn waits(&self, mode: LockMode) -> &LockWaits {
        match mode {
            LockMode::Read => &self.reads,
            LockMode::Write => &self.writes,
        }
    }
    pub(super) fn waits_mut(&mut self, mode: LockMode) -> &mut LockWaits {
        match mode {
            LockMode::Read => &mut self.reads,
            LockMode::Write => &mut self.writes,
        }
    }
}

/// The account of a lock in mid-run.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(super) report: LockReport,
    /// Up to when time is split.
    until: Instant,
    /// What the holder does since then.
    holder_is: Option<HolderIs>,
    /// Who waits since then: readers, writers.
    waiting: [u64; 2],
    /// Whether somebody is kept waiting by another group's quota since then.
    throttled: bool,
    /// Whether somebody spins since then.
    spinning: bool,
}

impl Account {
    pub(crate) fn new(lock: &Klock) -> Account {
        Account {
            report: LockReport::new(&lock.spec),
            until: Instant::ZERO,
            holder_is: None,
            waiting: [0; 2],
            throttled: false,
            spinning: false,
        }
    }

    /// A hold is over.
    pub(crate) fn released(&mut self, held: &Holder, now: Instant) {
        self.report.holds.add(now.since(held.since).0);
        self.report.throttled_holds += u64::from(held.throttled);
        self.report.preempted_holds += u64::from(held.preempted);
    }

    /// Splits the time up to now by what was the case, and looks what is the case from now on.
    pub(crate) fn settle(&mut self, lock: &mut Klock, now: Instant, sched: &Sched) {
        let passed = now.since(self.until);
        if let Some(holder_is) = self.holder_is.filter(|_| passed > Ns::ZERO) {
            for (mode, count) in [LockMode::Read, LockMode::Write].into_iter().zip(self.waiting) {
                self.report.waits_mut(mode).while_holder[holder_is as usize] += Ns(passed.0 * count);
            }
        }
        if self.throttled {
            self.report.throttled_hold_wait += passed;
        }
        if self.spinning && self.holder_is == Some(HolderIs::Waiting) {
            self.report.spin.holder_waits += passed;
        }
        (self.until, self.spinning) = (now, lock.spinning > 0);
        self.waiting = match lock.spec.kind.has_readers() {
            true => {
                let writers = lock.queue.iter().filter(|waiter| waiter.mode == LockMode::Write).count() as u64;
                [lock.queue.len() as u64 - writers, writers]
            }
            false => [0, lock.queue.len() as u64],
        };
        self.waiting[1] += u64::from(lock.closing.is_some());
        self.look_at_holders(lock, sched);
    }

    fn look_at_holders(&mut self, lock: &mut Klock, sched: &Sched) {
        (self.holder_is, self.throttled) = (None, false);
        for holder in &mut lock.holders {
            let is = holder_is(sched, holder.task);
            self.holder_is = self.holder_is.max(Some(is));
            holder.preempted |= is == HolderIs::Waiting;
            if is != HolderIs::Throttled {
                continue;
            }
            holder.throttled = true;
            let outside = |task: TaskId| !shares_shortage(sched, task, holder.task);
            let closing = lock.closing.map(|closing| closing.task);
            self.throttled |= lock.queue.iter().map(|waiter| waiter.task).chain(closing).any(outside);
        }
    }
}

/// What a task that holds a lock does.
fn holder_is(sched: &Sched, task: TaskId) -> HolderIs {
    match sched.task(task).state {
        TaskState::Running => HolderIs::Running,
        TaskState::Limbo => HolderIs::Throttled,
        TaskState::Queued if sched.profile().throttle.dequeues_queues() && sched.waits_for_quota(task) => HolderIs::Throttled,
        TaskState::Queued | TaskState::Waking | TaskState::Migrating | TaskState::New => HolderIs::Waiting,
        TaskState::Delayed | TaskState::OffCpuPending | TaskState::Asleep | TaskState::Dead => HolderIs::Asleep,
    }
}

/// Whether `task` is in the throttled group that stops `holder`.
fn shares_shortage(sched: &Sched, task: TaskId, holder: TaskId) -> bool {
    let Some(short) = sched.throttled_group(holder) else { return false };
    let mut level = sched.task(task).group;
    while let Some(group) = level {
        if group == short {
            return true;
        }
        level = sched.group(group).parent;
    }
    false
}
