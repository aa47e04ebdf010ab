//! What the recording tells of one task: when it ran, what it waited for, whom it woke.

use super::charges::Charges;
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
    /// Slept until a task woke it from a soft interrupt, at this instant.
    Message { sender: TaskId, at: u64 },
    /// Woke another task from a soft interrupt, if that was a message.
    Send(TaskId),
    /// Slept until this instant, ns after the first record.
    Until {
        at: u64,
        /// How long: ns, or the largest number if longer.
        slept: u32,
        by: Ender,
    },
    /// Waited for a device for so many ns.
    Device(u64),
    /// Was about to sleep when what it would have waited for had come already.
    Again,
}

/// What ended a sleep that no task did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ender {
    /// A hard interrupt: a timer.
    Timer,
    /// A soft interrupt, or a task that is not looked at.
    Outside,
    /// The recording does not tell.
    Unknown,
}

/// A sleep of a task, or one that was over before it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sleep {
    /// Its place among the acts.
    pub(super) place: usize,
    /// When the task left its CPU.
    pub(super) from: Instant,
    /// When it was woken; of one that was over before it began, when that was found out.
    pub(super) until: Instant,
    /// Whether what it waited for came at that time, and not at an unknown one before.
    pub(super) is_known: bool,
    /// Whether another task ended it, and no interrupt.
    pub(super) by_task: bool,
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
    /// The sleeps among the acts.
    pub(super) sleeps: Vec<Sleep>,
    /// Whether sleeps are kept: a whole recording has no use for them.
    pub(super) keeps_sleeps: bool,
    /// The CPU on which it was first seen.
    pub(super) first_cpu: Option<CpuId>,
    /// The CPUs on which it ran.
    pub(super) cpus: CpuMask,
    /// When it last left a CPU: run time before this is accounted.
    pub(super) left: Instant,
    /// Run time that is not yet an act.
    pub(super) ran: u64,
    /// All run time, ns.
    pub(super) ran_in_all: u64,
    /// What a replay charges.
    pub(super) charges: Charges,
    /// What will be charged and is not yet taken off the run time.
    pub(super) debt: u64,
    /// Whether it sleeps uninterruptibly.
    pub(super) waits_for_device: bool,
}

impl Default for Track {
    fn default() -> Self {
        Track {
            state: State::Unseen,
            origin: Origin::Before,
            acts: Vec::new(),
            sleeps: Vec::new(),
            keeps_sleeps: false,
            first_cpu: None,
            cpus: CpuMask::EMPTY,
            left: Instant::ZERO,
            ran: 0,
            ran_in_all: 0,
            charges: Charges::default(),
            debt: 0,
            waits_for_device: false,
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
            let ran = now.saturating_since(since).0;
            self.ran += ran;
            self.ran_in_all += ran;
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
        self.debt += self.charges.before(&act);
        self.run();
        self.acts.push(act);
        self.debt += self.charges.after(&act);
    }
    /// The run time so far becomes an act, less what a replay charges.
    fn run(&mut self) {
        let charged = self.debt.min(self.ran);
        self.debt -= charged;
        if self.ran > charged {
            self.acts.push(Act::Run(self.ran - charged));
        }
        self.ran = 0;
    }
    /// A sleep ends; `act` says how, `by_task` whether another task did that.
    pub(super) fn sleep(&mut self, act: Act, until: Instant, by_task: bool) {
        self.act(act);
        let from = self.left.min(until);
        self.slept(Sleep { place: self.acts.len() - 1, from, until, is_known: true, by_task });
    }
    fn slept(&mut self, sleep: Sleep) {
        if self.keeps_sleeps {
            self.sleeps.push(sleep);
        }
    }
    /// It was about to sleep, and did not. Twice with nothing between counts once.
    pub(super) fn again(&mut self, now: Instant, is_known: bool) {
        self.spend(now);
        if self.ran > 0 || matches!(self.acts.last(), Some(Act::Run(_))) {
            self.act(Act::Again);
            self.slept(Sleep { place: self.acts.len() - 1, from: now, until: now, is_known, by_task: false });
        }
    }
    /// The end of the recording: the run time that is left becomes an act.
    pub(super) fn finish(&mut self, now: Instant) {
        self.spend(now);
        self.run();
    }
}
