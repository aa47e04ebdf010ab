//! Sums of the rows of a task.

use super::class::WaitClass;
use super::history::TimeHistRow;
use fairground_model::TaskInfo;
use fairground_stdx::{Id, Instant, Ns, TaskId};

/// Lengths of time of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total: Ns,
    /// The shortest.
    pub min: Ns,
    /// The longest.
    pub max: Ns,
    /// When the longest ended.
    pub max_at: Instant,
}

impl Span {
    fn add(&mut self, length: Ns, end: Instant) {
        self.min = if self.count == 0 { length } else { self.min.min(length) };
        if self.count == 0 || length > self.max {
            (self.max, self.max_at) = (length, end);
        }
        self.count += 1;
        self.total += length;
    }
    /// The mean, rounded down.
    pub fn mean(&self) -> Ns {
        Ns(self.total.0 / self.count.max(1))
    }
}

/// What a task did in all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryRow {
    /// The task.
    pub task: TaskId,
    /// Its name, pid and priority.
    pub info: TaskInfo,
    /// Times on a CPU.
    pub run: Span,
    /// Delays after wake-ups; times without a delay do not count.
    pub delay: Span,
    /// Times off the CPU in the order of [`WaitClass::ALL`].
    pub waits: [Span; 3],
}

/// Sums rows by task.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    rows: Vec<Option<SummaryRow>>,
}

impl Summary {
    /// Takes a row.
    pub fn add(&mut self, row: &TimeHistRow, info: &TaskInfo) {
        let index = row.task.index();
        if index >= self.rows.len() {
            self.rows.resize(index + 1, None);
        }
        let sum = self.rows[index].get_or_insert_with(|| SummaryRow {
            task: row.task,
            info: TaskInfo::default(),
            run: Span::default(),
            delay: Span::default(),
            waits: [Span::default(); 3],
        });
        sum.info.clone_from(info);
        let switched_in = Instant::from_ns(row.at.ns() - row.run.unwrap_or_default().0);
        if let Some(run) = row.run {
            sum.run.add(run, row.at);
        }
        if row.delay > Ns::ZERO {
            sum.delay.add(row.delay, switched_in);
        }
        if let Some(wait) = row.wait {
            let place = WaitClass::ALL.iter().position(|&class| class == wait.class).unwrap_or_default();
            sum.waits[place].add(wait.length, switched_in);
        }
    }
    /// The tasks in order of their rows.
    pub fn rows(&self) -> impl Iterator<Item = &SummaryRow> {
        self.rows.iter().flatten()
    }
}
