//! The run: once to its end, which finds the delays, and again from copies that were kept on the way.

use super::find::{Delay, Delays};
use super::past::Past;
use fairground_scenario::{Control, Error, Scenario};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::Instant;

/// So many copies of the run are kept: one of them is at most a sixteenth of the run before any instant.
const COPIES: u64 = 16;
/// Between two of them the caller is asked so often whether to stop.
const LOOKS: u64 = 8;

/// A run that goes to instants, with what must be known of its past.
pub(super) struct Replay<'s> {
    scenario: &'s Scenario,
    copies: Vec<(Simulation, Past)>,
    run: Simulation,
    past: Past,
}

/// What the first run found.
pub(super) struct FirstRun<'s> {
    pub(super) delays: Vec<Delay>,
    /// Which tasks were woken at least once, by row.
    pub(super) sleepers: Vec<bool>,
    pub(super) replay: Replay<'s>,
    pub(super) digest: u128,
    pub(super) end: Instant,
    /// How many events the run had.
    pub(super) events: u64,
}

impl<'s> Replay<'s> {
    /// Runs to the end and collects the delays of the watched tasks; `None` if the caller stopped it.
    pub(super) fn first_run(
        scenario: &'s Scenario,
        watched: &[bool],
        control: Control<'_>,
    ) -> Result<Option<FirstRun<'s>>, Error> {
        let setup = scenario.setup()?;
        let cpus = setup.machine.cpus.len();
        let mut past = Past::new(setup.tasks.tasks.len(), setup.tasks.groups.len(), cpus);
        let mut run = Simulation::new(setup).map_err(|mistakes| scenario.wrong(mistakes))?;
        let mut delays = Delays::new(watched, cpus);
        let total = run.end().ns();
        let mut copies = Vec::new();
        for look in 0..=COPIES * LOOKS {
            if control.stopped() {
                return Ok(None);
            }
            control.at(run.now().ns().min(total), total);
            if look % LOOKS == 0 && look < COPIES * LOOKS {
                copies.push((run.clone(), past.clone()));
            }
            let until = match look {
                _ if look == COPIES * LOOKS => Instant::MAX,
                _ => Instant::from_ns((u128::from(total) * u128::from(look + 1) / u128::from(COPIES * LOOKS)) as u64),
            };
            if run.run_until(until, &mut (&mut delays, &mut past)).map_err(|why| scenario.stopped(&why))? == Flow::Done {
                break;
            }
        }
        let sleepers = delays.sleepers();
        delays.add_unread(&run);
        let (digest, end, events) = (run.digest(), run.now(), run.counts().events());
        let replay = Replay { scenario, run: copies[0].0.clone(), past: copies[0].1.clone(), copies };
        Ok(Some(FirstRun { delays: delays.found(end), sleepers, replay, digest, end, events }))
    }

    /// Goes to just before an instant.
    pub(super) fn to(&mut self, at: Instant) -> Result<(&Simulation, &Past), Error> {
        let nearest = self.copies.iter().rev().find(|copy| copy.0.now() < at).unwrap_or(&self.copies[0]);
        if self.run.now() >= at || self.run.now() < nearest.0.now() {
            (self.run, self.past) = nearest.clone();
        }
        self.run.run_until(at, &mut self.past).map_err(|stopped| self.scenario.stopped(&stopped))?;
        Ok((&self.run, &self.past))
    }
}
