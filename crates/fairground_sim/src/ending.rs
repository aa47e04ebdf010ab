//! How a run ends: its time is up, nothing is left, or what it was given cannot go on.

use fairground_sched::Refused;
use fairground_stdx::{Instant, Ns};

/// What happened, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Ticks.
    pub ticks: u64,
    /// Context switches.
    pub switches: u64,
    /// Wake-ups.
    pub wakeups: u64,
    /// Migrations.
    pub migrations: u64,
}

impl Counts {
    /// Ticks, context switches and wake-ups: the events by which speed is measured.
    pub fn events(&self) -> u64 {
        self.ticks + self.switches + self.wakeups
    }
}

/// Why a run was over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Its time was up.
    Duration,
    /// All tasks had ended.
    AllExited,
    /// Nothing could ever happen again: every task sleeps without a timer.
    NothingLeft,
}

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunEnd {
    /// When.
    pub at: Instant,
    /// Why.
    pub ending: Ending,
}

/// A run that cannot go on because of what it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// A task's program goes round without ever letting time pass, or with less than 10 ns a step.
    NoProgress {
        /// The task's name.
        task: String,
        /// When it got stuck.
        at: Instant,
    },
    /// A task touches a word of shared memory that does not exist.
    Fault {
        /// The task's name.
        task: String,
        /// When.
        at: Instant,
    },
    /// A task forks a row of the task set that lives already: a row is one task, which is born once.
    ForkedTwice {
        /// The forking task's name.
        task: String,
        /// The child's name.
        child: String,
        /// When.
        at: Instant,
    },
    /// A task uses a lock, or the kernel, as nobody can.
    Misuse {
        /// The task's name.
        task: String,
        /// The lock's name.
        lock: Option<String>,
        /// What it did.
        what: Misuse,
        /// When.
        at: Instant,
    },
    /// A packet is lost: what a protocol does then is not modelled.
    PacketLost {
        /// Where there was no room for it.
        full: String,
        /// When.
        at: Instant,
    },
    /// A task does not become a deadline task, or not with those parameters (EINVAL, EPERM, EBUSY).
    NotAdmitted {
        /// The task's name.
        task: String,
        /// Why.
        why: Refused,
        /// When.
        at: Instant,
    },
    /// A group is removed while somebody is in it (EBUSY).
    GroupBusy {
        /// The group's path.
        group: String,
        /// Who is in it: `task `x``, `group `/a/b``.
        inside: String,
        /// When.
        at: Instant,
    },
    /// The other core beside ours differs, or cannot go on.
    OtherCore {
        /// In its own words.
        why: String,
        /// When.
        at: Instant,
    },
}

/// What a task cannot do with locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misuse {
    /// It enters the kernel, where it is.
    EntersTwice,
    /// It leaves the kernel, where it is not.
    LeavesOutside,
    /// It returns to user mode with a lock of the kernel.
    LeavesWithLock,
    /// It ends with a lock.
    EndsWithLock,
    /// It takes a lock of the kernel in user mode.
    OutsideKernel,
    /// It takes a spin lock of user space in the kernel.
    SpinsInKernel,
    /// It takes a lock that it holds.
    TakesTwice,
    /// It releases a lock that it does not hold.
    NotHeld,
    /// It downgrades what is no rwsem that it holds to write.
    NotWritten,
}

impl Misuse {
    /// What the task does and what to do about it.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Misuse::EntersTwice => ("enters the kernel, where it is already", "Write `leave` before the next `enter`."),
            Misuse::LeavesOutside => ("leaves the kernel, where it is not", "Write `enter` before `leave`."),
            Misuse::LeavesWithLock => ("returns to user mode with a lock of the kernel", "Write `unlock` before `leave`."),
            Misuse::EndsWithLock => ("ends while it holds a lock", "Write `unlock` before its end: others would wait for ever."),
            Misuse::OutsideKernel => {
                ("takes a lock of the kernel in user mode", "Write `enter` before `lock`, or make it a futex.")
            }
            Misuse::SpinsInKernel => {
                ("takes a spin lock of user space in the kernel", "Write `lock` before `enter`: kernel code does not spin there.")
            }
            Misuse::TakesTwice => ("takes a lock that it holds", "Write `unlock` in between: these locks are not recursive."),
            Misuse::NotHeld => ("releases a lock that it does not hold", "Write `lock` before `unlock`."),
            Misuse::NotWritten => {
                ("downgrades what is no rwsem that it holds to write", "Write `lock NAME write` before `downgrade NAME`.")
            }
        }
    }
}

impl Stopped {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Stopped::NoProgress { .. } => {
                "Let its loop run, sleep or wait for something, and for microseconds rather than nanoseconds."
            }
            Stopped::Fault { .. } => "Keep the index within the words of the workload.",
            Stopped::ForkedTwice { .. } => "Give every fork a task of its own.",
            Stopped::Misuse { what, .. } => what.texts().1,
            Stopped::PacketLost { .. } => {
                "Let its reader receive what is sent; flow control and retransmission are not modelled."
            }
            Stopped::NotAdmitted { why, .. } => why.hint(),
            Stopped::OtherCore { .. } => "Run the scenario with a profile of ours to see what it does there.",
            Stopped::GroupBusy { .. } => {
                "Move tasks out, let them end, or remove the groups below first; a group that a task starts in later stays."
            }
        }
    }
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stopped::NoProgress { task, at } => {
                write!(
                    f,
                    "task `{task}` makes no progress at {}: its program repeats without letting time pass, or less than 10 ns a step",
                    Ns(at.ns())
                )
            }
            Stopped::Fault { task, at } => {
                write!(f, "task `{task}` touches a word of memory that does not exist at {}", Ns(at.ns()))
            }
            Stopped::ForkedTwice { task, child, at } => {
                write!(f, "task `{task}` forks `{child}` at {}, which was forked before", Ns(at.ns()))
            }
            Stopped::Misuse { task, lock, what, at } => {
                write!(f, "task `{task}` {} at {}", what.texts().0, Ns(at.ns()))?;
                lock.as_ref().map_or(Ok(()), |lock| write!(f, ": `{lock}`"))
            }
            Stopped::PacketLost { full, at } => write!(f, "a packet is lost at {}: {full} is full", Ns(at.ns())),
            Stopped::OtherCore { why, at } => write!(f, "at {}: {why}", Ns(at.ns())),
            Stopped::NotAdmitted { task, why, at } => {
                write!(f, "task `{task}` becomes no deadline task at {}: {why}", Ns(at.ns()))
            }
            Stopped::GroupBusy { group, inside, at } => {
                write!(f, "group `{group}` is removed at {} while {inside} is in it", Ns(at.ns()))
            }
        }
    }
}
impl std::error::Error for Stopped {}
