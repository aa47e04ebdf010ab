//! What the recording tells of one task: when it ran, what it waited for, whom it woke.

use fairground_stdx::{CpuId, CpuMask, Instant, TaskId};

/// One thing that a task did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Ran for so many ns.
    Run(u64),
    /// Woke another task.
    Wake(TaskId),
    /// Made another task.
    Fork(TaskId),
    /// Slept until another task woke it.
    Await,
    /// Slept until this instant (ns after the first record).
    Until(u64),
}

/// Where a task is, as far as the records tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// No record has told of it.
    Unseen,
    /// On a CPU; its run time is accounted up to this instant.
    Running(CpuId, Instant),
    /// Waits for a CPU.
    Runnable,
    /// Sleeps.
    Asleep,
    /// Left its CPU without a record: runnable or asleep.
    Lost,
    /// Ended.
    Dead,
}

/// How a task comes into the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// It was there before.
    Before,
    /// Somebody outside made it at this instant.
    Outside(Instant),
    /// A task of the recording made it.
    Forked,
}

/// The track of one task.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) state: State,
    pub(super) origin: Origin,
    pub(super) acts: Vec<Act>,
    /// The CPU on which it was first seen.
    pub(super) first_cpu: Option<CpuId>,
    /// The CPUs on which it ran.
    pub(super) cpus: CpuMask,
    /// When it last left a CPU: run time before this is accounted.
    left: Instant,
    /// Run time that is not yet an act.
    ran: u64,
}

impl Default for Track {
    fn default() -> Self {
        Track {
            state: State::Unseen,
            origin: Origin::Before,
            acts: Vec::new(),
            first_cpu: None,
            cpus: CpuMask::EMPTY,
            left: Instant::ZERO,
            ran: 0,
        }
    }
}

impl Track {
    /// Goes on a CPU; time from `since` on counts as run time.
    pub(super) fn run_from(&mut self, cpu: CpuId, since: Instant) {
        self.state = State::Running(cpu, since.max(self.left));
        self.first_cpu.get_or_insert(cpu);
        if (cpu.get() as usize) < CpuMask::CAPACITY {
            self.cpus.insert(cpu);
        }
    }
    /// Accounts the run time up to now.
    pub(super) fn spend(&mut self, now: Instant) {
        if let State::Running(cpu, since) = self.state {
            self.ran += now.saturating_since(since).0;
            self.state = State::Running(cpu, since.max(now));
        }
    }
    /// Leaves its CPU.
    pub(super) fn leave(&mut self, now: Instant, state: State) {
        self.spend(now);
        self.left = now;
        self.state = state;
    }
    /// Appends an act, after the run time before it.
    pub(super) fn act(&mut self, act: Act) {
        if self.ran > 0 {
            self.acts.push(Act::Run(self.ran));
            self.ran = 0;
        }
        self.acts.push(act);
    }
    /// The end of the recording: the run time that is left becomes an act.
    pub(super) fn finish(&mut self, now: Instant) {
        self.spend(now);
        if self.ran > 0 {
            self.acts.push(Act::Run(self.ran));
            self.ran = 0;
        }
    }
}
