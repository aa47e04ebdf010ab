//! What a limit does to a service, in a word, and the cheapest thing that helps.

use super::bootstrap::Interval;
use super::text::{cpus_of, ratio_text};
use fairground_model::CpuMax;
use fairground_report::units::format_ns;
use fairground_stdx::Ns;

/// How a limit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The percentile is at most 1.05 times that without a limit.
    Ok,
    /// At most 1.5 times.
    Tight,
    /// More.
    Bad,
    /// More than 95 % of the limit is used in the mean: the queue grows.
    Unstable,
}

/// Up to so many thousandths of the time without a limit a limit is right.
const OK_PERMILLE: u64 = 1050;
/// Up to so many it is tight.
const TIGHT_PERMILLE: u64 = 1500;
/// From this share of the limit on a service has no room: thousandths.
const UNSTABLE_PERMILLE: u128 = 950;

impl Verdict {
    /// Judges by the upper bound of the ratio to the same requests without a limit, in thousandths.
    pub(super) fn of(ratio: Interval, demand_ns_per_s: u64, limit: CpuMax) -> Verdict {
        if is_unstable(demand_ns_per_s, limit) {
            Verdict::Unstable
        } else if ratio.high <= OK_PERMILLE {
            Verdict::Ok
        } else if ratio.high <= TIGHT_PERMILLE {
            Verdict::Tight
        } else {
            Verdict::Bad
        }
    }
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "OK",
            Verdict::Tight => "TIGHT",
            Verdict::Bad => "BAD",
            Verdict::Unstable => "UNSTABLE",
        }
    }
}

/// Whether the demand is more than 95 % of what the limit gives.
pub(super) fn is_unstable(demand_ns_per_s: u64, limit: CpuMax) -> bool {
    limit.quota.is_some_and(|quota| {
        let given = u128::from(quota.0) * 1_000_000_000 / u128::from(limit.period.0.max(1));
        u128::from(demand_ns_per_s) * 1000 > UNSTABLE_PERMILLE * given
    })
}

/// Something that may be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remedy {
    /// What, as an order: `raise the limit to 3.00 CPUs`.
    pub what: String,
    /// What it costs, ns of CPU time per second; none where that has no bound.
    pub cost_ns_per_s: Option<u64>,
    /// Whether it leads to OK.
    pub helps: bool,
}

/// The cheapest that helps; among equals the first.
pub(super) fn cheapest(remedies: &[Remedy]) -> Option<&Remedy> {
    remedies.iter().filter(|remedy| remedy.helps).min_by_key(|remedy| remedy.cost_ns_per_s.unwrap_or(u64::MAX))
}

/// What is judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The limit.
    pub limit: CpuMax,
    /// The percentile that is looked at: `p99`.
    pub percentile: String,
    /// It with the limit, ns.
    pub limited: Interval,
    /// It without, ns.
    pub unlimited: Interval,
    /// The ratio of both, thousandths.
    pub ratio: Interval,
    /// CPU time that is asked for, ns per second.
    pub demand_ns_per_s: u64,
    /// What may be done.
    pub remedies: Vec<Remedy>,
}

impl Judged {
    /// The verdict as sentences.
    pub fn lines(&self) -> Vec<String> {
        let period = |limit: CpuMax| format!("{} per {}", format_ns(limit.quota.unwrap_or_default()), format_ns(limit.period));
        let mut lines = vec![format!(
            "{}: the limit of {} CPUs ({}) for a demand of {} CPUs",
            self.verdict.name(),
            cpus_of(self.limit),
            period(self.limit),
            cpus(self.demand_ns_per_s),
        )];
        lines.push(match (self.limited.is_known(), self.unlimited.is_known()) {
            (true, true) => format!(
                "  {} is {}, and {} without a limit: {} times as much (95 %: {} to {})",
                self.percentile,
                format_ns(Ns(self.limited.mean)),
                format_ns(Ns(self.unlimited.mean)),
                ratio_text(self.ratio.mean),
                ratio_text(self.ratio.low),
                ratio_text(self.ratio.high),
            ),
            (false, true) => format!(
                "  {} is later than the run shows: requests still wait at its end; without a limit it is {}",
                self.percentile,
                format_ns(Ns(self.unlimited.mean))
            ),
            _ => "  requests still wait at the end of the run even without a limit: too few workers or CPUs".to_string(),
        });
        match (self.verdict, cheapest(&self.remedies)) {
            (Verdict::Ok, _) => lines.push("  nothing to do".to_string()),
            (_, Some(remedy)) => lines.push(format!("  cheapest remedy: {} ({})", remedy.what, cost(remedy))),
            (_, None) => lines.push("  nothing that was tried leads to OK".to_string()),
        }
        lines
    }
}

/// `+0.40 CPUs`.
pub(super) fn cost(remedy: &Remedy) -> String {
    match remedy.cost_ns_per_s {
        None => "cost: whatever the group uses".to_string(),
        Some(0) => "no more CPUs in the mean".to_string(),
        Some(ns) => format!("+{} CPUs", cpus(ns)),
    }
}

/// CPU time per second as CPUs.
pub(super) fn cpus(ns_per_s: u64) -> String {
    fairground_report::units::fixed(ns_per_s, 1_000_000_000, 2)
}

#[cfg(test)]
mod tests {
    use super::super::bootstrap::NEVER;
    use super::*;
    use expect_test::{Expect, expect};

    fn judged(quota_ms: u64, limited_ms: u64, demand: u64, remedies: Vec<Remedy>) -> Judged {
        let limit = CpuMax { quota: Some(Ns::from_ms(quota_ms)), ..CpuMax::UNLIMITED };
        let at = |value: u64| Interval { mean: value, low: value - value / 50, high: value + value / 50 };
        let (limited, unlimited) = (at(limited_ms * 1_000_000), at(46_000_000));
        let ratio = at(limited_ms * 1000 / 46);
        let verdict = Verdict::of(ratio, demand, limit);
        let percentile = "p99".to_string();
        Judged { verdict, limit, percentile, limited, unlimited, ratio, demand_ns_per_s: demand, remedies }
    }
    fn remedies() -> Vec<Remedy> {
        let remedy = |what: &str, cost, helps| Remedy { what: what.into(), cost_ns_per_s: cost, helps };
        vec![
            remedy("set cpu.max.burst to 220000 us", Some(0), false),
            remedy("raise the limit to 3.00 CPUs", Some(400_000_000), true),
            remedy("run without a limit", None, true),
        ]
    }
    fn check(judged: &Judged, expected: &Expect) {
        expected.assert_eq(&judged.lines().join("\n"));
    }

    /// Model: 13 T17
    #[test]
    fn each_verdict_tells_limit_demand_p99_and_what_to_do() {
        check(
            &judged(400, 46, 2_000_000_000, Vec::new()),
            &expect![[r#"
            OK: the limit of 4.00 CPUs (400.00 ms per 100.00 ms) for a demand of 2.00 CPUs
              p99 is 46.00 ms, and 46.00 ms without a limit: 1.00 times as much (95 %: 0.98 to 1.02)
              nothing to do"#]],
        );
        check(
            &judged(300, 55, 2_000_000_000, remedies()),
            &expect![[r#"
            TIGHT: the limit of 3.00 CPUs (300.00 ms per 100.00 ms) for a demand of 2.00 CPUs
              p99 is 55.00 ms, and 46.00 ms without a limit: 1.20 times as much (95 %: 1.17 to 1.22)
              cheapest remedy: raise the limit to 3.00 CPUs (+0.40 CPUs)"#]],
        );
        check(
            &judged(260, 80, 2_000_000_000, remedies()[..1].to_vec()),
            &expect![[r#"
            BAD: the limit of 2.60 CPUs (260.00 ms per 100.00 ms) for a demand of 2.00 CPUs
              p99 is 80.00 ms, and 46.00 ms without a limit: 1.74 times as much (95 %: 1.71 to 1.77)
              nothing that was tried leads to OK"#]],
        );
        check(
            &judged(210, 154, 2_000_000_000, remedies()),
            &expect![[r#"
            UNSTABLE: the limit of 2.10 CPUs (210.00 ms per 100.00 ms) for a demand of 2.00 CPUs
              p99 is 154.00 ms, and 46.00 ms without a limit: 3.35 times as much (95 %: 3.28 to 3.41)
              cheapest remedy: raise the limit to 3.00 CPUs (+0.40 CPUs)"#]],
        );
        let mut late = judged(260, 80, 2_000_000_000, remedies()[2..].to_vec());
        late.limited = Interval { mean: NEVER, low: NEVER, high: NEVER };
        check(
            &late,
            &expect![[r#"
            BAD: the limit of 2.60 CPUs (260.00 ms per 100.00 ms) for a demand of 2.00 CPUs
              p99 is later than the run shows: requests still wait at its end; without a limit it is 46.00 ms
              cheapest remedy: run without a limit (cost: whatever the group uses)"#]],
        );
    }

    #[test]
    fn bounds_are_those_of_the_upper_end_of_the_interval() {
        let limit = CpuMax { quota: Some(Ns::from_ms(300)), ..CpuMax::UNLIMITED };
        let of = |high| Verdict::of(Interval { mean: 1000, low: 900, high }, 2_000_000_000, limit);
        assert_eq!(
            [1050, 1051, 1500, 1501, NEVER].map(of),
            [Verdict::Ok, Verdict::Tight, Verdict::Tight, Verdict::Bad, Verdict::Bad]
        );
        let ratio = Interval { mean: 1000, low: 1000, high: 1000 };
        assert_eq!(Verdict::of(ratio, 2_850_000_000, limit), Verdict::Ok);
        assert_eq!(Verdict::of(ratio, 2_850_000_001, limit), Verdict::Unstable);
        assert_eq!(Verdict::of(ratio, 9_000_000_000, CpuMax::UNLIMITED), Verdict::Ok);
    }

    #[test]
    fn the_first_of_the_cheapest_is_taken() {
        let mut all = remedies();
        assert_eq!(cheapest(&all).unwrap().what, "raise the limit to 3.00 CPUs");
        all[0].helps = true;
        assert_eq!(cheapest(&all).unwrap().what, "set cpu.max.burst to 220000 us");
        assert_eq!(cheapest(&[]), None);
    }
}
