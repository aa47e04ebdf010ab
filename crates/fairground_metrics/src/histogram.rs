//! Latency histograms in bounded memory.

/// Longest latency that is told apart: 2^40 ns, about 18 minutes. Longer ones count as this long.
const HIGHEST_NS: u64 = 1 << 40;

/// A histogram of lengths of time in ns. Memory does not grow with the number of values; percentiles
/// are right to one percent, count, sum and maximum exactly.
#[derive(Clone, Debug)]
pub struct Histogram {
    classes: hdrhistogram::Histogram<u64>,
    sum: u128,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Histogram {
        let classes = hdrhistogram::Histogram::new_with_bounds(1, HIGHEST_NS, 2).expect("invariant: the bounds are in order");
        Histogram { classes, sum: 0, max: 0 }
    }
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.classes.saturating_record(value);
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }
    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        self.classes.add(&other.classes).expect("invariant: all histograms have the same bounds");
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
    /// The number of values.
    pub fn len(&self) -> u64 {
        self.classes.len()
    }
    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
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
        let rank = (u128::from(self.len()) * u128::from(permille.min(1000))).div_ceil(1000).max(1);
        let mut below: u128 = 0;
        for class in self.classes.iter_recorded() {
            below += u128::from(class.count_at_value());
            if below >= rank {
                return self.classes.highest_equivalent(class.value_iterated_to()).min(self.max);
            }
        }
        self.max
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

    proptest! {
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
