//! What a service must reach: `p99=50ms`.

use fairground_metrics::Decimal;
use fairground_scenario::Error;
use fairground_stdx::{Ns, units};

/// A percentile of the time that requests take, and what it may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Goal {
    /// Which: thousandths (990 = p99).
    pub permille: u64,
    /// The longest time that is right.
    pub most: Ns,
}

impl Goal {
    /// Reads `p99=50ms` or `p99<=50ms`, with up to one digit behind the point (`p99.9`).
    pub fn parse(text: &str) -> Result<Goal, Error> {
        let wrong = |message: String| Error::one("--goal", message, "Write a percentile and a time, as in `--goal p99=50ms`.");
        let (name, most) =
            text.split_once("<=").or_else(|| text.split_once('=')).ok_or_else(|| wrong(format!("`{text}` is no goal")))?;
        let percent = name.trim().strip_prefix('p').and_then(Decimal::parse);
        let is_it = |permille: &u64| percent == Some(Decimal::ratio(*permille, 10));
        let permille =
            (1..1000).find(is_it).ok_or_else(|| wrong(format!("`{}` is no percentile from p0.1 to p99.9", name.trim())))?;
        let most = units::parse_ns(most.trim()).map_err(|error| wrong(format!("`{}`: {error}", most.trim())))?;
        if most == Ns::ZERO {
            return Err(wrong(format!("`{text}`: nothing takes no time")));
        }
        Ok(Goal { permille, most })
    }
    /// The place of its percentile among so many requests, counted from 1: the smallest that has that share up to it.
    pub(super) fn rank(self, count: u64) -> u64 {
        rank(count, self.permille)
    }
    /// `p99`, `p99.9`.
    pub fn name(self) -> String {
        percentile_name(self.permille)
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <= {}", self.name(), self.most)
    }
}

/// The place of a percentile among so many requests, counted from 1.
pub(super) fn rank(count: u64, permille: u64) -> u64 {
    (count * permille).div_ceil(1000).max(1)
}

/// `p50`, `p99.9`.
pub(super) fn percentile_name(permille: u64) -> String {
    match permille % 10 {
        0 => format!("p{}", permille / 10),
        rest => format!("p{}.{rest}", permille / 10),
    }
}

/// The key of a column of times at a percentile: `p99_9_ns`.
pub(super) fn percentile_key(permille: u64) -> String {
    format!("{}_ns", percentile_name(permille).replace('.', "_"))
}

/// `p50 <= 10ms and p99 <= 50ms`.
pub(super) fn names(goals: &[Goal]) -> String {
    goals.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read() {
        assert_eq!(Goal::parse("p99=50ms").unwrap(), Goal { permille: 990, most: Ns::from_ms(50) });
        assert_eq!(Goal::parse(" p99.9 <= 1s").unwrap().to_string(), "p99.9 <= 1s");
        assert_eq!(Goal::parse("p50<=800us").unwrap().name(), "p50");
        for wrong in ["", "p99", "p100=1ms", "p0=1ms", "99=1ms", "p99.95=1ms", "p99=50", "p99=0ms", "max=1ms"] {
            let error = Goal::parse(wrong).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wrong}");
            assert!(error.to_string().contains("--goal p99=50ms"), "{error}");
        }
    }
}
