//! Factors as people write them: `2.4` is 24/10, exactly.

use std::fmt;

/// Digits behind the point.
const PLACES: usize = 6;
const SCALE: u128 = 1_000_000;

/// A factor that is not negative, held in millionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Factor(u64);

impl Factor {
    /// 0.5
    pub const HALF: Factor = Factor(500_000);
    /// 2
    pub const DOUBLE: Factor = Factor(2_000_000);
    /// The largest: 1000.
    pub const MAX: Factor = Factor(1_000_000_000);

    /// Reads `2`, `2.4` or `0.85`; `None` for anything else, for more than six places, and above [`Factor::MAX`].
    pub fn parse(text: &str) -> Option<Factor> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) || fraction.len() > PLACES {
            return None;
        }
        let millionths = format!("{whole}{fraction:0<PLACES$}").parse().ok()?;
        Some(Factor(millionths)).filter(|factor| *factor <= Factor::MAX)
    }
    /// So many times `value`, rounded half up; `u64::MAX` if that is too much.
    pub fn times(self, value: u64) -> u64 {
        u64::try_from((u128::from(value) * u128::from(self.0) + SCALE / 2) / SCALE).unwrap_or(u64::MAX)
    }
}

/// Prints without needless zeros: `2`, `2.4`.
impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (u128::from(self.0) / SCALE, u128::from(self.0) % SCALE);
        if fraction == 0 {
            return f.pad(&whole.to_string());
        }
        let fraction = format!("{fraction:0>PLACES$}");
        f.pad(&format!("{whole}.{}", fraction.trim_end_matches('0')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_prints_and_multiplies_exactly() {
        for text in ["0", "2", "2.4", "0.85", "1000", "0.000001"] {
            assert_eq!(Factor::parse(text).unwrap().to_string(), text);
        }
        assert_eq!((Factor::parse("0.5"), Factor::parse("2.0")), (Some(Factor::HALF), Some(Factor::DOUBLE)));
        assert_eq!(Factor::parse("2.4").unwrap().times(1_100_000), 2_640_000);
        assert_eq!([0, 1, 2, 3].map(|value| Factor::HALF.times(value)), [0, 1, 1, 2]);
        assert_eq!(Factor::MAX.times(u64::MAX), u64::MAX);
    }

    #[test]
    fn refuses_what_is_no_factor() {
        for text in ["", "-2", "+2", "2.", ".5", "1e3", "nan", "inf", "1000.000001", "0.0000001", "99999999999999999999999"] {
            assert_eq!(Factor::parse(text), None, "{text}");
        }
    }
}
