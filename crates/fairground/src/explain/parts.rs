//! The time of a delay, divided: every nanosecond is in exactly one part.

use super::cause::Cause;
use fairground_model::Section;
use fairground_stdx::{CpuId, Ns, TaskId};

/// Who had the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// This task.
    Task(TaskId),
    /// This part of the kernel.
    Kernel(Section),
    /// Nobody: the CPU idled.
    Idle,
    /// The task waited for no CPU yet.
    Nobody,
}

/// A part of a delay: all of its time on one CPU that has one cause and went to one other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Where the task waited.
    pub cpu: CpuId,
    /// Who had that CPU.
    pub who: Who,
    /// By what.
    pub cause: Cause,
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
            self.rows.iter().filter_map(|part| if let Who::Task(task) = part.who { Some((part.time, task)) } else { None });
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
    pub(super) fn add(&mut self, cpu: CpuId, who: Who, cause: Cause, time: Ns) {
        if time == Ns::ZERO {
            return;
        }
        let place = self.rows.iter().position(|part| (part.cpu, part.who, part.cause) == (cpu, who, cause));
        let place = place.unwrap_or_else(|| {
            self.rows.push(Part { cpu, who, cause, time: Ns::ZERO, stretches: 0 });
            self.rows.len() - 1
        });
        self.rows[place].time += time;
        self.rows[place].stretches += u32::from(self.last != Some(place));
        self.last = Some(place);
    }
}
