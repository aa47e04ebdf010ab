//! The run again, from one wake-up to the next.

use super::past::Past;
use fairground_scenario::{Error, Scenario};
use fairground_sim::Simulation;
use fairground_stdx::Instant;

/// A run that goes from one wake-up to the next, with what must be known of its past.
pub(super) struct Replay<'s> {
    scenario: &'s Scenario,
    run: Simulation,
    past: Past,
}

impl<'s> Replay<'s> {
    pub(super) fn new(scenario: &'s Scenario) -> Result<Replay<'s>, Error> {
        let setup = scenario.setup()?;
        let past = Past::new(setup.tasks.tasks.len(), setup.tasks.groups.len(), setup.machine.cpus.len());
        let run = Simulation::new(setup).map_err(|mistakes| scenario.wrong(mistakes))?;
        Ok(Replay { scenario, run, past })
    }
    /// Goes on to just before an instant that is not in the past.
    pub(super) fn to(&mut self, at: Instant) -> Result<(&Simulation, &Past), Error> {
        self.run.run_until(at, &mut self.past).map_err(|stopped| self.scenario.stopped(&stopped))?;
        Ok((&self.run, &self.past))
    }
}
