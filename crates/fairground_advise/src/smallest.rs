//! The smallest limit that meets a goal, as a statement about seeds that were not tried.
//!
//! The limits that are tried lie 2 % apart; above the largest stands no limit at all. One seed means the same requests under each
//! of them, so a seed that meets the goal at one limit meets it at all larger ones, and has a smallest limit of its own.
//!
//! ```text
//! limits   ... 2.40  2.45  2.50  2.55  2.60  2.65  2.70 ... no limit
//! seeds          x    xxx   xx    x     x           x        each at its own smallest limit
//!                                 ^           ^
//!                          fails up to here   the answer: so few lie above it that at most 5 % of all seeds do
//! ```
//!
//! The answer is an order statistic: with `n` seeds the smallest limit that as few of them miss as [`seeds::allowed`] says. So nothing is
//! assumed about how seeds spread. Only seeds near the answer are looked at closely: all run at one limit low enough that
//! some fail, and those go up until they hold.
//!
//! More seeds are taken while they would bring the answer down by more than a step: the seeds above the limit
//! where all ran say how long the tail is.

use super::goal::Goal;
use super::lab::{Lab, Variant};
use super::seeds;
use fairground_model::{CpuMax, Digest};
use fairground_scenario::Error;
use fairground_stdx::Ns;
use rayon::prelude::*;

/// The smallest limit, and how sure it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Smallest {
    /// The limit with which the goal holds in at least 95 % of all runs; without a quota if only no limit does. None if not even that.
    pub limit: Option<CpuMax>,
    /// The smallest limit that so many seeds prove; none if not even no limit is proved. It is the answer, unless runs miss the goal without a
    /// limit, too.
    pub proved: Option<CpuMax>,
    /// The largest limit that is proved not to be enough; none if the smallest that a kernel takes was not refuted.
    pub below: Option<CpuMax>,
    /// Seeds with which the goal is missed with the answer; without a limit if there is none.
    pub misses: u64,
    /// Seeds that were tried.
    pub seeds: u64,
    /// How sure it is that 95 % of all runs hold with the answer, or that they do not without a limit; percent.
    pub confidence: u64,
    /// The seeds that decided, with their own smallest limits as places among those that were tried.
    pub(super) deciding: Vec<(u64, usize)>,
    /// The place of the answer.
    pub(super) place: usize,
    /// Digest of all runs that decided.
    pub(super) digest: u128,
    pub(super) interrupted: bool,
}

/// With how many seeds to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seeds {
    /// With so many.
    Exactly(u64),
    /// With as many as make the answer narrow, or as may be run with so many events in all.
    Events(u64),
}

/// The quotas that are tried, each about a fiftieth above the one before, in three digits: from the least that a kernel takes to
/// `high`, for a period of `period`. A quota of one period is the same number of CPUs in each.
pub(super) fn quotas(period: Ns, high: Ns) -> Vec<Ns> {
    // Millionths of a CPU, so that small limits have three digits too.
    let mut micro = 1_000_u64;
    let quota =
        |micro: u64| Ns(u64::try_from(u128::from(micro) * u128::from(period.0) / 1_000_000).unwrap_or(u64::MAX) / 1000 * 1000);
    let mut quotas = Vec::new();
    while quota(micro) < high {
        quotas.extend(Some(quota(micro)).filter(|quota| *quota >= CpuMax::LEAST));
        micro = three_digits(micro + micro / 50);
    }
    quotas.push(high.max(CpuMax::LEAST));
    quotas
}

/// The number rounded to three digits.
fn three_digits(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 1000 {
        unit *= 10;
    }
    (number + unit / 2) / unit * unit
}

/// What is searched.
pub(super) struct Search<'a> {
    pub(super) lab: &'a Lab<'a>,
    pub(super) goals: &'a [Goal],
    /// Limits in rising order; the last is none.
    pub(super) limits: Vec<CpuMax>,
}

/// What is known of one seed: it misses the goal at all places below `low`, and holds from `high` on. `high` is beyond the last place
/// while it was not seen to hold.
struct Known {
    seed: u64,
    low: usize,
    high: usize,
    digest: Digest,
    events: u64,
    runs: u64,
    interrupted: bool,
}

/// Seeds of which all is found out first, to learn where to look.
const FIRST: u64 = 8;

impl Search<'_> {
    /// The smallest limit. The first seeds are looked for from place `hint` on.
    pub(super) fn smallest(&self, hint: usize, count: Seeds) -> Result<Smallest, Error> {
        let mut known = Vec::new();
        let mut wanted = match count {
            Seeds::Exactly(count) => seeds::useful(count),
            Seeds::Events(_) => seeds::LEAST,
        };
        self.add(&mut known, FIRST.min(wanted));
        self.settle(&mut known, hint, FIRST as usize)?;
        let mut own: Vec<usize> = known.iter().map(|one| one.low).collect();
        own.sort_unstable();
        // Nearly all hold there, and some do not.
        let mut place = own[own.len().saturating_sub(2)].saturating_sub(1).min(self.limits.len() - 1);
        loop {
            self.add(&mut known, wanted);
            place = self.above(&mut known, place, seeds::refuted(wanted))?;
            let more = match count {
                Seeds::Events(most) => self.more(&known, place, most),
                Seeds::Exactly(_) => None,
            };
            match more {
                Some(more) if !self.lab.control.stopped() => {
                    place = closer(&known, place, more);
                    wanted = more;
                }
                _ => return Ok(self.answer(&known)),
            }
        }
    }

    /// The smallest limit of a single seed, as a place among those from `among.0` to `among.1`. It is looked for from place `hint` on, with steps
    /// of `stride` that double.
    pub(super) fn of_seed(&self, seed: u64, among: (usize, usize), hint: usize, stride: usize) -> Result<usize, Error> {
        let (low, high) = (among.0.min(self.limits.len()), among.1.min(self.limits.len()));
        let mut known = [Known { low, high, ..self.unknown(seed) }];
        self.settle(&mut known, hint.min(high.saturating_sub(1)), stride)?;
        Ok(known[0].low)
    }

    /// The first place from `from` on at which all of these seeds meet the goal that meet it at all. Each is tried where those before it do, since only
    /// the hardest one counts.
    pub(super) fn enough_for(&self, seeds: &[u64], from: usize) -> Result<usize, Error> {
        let (mut place, none) = (from, self.limits.len());
        for &seed in seeds {
            let own = self.of_seed(seed, (place, none), place, 2)?;
            place = if own < none { own } else { place };
        }
        Ok(place)
    }

    fn unknown(&self, seed: u64) -> Known {
        Known { seed, low: 0, high: self.limits.len(), digest: Digest::default(), events: 0, runs: 0, interrupted: false }
    }
    fn add(&self, known: &mut Vec<Known>, wanted: u64) {
        (known.len() as u64..wanted).for_each(|seed| known.push(self.unknown(seed)));
    }

    /// Whether the goal holds with a seed at a place.
    fn step(&self, one: &mut Known, place: usize) -> Result<(), Error> {
        let sample = self.lab.sample(&self.lab.scenario(&Variant::new(self.limits[place])), one.seed)?;
        one.digest.bytes(&sample.digest.to_le_bytes());
        one.events += sample.events;
        one.runs += 1;
        one.interrupted |= sample.interrupted;
        if sample.holds(self.goals) {
            one.high = place
        } else {
            one.low = place + 1
        }
        Ok(())
    }

    /// Looks for the smallest limit of each seed from place `hint` on, with steps of `stride` that double.
    fn settle(&self, known: &mut [Known], hint: usize, stride: usize) -> Result<(), Error> {
        known.par_iter_mut().try_for_each(|one| {
            let (mut next, mut stride) = (hint.max(one.low).min(self.limits.len() - 1), stride.max(1));
            let (least, most) = (one.low, one.high);
            while one.low < one.high && !self.lab.control.stopped() {
                self.step(one, next)?;
                next = match (one.low > least, one.high < most) {
                    (true, true) => one.low + (one.high - one.low) / 2,
                    (false, _) => one.high.saturating_sub(stride).max(one.low),
                    (true, false) => (one.low + stride - 1).min(most - 1),
                };
                stride *= 2;
            }
            one.interrupted |= one.low < one.high;
            Ok(())
        })
    }

    /// Runs all seeds at a place, lower ones until at least `wanted` miss the goal there, and settles those. Returns the place.
    fn above(&self, known: &mut [Known], from: usize, wanted: u64) -> Result<usize, Error> {
        let (mut place, mut stride) = (from, 2);
        loop {
            let open = known.par_iter_mut().filter(|one| one.low <= place && place < one.high);
            open.try_for_each(|one| self.step(one, place))?;
            if missed(known, place) >= wanted || place == 0 || self.lab.control.stopped() {
                break;
            }
            place = place.saturating_sub(stride);
            stride *= 2;
        }
        let mut failed: Vec<&mut Known> = known.iter_mut().filter(|one| one.low > place).collect();
        failed.par_iter_mut().try_for_each(|one| {
            let next = one.low;
            self.settle(std::slice::from_mut(*one), next, 2)
        })?;
        Ok(place)
    }

    /// How many seeds to take in all, if more would help and `most` events allow it.
    fn more(&self, known: &[Known], place: usize, most: u64) -> Option<u64> {
        let count = known.len() as u64;
        let each = known.iter().map(|one| one.events + one.runs * SET_UP).sum::<u64>() / count.max(1);
        let can_have = |more: u64| more <= MOST && each.saturating_mul(more) <= most;
        let misses = missed(known, self.limits.len() - 1);
        if misses > seeds::allowed(count).unwrap_or(0) {
            // Whether the goal can be met at all is open.
            return (misses < seeds::refuted(count)).then(|| seeds::next(count)).filter(|&more| can_have(more));
        }
        // Beyond a place the smallest limits of seeds thin out about exponentially. The answer lies as far above the true
        // limit as the mean excess times the logarithm of the true share by that which the order statistic leaves above itself.
        let above: Vec<usize> = known.iter().map(|one| one.low).filter(|low| *low > place).collect();
        let excess = above.iter().map(|low| low - place).sum::<usize>() as f64 / above.len().max(1) as f64;
        let is_narrow = |count: u64| {
            let ratio = (count + 1) as f64 / 20.0 / (seeds::allowed(count).unwrap_or(0) + 1) as f64;
            // The logarithm, right to a hundredth from 1 to 3.
            excess * 2.0 * (ratio - 1.0) / (ratio + 1.0) <= NARROW
        };
        let mut more = count;
        while !is_narrow(more) && can_have(seeds::next(more)) {
            more = seeds::next(more);
        }
        (more > count).then_some(more)
    }

    fn answer(&self, known: &[Known]) -> Smallest {
        let count = known.len() as u64;
        let mut own: Vec<(usize, u64)> = known.iter().map(|one| (one.low, one.seed)).collect();
        own.sort_unstable_by_key(|&(low, seed)| (std::cmp::Reverse(low), seed));
        let unmet = missed(known, self.limits.len() - 1);
        let refuted = seeds::refuted(count);
        let at = |misses: u64| own.get(usize::try_from(misses).unwrap_or(usize::MAX)).map_or(0, |row| row.0);
        let proves = seeds::allowed(count).unwrap_or(0);
        let proved = self.limits.get(at(proves)).copied();
        let allowed = if proved.is_some_and(|limit| limit.quota.is_some()) { proves } else { unproved(count, proves, unmet) };
        let place = at(allowed);
        let limit = self.limits.get(place).copied();
        let misses = missed(known, place.min(self.limits.len() - 1));
        let below = at(refuted - 1).checked_sub(1).map(|place| self.limits[place]);
        let confidence = match limit {
            Some(_) => seeds::confidence_percent(misses, count),
            None => 100 - seeds::confidence_percent(misses.saturating_sub(1), count),
        };
        // The seed that decided, and those beside it.
        let from = usize::try_from(allowed).unwrap_or(0).saturating_sub(1).min(own.len().saturating_sub(DECIDING));
        let deciding = own.iter().skip(from).take(DECIDING).map(|&(low, seed)| (seed, low)).collect();
        let mut digest = Digest::default();
        known.iter().for_each(|one| digest.bytes(&one.digest.value().to_le_bytes()));
        let interrupted = known.iter().any(|one| one.interrupted) || self.lab.control.stopped();
        Smallest { limit, proved, below, misses, seeds: count, confidence, deciding, place, digest: digest.value(), interrupted }
    }
}

/// How many of so many seeds may miss the goal with an answer that cannot be proved, since as many or nearly as many miss it without a limit:
/// halfway between those and 5 of 100, with the confidence that this has. Beyond 5 of 100 there is no answer.
fn unproved(count: u64, proves: u64, unmet: u64) -> u64 {
    let most = count / 20;
    if unmet > most { proves } else { (unmet + most).div_ceil(2).max(proves) }
}

/// By how many steps of the limits an answer may lie above the true limit before more seeds are taken.
const NARROW: f64 = 1.0;
/// What a run costs beside its events, as events: its scenario is built, its figures are collected.
const SET_UP: u64 = 7_000;
/// Most seeds: more narrow the answer by little.
const MOST: u64 = 410;
/// Seeds with which other periods and bursts are compared.
const DECIDING: usize = 3;

/// A place at which a few more miss the goal than are wanted of `count` seeds, as far as is known: seeds that come later begin there.
fn closer(known: &[Known], place: usize, count: u64) -> usize {
    let mut own: Vec<usize> = known.iter().map(|one| one.low).collect();
    own.sort_unstable_by(|one, other| other.cmp(one));
    let wanted = seeds::refuted(count) * known.len() as u64 * 5 / (4 * count.max(1)) + 1;
    let at = own.get(usize::try_from(wanted).unwrap_or(usize::MAX)).copied().unwrap_or(0);
    at.saturating_sub(1).max(place)
}

/// Seeds that miss the goal at a place.
fn missed(known: &[Known], place: usize) -> u64 {
    known.iter().filter(|one| one.low > place).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_miss_the_goal_anyhow_leave_the_limit_some_room() {
        // 59 seeds prove a limit if none misses, 361 if at most 11 do; 5 of 100 are 18.
        for (count, proves, unmet, may) in [(59, 0, 1, 2), (59, 0, 3, 0), (361, 11, 12, 15), (361, 11, 18, 18), (361, 11, 19, 11)]
        {
            assert_eq!(unproved(count, proves, unmet), may, "{count} {unmet}");
        }
    }

    #[test]
    fn quotas_lie_two_percent_apart_have_three_digits_and_are_the_same_cpus_in_each_period() {
        let of = |ms: u64| quotas(Ns::from_ms(ms), Ns::from_ms(ms * 8));
        let (hundred, ten) = (of(100), of(10));
        assert!((CpuMax::LEAST..=Ns::from_us(1020)).contains(&hundred[0]), "{}", hundred[0]);
        assert_eq!(hundred[hundred.len() - 1], Ns::from_ms(800));
        assert!(hundred.windows(2).all(|pair| pair[0] < pair[1] && pair[1].0 * 1000 <= pair[0].0 * 1030));
        assert!(hundred.iter().all(|quota| quota.0 % 10_000 == 0));
        assert!(ten[0] >= CpuMax::LEAST && hundred.ends_with(&ten.iter().map(|quota| Ns(quota.0 * 10)).collect::<Vec<_>>()));
        assert_eq!(quotas(Ns::from_ms(100), Ns(7)), [CpuMax::LEAST]);
    }
}
