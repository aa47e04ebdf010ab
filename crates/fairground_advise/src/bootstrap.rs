//! Intervals over seeds: 95 % by resampling, in integers and always the same.

use fairground_stdx::{RngStream, StreamKind};

/// What takes longer than the run shows.
pub(super) const NEVER: u64 = u64::MAX;

/// How often seeds are drawn anew.
const RESAMPLES: usize = 2000;

/// A mean over seeds and the range in which it lies with 95 %.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The mean.
    pub mean: u64,
    /// 2.5 % of the means of resampled seeds lie below.
    pub low: u64,
    /// 2.5 % of them lie above.
    pub high: u64,
}

impl Interval {
    fn of(mean: u64, mut resampled: Vec<u64>) -> Interval {
        resampled.sort_unstable();
        let at = |permille: usize| resampled.get(resampled.len() * permille / 1000).copied().unwrap_or(mean);
        Interval { mean, low: at(25).min(mean), high: at(974).max(mean) }
    }
    /// Whether it is a time that the runs show.
    pub fn is_known(&self) -> bool {
        self.high != NEVER
    }
}

/// The mean of one value per seed.
pub(super) fn mean(values: &[u64]) -> Interval {
    let ones = vec![1; values.len()];
    ratio_scaled(values, &ones, 1)
}

/// The sum of `above` by that of `below`, in thousandths; both have one value per seed, of the same requests.
pub(super) fn ratio_permille(above: &[u64], below: &[u64]) -> Interval {
    ratio_scaled(above, below, 1000)
}

/// Resamples seeds, which keeps what belongs to one seed together.
fn ratio_scaled(above: &[u64], below: &[u64], scale: u128) -> Interval {
    if above.is_empty() || above.contains(&NEVER) || below.contains(&NEVER) {
        return Interval { mean: NEVER, low: NEVER, high: NEVER };
    }
    let ratio = |rows: &mut dyn Iterator<Item = usize>| {
        let (mut top, mut bottom) = (0, 0);
        for row in rows {
            top += u128::from(above[row]);
            bottom += u128::from(below[row]);
        }
        u64::try_from(top * scale / bottom.max(1)).unwrap_or(NEVER)
    };
    let count = above.len();
    let mut stream = RngStream::new(1, StreamKind::Bootstrap, 0);
    let resampled = (0..RESAMPLES).map(|_| ratio(&mut (0..count).map(|_| stream.below(count as u64) as usize))).collect();
    Interval::of(ratio(&mut (0..count)), resampled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_the_mean_and_narrow_with_more_seeds() {
        let few = mean(&[90, 100, 110, 95, 105]);
        assert_eq!(few.mean, 100);
        assert!(few.low >= 92 && few.low < 100 && few.high > 100 && few.high <= 108, "{few:?}");
        let many: Vec<u64> = (0..80).map(|row| [90, 100, 110, 95, 105][row % 5]).collect();
        assert!(mean(&many).high - mean(&many).low < few.high - few.low);
        assert_eq!(mean(&[7, 7, 7]), Interval { mean: 7, low: 7, high: 7 });
        assert_eq!(mean(&[5]), Interval { mean: 5, low: 5, high: 5 });
    }

    #[test]
    fn pairs_of_one_seed_stay_together() {
        // Twice as much with every seed: no doubt at all, however much seeds differ.
        assert_eq!(ratio_permille(&[20, 2000, 8], &[10, 1000, 4]), Interval { mean: 2000, low: 2000, high: 2000 });
        assert!(!ratio_permille(&[20, NEVER], &[10, 10]).is_known());
        assert!(!mean(&[]).is_known());
    }
}
