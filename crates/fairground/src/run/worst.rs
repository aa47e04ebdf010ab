//! The worst wait of a run, and a copy of the run from before it.
//!
//! ```text
//!  looks:   |      |      |      |      |      |          a copy at each; kept are the last before the worst wait so far,
//!  waits:      ####    ########...                        and the last before each wait that is under way
//! ```

use fairground_metrics::latency::{Wait, Waits};
use fairground_metrics::{RunReport, RunStats};
use fairground_model::{Start, TaskSet};
use fairground_sim::Simulation;
use fairground_stdx::{Instant, Ns, TaskId};
use std::cmp::Reverse;

/// The longest time for which a task could run and did not, by the rule of `explain`: that a task starts late counts if another
/// forked it. Tasks that never sleep have nothing to be late for: they count only if there are no others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorstWait {
    /// Who waited.
    pub task: TaskId,
    /// Since when.
    pub from: Instant,
    /// How long.
    pub length: Ns,
    /// Why, in a sentence, if somebody has found out.
    pub cause: Option<String>,
    /// The command that tells more of it.
    pub ask: Option<String>,
}

impl WorstWait {
    /// Since when, as `explain --at` takes it.
    pub fn at(&self) -> String {
        Ns(self.from.ns()).to_string()
    }
    /// The worst wait of a whole run; `None` if no task waited.
    pub(super) fn of(report: &RunReport, tasks: &TaskSet) -> Option<WorstWait> {
        let waits = report.tasks.iter().map(|row| Waits {
            task: row.task,
            longest: row.longest,
            longest_later: row.longest_later,
            wakeups: row.latency.len(),
            waits_since: None,
        });
        let (task, Wait { from, length }) = worst(waits, tasks)?;
        Some(WorstWait { task, from, length, cause: None, ask: None })
    }
}

/// The worst of these; of equal ones the one that began first. That a task starts late counts if another forked it.
fn worst(waits: impl Iterator<Item = Waits>, tasks: &TaskSet) -> Option<(TaskId, Wait)> {
    let rows = waits.map(|row| {
        let spec = tasks.tasks.get(row.task);
        let is_forked = spec.is_some_and(|spec| spec.start == Start::Forked);
        let wait = if is_forked { row.longest } else { row.longest_later };
        ((spec.is_some_and(|spec| spec.measured), row.wakeups > 1, wait.length, Reverse(wait.from)), (row.task, wait))
    });
    let waited = rows.filter(|row| row.1.1.length > Ns::ZERO);
    waited.reduce(|worst, row| if row.0 > worst.0 { row } else { worst }).map(|row| row.1)
}

/// The copies of a run that are kept while it goes on, each with the first instant that it has not come to.
#[derive(Default)]
pub(super) struct Copies(Vec<(Instant, Simulation)>);

impl Copies {
    /// Takes one more copy, and lets go of those that no wait so far could need.
    pub(super) fn take(&mut self, simulation: &Simulation, stats: &RunStats, tasks: &TaskSet) {
        let worst = worst(stats.waits(), tasks).map(|row| row.1.from);
        let mut needed: Vec<Instant> = stats.waits().filter_map(|row| row.waits_since).chain(worst).collect();
        needed.sort_unstable();
        let ends: Vec<Instant> = self.0.iter().skip(1).map(|copy| copy.0).collect();
        let mut ends = ends.into_iter();
        // A copy serves what begins after it and before the next one.
        self.0.retain(|(from, _)| {
            let until = ends.next().unwrap_or(Instant::MAX);
            needed.get(needed.partition_point(|need| need < from)).is_some_and(|need| *need < until)
        });
        let begins = if simulation.counts().events() == 0 { Instant::ZERO } else { simulation.now() + Ns(1) };
        self.0.push((begins, simulation.clone()));
    }
    /// The last copy from before an instant.
    pub(super) fn before(self, at: Instant) -> Option<Simulation> {
        self.0.into_iter().rev().find(|copy| copy.0 <= at).map(|copy| copy.1)
    }
}
