//! Shares of decisions that agree.

/// Percent of `part` in `whole`; all of nothing.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}
