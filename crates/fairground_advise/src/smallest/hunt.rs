//! The search for an order statistic of smallest limits, with few runs.
//!
//! A run tells of one seed whether its own smallest limit lies above a place or not. Only seeds near the answer are looked at closely: all run at
//! one place low enough that some fail. Those try places between, all at once, until the order statistics are known that are the answer and
//! its bounds. A seed that lies on one side whatever comes is not run again.
//!
//! More seeds are taken while the answer would lie further from the true limit than [`NARROW`] says ([`Aim::distance`]): the seeds
//! above the place where all ran say how long the tail is.

use crate::seeds::{self, Aim, Confidence};
use fairground_model::Digest;
use fairground_scenario::Error;
use rayon::prelude::*;

use super::Seeds;

/// What runs seeds at places: places in rising order, so that a seed that holds at one holds at all behind it.
pub(crate) trait Trial: Sync {
    /// How many there are.
    fn places(&self) -> usize;
    /// Whether the goal holds with a seed at a place.
    fn run(&self, seed: Seed, place: usize) -> Result<Tried, Error>;
    /// Whether the caller wants no more.
    fn stopped(&self) -> bool;
}

/// A seed, and the most requests that a run of it has, if that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seed {
    pub(crate) nr: u64,
    pub(crate) most: Option<u64>,
}

/// What came of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tried {
    pub(crate) holds: bool,
    /// Most requests that another run of the seed has, if that is known now.
    pub(crate) most: Option<u64>,
    pub(crate) digest: u128,
    pub(crate) events: u64,
    pub(crate) interrupted: bool,
}

/// What a search found, as places. One that is beyond the last stands for none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    /// The answer.
    pub(crate) place: usize,
    /// The smallest that so many seeds prove.
    pub(crate) proved: usize,
    /// The largest that is proved not to be enough.
    pub(crate) below: Option<usize>,
    /// Seeds that miss the goal at the answer; at the last place if there is none.
    pub(crate) misses: u64,
    pub(crate) seeds: u64,
    /// How sure the answer is, or that there is none; percent.
    pub(crate) confidence: u64,
    /// The seed that decided and the next easier one, with their own smallest limits.
    pub(crate) deciding: Vec<(u64, usize)>,
    /// Most requests that a run of each seed has, as far as that is known.
    most: Vec<Option<u64>>,
    /// Digest of all runs that decided.
    pub(crate) digest: u128,
    pub(crate) interrupted: bool,
}

impl Found {
    /// A seed with what the search learnt of it.
    pub(crate) fn seed(&self, nr: u64) -> Seed {
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
/// The first step from where it is begun to look, in places: 8 %.
const STRIDE: usize = 8;
/// How far an answer may lie from the true limit before more seeds are taken, in places of 1 %: the root of the mean square. Errors are about
/// normal, so that 95 of 100 lie within 1.96 times that: within 5 %.
const NARROW: f64 = 5.0 / 1.96;
/// The least excess that is believed: all in one place differ by less than places do.
const EXCESS_LEAST: f64 = 0.25;
/// What a run costs beside its events, as events: its scenario is built, its figures are collected. Measured: runs of 535 events took 1.7 ms,
/// those of 3,300 4.8 ms and of 8,900 11.7 ms, all on a busy machine.
const SET_UP: u64 = 1_000;
/// Most seeds. So many are within [`NARROW`] where limits lie 16 % beyond the true one in the mean.
const MOST: u64 = 799;
/// Seeds with which other periods and bursts are compared.
const DECIDING: usize = 2;

/// A search.
pub(crate) struct Hunt<T> {
    trial: T,
    aim: Aim,
}

impl<T: Trial> Hunt<T> {
    pub(crate) fn new(trial: T, aim: Aim) -> Hunt<T> {
        Hunt { trial, aim }
    }

    /// The order statistic. The first seeds are looked for from place `hint` on.
    pub(crate) fn smallest(&self, hint: usize, count: Seeds) -> Result<Found, Error> {
        let mut known = Vec::new();
        let mut wanted = match count {
            Seeds::Exactly(count) => self.aim.useful(count),
            Seeds::Events(_) => self.aim.least(),
        };
        self.add(&mut known, (BEFORE as u64).min(wanted));
        self.settle(&mut known, hint, STRIDE)?;
        let about = known.iter().map(|one| one.low).sum::<usize>() / known.len().max(1);
        self.add(&mut known, FIRST.min(wanted));
        let rest = known.len().min(BEFORE);
        self.probe(&mut known[rest..], about.min(self.last()))?;
        // Nearly all hold there, and some do not.
        let second = self.largest(&mut known, 1)?;
        let mut place = second.saturating_sub(1).min(self.last());
        loop {
            self.add(&mut known, wanted);
            place = self.above(&mut known, place, self.aim.bounds().refuted(wanted))?;
            let tail = self.tail(&mut known, place)?;
            let more = match count {
                Seeds::Events(most) => self.more(&known, &tail, most),
                Seeds::Exactly(_) => None,
            };
            match more {
                Some(more) if !self.trial.stopped() => {
                    place = tail.closer(more, self.aim).min(self.last());
                    wanted = more;
                }
                _ => return self.answer(&mut known),
            }
        }
    }

    /// The smallest limit of a single seed, as a place among those from `among.0` to `among.1`. It is looked for from place `hint` on, with steps
    /// of `stride` that double.
    pub(crate) fn of_seed(&self, seed: Seed, among: (usize, usize), hint: usize, stride: usize) -> Result<usize, Error> {
        let (low, high) = (among.0.min(self.trial.places()), among.1.min(self.trial.places()));
        let mut known = [Known { low, high, most: seed.most, ..self.unknown(seed.nr) }];
        self.settle(&mut known, hint.min(high.saturating_sub(1)), stride)?;
        Ok(known[0].low)
    }

    /// The first place from `from` on at which all of these seeds meet the goal that meet it at all. Each is tried where those before it do, since only
    /// the hardest one counts.
    pub(crate) fn enough_for(&self, seeds: &[Seed], from: usize) -> Result<usize, Error> {
        let (mut place, none) = (from, self.trial.places());
        for &seed in seeds {
            let own = self.of_seed(seed, (place, none), place, 2)?;
            place = if own < none { own } else { place };
        }
        Ok(place)
    }

    fn last(&self) -> usize {
        self.trial.places() - 1
    }
    fn unknown(&self, seed: u64) -> Known {
        let high = self.trial.places();
        Known { seed, low: 0, high, most: None, digest: Digest::default(), events: 0, runs: 0, interrupted: false }
    }
    fn add(&self, known: &mut Vec<Known>, wanted: u64) {
        (known.len() as u64..wanted).for_each(|seed| known.push(self.unknown(seed)));
    }

    /// Whether the goal holds with a seed at a place.
    fn step(&self, one: &mut Known, place: usize) -> Result<(), Error> {
        let tried = self.trial.run(Seed { nr: one.seed, most: one.most }, place)?;
        one.most = one.most.or(tried.most);
        one.digest.bytes(&tried.digest.to_le_bytes());
        one.events += tried.events;
        one.runs += 1;
        one.interrupted |= tried.interrupted;
        if tried.holds {
            one.high = place
        } else {
            one.low = place + 1
        }
        Ok(())
    }

    /// Looks for the smallest limit of each seed from place `hint` on, with steps of `stride` that double.
    fn settle(&self, known: &mut [Known], hint: usize, stride: usize) -> Result<(), Error> {
        known.par_iter_mut().try_for_each(|one| {
            let (mut next, mut stride) = (hint.max(one.low).min(self.last()), stride.max(1));
            let (least, most) = (one.low, one.high);
            while one.low < one.high && !self.trial.stopped() {
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
            if missed(known, place) >= wanted || place == 0 || self.trial.stopped() {
                return Ok(place);
            }
            place = place.saturating_sub(stride);
            stride *= 2;
        }
    }

    /// The smallest limit of the seed that has so many before it, the largest first, as a place. It is found by halves for all seeds at once:
    /// those that lie on one side whatever comes are not run.
    fn largest(&self, known: &mut [Known], before: usize) -> Result<usize, Error> {
        let mut stride = 1;
        loop {
            let low = at(known.iter().map(|one| one.low), before);
            let high = at(known.iter().map(|one| one.high), before);
            if low >= high || self.trial.stopped() {
                return Ok(low);
            }
            let next = if high == self.trial.places() { low + stride - 1 } else { low + (high - low) / 2 };
            self.probe(known, next.min(high - 1))?;
            stride *= 2;
        }
    }

    /// The tail of the smallest limits beyond a place that all seeds have tried.
    fn tail(&self, known: &mut [Known], place: usize) -> Result<Tail, Error> {
        let count = known.len() as u64;
        let (refuted, allowed) = (self.aim.bounds().refuted(count), self.aim.allowed(count).unwrap_or(0));
        self.largest(known, refuted as usize - 1)?;
        let answer = self.largest(known, allowed as usize)?;
        if answer == self.trial.places() {
            // How many meet the goal nowhere.
            self.probe(known, self.last())?;
        }
        // Beyond a place smallest limits thin out about exponentially. Of those beyond the answer only that is known, and no more is asked.
        // A limit lies half a place below the first place at which it holds, in the mean.
        let above: Vec<&Known> = known.iter().filter(|one| one.low > place).collect();
        let beyond = |one: &&Known| (one.low.min(answer) + one.high.min(answer)).saturating_sub(2 * place);
        let halves: usize = above.iter().map(beyond).sum();
        let seen = (above.len() as u64).saturating_sub(allowed).max(1);
        let share = above.len() as f64 / (count + 1) as f64;
        let excess = (halves as f64 / 2.0 - seen as f64 / 2.0) / seen as f64;
        Ok(Tail { place, share, answer, excess: excess.max(EXCESS_LEAST) })
    }

    /// How many seeds to take in all, if more would help and `most` events allow it.
    fn more(&self, known: &[Known], tail: &Tail, most: u64) -> Option<u64> {
        let count = known.len() as u64;
        let each = known.iter().map(|one| one.events + one.runs * SET_UP).sum::<u64>() / count.max(1);
        let can_have = |more: u64| more <= MOST && each.saturating_mul(more) <= most;
        let next = |count: u64| Some(self.aim.next(count)).filter(|&more| can_have(more));
        if tail.answer == self.trial.places() {
            // Whether the goal can be met at all is open, unless it is refuted.
            let is_open = missed(known, self.last()) < Confidence::NONE.refuted(count);
            return if is_open { next(count) } else { None };
        }
        let is_narrow = |count: u64| tail.excess * self.aim.distance(count) <= NARROW;
        let mut more = count;
        while let Some(next) = next(more).filter(|_| !is_narrow(more)) {
            more = next;
        }
        (more > count).then_some(more)
    }

    fn answer(&self, known: &mut [Known]) -> Result<Found, Error> {
        let count = known.len() as u64;
        let bounds = self.aim.bounds();
        let (refuted, proves) = (bounds.refuted(count), bounds.allowed(count).unwrap_or(0));
        let wanted = self.aim.allowed(count).unwrap_or(0);
        let allowed = if self.largest(known, wanted as usize)? < self.last() {
            wanted
        } else {
            self.probe(known, self.last())?;
            unproved(count, wanted, missed(known, self.last()))
        };
        let place = self.largest(known, allowed as usize)?;
        let proved = self.largest(known, proves as usize)?;
        let below = self.largest(known, refuted as usize - 1)?.checked_sub(1);
        let shown = place.min(self.last());
        self.probe(known, shown)?;
        let misses = missed(known, shown);
        let confidence = match place == shown {
            true => seeds::confidence_percent(misses, count),
            false => 100 - seeds::confidence_percent(misses.saturating_sub(1), count),
        };
        let deciding = self.deciding(known, allowed as usize)?;
        let mut digest = Digest::default();
        known.iter().for_each(|one| digest.bytes(&one.digest.value().to_le_bytes()));
        let digest = digest.value();
        let interrupted = known.iter().any(|one| one.interrupted) || self.trial.stopped();
        let most = known.iter().map(|one| one.most).collect();
        Ok(Found { place, proved, below, misses, seeds: count, confidence, deciding, most, digest, interrupted })
    }

    /// The seed that decided, which has so many before it, and the one behind it.
    fn deciding(&self, known: &mut [Known], allowed: usize) -> Result<Vec<(u64, usize)>, Error> {
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_unstable_by_key(|&row| (std::cmp::Reverse(known[row].low), known[row].seed));
        let mut own = Vec::new();
        for row in order.into_iter().skip(allowed).take(DECIDING) {
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
    /// The smallest limit of the seed that decides the answer.
    answer: usize,
    /// By how many places those beyond a place lie beyond it, in the mean.
    excess: f64,
}

impl Tail {
    /// A place that some more than are wanted of `more` seeds miss, so that it is rarely too high: all would have to be run again.
    fn closer(&self, more: u64, aim: Aim) -> usize {
        let wanted = aim.bounds().refuted(more);
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

/// How many of so many seeds may miss the goal with an answer that is not as good as is `wanted`, since as many or nearly as many miss it without a
/// limit: halfway between those and 5 of 100, with the confidence that this has. Beyond 5 of 100 there is no answer.
pub(super) fn unproved(count: u64, wanted: u64, unmet: u64) -> u64 {
    let most = count / 20;
    if unmet > most { wanted } else { (unmet + most).div_ceil(2).max(wanted) }
}

/// Seeds that miss the goal at a place.
fn missed(known: &[Known], place: usize) -> u64 {
    known.iter().filter(|one| one.low > place).count() as u64
}
