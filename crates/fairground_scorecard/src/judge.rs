//! Our figures against the limits of a recorded set: inside or not, and how far from the recorded value.

use fairground_metrics::Decimal;
use fairground_recordings::figures::CheckedRow;

/// Whether one of our figures counts as met.
///
/// It must lie in `lo..=hi`. Limits that reach down to nothing (`lo` of 0 or less) would be met by a run in
/// which nothing happens, so there our value must also be within a factor of two of the recorded one.
pub fn is_inside(row: &CheckedRow) -> bool {
    let Some(ours) = row.ours else { return false };
    row.inside() && (row.lo > Decimal::default() || within_factor_two(ours, row.value))
}

/// `value / 2 <= ours <= 2 value`, exactly: doubling a double loses nothing.
fn within_factor_two(ours: Decimal, value: Decimal) -> bool {
    let (ours, value) = (ours.to_f64(), value.to_f64());
    value <= 2.0 * ours && ours <= 2.0 * value
}

/// `(ours - value) / half-band`, where half-band = (hi - lo) / 2. `None` if we have no such figure, or if the
/// limits are one point and ours is another.
pub fn distance(row: &CheckedRow) -> Option<f64> {
    let ours = row.ours?;
    if ours == row.value {
        return Some(0.0);
    }
    let half_band = (row.hi.to_f64() - row.lo.to_f64()) / 2.0;
    (half_band > 0.0).then(|| (ours.to_f64() - row.value.to_f64()) / half_band)
}

/// The median of the sizes of distances; a distance that is not there counts as infinite. `None` of nothing.
pub fn median_distance<'a>(rows: impl IntoIterator<Item = &'a CheckedRow>) -> Option<f64> {
    let mut sizes: Vec<f64> = rows.into_iter().map(|row| distance(row).map_or(f64::INFINITY, f64::abs)).collect();
    sizes.sort_by(f64::total_cmp);
    let (below, above) = (sizes.get(sizes.len().wrapping_sub(1) / 2)?, sizes.get(sizes.len() / 2)?);
    Some((below + above) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: Option<&str>, value: &str, lo: &str, hi: &str) -> CheckedRow {
        let number = |text: &str| Decimal::parse(text).unwrap();
        CheckedRow { figure: "x".into(), ours: ours.map(number), value: number(value), lo: number(lo), hi: number(hi) }
    }

    #[test]
    fn limits_count_and_those_from_nothing_ask_for_a_factor_of_two() {
        assert!(is_inside(&row(Some("9"), "10", "9", "12")));
        assert!(!is_inside(&row(Some("8.9"), "10", "9", "12")));
        assert!(!is_inside(&row(None, "10", "9", "12")));
        assert!(is_inside(&row(Some("5"), "10", "0", "25")));
        assert!(is_inside(&row(Some("20"), "10", "-5", "25")));
        assert!(!is_inside(&row(Some("4.9"), "10", "0", "25")));
        assert!(!is_inside(&row(Some("20.1"), "10", "0", "25")));
        // Nothing recorded: only nothing is within a factor of two of it.
        assert!(is_inside(&row(Some("0"), "0", "-2", "2")));
        assert!(!is_inside(&row(Some("1"), "0", "-2", "2")));
    }

    #[test]
    fn distances_are_in_half_bands_and_keep_their_sign() {
        assert_eq!(distance(&row(Some("12"), "10", "6", "14")), Some(0.5));
        assert_eq!(distance(&row(Some("4"), "10", "6", "14")), Some(-1.5));
        assert_eq!(distance(&row(Some("3"), "3", "3", "3")), Some(0.0));
        assert_eq!(distance(&row(Some("4"), "3", "3", "3")), None);
        assert_eq!(distance(&row(None, "3", "2", "4")), None);
    }

    #[test]
    fn medians_of_even_and_odd_numbers_of_figures() {
        let rows = [row(Some("11"), "10", "9", "11"), row(Some("8"), "10", "9", "11"), row(None, "10", "9", "11")];
        assert_eq!(median_distance(&rows), Some(2.0));
        assert_eq!(median_distance(&rows[..2]), Some(1.5));
        assert_eq!(median_distance(&rows[2..]), Some(f64::INFINITY));
        assert_eq!(median_distance([]), None);
    }
}
