//! A replay of quota accounts: the runtime_remaining of each queue of a group, against what the recorded kernel had.
//!
//! ```text
//! record:  run time, sleeps, wake-ups, moves of the members; when the period timer fires, when runtime is distributed
//!             └─► the core's accounts and pool, through the calls that tasks would make
//! compared: what is left at each throttle, what a release starts with, whether a timer distributes
//! ```
//!
//! It stands beside the lockstep, not in it: who runs is taken from the record, so that a wrong pick spoils no amount. After
//! each comparison the account becomes what was recorded.

mod outcome;
mod race;
mod replay;
mod steps;
#[cfg(test)]
mod tests;

pub use outcome::{Quota, QuotaMiss, QuotaOutcome, Seen};
pub use steps::cpus_of_queues;

use crate::recording::Recording;
use fairground_model::{CpuMax, MachineView, QuotaProbe};
use fairground_sched::Profile;
use fairground_stdx::{Instant, Ns, TaskId};

/// What a replay is made with.
#[derive(Clone, Debug)]
pub struct QuotaSetup {
    /// The kernel.
    pub profile: Profile,
    /// The machine; it has all CPUs that the recording names.
    pub machine: MachineView,
    /// The limit of the group.
    pub limit: CpuMax,
    /// Its tasks, those of groups below it as well.
    pub members: Vec<TaskId>,
    /// The groups below it that have a quota of their own.
    pub below: Vec<Below>,
    /// From when on they are in the group, and what they run is charged to it.
    pub joined: Instant,
    /// From when on it is compared: before that tasks change their group, at moments that are not recorded.
    pub judged: Instant,
    /// How many differences are kept.
    pub keep: usize,
}

/// A group below the one whose accounts are replayed, with a quota of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Below {
    /// Its tasks, those of groups below it as well.
    pub members: Vec<TaskId>,
    /// What the record tells of its queues.
    pub probes: Vec<QuotaProbe>,
}

impl QuotaSetup {
    /// What recorded sets need before all their tasks are in their group (10 §12).
    pub const LEFT_OUT: Ns = Ns::from_ms(160);
}

/// Replays the accounts of one group of a recording; `probes` are its own, and those of tasks.
pub fn replay(recording: &Recording, probes: &[QuotaProbe], setup: &QuotaSetup) -> QuotaOutcome {
    let steps = steps::read(recording, probes, setup);
    let mut replay = replay::Replay::new(setup, &steps);
    replay.run();
    replay.finish()
}
