//! Counts of values by powers of two.

/// How often values came, by powers of two: `[0]`, `[1]`, `[2, 4)`, `[4, 8)` and so on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Log2Histogram([u64; Log2Histogram::BUCKETS]);

impl Log2Histogram {
    /// How many classes there are: 0, and one per power of two.
    pub const BUCKETS: usize = u64::BITS as usize + 1;

    /// No value yet.
    pub const fn new() -> Log2Histogram {
        Log2Histogram([0; Log2Histogram::BUCKETS])
    }
    /// The counts of all classes, as [`Log2Histogram::buckets`] gives them.
    pub const fn of_counts(counts: [u64; Log2Histogram::BUCKETS]) -> Log2Histogram {
        Log2Histogram(counts)
    }
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.0[(u64::BITS - value.leading_zeros()) as usize] += 1;
    }
    /// Counts the values of another one too.
    pub fn merge(&mut self, other: &Log2Histogram) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
    /// The values that were counted since `before`.
    pub fn since(&self, before: &Log2Histogram) -> Log2Histogram {
        Log2Histogram(std::array::from_fn(|class| self.0[class] - before.0[class]))
    }
    /// The number of values.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }
    /// The counts, each with the smallest value of its class.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().enumerate().map(|(index, &count)| (if index == 0 { 0 } else { 1 << (index - 1) }, count))
    }
    /// The class of the middle value, by its smallest value; of an even number the lower middle. `None` without values.
    pub fn median(&self) -> Option<u64> {
        let middle = self.count().checked_sub(1)? / 2;
        let mut below = 0;
        self.buckets()
            .find(|&(_, count)| {
                below += count;
                below > middle
            })
            .map(|(lower, _)| lower)
    }
}

impl Default for Log2Histogram {
    fn default() -> Log2Histogram {
        Log2Histogram::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        let mut histogram = Log2Histogram::new();
        [0, 1, 2, 3, 4, 7, 8, u64::MAX].into_iter().for_each(|value| histogram.add(value));
        let filled: Vec<(u64, u64)> = histogram.buckets().filter(|row| row.1 > 0).collect();
        assert_eq!(filled, [(0, 1), (1, 1), (2, 2), (4, 2), (8, 1), (1 << 63, 1)]);
        assert_eq!((histogram.count(), histogram.median()), (8, Some(2)));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!((twice.count(), twice.median()), (16, Some(2)));
        assert_eq!(Log2Histogram::new().median(), None);
    }
}
