//! Numbers of the page as text.

/// Distances and the like: two digits; nothing where there is no number.
pub(super) fn two_digits(value: Option<f64>) -> String {
    match value {
        None => "-".to_string(),
        Some(value) if value.is_infinite() => "∞".to_string(),
        // Not the sign of a value that is shown as nothing.
        Some(value) if value.abs() < 0.005 => "0.00".to_string(),
        Some(value) => format!("{value:.2}"),
    }
}

/// `part` of `whole` in percent, cut so that only all of it is 100.
pub(super) fn percent(part: u64, whole: u64) -> String {
    match (u128::from(part) * 10_000).checked_div(u128::from(whole)) {
        None => "-".to_string(),
        Some(hundredths) => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(two_digits(None), "-");
        assert_eq!(two_digits(Some(-0.001)), "0.00");
        assert_eq!(two_digits(Some(-1.239)), "-1.24");
        assert_eq!(two_digits(Some(f64::INFINITY)), "∞");
        assert_eq!(percent(1, 0), "-");
        assert_eq!(percent(99_999, 100_000), "99.99 %");
        assert_eq!(percent(7, 7), "100.00 %");
        assert_eq!(percent(1, 3), "33.33 %");
    }
}
