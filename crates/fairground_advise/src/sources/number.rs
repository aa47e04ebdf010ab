//! Numbers as monitoring systems print them: with an exponent, or no number at all.

/// Digits that are read; what lies behind them is less than any counter tells.
const DIGITS: usize = 24;

/// `text` times `scale`, rounded down; none of what is no number, negative, not finite or too large.
pub(super) fn scaled(text: &str, scale: u64) -> Option<u64> {
    let text = text.trim().strip_prefix('+').unwrap_or(text.trim());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let fraction = &fraction[..fraction.len().min(DIGITS.checked_sub(whole.len())?)];
    let digits = format!("0{whole}{fraction}").parse::<u128>().ok()?.checked_mul(u128::from(scale))?;
    let power = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let tens = 10_u128.checked_pow(power.unsigned_abs());
    let number = if power < 0 { tens.map_or(0, |tens| digits / tens) } else { digits.checked_mul(tens?)? };
    u64::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn numbers_with_exponents_are_read_exactly() {
        for (text, scale, number) in [
            ("12", 1, 12),
            ("0.125", 1_000_000_000, 125_000_000),
            ("1.23456789e+06", 1_000, 1_234_567_890),
            ("+5E-1", 10, 5),
            ("3e-400", 1_000_000_000, 0),
            (".5", 10, 5),
            ("7.", 1, 7),
            ("000000000000000000000000000012", 1, 12),
            ("1.00000000000000000000000000000000009", 1, 1),
        ] {
            assert_eq!(scaled(text, scale), Some(number), "{text}");
        }
        for text in ["", ".", "NaN", "+Inf", "-1", "1e", "1e99", "12x", "1.2.3", "0x10", "e5", "9999999999999999999999999"] {
            assert_eq!(scaled(text, 1), None, "{text}");
        }
    }
}
