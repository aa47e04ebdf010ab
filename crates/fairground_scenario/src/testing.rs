//! Runs a scenario for tests of what it means.

use crate::Scenario;
use crate::metrics::{LockOutcome, PartOutcome};
use fairground_metrics::{Metric, RunReport, RunStats};
use fairground_sim::Simulation;
use fairground_stdx::Instant;

/// The digest of a whole run, and its figures.
pub(crate) fn run(scenario: &Scenario) -> (u128, RunReport) {
    let setup = scenario.setup().unwrap();
    let mut stats =
        RunStats::new(Instant::ZERO, setup.machine.cpus.len()).with_markers(&setup.tasks.markers).measured_in(setup.tasks.window);
    let mut simulation = Simulation::new(setup).unwrap();
    simulation.introduce(&mut stats);
    simulation.run(&mut stats).unwrap();
    (simulation.digest(), stats.finish(simulation.now()))
}

/// The metrics of tasks and of every run.
pub(crate) fn metrics(scenario: &Scenario) -> Vec<Metric> {
    let tasks = scenario.tasks();
    crate::metrics::metrics(&run(scenario).1, &tasks, &LockOutcome::nothing(&tasks), &PartOutcome::nothing(&tasks), &[])
}
