//! All runs that an advice rests on, a row each: `-o FILE.parquet`.

use super::Advice;
use super::bootstrap::NEVER;
use super::sample::Sample;

use fairground::output::table_parquet;
use fairground_model::CpuMax;
use fairground_report::{Cell, Column, Table, columns};
use fairground_scenario::Scenario;
use std::sync::{Arc, Mutex, PoisonError};

/// One run: what decided it, and what came of it. The order of fields is that in which rows are sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Run {
    profile: String,
    workers: Option<u32>,
    gc_threads: Option<u32>,
    cpus: String,
    period_us: u64,
    quota_us: Option<u64>,
    burst_us: u64,
    seed: u64,
    percentiles: [u64; PERCENTILES.len()],
    requests: u64,
    late: u64,
    good: u64,
    timeouts: u64,
    nr_periods: u64,
    nr_throttled: u64,
    used_ns: u64,
    simulated_ns: u64,
    digest: u128,
}

/// The percentiles in a row, thousandths, with their columns.
const PERCENTILES: [(u64, &str); 5] = [(500, "p50_ns"), (900, "p90_ns"), (950, "p95_ns"), (990, "p99_ns"), (999, "p99_9_ns")];

/// The runs so far; threads add to it in any order.
#[derive(Clone, Default)]
pub(super) struct Runs(Arc<Mutex<Vec<Run>>>);

impl Runs {
    /// Adds a run of a scenario, its limit being that of the group at `path`.
    pub(super) fn add(&self, scenario: &Scenario, path: &str, sample: &Sample) {
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
            seed: scenario.seed,
            percentiles: PERCENTILES.map(|row| sample.percentile(row.0)),
            requests: sample.requests(),
            late: sample.late(),
            good: sample.good,
            timeouts: sample.timeouts,
            nr_periods: sample.nr_periods,
            nr_throttled: sample.nr_throttled,
            used_ns: sample.used.0,
            simulated_ns: sample.length.0,
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

impl Advice {
    /// The table of runs.
    pub(super) fn runs_table(&self) -> Table {
        let mut columns = columns![
            left "profile", right "workers", right "gc threads" "gc_threads", left "CPUs" "cpus",
            right "period us" "period_us", right "quota us" "quota_us", right "burst us" "burst_us", right "seed",
        ];
        columns.extend(PERCENTILES.map(|row| Column::right(row.1, row.1)));
        columns.extend(RESULTS.map(|key| Column::right(key, key)));
        columns.push(Column::left("digest", "digest"));
        let mut table = Table::new("runs", "Runs", columns);
        for run in &self.runs {
            let maybe = |value: Option<u64>| value.map_or_else(Cell::none, Cell::from);
            let mut cells = vec![
                run.profile.clone().into(),
                maybe(run.workers.map(u64::from)),
                maybe(run.gc_threads.map(u64::from)),
                run.cpus.clone().into(),
                run.period_us.into(),
                maybe(run.quota_us),
                run.burst_us.into(),
                run.seed.into(),
            ];
            cells.extend(run.percentiles.map(|ns| maybe(Some(ns).filter(|ns| *ns != NEVER))));
            let results =
                [run.requests, run.late, run.good, run.timeouts, run.nr_periods, run.nr_throttled, run.used_ns, run.simulated_ns];
            cells.extend(results.map(Cell::from));
            cells.push(format!("{:032x}", run.digest).into());
            table.push(cells);
        }
        table
    }
    /// The table of runs as a file.
    pub(super) fn parquet(&self, scenario: &Scenario) -> Vec<u8> {
        let goals: Vec<String> = self.goals.iter().map(ToString::to_string).collect();
        let pairs = [
            ("command", "advise".to_string()),
            ("version", env!("CARGO_PKG_VERSION").to_string()),
            ("scenario_digest", format!("{:032x}", scenario.digest())),
            ("digest", format!("{:032x}", self.digest)),
            ("group", self.group.clone()),
            ("goals", goals.join(", ")),
        ];
        table_parquet(&self.runs_table(), pairs.map(|(key, value)| (format!("fairground.{key}"), value)).into())
    }
}

/// Columns of what came of a run beside percentiles.
const RESULTS: [&str; 8] = ["requests", "late", "good", "timeouts", "nr_periods", "nr_throttled", "used_ns", "simulated_ns"];
