//! The one percentile rule of exact lists.

/// The `percent`-th percentile of sorted values: the value at index `len * percent / 100`, rounded
/// down, at most the last. This is the rule of the recorded sets; the median of four is the third.
pub fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((sorted.len() * percent / 100).min(last)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_rounded_down_and_stops_at_the_last() {
        assert_eq!(percentile::<u64>(&[], 50), None);
        assert_eq!(percentile(&[7], 99), Some(7));
        assert_eq!(percentile(&[1, 2, 3, 4], 50), Some(3));
        assert_eq!(percentile(&[1, 2, 3, 4], 100), Some(4));
        assert_eq!(percentile(&[1, 2, 3], 90), Some(3));
    }
}
