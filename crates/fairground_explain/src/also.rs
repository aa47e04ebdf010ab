//! Where one change is not enough: in a run that begins with it another delay is about as long, for another cause.
//!
//! The other long delays of the task are looked at in the run as it is. If one of them has another cause, what takes both
//! away is tried together.

use super::find::Delay;
use super::levers::Named;
use super::one::{self, Explained};
use super::proof::Proof;
use super::replay::Replay;
use super::what_if::Outcome;
use super::whole::WholeRuns;
use fairground_model::TaskSet;
use fairground_scenario::{Error, Scenario};

/// So many other delays are looked at.
const LOOKED_AT_MOST: usize = 4;

/// Looks for another cause, if nothing halves the delay of the same rank in the whole run.
pub(super) fn look(
    (scenario, set): (&Scenario, &TaskSet),
    replay: &mut Replay<'_>,
    delays: &[Delay],
    one: &Explained,
    (proof, whole): (&mut Proof, &mut WholeRuns<'_>),
) -> Result<(), Error> {
    let length = one.delay.length();
    let halves = |row: &Outcome| row.left().is_some_and(|left| left.0.saturating_mul(2) <= length.0);
    let own = proof.suspects.first().and_then(|first| first.removal.as_ref()).map(|removal| removal.0.clone());
    let Some(own) = own.filter(|_| !proof.outcomes.first().is_some_and(halves)) else { return Ok(()) };
    let is_long = |row: &&Delay| {
        let is_other = row.whose() == one.delay.whose() && row.request.is_none() && row.from != one.delay.from;
        is_other && row.length().0.saturating_mul(2) >= length.0
    };
    let mut others: Vec<Delay> = delays.iter().filter(is_long).copied().collect();
    others.sort_by_key(|row| std::cmp::Reverse(row.length()));
    for delay in others.into_iter().take(LOOKED_AT_MOST) {
        let (start, past) = replay.to(delay.from)?;
        let other = one::explain_one(scenario, start, past, delay)?;
        let removal = Named::new(scenario, set, &other, whole.is_named()).removals(other.cause).into_iter().next();
        let Some(text) = removal.filter(|text| other.cause != one.cause && *text != own) else { continue };
        let change = format!("{own}; {text}");
        let row = Outcome { whole: whole.try_text(&change)?, change, delay: None };
        if halves(&row) {
            proof.outcomes.insert(0, row);
            proof.also = Some((other.cause, delay));
            return Ok(());
        }
    }
    Ok(())
}
