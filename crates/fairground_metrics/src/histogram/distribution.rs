//! The distribution of a histogram at the levels at which HdrHistogram reports it.
//!
//! ```text
//! 0 %, 10 %, … 40 %, 50 %, 55 %, … 70 %, 75 %, 77.5 %, …      five levels in each half of what is left
//! p(k, j) = (10 * 2^k - 10 + j) / (10 * 2^k)                 k = 0, 1, …   j = 0 … 4
//! ```

use super::{Histogram, classes};

/// Levels in each half of what is left.
const LEVELS_PER_HALF: u64 = 5;

/// One level of a distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// The level is `parts` of `of`; the last one is 1 of 1.
    pub parts: u64,
    /// See `parts`.
    pub of: u64,
    /// A value that so many values do not exceed, to one percent.
    pub value: u64,
    /// How many values lie in the class of that value and below.
    pub up_to: u64,
}

impl Histogram {
    /// The values at levels that come ever closer to all of them, as HdrHistogram's "percentile distribution": up to the first level
    /// that falls into the class of the largest value, then the largest value itself. Empty if there is no value.
    pub fn distribution(&self) -> Vec<Level> {
        let mut levels = Vec::new();
        let mut wanted =
            (0..u64::BITS - 4).flat_map(|k| (0..LEVELS_PER_HALF).map(move |j| (10 * (1 << k) - 10 + j, 10 * (1 << k))));
        let mut level = wanted.next();
        let mut up_to = 0;
        for (class, count) in self.classes.iter() {
            up_to += count;
            while let Some((parts, of)) = level
                && u128::from(up_to) * u128::from(of) >= u128::from(parts) * u128::from(self.len)
            {
                levels.push(Level { parts, of, value: classes::highest_of(class).min(self.max), up_to });
                level = wanted.next();
                if up_to == self.len {
                    break;
                }
            }
        }
        if !self.is_empty() {
            levels.push(Level { parts: 1, of: 1, value: self.max, up_to: self.len });
        }
        levels
    }

    /// The standard deviation, of values to one percent; for display only.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    pub fn std_deviation(&self) -> f64 {
        let mean = self.sum as f64 / self.len.max(1) as f64;
        let square = |class: u16| (classes::highest_of(class).min(self.max) as f64 - mean).powi(2);
        let squares: f64 = self.classes.iter().map(|(class, count)| square(class) * count as f64).sum();
        (squares / self.len.max(1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn levels_come_closer_and_end_with_the_largest() {
        assert_eq!(of([]).distribution(), []);
        let one = Level { parts: 0, of: 10, value: 7, up_to: 1 };
        assert_eq!(of([7]).distribution(), [one, Level { parts: 1, of: 1, ..one }]);
        let rows = of(1..=100).distribution();
        let shown: Vec<_> = rows.iter().map(|row| (row.parts * 1000 / row.of, row.value, row.up_to)).collect();
        assert_eq!(
            shown[..8],
            [(0, 1, 1), (100, 10, 10), (200, 20, 20), (300, 30, 30), (400, 40, 40), (500, 50, 50), (550, 55, 55), (600, 60, 60)]
        );
        assert_eq!(shown[shown.len() - 2..], [(990, 100, 100), (1000, 100, 100)]);
    }

    proptest! {
        /// The levels of HdrHistogram itself. It adds them up in floats, so that one which falls exactly on a value may come out behind
        /// it; with a number of values that neither 2 nor 5 divides none does.
        #[test]
        fn equals_hdr_histogram(mut values in prop::collection::vec(1u64..1 << 30, 10..500)) {
            values.truncate(values.len() / 10 * 10 - 1);
            let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 40, 2).unwrap();
            values.iter().for_each(|&value| theirs.record(value).unwrap());
            let wanted: Vec<_> = theirs.iter_quantiles(5).map(|row| (row.value_iterated_to(), row.quantile_iterated_to())).collect();
            let ours = of(values).distribution();
            prop_assert_eq!(ours.len(), wanted.len());
            for (ours, wanted) in ours.iter().zip(wanted) {
                prop_assert_eq!(theirs.highest_equivalent(ours.value), wanted.0);
                prop_assert!((ours.parts as f64 / ours.of as f64 - wanted.1).abs() < 1e-12);
            }
        }

        /// Each level against the sorted values.
        #[test]
        fn levels_are_right_to_one_percent(mut values in prop::collection::vec(0u64..1 << 30, 1..500)) {
            let rows = of(values.iter().copied()).distribution();
            values.sort_unstable();
            for row in rows {
                let rank = (u128::from(row.parts) * values.len() as u128).div_ceil(u128::from(row.of)).max(1);
                let exact = values[usize::try_from(rank).unwrap() - 1];
                prop_assert!(row.value >= exact && row.value - exact <= exact / 100, "{row:?} for {exact}");
            }
        }
    }
}
