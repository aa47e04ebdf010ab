//! What is kept of one run.

use super::bootstrap::NEVER;
use super::goal::{Goal, rank};
use fairground_metrics::Histogram;
use fairground_stdx::Ns;

/// What is kept of a run.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) latency: Histogram,
    /// Requests that still wait at the end.
    pub(super) late: u64,
    /// How long it would take to serve those, at the pace of the run.
    pub(super) backlog: Ns,
    pub(super) good: u64,
    pub(super) timeouts: u64,
    pub(super) nr_periods: u64,
    pub(super) nr_throttled: u64,
    /// CPU time of the group.
    pub(super) used: Ns,
    /// Length of the run.
    pub(super) length: Ns,
    /// Length of its window.
    pub(super) window: Ns,
    pub(super) events: u64,
    pub(super) digest: u128,
    pub(super) interrupted: bool,
    /// Most requests that another run of this seed has, if they do not depend on answers and this run is complete.
    pub(super) most: Option<u64>,
    /// Whether the goals are met, if the run ended as soon as that was certain. All figures are up to then.
    pub(super) decided: Option<bool>,
}

impl Sample {
    /// A percentile. A queue has some requests at any moment, which says nothing. One that is longer at the end than the percentile takes to
    /// serve has grown. Those of its requests that would be served within that time are in time, and the others are later than all that are done.
    pub(super) fn percentile(&self, permille: u64) -> u64 {
        let done = self.latency.len();
        if done == 0 {
            return NEVER;
        }
        let of_done = self.latency.at_rank(rank(done, permille));
        if self.late == 0 || self.backlog.0 <= of_done {
            return of_done;
        }
        let in_time = u128::from(self.late) * u128::from(of_done) / u128::from(self.backlog.0);
        let rank = rank(done + self.late, permille).saturating_sub(u64::try_from(in_time).unwrap_or(self.late)).max(1);
        if rank > done { NEVER } else { self.latency.at_rank(rank) }
    }
    /// Whether it meets the goals, which are those of its decision if it ended early.
    pub(super) fn holds(&self, goals: &[Goal]) -> bool {
        if let Some(decided) = self.decided {
            return decided;
        }
        goals.iter().all(|goal| self.percentile(goal.permille) <= goal.most.0)
    }
    /// Requests that still wait at the end.
    pub(super) fn late(&self) -> u64 {
        self.late
    }
    pub(super) fn requests(&self) -> u64 {
        self.latency.len() + self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 requests of 1 to 1000 ms are done in 10 s; so many wait still.
    fn sample(late: u64, backlog: Ns) -> Sample {
        let mut latency = Histogram::new();
        (1..=1000).for_each(|ms| latency.record(ms * 1_000_000));
        Sample {
            latency,
            late,
            backlog,
            good: 0,
            timeouts: 0,
            nr_periods: 0,
            nr_throttled: 0,
            used: Ns::ZERO,
            length: Ns::from_secs(10),
            window: Ns::from_secs(10),
            events: 0,
            digest: 0,
            interrupted: false,
            most: None,
            decided: None,
        }
    }

    #[test]
    fn a_queue_at_the_end_counts_only_if_it_has_grown() {
        let near = |ns: u64, ms: u64| ns.abs_diff(ms * 1_000_000) <= ms * 10_000;
        assert!(near(sample(0, Ns::ZERO).percentile(950), 950));
        // 40 requests are done in 400 ms: sooner than the 95th percentile.
        assert!(near(sample(40, Ns::from_ms(400)).percentile(950), 950));
        // 100 requests take a second: 95 of them are done within the 95th percentile of 950 ms.
        assert!(near(sample(100, Ns::from_secs(1)).percentile(950), 950));
        // 500 requests take five seconds: 405 are later than all that are done, of 1500.
        assert_eq!(sample(500, Ns::from_secs(5)).percentile(950), NEVER);
        assert!(near(sample(500, Ns::from_secs(5)).percentile(500), 700));
    }
}
