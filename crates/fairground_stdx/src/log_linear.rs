//! Counts of values in classes of about 3 %: percentiles in whole numbers, in bounded memory.

/// Classes of one power of two.
const PER_OCTAVE: u64 = 32;
const OCTAVE_BITS: u32 = PER_OCTAVE.trailing_zeros();
/// Classes of all values: those below [`PER_OCTAVE`] have one each.
const CLASSES: usize = ((u64::BITS - OCTAVE_BITS + 1) as u64 * PER_OCTAVE) as usize;

/// How often values came. A value lies in a class that is at most 1/32 of it wide; count, sum and largest are exact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogLinear {
    classes: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

impl LogLinear {
    /// No value yet.
    pub fn new() -> LogLinear {
        LogLinear { classes: vec![0; CLASSES], count: 0, sum: 0, max: 0 }
    }
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        self.classes[class(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }
    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// The sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }
    /// The largest value, 0 without any.
    pub fn max(&self) -> u64 {
        self.max
    }
    /// The mean, rounded down; 0 without values.
    pub fn mean(&self) -> u64 {
        u64::try_from(self.sum / u128::from(self.count.max(1))).unwrap_or(u64::MAX)
    }
    /// The smallest value that at least `permille` thousandths of all values do not exceed, at most 1/32 too large.
    pub fn quantile(&self, permille: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(permille)).div_ceil(1000).max(1);
        let mut seen = 0;
        for (index, &count) in self.classes.iter().enumerate() {
            seen += u128::from(count);
            if seen >= rank {
                return last_of(index).min(self.max);
            }
        }
        self.max
    }
}

impl Default for LogLinear {
    fn default() -> LogLinear {
        LogLinear::new()
    }
}

/// The class of a value: its octave and the five bits behind the first one.
fn class(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(OCTAVE_BITS + 1);
    (u64::from(shift) * PER_OCTAVE + (value >> shift)) as usize
}

/// The largest value of a class.
fn last_of(index: usize) -> u64 {
    let index = index as u64;
    let shift = (index / PER_OCTAVE).saturating_sub(1);
    let first = (index - shift * PER_OCTAVE) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_a_class_of_at_most_a_32nd_of_it() {
        for value in (0..5_000).chain([1 << 40, (1 << 40) + 12_345, u64::MAX - 1, u64::MAX]) {
            let last = last_of(class(value));
            assert!(last >= value && last - value <= value / PER_OCTAVE, "{value}: {last}");
        }
        assert!(class(u64::MAX) < CLASSES);
    }

    #[test]
    fn count_mean_maximum_and_percentiles() {
        let mut values = LogLinear::new();
        assert_eq!((values.count(), values.mean(), values.quantile(990)), (0, 0, 0));
        (1..=100).for_each(|value| values.add(value * 1_000_000));
        assert_eq!((values.count(), values.mean(), values.max()), (100, 50_500_000, 100_000_000));
        let p99 = values.quantile(990);
        assert!((99_000_000..=100_000_000).contains(&p99), "{p99}");
        assert_eq!(values.quantile(1000), 100_000_000);
    }
}
