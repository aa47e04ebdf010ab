//! All runs that an advice rests on, a row each: `-o FILE.parquet`.

use super::sample::Sample;
use fairground_model::CpuMax;
use fairground_scenario::Scenario;
use std::sync::{Arc, Mutex, PoisonError};

/// One run: what decided it, and what came of it. The order of fields is that in which rows are sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Run {
    pub(super) profile: String,
    pub(super) workers: Option<u32>,
    pub(super) gc_threads: Option<u32>,
    pub(super) cpus: String,
    pub(super) period_us: u64,
    pub(super) quota_us: Option<u64>,
    pub(super) burst_us: u64,
    pub(super) seed: u64,
    pub(super) percentiles: [u64; PERCENTILES.len()],
    pub(super) results: [u64; RESULTS.len()],
    pub(super) digest: u128,
}

/// The percentiles in a row, thousandths, with their columns.
pub(super) const PERCENTILES: [(u64, &str); 5] =
    [(500, "p50_ns"), (900, "p90_ns"), (950, "p95_ns"), (990, "p99_ns"), (999, "p99_9_ns")];

/// A figure of a run.
type Figure = fn(&Sample) -> u64;

/// What came of a run beside percentiles, by column.
pub(super) const RESULTS: [(&str, Figure); 9] = [
    ("requests", Sample::requests),
    ("late", Sample::late),
    ("good", |sample| sample.good),
    ("timeouts", |sample| sample.timeouts),
    ("nr_periods", |sample| sample.nr_periods),
    ("nr_throttled", |sample| sample.nr_throttled),
    ("used_ns", |sample| sample.used.0),
    ("simulated_ns", |sample| sample.length.0),
    // All figures of such a run are up to where it ended.
    ("ended_early", |sample| u64::from(sample.decided.is_some())),
];

/// The runs so far; threads add to it in any order.
#[derive(Clone, Default)]
pub(super) struct Runs(Arc<Mutex<Vec<Run>>>);

impl Runs {
    /// Adds a run of a scenario with a seed, its limit being that of the group at `path`.
    pub(super) fn add(&self, scenario: &Scenario, seed: u64, path: &str, sample: &Sample) {
        let limit = scenario.group_limit(path).unwrap_or(CpuMax::UNLIMITED);
        let service = scenario.service().map(|row| row.1);
        let collector = |service: &fairground_workload::service::Service| {
            service.background.iter().find(|group| group.name == "gc").map_or(0, |group| group.threads)
        };
        let run = Run {
            profile: scenario.profile.full_name(),
            workers: service.map(|service| service.workers),
            gc_threads: service.map(collector),
            cpus: service.and_then(|service| service.cpus).map_or_else(|| "all".to_string(), |cpus| cpus.to_string()),
            period_us: limit.period.0 / 1000,
            quota_us: limit.quota.map(|quota| quota.0 / 1000),
            burst_us: limit.burst.0 / 1000,
            seed,
            percentiles: PERCENTILES.map(|row| sample.percentile(row.0)),
            results: RESULTS.map(|row| (row.1)(sample)),
            digest: sample.digest,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(run);
    }
    /// All runs in an order that does not depend on threads; what was run twice stands once.
    pub(super) fn sorted(&self) -> Vec<Run> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        runs.sort_unstable();
        runs.dedup();
        runs
    }
}
