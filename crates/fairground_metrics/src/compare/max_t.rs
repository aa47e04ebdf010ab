//! The permutation test on paired differences of many metrics at once.
//!
//! If the sides did not differ, each pair could have been drawn the other way round: the difference of every metric of that pair
//! would change its sign. So the signs of whole pairs are flipped, the same for all metrics, which keeps how metrics hang together.
//!
//! ```text
//! t = |sum of differences| / sqrt(sum of squared differences)      the squares do not depend on the signs
//! p of the metric with the largest t     share of choices whose largest t of all metrics is at least that
//! p of the next one                      the same over the metrics that are left, and no less than the p before
//! ```
//!
//! That is the step-down maxT procedure of Westfall and Young (Resampling-Based Multiple Testing, 1993, algorithm 2.8). The chance of
//! any false verdict among all metrics of a comparison is at most the level. Correlated metrics, such as percentiles of one
//! latency, cost little power, where a correction by their number would.
//!
//! Up to 14 pairs all choices are made, and p is exact. Of more pairs 8,192 scattered ones are, the observed one among them, so that
//! p errs to the safe side on the average. Beyond 64 pairs differences are first summed in 64 groups.

/// Most pairs, or groups of pairs, whose signs are chosen.
pub(super) const MAX_GROUPS: usize = 64;
/// Up to so many pairs all choices are made: half of 2^14, since t has no sign.
const ALL_CHOICES: usize = 14;
/// Choices of more pairs.
const CHOICES: u64 = 1 << (ALL_CHOICES - 1);
/// Bits of a difference that are kept: squares and their sum fit 128 bits.
const BITS: u32 = 48;
/// Digits of t behind the point, in bits.
const FRACTION: u32 = 20;

/// A probability as an exact fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PValue {
    /// Choices of signs that lie at least as far out as what was observed.
    pub extreme: u64,
    /// All choices of signs that were made.
    pub all: u64,
}

impl PValue {
    /// Whether the probability is at most `1 / many`.
    pub(super) fn at_most_one_in(self, many: u64) -> bool {
        u128::from(self.extreme) * u128::from(many) <= u128::from(self.all)
    }
    /// The probability for the eye.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    pub fn to_f64(self) -> f64 {
        self.extreme as f64 / self.all as f64
    }
}

/// The two-sided p of each metric, corrected over all of them. Each row has the differences of one metric, pair by pair.
pub(super) fn max_t(rows: &[Vec<i128>]) -> Vec<PValue> {
    let pairs = rows.iter().map(Vec::len).min().unwrap_or(0);
    let metrics: Vec<Metric> = rows.iter().map(|row| Metric::new(&row[..pairs])).collect();
    let groups = pairs.min(MAX_GROUPS);
    let all = if groups <= ALL_CHOICES { 1 << groups.saturating_sub(1) } else { CHOICES };
    let observed: Vec<u64> = metrics.iter().map(|metric| metric.t(0)).collect();
    let mut order: Vec<usize> = (0..metrics.len()).collect();
    order.sort_by_key(|&row| (std::cmp::Reverse(observed[row]), row));
    let mut extreme = vec![0u64; metrics.len()];
    for choice in 0..all {
        let signs = if groups <= ALL_CHOICES { choice } else { scattered(choice) };
        let mut largest = 0;
        for &row in order.iter().rev() {
            largest = metrics[row].t(signs).max(largest);
            extreme[row] += u64::from(largest >= observed[row]);
        }
    }
    let mut least = 0;
    for &row in &order {
        least = extreme[row].max(least);
        extreme[row] = least;
    }
    extreme.into_iter().map(|extreme| PValue { extreme, all }).collect()
}

/// Signs without a pattern: a bit for each group, none set for 0. SplitMix64's mixing (Steele, Lea, Flood 2014).
const fn scattered(choice: u64) -> u64 {
    let mut bits = choice.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The differences of one metric, in groups, scaled down to [`BITS`].
struct Metric {
    differences: Vec<i64>,
    /// The root of the sum of their squares; 0 if all are 0.
    root: u64,
}

impl Metric {
    fn new(row: &[i128]) -> Metric {
        let mut groups = vec![0i128; row.len().min(MAX_GROUPS)];
        row.iter().enumerate().for_each(|(index, difference)| groups[index % MAX_GROUPS] += difference);
        let largest = groups.iter().map(|group| group.unsigned_abs()).max().unwrap_or(0);
        let shift = (128 - largest.leading_zeros()).saturating_sub(BITS);
        let differences: Vec<i64> = groups.into_iter().map(|group| (group >> shift) as i64).collect();
        let squares: u128 = differences.iter().map(|&difference| u128::from(difference.unsigned_abs()).pow(2)).sum();
        Metric { differences, root: squares.isqrt() as u64 }
    }
    /// t with these signs: a set bit turns the group of its place round.
    fn t(&self, signs: u64) -> u64 {
        let turned = |place: usize, difference: i64| if signs >> place & 1 == 1 { -difference } else { difference };
        let sum: i64 = self.differences.iter().enumerate().map(|(place, &difference)| turned(place, difference)).sum();
        let t = (u128::from(sum.unsigned_abs()) << FRACTION).checked_div(u128::from(self.root)).unwrap_or(0);
        t as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::{RngStream, StreamKind};
    use proptest::prelude::*;

    fn one(differences: &[i128]) -> PValue {
        max_t(&[differences.to_vec()])[0]
    }

    #[test]
    fn known_cases() {
        assert_eq!(one(&[3, 1, 4, 1, 5]), PValue { extreme: 1, all: 16 });
        assert_eq!(one(&[-3, -1, -4, -1, -5]), PValue { extreme: 1, all: 16 });
        assert_eq!(one(&[1, -1]), PValue { extreme: 2, all: 2 });
        assert_eq!(one(&[0, 0, 0]), PValue { extreme: 4, all: 4 });
        assert!(one(&[1; 6]).at_most_one_in(20) && !one(&[1; 5]).at_most_one_in(20));
        assert_eq!(max_t(&[]), []);
        assert_eq!(one(&[]), PValue { extreme: 1, all: 1 });
    }

    #[test]
    fn metrics_that_say_the_same_cost_nothing() {
        let row = vec![5, 7, 6, 9, 4, 8, 7];
        let alone = one(&row);
        let many = max_t(&vec![row; 30]);
        assert!(many.iter().all(|p| *p == alone));
    }

    /// A draw that is about normal: the sum of twelve even ones, in thousandths of the standard deviation.
    fn normal(rng: &mut RngStream) -> i128 {
        (0..12).map(|_| i128::from(rng.between(0, 1000)) - 500).sum()
    }

    /// Metrics of one comparison: half of what moves each is common to all.
    fn family(rng: &mut RngStream, metrics: usize, pairs: usize, effect: i128) -> Vec<Vec<i128>> {
        let common: Vec<i128> = (0..pairs).map(|_| normal(rng)).collect();
        let row = |number: usize, rng: &mut RngStream| -> Vec<i128> {
            let shift = if number == 0 { effect } else { 0 };
            common.iter().map(|common| (common + normal(rng)) * 1000 / 1414 + shift).collect()
        };
        (0..metrics).map(|number| row(number, rng)).collect()
    }

    /// The exam of `compare`: docs/answers.md.
    #[test]
    fn false_verdicts_are_rare_and_planted_effects_are_found() {
        let mut rng = RngStream::new(1, StreamKind::Vopr, 0);
        let mut shares = Vec::new();
        for pairs in [6, 8, 12] {
            let with_any = (0..400).filter(|_| max_t(&family(&mut rng, 37, pairs, 0)).iter().any(|p| p.at_most_one_in(20)));
            let wrong = with_any.count();
            shares.push((pairs, wrong));
            assert!(wrong <= 30, "{wrong} of 400 with {pairs} pairs, 20 are to be expected");
        }
        let found = (0..100).filter(|_| max_t(&family(&mut rng, 37, 20, 1000))[0].at_most_one_in(20)).count();
        let alone = (0..100).filter(|_| max_t(&family(&mut rng, 1, 20, 1000))[0].at_most_one_in(20)).count();
        assert!(found >= 68 && alone >= 95, "{found} and {alone} of 100 effects of one standard deviation; false {shares:?}");
    }

    proptest! {
        #[test]
        fn of_one_metric_it_is_plain_enumeration(differences in prop::collection::vec(-50i128..50, 1..10)) {
            let observed = differences.iter().sum::<i128>().abs();
            let half = 1u64 << (differences.len() - 1);
            let sum = |choice: u64| -> i128 {
                differences.iter().enumerate().map(|(i, d)| if choice >> i & 1 == 1 { -*d } else { *d }).sum()
            };
            let extreme = (0..half).filter(|&choice| sum(choice).abs() >= observed).count() as u64;
            let p = one(&differences);
            prop_assert_eq!(p.all, half);
            // The fraction of t is cut off: what is equal stays equal.
            prop_assert!(p.extreme >= extreme);
            prop_assert!(p.extreme <= extreme + 1);
        }

        #[test]
        fn a_corrected_p_is_no_smaller_than_its_own(rows in prop::collection::vec(prop::collection::vec(-50i128..50, 7), 1..6)) {
            let together = max_t(&rows);
            for (row, p) in rows.iter().zip(together) {
                prop_assert!(p.extreme >= one(row).extreme);
            }
        }
    }
}
