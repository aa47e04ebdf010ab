//! What a count of seeds proves: of so many runs so many missed the goal, so what share of all runs will?
//!
//! A limit is enough if at least 95 of 100 runs meet the goal. Of `count` runs, each missing it with chance 5 %, `misses` or
//! fewer miss it with probability `B(misses)` (binomial). If that is at most the error that is taken, then so few misses prove the limit
//! with the rest of 100 % as confidence, whatever the spread of the seeds looks like. In the same way so many misses that 5 % would rarely
//! give that many prove that it is not enough. Between both the runs leave it open.
//!
//! # Which limit is the answer
//!
//! A bound is right with its confidence, and lies above what is true for that. Of the smallest limits of `n` seeds, `k` lie above the answer.
//! Where limits thin out exponentially beyond the true one, with `m` as mean, the answer lies above it by `m (H(n) - H(k) - ln 20)` in the
//! mean, with a standard deviation of about `m / sqrt(k + 1)` (`H`: harmonic numbers, Renyi). With 159 seeds that is 0.37 m for 80 %
//! and 0.82 m for 95 %.
//!
//! Who asks for a limit with which 95 of 100 runs hold wants that of the next run, not a proof. The next run and the `n` that were made are alike, so
//! that each is as likely as any other to need the largest limit of all, the second largest, and so on. So the next one needs more than the answer with
//! a chance of `(k + 1) / (n + 1)`, whatever the spread is. A search that ends once the tail looks short ends too low more often than too high: over
//! known spreads the next run then needs more with 5.5 % in place of 5. Half a rank makes up for that: [`Aim::Next`] takes the largest `k` with
//! `(k + 1.5) / (n + 1)` at most 5 %. It lies 0.14 m above the true limit with 149 seeds. The bounds say how far off it may be.

/// The share of runs that may miss the goal.
const SHARE: f64 = 0.05;

/// How sure an answer is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Confidence(u64);

impl Default for Confidence {
    fn default() -> Confidence {
        Confidence(80)
    }
}

impl Confidence {
    /// For what must not be said wrongly: that no limit is enough.
    pub(super) const NONE: Confidence = Confidence(95);

    /// So many percent, from 50 to 99.
    pub fn percent(percent: u64) -> Option<Confidence> {
        (50..=99).contains(&percent).then_some(Confidence(percent))
    }
    /// In percent.
    pub(super) fn get(self) -> u64 {
        self.0
    }
    /// The chance of error that it leaves.
    fn error(self) -> f64 {
        (100 - self.0) as f64 / 100.0
    }
    /// The most misses of `count` runs that prove a limit; none if even no miss proves it.
    pub(super) fn allowed(self, count: u64) -> Option<u64> {
        (at_most(count).take_while(|chance| *chance <= self.error()).count() as u64).checked_sub(1)
    }
    /// The fewest misses of `count` runs that prove that a limit is not enough.
    pub(super) fn refuted(self, count: u64) -> u64 {
        at_most(count).take_while(|chance| 1.0 - *chance > self.error()).count() as u64 + 1
    }
}

/// Which limit is the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Aim {
    /// The next run meets the goal with 95 of 100, the error of the search counted in.
    #[default]
    Next,
    /// At most 5 of 100 runs miss the goal, with this confidence.
    Proof(Confidence),
}

impl Aim {
    /// How sure the bounds beside the answer are.
    pub(super) fn bounds(self) -> Confidence {
        match self {
            Aim::Next => Confidence::default(),
            Aim::Proof(confidence) => confidence,
        }
    }
    /// The most misses of `count` runs that an answer may have; none if there are too few runs for one.
    pub(super) fn allowed(self, count: u64) -> Option<u64> {
        match self {
            Aim::Next => (2 * (count + 1) / ONE_IN).checked_sub(3).map(|halves| halves / 2),
            Aim::Proof(confidence) => confidence.allowed(count),
        }
    }
    /// Seeds that a search begins with. One value says nothing of how long the tail is: for the next run one may lie above the answer.
    pub(super) fn least(self) -> u64 {
        let above = match self {
            Aim::Next => 1,
            Aim::Proof(_) => 0,
        };
        (1..).find(|&count| self.allowed(count) == Some(above)).unwrap_or(1)
    }
    /// The largest count up to `count` that no smaller one beats. A count helps only if it allows one more miss: with 95 % confidence, the largest of
    /// 92 values lies above that of 59.
    pub(super) fn useful(self, count: u64) -> u64 {
        let Some(misses) = self.allowed(count) else { return count };
        (1..=count).find(|&fewer| self.allowed(fewer) == Some(misses)).unwrap_or(count)
    }
    /// The next useful count above `count`.
    pub(super) fn next(self, count: u64) -> u64 {
        (count + 1..).find(|&more| self.allowed(more) > self.allowed(count)).unwrap_or(count)
    }
    /// How far the answer of `count` seeds lies from the true limit, as a multiple of the mean by which limits beyond that lie beyond it: the root of
    /// the mean square.
    pub(super) fn distance(self, count: u64) -> f64 {
        let misses = self.allowed(count).unwrap_or(0);
        // H(n) - H(k) - ln 20, where H(20) - 0.6023 is ln 20.
        let sum = |from: u64, to: u64| (from + 1..=to).map(|nr| 1.0 / nr as f64).sum::<f64>();
        let above = sum(misses, count) - LOG_20;
        (above * above + 1.0 / (misses + 1) as f64).sqrt()
    }
}

/// One run in so many may miss the goal.
const ONE_IN: u64 = 20;

/// The logarithm of 20: one in 20 runs may miss the goal.
const LOG_20: f64 = 2.995_732_273_553_991;

/// The chances that of `count` runs at most 0, 1, 2 … miss, when 5 % of all do. Only sums, products and quotients: the same on every machine.
fn at_most(count: u64) -> impl Iterator<Item = f64> {
    let mut none = 1.0;
    for _ in 0..count {
        none *= 1.0 - SHARE;
    }
    let exactly = (1..=count).scan(none, move |exactly, misses| {
        *exactly *= (count - misses + 1) as f64 / misses as f64 * (SHARE / (1.0 - SHARE));
        Some(*exactly)
    });
    std::iter::once(none).chain(exactly).scan(0.0, |sum, exactly| {
        *sum += exactly;
        Some(*sum)
    })
}

/// With what confidence so many misses prove a limit: hundredths, rounded down.
pub(super) fn confidence_percent(misses: u64, count: u64) -> u64 {
    let chance = at_most(count).nth(usize::try_from(misses).unwrap_or(usize::MAX)).unwrap_or(1.0);
    ((1.0 - chance) * 100.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURE: Aim = Aim::Proof(Confidence(95));
    const USUAL: Aim = Aim::Proof(Confidence(80));

    fn counts(of: Aim) -> Vec<u64> {
        std::iter::successors(Some(of.least()), |&count| Some(of.next(count))).take(8).collect()
    }

    /// The known tables of nonparametric tolerance bounds for 95 % of all, with 95 % and with 80 % confidence.
    #[test]
    fn counts_are_those_of_the_tolerance_bounds() {
        assert_eq!([58, 59, 92, 93].map(|count| SURE.allowed(count)), [None, Some(0), Some(0), Some(1)]);
        assert_eq!(counts(SURE), [59, 93, 124, 153, 181, 208, 234, 260]);
        assert_eq!([40, 60, 100, 300].map(|count| SURE.useful(count)), [40, 59, 93, 286]);
        assert_eq!(counts(USUAL)[..3], [32, 59, 85]);
        assert_eq!(counts(Aim::Next)[..4], [49, 69, 89, 109]);
        assert_eq!([28, 29, 48, 49].map(|count| Aim::Next.allowed(count)), [None, Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn confidence_is_that_of_the_binomial_distribution() {
        assert_eq!((confidence_percent(0, 59), confidence_percent(0, 10), confidence_percent(3, 59)), (95, 40, 34));
        // Of 20 runs with 5 % misses each, 4 or more miss in 1.6 %, 3 or more in 7.5 %.
        assert_eq!((Confidence(95).refuted(20), Confidence(95).refuted(59)), (4, 7));
        assert_eq!((Confidence(90).refuted(20), Confidence(99).refuted(20)), (3, 5));
        assert_eq!([49, 50, 99, 100].map(|percent| Confidence::percent(percent).is_some()), [false, true, true, false]);
    }

    /// With 59 seeds and none above, the answer is the largest of 59.
    #[test]
    fn more_seeds_and_less_confidence_come_nearer() {
        let near = |of: Aim, count: u64| (of.distance(of.useful(count)) * 100.0) as u64;
        assert_eq!(near(SURE, 59), 194);
        for of in [SURE, USUAL, Aim::Next] {
            let all: Vec<u64> = counts(of).into_iter().map(|count| near(of, count)).collect();
            assert!(all.windows(2).all(|pair| pair[1] < pair[0]), "{all:?}");
        }
        assert!(near(USUAL, 159) * 100 < near(SURE, 159) * 75);
        assert!(near(Aim::Next, 159) * 100 < near(USUAL, 159) * 75);
    }
}
