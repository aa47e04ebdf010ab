//! Ranges over kept services.

/// The middle 95 % of some values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// 2.5 % lie below.
    pub low: u64,
    /// Half lie below.
    pub median: u64,
    /// 2.5 % lie above.
    pub high: u64,
}

impl Range {
    /// Of at least one value. Of 40 or fewer it is the whole span.
    pub(super) fn of(mut values: Vec<u64>) -> Range {
        values.sort_unstable();
        let last = values.len() - 1;
        let cut = values.len() * 25 / 1000;
        let cut = if values.len() <= 40 { 0 } else { cut };
        Range { low: values[cut], median: values[last / 2], high: values[last - cut] }
    }
    /// Whether its ends differ by more than a factor of 2.
    pub fn is_wide(&self) -> bool {
        self.high / 2 > self.low
    }
}

/// What is left of the range of `values` among those whose `key` is near the middle one: a tenth of them, at least 20; none of fewer.
pub(super) fn of_alike(keys: &[u64], values: &[u64]) -> Option<Range> {
    let mut pairs: Vec<(u64, u64)> = keys.iter().copied().zip(values.iter().copied()).collect();
    pairs.sort_unstable();
    let width = (pairs.len() / 10).max(20);
    let first = pairs.len().checked_sub(width)? / 2;
    Some(Range::of(pairs[first..first + width].iter().map(|pair| pair.1).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_leave_out_what_is_rare() {
        assert_eq!(Range::of((1..=30).rev().collect()), Range { low: 1, median: 15, high: 30 });
        assert_eq!(Range::of((1..=1000).collect()), Range { low: 26, median: 500, high: 975 });
        assert!(Range { low: 10, median: 15, high: 22 }.is_wide() && !Range { low: 10, median: 15, high: 21 }.is_wide());
        assert!(Range { low: 5, median: u64::MAX, high: u64::MAX }.is_wide());
    }

    #[test]
    fn a_key_that_decides_leaves_little_and_another_leaves_all() {
        let values: Vec<u64> = (0..400).map(|row| row * 37 % 400).collect();
        let left = of_alike(&values, &values).unwrap();
        assert!(left.high - left.low < 45, "{left:?}");
        let rows: Vec<u64> = (0..400).collect();
        let left = of_alike(&rows, &values).unwrap();
        assert!(left.high - left.low > 300, "{left:?}");
        assert_eq!(of_alike(&rows[..19], &values[..19]), None);
    }
}
