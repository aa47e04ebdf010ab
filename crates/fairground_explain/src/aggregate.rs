//! Many wake-ups: how much time each cause took of them together.

use super::cause::{Cause, Place};
use super::find::Delay;
use super::one;
use super::replay::Replay;
use fairground_scenario::{Control, Error, Scenario};
use fairground_stdx::Ns;

/// So many of the latest are taken apart; of more the rest is left out, and the table says so.
const TAKEN_APART_AT_MOST: usize = 200;

/// One cause over all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CauseRow {
    /// The cause.
    pub cause: Cause,
    /// How many wake-ups are called by it.
    pub named: u64,
    /// How long those were together.
    pub named_time: Ns,
    /// In how many it had a part: of their time, or as a chance that was missed.
    pub had_part: u64,
    /// For how long it held in all of them; zero for causes that lie elsewhere, which take no time of their own.
    pub time: Ns,
}

/// All wake-ups at or above a percentile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aggregate {
    /// How many there are.
    pub wakeups: u64,
    /// How many of them, the latest, were taken apart.
    pub taken_apart: u64,
    /// The sum of those.
    pub time: Ns,
    /// The causes that were found: by how many wake-ups are called by them, then by time.
    pub rows: Vec<CauseRow>,
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

impl Aggregate {
    /// The commonest cause.
    pub fn commonest(&self) -> Option<Cause> {
        self.rows.first().map(|row| row.cause)
    }
}

/// Takes wake-ups apart, the latest first, each from a copy of one run.
pub(super) fn aggregate(
    scenario: &Scenario,
    replay: &mut Replay<'_>,
    mut delays: Vec<Delay>,
    control: Control<'_>,
) -> Result<Aggregate, Error> {
    let all = delays.len() as u64;
    delays.truncate(TAKEN_APART_AT_MOST);
    delays.sort_by_key(|delay| delay.from);
    let mut rows: Vec<CauseRow> =
        Cause::ALL.iter().map(|&cause| CauseRow { cause, named: 0, named_time: Ns::ZERO, had_part: 0, time: Ns::ZERO }).collect();
    let mut sum = Aggregate { wakeups: all, taken_apart: 0, time: Ns::ZERO, rows: Vec::new(), interrupted: false };
    for delay in &delays {
        if control.stopped() {
            sum.interrupted = true;
            break;
        }
        control.at(sum.taken_apart, delays.len() as u64);
        let (start, past) = replay.to(delay.from)?;
        let one = one::explain_one(scenario, start, past, *delay)?;
        (sum.taken_apart, sum.time) = (sum.taken_apart + 1, sum.time + delay.length());
        for row in &mut rows {
            let named = one.cause == row.cause;
            row.named += u64::from(named);
            row.named_time += if named { delay.length() } else { Ns::ZERO };
            row.time += one.parts.of(row.cause);
            let missed = || {
                let at_placement = one.placement.and_then(|placement| placement.missed) == Some(row.cause);
                at_placement || one.misses.iter().any(|miss| miss.cause == row.cause)
            };
            let had_part = named || one.parts.of(row.cause) > Ns::ZERO || (row.cause.place() == Place::Elsewhere && missed());
            row.had_part += u64::from(had_part);
        }
    }
    rows.retain(|row| row.had_part > 0);
    rows.sort_by_key(|row| std::cmp::Reverse((row.named, row.named_time, row.time)));
    sum.rows = rows;
    Ok(sum)
}
