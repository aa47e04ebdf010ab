//! The permutation test on paired differences of many metrics at once.
//!
//! If the sides did not differ, each pair could have been drawn the other way round: the difference of every metric of that pair
//! would change its sign. So the signs of whole pairs are flipped, the same for all metrics, which keeps how metrics hang together.
//!
//! ```text
//! t = |sum of differences| / scale                                 the scale does not depend on the signs
//! u = t² - ln(metrics of its kind)                                 a metric among many needs more
//! p of the metric with the largest u     share of choices whose largest u of all metrics is at least that
//! p of the next one                      the same over the metrics that are left, and no less than the p before
//! ```
//!
//! The scale is what makes metrics comparable. Its square is the mean of two: the sum of squared differences, and what follows from the
//! sums a + b of both sides, if that is less: if seeds make no pairs alike, differences and sums scatter equally, and the sums do so
//! about their mean, so that an effect does not blow their scatter up. The second is at least a quarter of the first, so that t of no
//! metric is more than 1.3 times as wide as that of others when signs are flipped: the widest one would decide for all.
//!
//! There are two kinds of metrics: those of single tasks, and those of the whole run, which are fewer and asked for more often. The chance that
//! a metric goes beyond t falls about as e^(-t²/2). So the chance of error that each of a kind of n metrics has is in proportion to
//! 1/√n: 64 tasks do not drown the run.
//!
//! Scale and kinds are the same whichever side of a pair is called which, so the test stays exact.
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

/// The pairs of one metric.
pub(super) struct Row {
    /// The differences.
    pub(super) differences: Vec<i128>,
    /// The sums of both sides.
    pub(super) sums: Vec<i128>,
    /// Whether it is a metric of a single task.
    pub(super) is_of_task: bool,
}

/// The two-sided p of each metric, corrected over all of them.
pub(super) fn max_t(rows: &[Row]) -> Vec<PValue> {
    let pairs = rows.iter().map(|row| row.differences.len()).min().unwrap_or(0);
    let metrics: Vec<Metric> = rows.iter().map(|row| Metric::new(&row.differences[..pairs], &row.sums[..pairs])).collect();
    let groups = pairs.min(MAX_GROUPS);
    let all = if groups <= ALL_CHOICES { 1 << groups.saturating_sub(1) } else { CHOICES };
    // Metrics that never differ can have no verdict, and count for nothing.
    let count = |is_of_task: bool| {
        let is_one = |row: &(&Row, &Metric)| row.0.is_of_task == is_of_task && row.1.root > 0;
        rows.iter().zip(&metrics).filter(is_one).count() as u64
    };
    let shares = [false, true].map(|is_of_task| logarithm(count(is_of_task)));
    let u = |row: usize, signs: u64| metrics[row].squared_t(signs) - shares[usize::from(rows[row].is_of_task)];
    let observed: Vec<i64> = (0..rows.len()).map(|row| u(row, 0)).collect();
    let mut order: Vec<usize> = (0..metrics.len()).collect();
    order.sort_by_key(|&row| (std::cmp::Reverse(observed[row]), row));
    let mut extreme = vec![0u64; metrics.len()];
    for choice in 0..all {
        let signs = if groups <= ALL_CHOICES { choice } else { scattered(choice) };
        let mut largest = i64::MIN;
        for &row in order.iter().rev() {
            largest = u(row, signs).max(largest);
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

/// The natural logarithm with twice [`FRACTION`] bits behind the point: the area under 1/x from 1 on, by the values in the middle of each
/// stretch of 1. It is right to 4 %; 0 of 0.
fn logarithm(number: u64) -> i64 {
    (1..number).map(|from| (2_i64 << (2 * FRACTION)) / (2 * from as i64 + 1)).sum()
}

/// Signs without a pattern: a bit for each group, none set for 0. SplitMix64's mixing (Steele, Lea, Flood 2014).
const fn scattered(choice: u64) -> u64 {
    let mut bits = choice.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Sums over groups of pairs; of few pairs each is a group.
fn grouped(values: &[i128]) -> Vec<i128> {
    let mut groups = vec![0i128; values.len().min(MAX_GROUPS)];
    values.iter().enumerate().for_each(|(index, value)| groups[index % MAX_GROUPS] += value);
    groups
}

/// The differences of one metric, in groups, scaled to [`BITS`].
struct Metric {
    differences: Vec<i64>,
    /// The scale; 0 if all are 0.
    root: u64,
}

impl Metric {
    fn new(differences: &[i128], sums: &[i128]) -> Metric {
        let (differences, sums) = (grouped(differences), grouped(sums));
        let groups = sums.len() as i128;
        // Distances of the sums from their mean, times their number.
        let total: i128 = sums.iter().sum();
        let distances: Vec<i128> = sums.iter().map(|sum| sum * groups - total).collect();
        let largest = |values: &[i128]| values.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0);
        let bits = |value: u128| 128 - value.leading_zeros();
        let size = bits(largest(&differences)).max(bits(largest(&distances) / groups.max(1) as u128));
        // Small numbers are scaled up: the root of a sum of four squares of 1 must not be cut to a whole number.
        let (up, down) = (BITS.saturating_sub(size), size.saturating_sub(BITS));
        let differences: Vec<i64> = differences.into_iter().map(|group| ((group << up) >> down) as i64).collect();
        let squares: u128 = differences.iter().map(|&difference| u128::from(difference.unsigned_abs()).pow(2)).sum();
        let distances = distances.iter().map(|distance| ((distance.unsigned_abs() << up) / groups.max(1) as u128) >> down);
        // One degree of freedom less than the squares of the differences have.
        let scatter =
            distances.map(|distance| distance.pow(2)).sum::<u128>() / (groups - 1).max(1) as u128 * groups.max(1) as u128;
        let scale = squares / 2 + squares.min(scatter.max(squares / 4)) / 2;
        Metric { differences, root: scale.isqrt() as u64 }
    }
    /// The square of t with these signs: a set bit turns the group of its place round.
    fn squared_t(&self, signs: u64) -> i64 {
        let turned = |place: usize, difference: i64| if signs >> place & 1 == 1 { -difference } else { difference };
        let sum: i64 = self.differences.iter().enumerate().map(|(place, &difference)| turned(place, difference)).sum();
        let t = (u128::from(sum.unsigned_abs()) << FRACTION).checked_div(u128::from(self.root)).unwrap_or(0);
        // t is at most 1.3 times the root of 64 groups.
        (t * t) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::{RngStream, StreamKind};
    use proptest::prelude::*;

    /// Pairs of which only the differences are known: one side is 0.
    fn row(differences: &[i128]) -> Row {
        Row { differences: differences.to_vec(), sums: differences.to_vec(), is_of_task: false }
    }

    fn one(differences: &[i128]) -> PValue {
        max_t(&[row(differences)])[0]
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
        let values = [5, 7, 6, 9, 4, 8, 7];
        let alone = one(&values);
        let many = max_t(&(0..30).map(|_| row(&values)).collect::<Vec<_>>());
        assert!(many.iter().all(|p| *p == alone));
    }

    /// A draw that is about normal: the sum of twelve even ones, in thousandths of the standard deviation.
    fn normal(rng: &mut RngStream) -> i128 {
        (0..12).map(|_| i128::from(rng.between(0, 1000)) - 500).sum()
    }

    /// Values of metrics of one side: half of what moves each is common to all.
    fn side(rng: &mut RngStream, metrics: usize, pairs: usize) -> Vec<Vec<i128>> {
        let common: Vec<i128> = (0..pairs).map(|_| normal(rng)).collect();
        (0..metrics).map(|_| common.iter().map(|common| (common + normal(rng)) * 1000 / 1414).collect()).collect()
    }

    /// Metrics of one comparison, of which the first moves by `effect` thousandths of the deviation of its differences. Of what moves a
    /// pair, `alike` percent are common to both sides. The first `of_run` are metrics of the run, the others of tasks.
    fn family(rng: &mut RngStream, metrics: usize, pairs: usize, effect: i128, alike: u128, of_run: usize) -> Vec<Row> {
        let [both, a, b] = [(); 3].map(|()| side(rng, metrics, pairs));
        // Shares of variances; the differences have a deviation of 1000.
        let (shared, own) = (1000 * alike.isqrt(), 1000 * (100 - alike).isqrt());
        let deviation = (2 * own * own).isqrt();
        let value = |common: i128, other: i128| (common * shared as i128 + other * own as i128) / deviation as i128;
        let row = |number: usize| {
            let shift = if number == 0 { effect } else { 0 };
            let pair = |at: usize| (value(both[number][at], a[number][at]), value(both[number][at], b[number][at]) + shift);
            let pairs: Vec<(i128, i128)> = (0..pairs).map(pair).collect();
            let (differences, sums) = (pairs.iter().map(|(a, b)| b - a).collect(), pairs.iter().map(|(a, b)| a + b).collect());
            Row { differences, sums, is_of_task: number >= of_run }
        };
        (0..metrics).map(row).collect()
    }

    /// The exam of `compare`: docs/answers.md.
    #[test]
    fn false_verdicts_are_rare_and_planted_effects_are_found() {
        let mut rng = RngStream::new(1, StreamKind::Vopr, 0);
        let any = |rows: &[Row]| max_t(rows).iter().any(|p| p.at_most_one_in(20));
        for alike in [0, 50] {
            let mut shares = Vec::new();
            for pairs in [6, 8, 12] {
                let wrong = (0..400).filter(|_| any(&family(&mut rng, 37, pairs, 0, alike, 15))).count();
                shares.push((pairs, wrong));
                assert!(wrong <= 30, "{wrong} of 400 with {pairs} pairs, 20 are to be expected");
            }
            let first = |rows: &[Row]| max_t(rows)[0].at_most_one_in(20);
            let found = (0..100).filter(|_| first(&family(&mut rng, 37, 20, 1000, alike, 37))).count();
            let alone = (0..100).filter(|_| first(&family(&mut rng, 1, 20, 1000, alike, 1))).count();
            println!("alike {alike}: found {found}, alone {alone} of 100; false {shares:?} of 400");
            assert!(found >= [80, 68][usize::from(alike > 0)] && alone >= 95, "{found} and {alone} of 100; false {shares:?}");
        }
    }

    /// A counter that moves by one in four of twelve pairs is no wide metric: it may not decide for one that moves in every pair alike.
    #[test]
    fn small_counters_do_not_drown_what_moves_in_every_pair() {
        let moved = Row { differences: vec![1000; 12], sums: vec![5000; 12], is_of_task: false };
        let counter = |at: usize| i128::from(at.is_multiple_of(3));
        let counted = Row { differences: (0..12).map(counter).collect(), sums: (0..12).map(counter).collect(), is_of_task: true };
        let p = max_t(&[moved, counted]);
        assert!(p[0].at_most_one_in(20), "{:?}", p[0]);
    }

    /// 15 metrics of the run beside 128 of tasks: an effect on the first is found nearly as often as beside 15 alone.
    #[test]
    fn many_tasks_do_not_drown_the_run() {
        let mut rng = RngStream::new(2, StreamKind::Vopr, 0);
        let first = |rows: &[Row]| max_t(rows)[0].at_most_one_in(20);
        let mut found = |of_run: usize| (0..60).filter(|_| first(&family(&mut rng, 143, 20, 1000, 0, of_run))).count();
        let (beside_tasks, one_kind) = (found(15), found(143));
        println!("beside tasks {beside_tasks}, if all were of the run {one_kind} of 60");
        assert!(beside_tasks > one_kind && beside_tasks >= 45, "{beside_tasks} and {one_kind} of 60");
    }

    #[test]
    fn logarithms_are_right_to_four_percent() {
        for (number, ln) in [(0, 0.0), (1, 0.0), (15, 2.708), (64, 4.1589), (1000, 6.9078)] {
            let found = logarithm(number) as f64 / (1_u64 << (2 * FRACTION)) as f64;
            assert!(found <= ln && found >= ln * 0.96, "{number}: {found} {ln}");
        }
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
            let together = max_t(&rows.iter().map(|values| row(values)).collect::<Vec<_>>());
            for (values, p) in rows.iter().zip(together) {
                prop_assert!(p.extreme >= one(values).extreme);
            }
        }
    }
}
