//! When the seeds of a point end: as soon as an interval for the median of a metric is narrow enough.
//!
//! The interval has order statistics as its ends ([`interval`]), so it holds for any distribution of the metric over seeds. It is
//! looked at when 8, 12, 16, 24, 32, 48, … seeds are done, and at the last seed. The chance that it misses the median at look j is
//! at most α / (j (j + 1)) with α = 1/20. These add up to at most α over all looks, so the interval at which a point ends misses
//! with at most that chance, whatever ended it (Bonferroni's inequality; Robbins 1970 calls such intervals a confidence sequence).

use fairground_model::Wrong;

/// The chance of a miss over all looks.
const ALPHA: f64 = 0.05;

/// A metric, and how narrow its interval is to be.
#[derive(Clone, PartialEq, Debug)]
pub struct Until {
    /// The metric.
    pub metric: String,
    /// The width of the interval, in percent of the median.
    pub percent: f64,
}

impl Until {
    /// Reads `1%`, of the first of `metrics`, or `METRIC=1%`.
    pub fn parse(text: &str, metrics: &[String]) -> Result<Until, Wrong> {
        let (metric, width) = match text.rsplit_once('=') {
            Some((metric, width)) => (Some(metric.trim().to_string()), width),
            None => (metrics.first().cloned(), text),
        };
        let hint = || "Write the width of the interval in percent of the median: `1%`, or `switches=1%`.".to_string();
        let percent = width.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let Some(percent) = percent.filter(|percent| *percent > 0.0 && *percent <= 100.0) else {
            return Err((format!("`{text}` is no width of an interval"), hint()));
        };
        match metric.filter(|metric| !metric.is_empty()) {
            Some(metric) => Ok(Until { metric, percent }),
            None => Err((format!("`{text}` is of no metric"), "Write `METRIC=1%`, or name one in `metrics`.".to_string())),
        }
    }
    /// Whether the values of the metric, one for each seed so far, are enough, if there may be `most` of them.
    pub(super) fn is_enough(&self, values: &[u64], most: usize) -> bool {
        let Some(look) = look(values.len(), most) else { return false };
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        interval(&sorted, chance(look)).is_some_and(|(low, high)| {
            #[allow(clippy::cast_precision_loss, reason = "a width of an interval needs no last digit")]
            let (width, median) = ((high - low) as f64, median as f64);
            width * 100.0 <= self.percent * median
        })
    }
}

/// The chance of a miss that look j, from 1 on, may have.
#[allow(clippy::cast_precision_loss, reason = "looks are few")]
fn chance(look: usize) -> f64 {
    ALPHA / (look * (look + 1)) as f64
}

/// Which look it is after `count` of at most `most` seeds, if it is one.
fn look(count: usize, most: usize) -> Option<usize> {
    let (mut at, mut number) = (8usize, 1);
    while at < count {
        at = if at.is_power_of_two() { at / 2 * 3 } else { at / 3 * 4 };
        number += 1;
    }
    (at == count || count == most).then_some(number)
}

/// The interval of a point that ended after so many of at most `most` seeds by looks; `None` if it is none.
pub(super) fn interval_at_end(sorted: &[u64], most: usize) -> Option<(u64, u64)> {
    // A point whose runs failed may end between two looks: the next one's chance is smaller, so it holds.
    let number = look(sorted.len(), most).or_else(|| look(sorted.len(), sorted.len()))?;
    interval(sorted, chance(number))
}

/// The interval for the median with a chance of a miss of 1/20.
pub(super) fn interval_of_median(sorted: &[u64]) -> Option<(u64, u64)> {
    interval(sorted, ALPHA)
}

/// The k-th smallest and the k-th largest value, for the largest k with 2 P(B < k) ≤ `chance`, where B is binomial of n and 1/2: fewer
/// than k values lie below the median, or fewer than k above, with that chance at most, whatever their distribution is.
fn interval(sorted: &[u64], chance: f64) -> Option<(u64, u64)> {
    let first = cut(sorted.len(), chance).checked_sub(1)?;
    Some((sorted[first], sorted[sorted.len() - 1 - first]))
}

/// The largest k with 2 P(B < k) ≤ `chance`. Terms are summed from their logarithms, since 2^-n is no number for a large n; a part in
/// 10^9 is left for rounding.
#[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn cut(count: usize, chance: f64) -> usize {
    let (mut log, mut below, mut cut) = (-(count as f64) * std::f64::consts::LN_2, 0.0f64, 0);
    while cut < count {
        below += log.exp();
        if 2.0 * below * (1.0 + 1e-9) > chance {
            break;
        }
        log += ((count - cut) as f64 / (cut + 1) as f64).ln();
        cut += 1;
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cuts_are_those_of_the_sign_test_tables() {
        // Critical values of the two-sided sign test at 5 %, plus one.
        for (count, critical) in [(6, 0), (8, 0), (9, 1), (12, 2), (15, 3), (20, 5), (25, 7), (50, 17), (100, 39)] {
            assert_eq!(cut(count, 0.05), critical + 1, "{count}");
        }
        assert_eq!((cut(5, 0.05), cut(0, 0.05)), (0, 0));
        assert!((490_000..500_000).contains(&cut(1_000_000, 0.05)));
    }

    #[test]
    fn looks_are_numbered_and_their_chances_add_up_to_at_most_alpha() {
        let found: Vec<(usize, usize)> = (1..=70).filter_map(|count| look(count, 70).map(|look| (count, look))).collect();
        assert_eq!(found, [(8, 1), (12, 2), (16, 3), (24, 4), (32, 5), (48, 6), (64, 7), (70, 8)]);
        assert!((1..10_000).map(chance).sum::<f64>() <= ALPHA);
    }

    #[test]
    fn widths_are_read() {
        let metrics = ["switches".to_string()];
        assert_eq!(Until::parse("1%", &metrics), Ok(Until { metric: "switches".into(), percent: 1.0 }));
        assert_eq!(Until::parse("a.b = 0.5 %", &[]), Ok(Until { metric: "a.b".into(), percent: 0.5 }));
        for wrong in ["1", "0%", "nan%", "-1%", "x%", "=1%"] {
            assert!(Until::parse(wrong, &metrics).is_err(), "{wrong}");
        }
        assert!(Until::parse("1%", &[]).is_err());
    }

    /// A number from 0 up to 2^32 by a fixed generator.
    fn draw(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 32
    }

    #[test]
    fn intervals_at_which_points_end_hold_the_median_as_often_as_they_say() {
        // Values with a long tail: 2^32 * 1000 / (1 + draw), whose median is 2000 to 0.1 %; and whole numbers with many ties.
        let skewed = |state: &mut u64| 1000 * (1u64 << 32) / (draw(state) + 1);
        let tied = |state: &mut u64| 100 + draw(state) % 5;
        let (mut state, most, studies) = (7u64, 400, 2000);
        type Draw<'d> = &'d dyn Fn(&mut u64) -> u64;
        let shapes: [(Draw<'_>, u64, f64); 3] = [(&skewed, 2000, 40.0), (&skewed, 2000, 80.0), (&tied, 102, 1.5)];
        for (of, median, percent) in shapes {
            let until = Until { metric: String::new(), percent };
            let (mut missed, mut early) = (0, 0);
            for _ in 0..studies {
                let mut values = Vec::new();
                while values.len() < most {
                    values.push(of(&mut state));
                    if until.is_enough(&values, most) {
                        break;
                    }
                }
                early += usize::from(values.len() < most);
                values.sort_unstable();
                let (low, high) = interval_at_end(&values, most).unwrap();
                missed += usize::from(!(low..=high).contains(&median));
            }
            // The draws are always the same ones, so there is no room for chance. With 5 % at each look it is 6.5 %.
            assert!(missed * 20 <= studies, "{percent}: {missed} of {studies}");
            assert!(early > 0, "{percent}");
        }
    }
}
