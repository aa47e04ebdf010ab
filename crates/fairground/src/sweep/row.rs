//! One run of a sweep.

use fairground_metrics::Metric;

/// One run of a sweep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its number: rows are ordered by it, never by when they finished.
    pub number: usize,
    /// The value of each axis.
    pub point: Vec<String>,
    /// Digest of its scenario, as 32 hexadecimal digits.
    pub scenario_digest: String,
    /// What came out.
    pub outcome: Outcome,
}

/// What came out of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It ran to its end.
    Done {
        /// Digest of its records.
        digest: String,
        /// Simulated time.
        simulated_ns: u64,
        /// Ticks, switches and wake-ups.
        events: u64,
        /// Its named numbers.
        metrics: Vec<Metric>,
        /// Whether its expectations hold.
        holds: bool,
    },
    /// An invariant of ours broke.
    Broken(String),
    /// The combination cannot be run.
    Refused(String),
    /// The sweep was stopped before it.
    Missing,
}
