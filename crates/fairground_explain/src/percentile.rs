//! A percentile as people write it.

/// A percentile, in thousandths of a percent: 99000 = p99.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Percentile(u32);

impl Percentile {
    /// The greatest.
    const WHOLE: u32 = 100_000;

    /// Reads a number above 0 and up to 100, with at most three digits behind the point.
    pub fn parse(text: &str) -> Option<Percentile> {
        let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
        let only_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 3 || digits.len() > 3 || !only_digits(whole) || !only_digits(digits) {
            return None;
        }
        let thousandths = format!("{digits:0<3}").parse::<u32>().ok()?;
        let value = whole.parse::<u32>().ok()? * 1000 + thousandths;
        (1..=Percentile::WHOLE).contains(&value).then_some(Percentile(value))
    }
    /// The place of the percentile among `count` values in order, from 0: the nearest rank.
    pub(super) fn place(self, count: usize) -> usize {
        let rank = (count as u64 * u64::from(self.0)).div_ceil(u64::from(Percentile::WHOLE));
        (rank.max(1) - 1) as usize
    }
}

impl std::fmt::Display for Percentile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.0 / 1000, self.0 % 1000);
        match part {
            0 => write!(f, "{whole}"),
            _ => f.write_str(format!("{whole}.{part:03}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_read_exactly() {
        for (text, shown) in [("99", "99"), ("99.9", "99.9"), ("50.000", "50"), ("0.001", "0.001"), ("100", "100")] {
            assert_eq!(Percentile::parse(text).unwrap().to_string(), shown);
        }
        for wrong in ["", "0", "100.1", "-1", "p99", "99.9999", "99,9", ".5", "1e1", "+5"] {
            assert_eq!(Percentile::parse(wrong), None, "{wrong}");
        }
    }
}
