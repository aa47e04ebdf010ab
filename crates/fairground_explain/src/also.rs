//! Where one change is not enough: in a run that begins with it another delay is about as long, for another cause.
//!
//! The run is made with the change, and its delay of the same rank is explained. What takes both causes away is tried together.

use super::levers::Named;
use super::one::{self, Explained};
use super::past::Past;
use super::proof::Proof;
use super::what_if::{Change, Outcome};
use super::whole::WholeRuns;
use fairground_model::TaskSet;
use fairground_scenario::{Error, Scenario};

/// Looks for another cause, if nothing halves the delay of the same rank in the whole run.
pub(super) fn look(
    (scenario, set): (&Scenario, &TaskSet),
    one: &Explained,
    (proof, whole): (&mut Proof, &mut WholeRuns<'_>),
) -> Result<(), Error> {
    let length = one.delay.length();
    let halves = |row: &Outcome| row.left().is_some_and(|left| left.0.saturating_mul(2) <= length.0);
    let own = proof.suspects.first().and_then(|first| first.removal.as_ref()).map(|removal| removal.0.clone());
    let Some(own) = own.filter(|_| !proof.outcomes.first().is_some_and(halves)) else { return Ok(()) };
    let change = match Change::parse(&own, scenario) {
        Ok(change) if !change.is_from_the_beginning() => change,
        _ => return Ok(()),
    };
    let Some(delay) = whole.delay_with(&change)?.filter(|row| row.request.is_none()) else { return Ok(()) };
    let mut run = change.whole(scenario)?;
    let mut past = Past::new(set.tasks.len(), set.groups.len(), scenario.machine.cpus.len());
    change.run_until(&mut run, delay.from, &mut past).map_err(|why| scenario.stopped(&why))?;
    let other = one::explain_one(scenario, &run, &past, delay)?;
    let removal = Named::new(scenario, set, &other, whole.is_named()).removals(other.cause).into_iter().next();
    let Some(text) = removal.filter(|text| other.cause != one.cause && *text != own) else { return Ok(()) };
    let change = format!("{own}; {text}");
    let row = Outcome { whole: whole.try_text(&change)?, change, delay: None, pairs: None };
    if halves(&row) {
        proof.outcomes.insert(0, row);
        proof.also = Some((other.cause, delay));
    }
    Ok(())
}
