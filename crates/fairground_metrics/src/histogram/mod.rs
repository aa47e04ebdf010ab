//! Latency histograms in bounded memory.

mod classes;
mod distribution;

pub use distribution::Level;

use classes::Classes;

/// A histogram of lengths of time in ns. Memory does not grow with the number of values: 36 KB at most, nothing
/// before the first value, and little while values are few. Percentiles are right to one percent, count, sum and
/// maximum exactly.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    classes: Classes,
    len: u64,
    sum: u128,
    max: u64,
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Histogram {
        Histogram::default()
    }
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.classes.add(classes::class_of(value), 1);
        self.len += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }
    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        other.classes.iter().for_each(|(class, count)| self.classes.add(class, count));
        self.len += other.len;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
    /// As what a value stands in percentiles, but for the largest of all: the end of its class, at most one percent more.
    pub fn shown(value: u64) -> u64 {
        classes::highest_of(classes::class_of(value))
    }
    /// The number of values.
    pub fn len(&self) -> u64 {
        self.len
    }
    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }
    /// The largest value; 0 if there is none.
    pub fn max(&self) -> u64 {
        self.max
    }
    /// The mean, rounded down; 0 if there is no value.
    pub fn mean(&self) -> u64 {
        let mean = self.sum / u128::from(self.len().max(1));
        u64::try_from(mean).expect("invariant: a mean is at most the largest value")
    }
    /// The smallest value that at least `permille` thousandths of all values do not exceed, to one
    /// percent; 0 if there is no value. p99 is `quantile(990)`.
    pub fn quantile(&self, permille: u64) -> u64 {
        self.at(permille, 1000)
    }
    /// The smallest value that at least `parts` of `of` of all values do not exceed, to one percent; 0 if there is no value.
    pub fn at(&self, parts: u64, of: u64) -> u64 {
        let rank = (u128::from(self.len()) * u128::from(parts.min(of))).div_ceil(u128::from(of.max(1)));
        self.at_rank(u64::try_from(rank).unwrap_or(u64::MAX))
    }
    /// How many values there are from each power of two up to the next, as exponent and count; 0 counts with 1. Exact.
    pub fn magnitudes(&self) -> Vec<(u32, u64)> {
        let mut rows: Vec<(u32, u64)> = Vec::new();
        for (class, count) in self.classes.iter() {
            let exponent = classes::highest_of(class).max(1).ilog2();
            match rows.last_mut().filter(|row| row.0 == exponent) {
                Some(row) => row.1 += count,
                None => rows.push((exponent, count)),
            }
        }
        rows
    }
    /// The value in this place from below, counted from 1, to one percent; the largest if there are fewer.
    pub fn at_rank(&self, rank: u64) -> u64 {
        let rank = u128::from(rank.max(1));
        let mut below: u128 = 0;
        let reached = self.classes.iter().find(|&(_, count)| {
            below += u128::from(count);
            below >= rank
        });
        reached.map_or(self.max, |(class, _)| classes::highest_of(class).min(self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_is_all_zero() {
        let empty = Histogram::new();
        assert_eq!((empty.len(), empty.max(), empty.mean(), empty.quantile(990)), (0, 0, 0, 0));
    }

    #[test]
    fn merging_equals_recording_all() {
        let (mut a, mut b, mut all) = (Histogram::new(), Histogram::new(), Histogram::new());
        for value in [0, 1, 5, 5_000, 77_777] {
            a.record(value);
            all.record(value);
        }
        for value in [u64::MAX, 3] {
            b.record(value);
            all.record(value);
        }
        a.merge(&b);
        assert_eq!((a.len(), a.sum(), a.max()), (all.len(), all.sum(), all.max()));
        assert_eq!(a.quantile(500), all.quantile(500));
    }

    /// Values of all magnitudes, several of each.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = (0u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift);
        prop::collection::vec(prop_oneof![value, 1_000u64..1_100], 0..300)
    }

    proptest! {
        /// Same classes and same figures as HdrHistogram with two significant digits.
        #[test]
        fn equals_hdr_histogram(values in values(), others in values()) {
            let (mut ours, mut more) = (Histogram::new(), Histogram::new());
            let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 40, 2).unwrap();
            values.iter().for_each(|&value| ours.record(value));
            others.iter().for_each(|&value| more.record(value));
            values.iter().chain(&others).for_each(|&value| theirs.saturating_record(value));
            ours.merge(&more);
            prop_assert_eq!((ours.len(), ours.is_empty()), (theirs.len(), theirs.is_empty()));
            let rows = ours.classes.iter().map(|(class, count)| (classes::highest_of(class), count));
            let wanted = theirs.iter_recorded().map(|class| {
                (theirs.highest_equivalent(class.value_iterated_to()), class.count_at_value())
            });
            prop_assert_eq!(rows.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
        }

        #[test]
        fn quantiles_are_right_to_one_percent(mut values in prop::collection::vec(0u64..10_000_000_000, 1..200), permille in 0u64..=1000) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            values.sort_unstable();
            let rank = (values.len() * permille as usize).div_ceil(1000).max(1);
            let exact = values[rank - 1];
            let ours = histogram.quantile(permille);
            prop_assert!(ours >= exact && ours - exact <= exact / 100, "{ours} for {exact}");
        }
    }
}
