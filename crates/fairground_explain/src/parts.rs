//! The time of a delay, divided: every nanosecond is in exactly one part.

use super::cause::Cause;
use fairground_model::{Section, event};
use fairground_sched::Rivals;
use fairground_stdx::{CpuId, Ns, TaskId, TgId};

/// Who had the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// This task, which lay in this group.
    Task(TaskId, Option<TgId>),
    /// This part of the kernel.
    Kernel(Section),
    /// Nobody: the CPU idled.
    Idle,
    /// The task waited for no CPU yet.
    Nobody,
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
    /// For how long in all.
    pub time: Ns,
    /// In how many stretches.
    pub stretches: u32,
}

/// The parts of a delay, in the order in which they began.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    rows: Vec<Part>,
    last: Option<usize>,
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
    /// The task that had the CPU longest.
    pub(super) fn longest_task(&self) -> Option<TaskId> {
        let tasks =
            self.rows.iter().filter_map(|part| if let Who::Task(task, _) = part.who { Some((part.time, task)) } else { None });
        tasks.max_by_key(|row| row.0).map(|row| row.1)
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
    /// Adds a stretch.
    pub(super) fn add(&mut self, cpu: CpuId, who: Who, (cause, meeting): (Cause, Option<Meeting>), time: Ns) {
        if time == Ns::ZERO {
            return;
        }
        let same = |part: &Part| (part.cpu, part.who, part.cause, part.meeting) == (cpu, who, cause, meeting);
        let place = self.rows.iter().position(same);
        let place = place.unwrap_or_else(|| {
            self.rows.push(Part { cpu, who, cause, meeting, time: Ns::ZERO, stretches: 0 });
            self.rows.len() - 1
        });
        self.rows[place].time += time;
        self.rows[place].stretches += u32::from(self.last != Some(place));
        self.last = Some(place);
    }
}
