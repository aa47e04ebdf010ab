//! What came out of a comparison: counts, and the places where record and core part.

use crate::places::{Moves, Placement};
use fairground_model::Decision;
use fairground_sched::QueueSeat;
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TaskId, Vruntime};
use std::collections::BTreeMap;

/// A question that kernels decide and that was put to the core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Who runs next?
    Pick,
    /// Does a task that was just queued preempt the running one?
    WakeupPreempt,
    /// Does the tick preempt the running task?
    TickPreempt,
    /// Does another account of run time, or a change of nice, end it?
    UpdatePreempt,
    /// Several of the preemption questions so close together that they share one outcome.
    Shared,
    /// On which CPU is a woken task queued?
    SelectCpu,
    /// Is a waiting task moved to another CPU?
    Migrate,
    /// Is a queue of a group with a quota throttled?
    Throttle,
    /// Does a group run again?
    Unthrottle,
}

impl Kind {
    /// All kinds in the order of reports.
    pub const ALL: [Kind; 9] = [
        Kind::Pick,
        Kind::WakeupPreempt,
        Kind::TickPreempt,
        Kind::UpdatePreempt,
        Kind::Shared,
        Kind::SelectCpu,
        Kind::Migrate,
        Kind::Throttle,
        Kind::Unthrottle,
    ];
    /// The name in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Pick => "pick",
            Kind::WakeupPreempt => "wakeup_preempt",
            Kind::TickPreempt => "tick_preempt",
            Kind::UpdatePreempt => "update_preempt",
            Kind::Shared => "both",
            Kind::SelectCpu => "select_cpu",
            Kind::Migrate => "migrate",
            Kind::Throttle => "throttle",
            Kind::Unthrottle => "unthrottle",
        }
    }
    /// Whether the question is about preemption: the kernel did, or did not.
    pub const fn has_sides(self) -> bool {
        matches!(self, Kind::WakeupPreempt | Kind::TickPreempt | Kind::UpdatePreempt | Kind::Shared)
    }
}

/// Decisions and how many of them the core would have made too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Decisions.
    pub decisions: u64,
    /// Those on which core and kernel agree.
    pub agree: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, agree: bool) {
        self.decisions += 1;
        self.agree += u64::from(agree);
    }
}

/// The counts of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KindTally {
    /// All decisions of the kind.
    pub all: Tally,
    /// Those in which the kernel did preempt.
    pub did: Tally,
    /// Those in which it did not.
    pub did_not: Tally,
    /// Agreements of which the record fits both answers: schedule() may keep the task without a trace, an account may be
    /// that of a schedule() or a read of the clock, and another switch may come first.
    pub unclear: u64,
    /// Those that rest on no guess of what lies before the record, where guesses are learnt.
    pub told: Tally,
    /// Decisions from which a guess was learnt: they are in no other count.
    pub lessons: u64,
}

/// What one side chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// This task runs; `None` = idle.
    Task(Option<TaskId>),
    /// Whether a reschedule is due.
    Resched(bool),
}

/// A disagreement with the state in which it arose.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The time of the record that shows the outcome's question.
    pub at: Instant,
    /// The CPU whose queue it is about.
    pub cpu: CpuId,
    /// The question.
    pub kind: Kind,
    /// What the recorded kernel did.
    pub recorded: Choice,
    /// What the core would have done.
    pub core: Choice,
    /// The core's rule.
    pub reason: Option<Decision>,
    /// The queue as the core saw it.
    pub queue: Vec<QueueSeat>,
    /// Queued tasks that slept before the record began, so that their lag is not known.
    pub unknown_lag: Vec<TaskId>,
    /// The running task, if it is a kernel thread: it gives way at its next preemption point only.
    pub kernel_mode: Option<TaskId>,
}

/// Accounts of run time and their virtual times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Vruntimes {
    /// Accounts with a recorded virtual time.
    pub compared: u64,
    /// Those in which the core has the same, to the nanosecond.
    pub exact: u64,
    /// Virtual times taken from the record: tasks seen for the first time.
    pub adopted: u64,
    /// The largest difference, in weighted ns.
    pub largest: u64,
}

/// A virtual time that differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VruntimeError {
    /// The time of the account.
    pub at: Instant,
    /// The CPU.
    pub cpu: CpuId,
    /// The task.
    pub task: TaskId,
    /// As recorded.
    pub recorded: Vruntime,
    /// The core's.
    pub core: Vruntime,
}

/// Run time of one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// As recorded.
    pub ran: Ns,
    /// By the core's answers: from an answer that differs until the next question on that CPU, the time goes to whom
    /// the core would have run.
    pub given: Ns,
}

impl From<Tally> for KindTally {
    fn from(all: Tally) -> KindTally {
        KindTally { all, ..KindTally::default() }
    }
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Counts of each kind.
    pub kinds: BTreeMap<Kind, KindTally>,
    /// Choices of CPUs, by the rule that explains them.
    pub placement: Placement,
    /// Moves of runnable tasks outside wake-ups.
    pub moves: Moves,
    /// Virtual times.
    pub vruntimes: Vruntimes,
    /// The first virtual times that differ.
    pub vruntime_errors: Vec<VruntimeError>,
    /// Picks beside a waiting real-time or deadline task: the higher priority first.
    pub classes: Tally,
    /// Run time of each task.
    pub shares: IndexVec<TaskId, Share>,
    /// Disagreements, the first ones in full.
    pub mismatches: Vec<Mismatch>,
    /// Facts with their counts, as sentences without the number: what was odd, repaired, or could not be judged.
    pub facts: BTreeMap<&'static str, u64>,
    /// Records compared.
    pub records: u64,
}

/// Tasks that ran less than this share of all run time say little: a few microseconds here or there are much of theirs.
pub const NOTABLE_PERCENT: u64 = 1;

impl Outcome {
    /// The tasks that ran at least [`NOTABLE_PERCENT`] of all run time.
    pub fn notable_shares(&self) -> impl Iterator<Item = (TaskId, &Share)> {
        let total: u128 = self.shares.iter().map(|share| u128::from(share.ran.0)).sum();
        let notable =
            move |share: &Share| share.ran.0 > 0 && u128::from(share.ran.0) * 100 >= total * u128::from(NOTABLE_PERCENT);
        self.shares.iter_enumerated().filter(move |row| notable(row.1))
    }
}
