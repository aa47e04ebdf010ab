//! The worst wait of a run, and a copy of the run from before it.
//!
//! ```text
//!  looks:   |      |      |      |      |      |          a copy at each; kept are the last before the worst wait so far,
//!  waits:      ####    ########...                        and the last before each wait that is under way
//! ```

use fairground_metrics::latency::Waits;
use fairground_metrics::{RunReport, RunStats};
use fairground_model::TaskSet;
use fairground_sim::Simulation;
use fairground_stdx::{Instant, Ns, TaskId};

/// The longest time for which a task could run and did not. Tasks that never sleep have nothing to be late for: they count only if
/// there are no others.
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
            from: row.max_wait_from,
            longest: row.max_wait,
            wakeups: row.latency.len(),
            waits_since: None,
        });
        let worst = worst(waits, tasks)?;
        Some(WorstWait { task: worst.task, from: worst.from, length: worst.longest, cause: None, ask: None })
    }
}

/// The worst of these; of equal ones the first.
fn worst(waits: impl Iterator<Item = Waits>, tasks: &TaskSet) -> Option<Waits> {
    let rank = |row: &Waits| (tasks.tasks.get(row.task).is_some_and(|task| task.measured), row.wakeups > 1, row.longest);
    let waited = waits.filter(|row| row.longest > Ns::ZERO);
    waited.reduce(|worst, row| if rank(&row) > rank(&worst) { row } else { worst })
}

/// The copies of a run that are kept while it goes on, each with the first instant that it has not come to.
#[derive(Default)]
pub(super) struct Copies(Vec<(Instant, Simulation)>);

impl Copies {
    /// Takes one more copy, and lets go of those that no wait so far could need.
    pub(super) fn take(&mut self, simulation: &Simulation, stats: &RunStats, tasks: &TaskSet) {
        let worst = worst(stats.waits(), tasks).map(|row| row.from);
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
