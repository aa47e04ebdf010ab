//! What came out of a replay of accounts.

use crate::outcome::Tally;
use fairground_stdx::{CpuId, Instant};
use std::collections::BTreeMap;

/// What was compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Quota {
    /// runtime_remaining as the queue is throttled, to the nanosecond.
    Throttle,
    /// runtime_remaining as the queue is released, to the nanosecond.
    Unthrottle,
    /// Whether a period timer distributes runtime.
    PeriodTimer,
    /// Whether a slack timer does.
    SlackTimer,
}

impl Quota {
    /// All in the order of reports.
    pub const ALL: [Quota; 4] = [Quota::Throttle, Quota::Unthrottle, Quota::PeriodTimer, Quota::SlackTimer];
    /// The name in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Quota::Throttle => "throttle",
            Quota::Unthrottle => "unthrottle",
            Quota::PeriodTimer => "period_timer",
            Quota::SlackTimer => "slack_timer",
        }
    }
}

/// What one side says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// An account has so much, ns, and its queue goes on or is released.
    Left(i64),
    /// An account has so much, and its queue is throttled already, or still.
    LeftThrottled(i64),
    /// Whether runtime is distributed.
    HandsOut(bool),
}

/// A difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuotaMiss {
    /// When.
    pub at: Instant,
    /// Whose account; of a timer, who ran it.
    pub cpu: CpuId,
    /// What was compared.
    pub what: Quota,
    /// What the kernel had.
    pub recorded: Seen,
    /// What the core had.
    pub core: Seen,
    /// What the core's pool had, ns.
    pub pool: u64,
}

/// The result of a replay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QuotaOutcome {
    /// Comparisons and agreements.
    pub tallies: BTreeMap<Quota, Tally>,
    /// Times at which several CPUs asked a pool that had not enough for all, whose order was taken from the outcome.
    pub races: u64,
    /// Recorded calls of throttle_cfs_rq() that got runtime after all, by the core.
    pub found_runtime: u64,
    /// Members put on a CPU although runtime_remaining of their queue was 0 or less and it was not throttled, by the core.
    pub overdue: u64,
    /// The first differences.
    pub misses: Vec<QuotaMiss>,
}

impl QuotaOutcome {
    /// The counts of one comparison.
    pub fn of(&self, what: Quota) -> Tally {
        self.tallies.get(&what).copied().unwrap_or_default()
    }

    /// Adds what came of another group, of which no more than `keep` differences are kept in all.
    pub fn add(&mut self, other: QuotaOutcome, keep: usize) {
        for (what, tally) in other.tallies {
            let own = self.tallies.entry(what).or_default();
            (own.decisions, own.agree) = (own.decisions + tally.decisions, own.agree + tally.agree);
        }
        self.races += other.races;
        self.found_runtime += other.found_runtime;
        self.overdue += other.overdue;
        self.misses.extend(other.misses);
        self.misses.sort_by_key(|miss| miss.at);
        self.misses.truncate(keep);
    }
}
