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
//! some fail. Those try limits between, all at once, until the two order statistics are known that prove a limit and that it is not enough.
//! A seed that lies on one side whatever comes is not run again. A run ends as soon as it is decided ([`super::tally`]).
//!
//! More seeds are taken while they would bring the answer down by more than a step: the seeds above the limit
//! where all ran say how long the tail is.

use super::goal::Goal;
use super::lab::{Bench, Lab, Variant};
use super::seeds;
use fairground_model::{CpuMax, Digest};
use fairground_scenario::Error;
use fairground_stdx::Ns;
use rayon::prelude::*;
use std::sync::OnceLock;

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
    /// Most requests that a run of each seed has, as far as that is known.
    pub(super) most: Vec<Option<u64>>,
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
    /// What each needs to be run, once it is.
    benches: Vec<OnceLock<Bench>>,
}

/// A seed, and the most requests that a run of it has, if that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seed {
    pub(super) nr: u64,
    pub(super) most: Option<u64>,
}

impl Smallest {
    /// A seed with what the search learnt of it.
    pub(super) fn seed(&self, nr: u64) -> Seed {
        Seed { nr, most: usize::try_from(nr).ok().and_then(|row| self.most.get(row).copied().flatten()) }
    }
}

/// What is known of one seed: it misses the goal at all places below `low`, and holds from `high` on. `high` is beyond the last place
/// while it was not seen to hold.
struct Known {
    seed: u64,
    low: usize,
    high: usize,
    /// Most requests that a run of it has, if that is known.
    most: Option<u64>,
    digest: Digest,
    events: u64,
    runs: u64,
    interrupted: bool,
}

/// Seeds of which all is found out first, to learn where to look; and those of them that go before, since the others lie near these.
const FIRST: u64 = 8;
const BEFORE: usize = 2;

impl<'a> Search<'a> {
    /// A search among limits in rising order, the last of which is none.
    pub(super) fn new(lab: &'a Lab<'a>, goals: &'a [Goal], limits: Vec<CpuMax>) -> Search<'a> {
        let benches = limits.iter().map(|_| OnceLock::new()).collect();
        Search { lab, goals, limits, benches }
    }

    /// The smallest limit. The first seeds are looked for from place `hint` on.
    pub(super) fn smallest(&self, hint: usize, count: Seeds) -> Result<Smallest, Error> {
        let mut known = Vec::new();
        let mut wanted = match count {
            Seeds::Exactly(count) => seeds::useful(count),
            Seeds::Events(_) => seeds::LEAST,
        };
        self.add(&mut known, (BEFORE as u64).min(wanted));
        self.settle(&mut known, hint, FIRST as usize)?;
        let about = known.iter().map(|one| one.low).sum::<usize>() / known.len().max(1);
        self.add(&mut known, FIRST.min(wanted));
        let rest = known.len().min(BEFORE);
        self.probe(&mut known[rest..], about.min(self.limits.len() - 1))?;
        // Nearly all hold there, and some do not.
        let second = self.largest(&mut known, 1)?;
        let mut place = second.saturating_sub(1).min(self.limits.len() - 1);
        loop {
            self.add(&mut known, wanted);
            place = self.above(&mut known, place, seeds::refuted(wanted))?;
            let tail = self.tail(&mut known, place)?;
            let more = match count {
                Seeds::Events(most) => self.more(&known, &tail, most),
                Seeds::Exactly(_) => None,
            };
            match more {
                Some(more) if !self.lab.control.stopped() => {
                    place = tail.closer(more).min(self.limits.len() - 1);
                    wanted = more;
                }
                _ => return self.answer(&mut known),
            }
        }
    }

    /// The smallest limit of a single seed, as a place among those from `among.0` to `among.1`. It is looked for from place `hint` on, with steps
    /// of `stride` that double.
    pub(super) fn of_seed(&self, seed: Seed, among: (usize, usize), hint: usize, stride: usize) -> Result<usize, Error> {
        let (low, high) = (among.0.min(self.limits.len()), among.1.min(self.limits.len()));
        let mut known = [Known { low, high, most: seed.most, ..self.unknown(seed.nr) }];
        self.settle(&mut known, hint.min(high.saturating_sub(1)), stride)?;
        Ok(known[0].low)
    }

    /// The first place from `from` on at which all of these seeds meet the goal that meet it at all. Each is tried where those before it do, since only
    /// the hardest one counts.
    pub(super) fn enough_for(&self, seeds: &[Seed], from: usize) -> Result<usize, Error> {
        let (mut place, none) = (from, self.limits.len());
        for &seed in seeds {
            let own = self.of_seed(seed, (place, none), place, 2)?;
            place = if own < none { own } else { place };
        }
        Ok(place)
    }

    fn unknown(&self, seed: u64) -> Known {
        let high = self.limits.len();
        Known { seed, low: 0, high, most: None, digest: Digest::default(), events: 0, runs: 0, interrupted: false }
    }
    fn add(&self, known: &mut Vec<Known>, wanted: u64) {
        (known.len() as u64..wanted).for_each(|seed| known.push(self.unknown(seed)));
    }

    /// Whether the goal holds with a seed at a place.
    fn step(&self, one: &mut Known, place: usize) -> Result<(), Error> {
        let bench = match self.benches[place].get() {
            Some(bench) => bench,
            None => {
                let bench = self.lab.bench(&Variant::new(self.limits[place]))?;
                self.benches[place].get_or_init(|| bench)
            }
        };
        let sample = self.lab.decide(bench, one.seed, self.goals, one.most)?;
        one.most = one.most.or(sample.most);
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

    /// Runs those seeds at a place of which it is open whether they meet the goal there.
    fn probe(&self, known: &mut [Known], place: usize) -> Result<(), Error> {
        let open = known.par_iter_mut().filter(|one| one.low <= place && place < one.high);
        open.try_for_each(|one| self.step(one, place))
    }

    /// Runs all seeds at a place, lower ones until at least `wanted` miss the goal there. Returns the place.
    fn above(&self, known: &mut [Known], from: usize, wanted: u64) -> Result<usize, Error> {
        let (mut place, mut stride) = (from, 2);
        loop {
            self.probe(known, place)?;
            if missed(known, place) >= wanted || place == 0 || self.lab.control.stopped() {
                return Ok(place);
            }
            place = place.saturating_sub(stride);
            stride *= 2;
        }
    }

    /// The smallest limit of the seed that has so many before it, the largest first, as a place. It is found by halves for all seeds at once:
    /// those that lie on one side whatever comes are not run.
    fn largest(&self, known: &mut [Known], before: usize) -> Result<usize, Error> {
        let mut stride = 2;
        loop {
            let low = at(known.iter().map(|one| one.low), before);
            let high = at(known.iter().map(|one| one.high), before);
            if low >= high || self.lab.control.stopped() {
                return Ok(low);
            }
            let next = if high == self.limits.len() { low + stride - 1 } else { low + (high - low) / 2 };
            self.probe(known, next.min(high - 1))?;
            stride *= 2;
        }
    }

    /// The tail of the smallest limits beyond a place that all seeds have tried.
    fn tail(&self, known: &mut [Known], place: usize) -> Result<Tail, Error> {
        let count = known.len() as u64;
        let (refuted, proves) = (seeds::refuted(count), seeds::allowed(count).unwrap_or(0));
        let refutes = self.largest(known, refuted as usize - 1)?;
        let proof = self.largest(known, proves as usize)?;
        // Beyond a place smallest limits thin out about exponentially. Of those beyond the proof only that is known, and no more is asked.
        let above: Vec<&Known> = known.iter().filter(|one| one.low > place).collect();
        let beyond = |one: &&Known| (one.low.min(proof) + one.high.min(proof)).saturating_sub(2 * place);
        let halves: usize = above.iter().map(beyond).sum();
        let seen = (above.len() as u64).saturating_sub(proves).max(1);
        let share = above.len() as f64 / (count + 1) as f64;
        Ok(Tail { place, share, refutes, proof, excess: halves as f64 / 2.0 / seen as f64 })
    }

    /// How many seeds to take in all, if more would help and `most` events allow it.
    fn more(&self, known: &[Known], tail: &Tail, most: u64) -> Option<u64> {
        let count = known.len() as u64;
        let each = known.iter().map(|one| one.events + one.runs * SET_UP).sum::<u64>() / count.max(1);
        let can_have = |more: u64| more <= MOST && each.saturating_mul(more) <= most;
        if tail.proof == self.limits.len() {
            // Whether the goal can be met at all is open, unless it is refuted.
            return (tail.refutes < self.limits.len()).then(|| seeds::next(count)).filter(|&more| can_have(more));
        }
        // The answer lies as far above the true limit as the mean excess times the logarithm of the true share by that which the order
        // statistic leaves above itself.
        let is_narrow = |count: u64| {
            let ratio = (count + 1) as f64 / 20.0 / (seeds::allowed(count).unwrap_or(0) + 1) as f64;
            tail.excess * logarithm(ratio) <= NARROW
        };
        let mut more = count;
        while !is_narrow(more) && can_have(seeds::next(more)) {
            more = seeds::next(more);
        }
        (more > count).then_some(more)
    }

    fn answer(&self, known: &mut [Known]) -> Result<Smallest, Error> {
        let count = known.len() as u64;
        let (refuted, proves) = (seeds::refuted(count), seeds::allowed(count).unwrap_or(0));
        let proved = self.limits.get(self.largest(known, proves as usize)?).copied();
        let allowed = if proved.is_some_and(|limit| limit.quota.is_some()) {
            proves
        } else {
            self.probe(known, self.limits.len() - 1)?;
            unproved(count, proves, missed(known, self.limits.len() - 1))
        };
        let place = self.largest(known, allowed as usize)?;
        let below = self.largest(known, refuted as usize - 1)?.checked_sub(1).map(|place| self.limits[place]);
        let limit = self.limits.get(place).copied();
        let shown = place.min(self.limits.len() - 1);
        self.probe(known, shown)?;
        let misses = missed(known, shown);
        let confidence = match limit {
            Some(_) => seeds::confidence_percent(misses, count),
            None => 100 - seeds::confidence_percent(misses.saturating_sub(1), count),
        };
        let deciding = self.deciding(known, allowed as usize)?;
        let mut digest = Digest::default();
        known.iter().for_each(|one| digest.bytes(&one.digest.value().to_le_bytes()));
        let digest = digest.value();
        let interrupted = known.iter().any(|one| one.interrupted) || self.lab.control.stopped();
        let most = known.iter().map(|one| one.most).collect();
        Ok(Smallest { limit, proved, below, misses, seeds: count, confidence, deciding, place, most, digest, interrupted })
    }

    /// The seed that decided, which has so many before it, and those beside it.
    fn deciding(&self, known: &mut [Known], allowed: usize) -> Result<Vec<(u64, usize)>, Error> {
        let from = allowed.saturating_sub(1).min(known.len().saturating_sub(DECIDING));
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_unstable_by_key(|&row| (std::cmp::Reverse(known[row].low), known[row].seed));
        let mut own = Vec::new();
        for row in order.into_iter().skip(from).take(DECIDING) {
            let next = known[row].low;
            self.settle(&mut known[row..=row], next, 2)?;
            own.push((known[row].seed, known[row].low));
        }
        Ok(own)
    }
}

/// The tail of the smallest limits of seeds.
struct Tail {
    /// A place that all seeds have tried, and the share of them that misses the goal there.
    place: usize,
    share: f64,
    /// The smallest limit of the seed that proves that smaller ones are not enough, and of the one that proves a limit.
    refutes: usize,
    proof: usize,
    /// By how many places those beyond a place lie beyond it, in the mean.
    excess: f64,
}

impl Tail {
    /// A place that some more than are wanted of `more` seeds miss, so that it is rarely too high: all would have to be run again.
    fn closer(&self, more: u64) -> usize {
        let wanted = seeds::refuted(more);
        let share = (wanted + 2 * wanted.isqrt()) as f64 / more.max(1) as f64;
        self.place + (self.excess * logarithm((self.share / share).max(1.0))) as usize
    }
}

/// The logarithm of a ratio, right to a hundredth from 1 to 3. Only quotients: the same on every machine.
fn logarithm(ratio: f64) -> f64 {
    2.0 * (ratio - 1.0) / (ratio + 1.0)
}

/// The value that has so many before it, the largest first; 0 beyond the last.
fn at(values: impl Iterator<Item = usize>, before: usize) -> usize {
    let mut all: Vec<usize> = values.collect();
    all.sort_unstable_by(|one, other| other.cmp(one));
    all.get(before).copied().unwrap_or(0)
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
