//! The smallest limit that meets a goal, as a statement about seeds that were not tried.
//!
//! The limits that are tried lie 1 % apart ([`ladder`]); above the largest stands no limit at all. One seed means the same requests under each
//! of them, so a seed that meets the goal at one limit meets it at all larger ones, and has a smallest limit of its own.
//!
//! ```text
//! limits   ... 2.40  2.45  2.50  2.55  2.60  2.65  2.70 ... no limit
//! seeds          x    xxx   xx    x     x           x        each at its own smallest limit
//!                                 ^     ^     ^
//!                     not enough up to here   proved: so few lie above it that at most 5 % of all seeds do
//!                                       the answer: the next seed lies above it with 5 %
//! ```
//!
//! The answer is an order statistic: with `n` seeds the smallest limit that as few of them miss as [`Aim::allowed`] says. So nothing is
//! assumed about how seeds spread. [`hunt`] finds it.

pub(super) mod hunt;
mod ladder;
#[cfg(test)]
mod tests;

pub(super) use hunt::{Hunt, Seed};
pub(super) use ladder::quotas;

use super::goal::Goal;
use super::lab::{Bench, Lab, Variant};
use super::seeds::{Aim, Confidence};
use fairground_model::CpuMax;
use fairground_scenario::Error;
use hunt::{Found, Trial, Tried};
use std::sync::OnceLock;

/// The smallest limit, and how sure it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Smallest {
    /// The limit with which the next run meets the goal with 95 of 100, or for which that share of all is proved; without a quota if only no limit
    /// does. None if not even that.
    pub limit: Option<CpuMax>,
    /// The smallest limit that so many seeds prove with the confidence of the bounds; none if not even no limit is proved. With too few
    /// seeds for a proof it is the largest that one of them needs.
    pub enough: Option<CpuMax>,
    /// The largest limit that is proved not to be enough; none if the smallest that a kernel takes was not refuted.
    pub below: Option<CpuMax>,
    /// The confidence of these two bounds, percent.
    pub sure: u64,
    /// Seeds with which the goal is missed with the answer; without a limit if there is none.
    pub misses: u64,
    /// Seeds that were tried.
    pub seeds: u64,
    /// How sure it is that 95 % of all runs hold with the answer, or that they do not without a limit; percent.
    pub confidence: u64,
    /// What the search learnt, for searches beside it.
    pub(super) found: Found,
}

impl Smallest {
    /// The smallest limit that is proved; none if there is none, or if there are too few seeds for a proof.
    pub fn proved(&self) -> Option<CpuMax> {
        let has_enough = Confidence::percent(self.sure).is_some_and(|sure| sure.allowed(self.seeds).is_some());
        self.enough.filter(|_| has_enough)
    }
}

/// With how many seeds to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seeds {
    /// With so many.
    Exactly(u64),
    /// With as many as make the answer narrow, or as may be run with so many events in all.
    Events(u64),
}

/// A service and the limits among which one is looked for.
pub(super) struct Ladder<'a> {
    lab: &'a Lab<'a>,
    goals: &'a [Goal],
    /// Limits in rising order; the last is none.
    pub(super) limits: Vec<CpuMax>,
    /// What each needs to be run, once it is.
    benches: Vec<OnceLock<Bench>>,
}

impl<'a> Ladder<'a> {
    /// Limits in rising order, the last of which is none.
    pub(super) fn new(lab: &'a Lab<'a>, goals: &'a [Goal], limits: Vec<CpuMax>) -> Ladder<'a> {
        let benches = limits.iter().map(|_| OnceLock::new()).collect();
        Ladder { lab, goals, limits, benches }
    }

    /// The smallest limit. The first seeds are looked for from place `hint` on.
    pub(super) fn smallest(&self, hint: usize, count: Seeds, aim: Aim) -> Result<Smallest, Error> {
        let found = Hunt::new(self, aim).smallest(hint, count)?;
        let limit = |place: Option<usize>| place.and_then(|place| self.limits.get(place)).copied();
        Ok(Smallest {
            limit: limit(Some(found.place)),
            enough: limit(Some(found.proved)),
            below: limit(found.below),
            sure: aim.bounds().get(),
            misses: found.misses,
            seeds: found.seeds,
            confidence: found.confidence,
            found,
        })
    }
}

impl Trial for &Ladder<'_> {
    fn places(&self) -> usize {
        self.limits.len()
    }
    fn run(&self, seed: Seed, place: usize) -> Result<Tried, Error> {
        let bench = match self.benches[place].get() {
            Some(bench) => bench,
            None => {
                let bench = self.lab.bench(&Variant::new(self.limits[place]))?;
                self.benches[place].get_or_init(|| bench)
            }
        };
        let sample = self.lab.decide(bench, seed.nr, self.goals, seed.most)?;
        Ok(Tried {
            holds: sample.holds(self.goals),
            most: sample.most,
            digest: sample.digest,
            events: sample.events,
            interrupted: sample.interrupted,
        })
    }
    fn stopped(&self) -> bool {
        self.lab.control.stopped()
    }
}
