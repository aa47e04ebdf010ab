//! What is kept of one run.

use super::bootstrap::NEVER;
use super::goal::Goal;
use fairground_metrics::Histogram;
use fairground_stdx::Ns;

/// What is kept of a run.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) latency: Histogram,
    /// Requests that still wait at the end.
    pub(super) late: u64,
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
}

impl Sample {
    /// A percentile; requests that still wait at the end are later than all that are done.
    pub(super) fn percentile(&self, permille: u64) -> u64 {
        let (done, all) = (self.latency.len(), self.latency.len() + self.late);
        let rank = (all * permille).div_ceil(1000).max(1);
        if done == 0 || rank > done {
            return NEVER;
        }
        self.latency.at_rank(rank)
    }
    pub(super) fn holds(&self, goals: &[Goal]) -> bool {
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
