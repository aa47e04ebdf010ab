//! Whether the present limit meets the goal, as far as counters tell: the headline.

use super::{CounterAdvice, Fit, Range};
use crate::Reached;
use crate::bootstrap::NEVER;
use crate::goal::names;
use crate::text::{cpus_of, milli_cpus};
use fairground_model::CpuMax;
use fairground_stdx::Ns;

impl CounterAdvice {
    /// Whether the present limit meets the goal; none without a goal.
    pub fn reached(&self) -> Option<Reached> {
        if self.goals.is_empty() {
            return None;
        }
        if self.counters.is_unstable() == Some(true) {
            return Some(Reached::Missed);
        }
        Some(self.fit.as_ref().map_or(Reached::Open, Fit::reached))
    }

    /// The headline: whether the goal is met, for how many of the services that the counters leave open, and the smallest limit.
    pub fn headline(&self) -> Vec<String> {
        let Some(reached) = self.reached() else { return Vec::new() };
        let limit = self.counters.limit.unwrap_or(CpuMax::UNLIMITED);
        let now = match limit.quota {
            Some(_) => format!("{} CPUs, the present limit", cpus_of(limit)),
            None => "the present limit, which is not known".to_string(),
        };
        let word = match reached {
            Reached::Met => "holds with",
            Reached::Missed => "does not hold with",
            Reached::Open => "may hold or not with",
        };
        let mut lines = vec![format!("{}: {} {word} {now}", reached.name(), names(&self.goals))];
        match &self.fit {
            Ok(fit) => lines.extend(fit.headline(limit)),
            Err(_) if self.counters.is_unstable() == Some(true) => {
                lines.push("  more than 95 % of the limit is used: queues grow, and no percentile holds".to_string());
            }
            Err(_) if self.counters.throttled_ratio() == Some(0) => {
                lines.push("  the limit is not what would make it miss: no throttling was counted".to_string());
            }
            Err(why) => lines.push(format!("  {why}")),
        }
        lines
    }
}

impl Fit {
    fn reached(&self) -> Reached {
        match self.points.first() {
            // At most a twentieth says otherwise.
            Some(now) if now.holds * 20 >= now.of * 19 => Reached::Met,
            Some(now) if now.holds * 20 <= now.of => Reached::Missed,
            _ => Reached::Open,
        }
    }

    fn headline(&self, limit: CpuMax) -> Vec<String> {
        let Some(now) = self.points.first() else {
            return vec!["  no answer: too few services come out with these counters".to_string()];
        };
        let percent = (now.holds * 100 + now.of / 2) / now.of.max(1);
        let mut lines =
            vec![format!("  holds: for {percent} of 100 services whose counters are these; counters do not say which is yours")];
        lines.extend(self.smallest.map(|range| format!("  smallest limit: {}", range_text(range, limit))));
        lines
    }
}

/// `0.45 to 1.20 CPUs`, and what is on the safe side in millicores.
fn range_text(range: Range, limit: CpuMax) -> String {
    let of = |quota: u64| CpuMax { quota: Some(Ns(quota)), ..limit };
    let half = match range.median {
        NEVER => "half miss the goal without a limit, too".to_string(),
        median => format!("{} for half", cpus_of(of(median))),
    };
    match (range.low, range.high) {
        (NEVER, _) => "no limit is enough, for nearly all of them".to_string(),
        (low, NEVER) => format!("from {} CPUs on, {half}; some miss the goal without a limit, too", cpus_of(of(low))),
        (low, high) => format!(
            "{} to {} CPUs for the middle 95 % of them, {half}; {}m is enough for nearly all",
            cpus_of(of(low)),
            cpus_of(of(high)),
            milli_cpus(of(high))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_says_what_is_enough_for_nearly_all_and_where_nothing_is() {
        let range = |low, median, high| range_text(Range { low, median, high }, CpuMax::UNLIMITED);
        let (low, high) = (45_000_000, 120_000_000);
        assert_eq!(
            range(low, 60_000_000, high),
            "0.45 to 1.20 CPUs for the middle 95 % of them, 0.60 for half; 1200m is enough for nearly all"
        );
        assert!(range(low, high, NEVER).starts_with("from 0.45 CPUs on, 1.20 for half"));
        assert!(range(low, NEVER, NEVER).contains("half miss the goal without a limit"));
        assert!(range(NEVER, NEVER, NEVER).starts_with("no limit is enough"));
    }
}
