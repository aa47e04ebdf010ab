//! Mean, spread and median of one side. For the eye: verdicts do not use them.

use crate::percentile::percentile;

/// Mean, spread and median of the values of one side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SideStats {
    /// The mean, as held.
    pub mean: f64,
    /// Standard deviation (of a sample) in percent of the mean; 0 if the mean is 0 or the sample one.
    pub std_percent: f64,
    /// The median, as held.
    pub median: u64,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
}

impl SideStats {
    /// Statistics of some values; all zero if there are none.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    pub fn new(values: &[u64]) -> SideStats {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let total: u128 = values.iter().map(|&value| u128::from(value)).sum();
        let mean = total as f64 / values.len().max(1) as f64;
        let squares: f64 = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum();
        let std = (squares / values.len().saturating_sub(1).max(1) as f64).sqrt();
        SideStats {
            mean,
            std_percent: if mean > 0.0 { std / mean * 100.0 } else { 0.0 },
            median: percentile(&sorted, 50).unwrap_or(0),
            min: sorted.first().copied().unwrap_or(0),
            max: sorted.last().copied().unwrap_or(0),
        }
    }
}
