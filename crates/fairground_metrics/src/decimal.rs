//! Decimal numbers that compare exactly.

use std::fmt;

/// Digits behind the point that a [`Decimal`] holds.
const PLACES: usize = 9;
const SCALE: i128 = 1_000_000_000;

/// A decimal number with up to nine digits behind the point, held as an integer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Decimal(i128);

impl Decimal {
    /// `numerator / denominator`, where the denominator is a power of ten up to 10^9.
    pub fn ratio(numerator: u64, denominator: u64) -> Decimal {
        Decimal(i128::from(numerator) * SCALE / i128::from(denominator.max(1)))
    }
    /// So many thousandths.
    pub fn thousandths(value: i64) -> Decimal {
        Decimal(i128::from(value) * (SCALE / 1000))
    }
    /// Reads `12`, `-5.1` or `0.0119`; `None` for anything else, also for more than nine places.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) || fraction.len() > PLACES || whole.len() > 24 {
            return None;
        }
        let scaled = format!("{whole}{fraction:0<PLACES$}").parse::<i128>().ok()?;
        Some(Decimal(if negative { -scaled } else { scaled }))
    }
    /// The value for the eye.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Decimal {
        Decimal(i128::from(value) * SCALE)
    }
}

/// Prints without needless zeros: `12`, `0.038`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0.unsigned_abs() / SCALE.unsigned_abs(), self.0.unsigned_abs() % SCALE.unsigned_abs());
        let sign = if self.0 < 0 { "-" } else { "" };
        if fraction == 0 {
            return f.pad(&format!("{sign}{whole}"));
        }
        let fraction = format!("{fraction:0>PLACES$}");
        f.pad(&format!("{sign}{whole}.{}", fraction.trim_end_matches('0')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_exactly() {
        for text in ["0", "12", "-5.1", "0.0119", "3999849769", "0.000000001"] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Decimal::parse("59.0"), Some(Decimal::from(59)));
        assert_eq!(Decimal::ratio(380, 10_000).to_string(), "0.038");
        assert_eq!(Decimal::thousandths(-1_250).to_string(), "-1.25");
    }

    #[test]
    fn refuses_what_is_no_decimal() {
        for text in ["", "-", ".5", "5.", "1e9", "share given", "1.0000000001", "--1", "1.2.3", "+1"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(Decimal::parse(&"9".repeat(60)), None);
    }

    #[test]
    fn orders_by_value() {
        let value = |text| Decimal::parse(text).unwrap();
        assert!(value("-1") < value("-0.5") && value("0.119") < value("0.12") && value("9") < value("10"));
    }
}
