//! Runs a scenario for tests of what it means.

use crate::Scenario;
use fairground_metrics::{RunReport, RunStats};
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
