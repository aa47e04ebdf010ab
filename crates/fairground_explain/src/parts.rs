//! The time of a delay, divided: every nanosecond is in exactly one part.

use super::cause::Cause;
use fairground_model::{Section, event};
use fairground_sched::Rivals;
use fairground_sim::GaveWay;
use fairground_stdx::{CpuId, Instant, Ns, TaskId, TgId};

/// Who had the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// This task, which lay in this group.
    Task(TaskId, Option<TgId>),
    /// This part of the kernel.
    Kernel(Section),
    /// Nobody: the CPU idled.
    Idle,
    /// This task held the lock, and this kept it from going on.
    Holder(TaskId, Keeps),
    /// The quota of this group was used up.
    Quota(Option<TgId>),
    /// The task waited for no CPU.
    Nobody,
}

/// What keeps the holder of a lock from going on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// Nothing, or its own sleep.
    Nothing,
    /// This task has its CPU, which it was given here, if it did not sleep before.
    Task(TaskId, Option<GaveWay>),
    /// The quota of this group is used up.
    Quota(Option<TgId>),
}

/// Where in the tree of groups two tasks are compared, and who stands for them there: the entities of groups, or one of them
/// itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meeting {
    /// The level, counted from 1: the entities on a CPU's root queue.
    pub level: u32,
    /// Who stands for the one that waited.
    pub waited: event::Who,
    /// Who stands for the one that ran.
    pub ran: event::Who,
}

impl Meeting {
    /// Where these two meet; `None` if both stand for themselves.
    pub(super) fn of(rivals: &Rivals<'_>) -> Option<Meeting> {
        let (waited, ran) = (rivals.own.stands_for(), rivals.other.stands_for());
        let by_group = [waited, ran].iter().any(|who| matches!(who, event::Who::Group(_)));
        by_group.then_some(Meeting { level: rivals.depth + 1, waited, ran })
    }
}

/// A part of a delay: all of its time on one CPU that has one cause and went to one other, by one
/// comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Where the task waited.
    pub cpu: CpuId,
    /// Who had that CPU.
    pub who: Who,
    /// By what.
    pub cause: Cause,
    /// Where that was decided, if groups stood for the two tasks there.
    pub meeting: Option<Meeting>,
    /// Whether who ran there, or the group that stood for it, weighed at least twice as much.
    pub heavier: bool,
    /// For how long in all.
    pub time: Ns,
    /// In how many stretches.
    pub stretches: u32,
    /// When the first of them began.
    pub first: Instant,
}

/// A stretch of a delay that belongs to one part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// When it began.
    pub from: Instant,
    /// When it ended.
    pub to: Instant,
    /// The row of its part.
    pub part: usize,
}

/// The parts of a delay, in the order in which they began.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    rows: Vec<Part>,
    stretches: Vec<Stretch>,
}

impl Parts {
    /// The parts.
    pub fn rows(&self) -> &[Part] {
        &self.rows
    }
    /// All parts together: the delay.
    pub fn total(&self) -> Ns {
        Ns(self.rows.iter().map(|part| part.time.0).sum())
    }
    /// How long a cause held.
    pub fn of(&self, cause: Cause) -> Ns {
        Ns(self.rows.iter().filter(|part| part.cause == cause).map(|part| part.time.0).sum())
    }
    /// How long a cause held for the benefit of somebody.
    pub(super) fn of_who(&self, who: Who, cause: Cause) -> Ns {
        Ns(self.rows.iter().filter(|part| (part.who, part.cause) == (who, cause)).map(|part| part.time.0).sum())
    }
    /// The task that had the CPU, or the lock, longest; of equal ones the first.
    pub fn longest_task(&self) -> Option<TaskId> {
        self.tasks().first().copied()
    }
    /// The tasks that had the CPU, or the lock, the longest first.
    pub(super) fn tasks(&self) -> Vec<TaskId> {
        let mut times: Vec<(TaskId, Ns)> = Vec::new();
        for part in &self.rows {
            let (Who::Task(task, _) | Who::Holder(task, _)) = part.who else { continue };
            match times.iter_mut().find(|row| row.0 == task) {
                Some(row) => row.1 += part.time,
                None => times.push((task, part.time)),
            }
        }
        times.sort_by_key(|row| std::cmp::Reverse(row.1));
        times.into_iter().map(|row| row.0).collect()
    }
    /// Whether many tasks had the CPU, none of them for more than a third of the time.
    pub(super) fn is_many_turns(&self) -> bool {
        let tasks = self.tasks();
        let of = |task: TaskId| -> u64 {
            let his = |part: &&Part| matches!(part.who, Who::Task(other, _) if other == task);
            self.rows.iter().filter(his).map(|part| part.time.0).sum()
        };
        tasks.len() > 3 && tasks.into_iter().all(|task| of(task) * 3 <= self.total().0)
    }
    /// The time in which others had their turns: they were ahead, by whatever rule, or no tick had come to end their slices.
    pub(super) fn turns(&self) -> Ns {
        let is_turn = |cause: Cause| {
            matches!(
                cause,
                Cause::QueueLength
                    | Cause::EarlierDeadline
                    | Cause::NotEligible
                    | Cause::SleeperCredit
                    | Cause::Protected
                    | Cause::TickGranularity
            )
        };
        Ns(self.rows.iter().filter(|part| is_turn(part.cause)).map(|part| part.time.0).sum())
    }
    /// The cause that held longest; of equal ones the first of the list.
    pub fn largest(&self) -> Cause {
        let mut largest = Cause::ALL[0];
        for &cause in Cause::ALL {
            if self.of(cause) > self.of(largest) {
                largest = cause;
            }
        }
        largest
    }
    /// The same in order of time.
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }
    /// Who had the CPU in the last stretch weighed at least twice as much.
    pub(super) fn note_heavier(&mut self) {
        if let Some(last) = self.stretches.last() {
            self.rows[last.part].heavier = true;
        }
    }
    /// For how long the task waited behind somebody heavier.
    pub(super) fn behind_heavier(&self) -> Ns {
        Ns(self.rows.iter().filter(|part| part.heavier).map(|part| part.time.0).sum())
    }
    /// Adds a stretch.
    pub(super) fn add(&mut self, cpu: CpuId, who: Who, (cause, meeting): (Cause, Option<Meeting>), from: Instant, to: Instant) {
        if to <= from {
            return;
        }
        let same = |part: &Part| (part.cpu, part.who, part.cause, part.meeting) == (cpu, who, cause, meeting);
        let place = self.rows.iter().position(same);
        let place = place.unwrap_or_else(|| {
            self.rows.push(Part { cpu, who, cause, meeting, heavier: false, time: Ns::ZERO, stretches: 0, first: from });
            self.rows.len() - 1
        });
        self.rows[place].time += to.since(from);
        match self.stretches.last_mut() {
            Some(last) if last.part == place && last.to == from => last.to = to,
            _ => {
                self.rows[place].stretches += 1;
                self.stretches.push(Stretch { from, to, part: place });
            }
        }
    }
}
