//! CPU time by part of a program: who is on a CPU counts for the part that its last step `part` named, and who spins for a lock of user
//! space counts for that lock.
//!
//! ```text
//! task   | part A | part A | spins | part A | part B |
//!        on its CPU                                  off
//! ```
//!
//! What interrupts take from it in between counts too. Only time in the window of the run counts, if it has one.

use crate::cpu::Doing;
use crate::simulation::Simulation;
use crate::task::Want;
use fairground_model::{Instr, LockKind, TaskSet};
use fairground_stdx::{IndexVec, Instant, LockId, Ns, PartId, TaskId};

/// A task with its part.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    part: Option<PartId>,
    /// Since when it is on its CPU, or in this part there.
    since: Option<Instant>,
    /// What it has spun since then.
    spun: Ns,
}

/// What was spent on each part.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    /// Whether anybody asks: a program has parts, or there are spin locks.
    on: bool,
    window: Option<(Instant, Instant)>,
    /// Of no task if nobody asks.
    tasks: IndexVec<TaskId, Row>,
    parts: IndexVec<PartId, Ns>,
    /// Of no part.
    other: Ns,
    spins: IndexVec<LockId, Ns>,
}

/// CPU time of the tasks of a run by parts of their programs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartTimes {
    /// Of each part.
    pub parts: IndexVec<PartId, Ns>,
    /// Of no part.
    pub other: Ns,
    /// Spinning for each lock; 0 for those that nobody spins for.
    pub spins: IndexVec<LockId, Ns>,
    /// Whether anything of it was asked for.
    pub wanted: bool,
}

impl PartTimes {
    /// All together.
    pub fn total(&self) -> Ns {
        let sum = |rows: &mut dyn Iterator<Item = &Ns>| rows.map(|time| time.0).sum::<u64>();
        Ns(sum(&mut self.parts.iter()) + self.other.0 + sum(&mut self.spins.iter()))
    }
}

impl Parts {
    pub(crate) fn new(set: &TaskSet) -> Parts {
        let has_parts = set.programs.iter().flat_map(|program| &program.code).any(|instr| matches!(instr, Instr::Part { .. }));
        let has_spins = set.locks.iter().any(|lock| matches!(lock.kind, LockKind::Spin(_)));
        let on = has_parts || has_spins;
        Parts {
            on,
            window: set.window,
            tasks: IndexVec::filled(Row::default(), if on { set.tasks.len() } else { 0 }),
            parts: IndexVec::filled(Ns::ZERO, set.parts.len()),
            other: Ns::ZERO,
            spins: IndexVec::filled(Ns::ZERO, set.locks.len()),
        }
    }

    /// How much of a stretch lies in the window.
    fn counts(&self, from: Instant, to: Instant) -> Ns {
        let (first, last) = self.window.unwrap_or((Instant::ZERO, Instant::MAX));
        to.min(last).saturating_since(from.max(first))
    }

    /// What a task has done on its CPU up to now goes to its part.
    fn settle(&mut self, task: TaskId, now: Instant) {
        let row = self.tasks[task];
        let Some(since) = row.since else { return };
        let time = self.counts(since, now).saturating_sub(row.spun);
        match row.part {
            Some(part) => self.parts[part] += time,
            None => self.other += time,
        }
        self.tasks[task] = Row { since: Some(now), spun: Ns::ZERO, ..row };
    }

    /// A CPU goes from one task to another.
    #[inline]
    pub(crate) fn switch(&mut self, now: Instant, prev: Option<TaskId>, next: Option<TaskId>) {
        if !self.on || prev == next {
            return;
        }
        if let Some(prev) = prev {
            self.settle(prev, now);
            self.tasks[prev].since = None;
        }
        if let Some(next) = next {
            self.tasks[next].since = Some(now);
        }
    }

    /// The current task comes to a part.
    pub(crate) fn begin(&mut self, now: Instant, task: TaskId, part: Option<PartId>) {
        self.settle(task, now);
        self.tasks[task].part = part;
    }

    /// A task has spun for a lock up to `at`.
    pub(crate) fn spun(&mut self, task: TaskId, lock: LockId, at: Instant, time: Ns) {
        let from = Instant::from_ns(at.ns().saturating_sub(time.0));
        let time = self.counts(from, at);
        self.spins[lock] += time;
        self.tasks[task].spun += time;
    }
}

impl Simulation {
    /// CPU time by part so far, what is under way included.
    pub fn part_times(&self) -> PartTimes {
        let mut parts = self.parts.clone();
        for cpu in self.cpus.ids().filter(|_| self.parts.on) {
            let Some(task) = self.sched.rq(cpu).curr else { continue };
            let row = &self.cpus[cpu];
            if let (Want::Spin { lock }, Doing::Compute) = (self.tasks[task].want, row.doing) {
                let ran = self.now.saturating_since(row.computes_from).min(self.spin_left(task));
                let ran = if self.tasks[task].refill > Ns::ZERO { Ns::ZERO } else { ran };
                parts.spun(task, lock, self.now, ran);
            }
            parts.settle(task, self.now);
        }
        PartTimes { parts: parts.parts, other: parts.other, spins: parts.spins, wanted: parts.on }
    }
}
