//! The named numbers of a run: those of every run and those of the workload's own measurements.

mod locks;
mod quota;

pub use locks::{LOCK_MODES, LockOutcome, lock_metrics};
pub use quota::{QuotaRow, quota_metrics, quota_rows};

use fairground_metrics::{Better, Histogram, MarkerReport, Metric, PlatHistogram, RunReport, RunStats, Unit};
use fairground_model::{MarkerUnit, TaskSet};
use fairground_stdx::{Id, Instant, MarkerId};
use locks::lock_metrics_to_come;
use std::collections::BTreeMap;
use std::ops::Range;

/// Tasks up to this number have metrics of their own; beyond it a list would drown the rest.
const MAX_TASKS_WITH_METRICS: usize = 64;

/// All named numbers of a run of `tasks`.
///
/// A marker of whole microseconds or per second has the percentiles that schbench prints. Any other
/// marker `wait` gives, if it is a plain number and measurements count in a window only, `wait.per_second`, and `wait.count`, `wait.mean`, `wait.p50`, `wait.p99`, `wait.max` over all measured
/// tasks; a task `h00` gives `tasks.h00.runtime_ms` and `tasks.h00.max_wait_ms`, a second one of that name
/// `tasks.h00#2.runtime_ms` and so on.
pub fn metrics(report: &RunReport, tasks: &TaskSet) -> Vec<Metric> {
    let mut metrics = report.metrics();
    for (marker, spec) in tasks.markers.iter_enumerated() {
        let (unit, better) = match spec.unit {
            MarkerUnit::Ns | MarkerUnit::WholeUs | MarkerUnit::EachUs => (Unit::Us, Better::Lower),
            MarkerUnit::Count => (Unit::Count, Better::Neither),
            MarkerUnit::PerSecond => (Unit::Count, Better::Higher),
        };
        let values = marker_values(report, tasks, &(0..tasks.tasks.len()), marker);
        let mut push =
            |name: &str, value, unit, better| metrics.push(Metric::new(format!("{}.{name}", spec.name), value, unit, better));
        push("count", values.len(), Unit::Count, Better::Higher);
        if let (MarkerUnit::Count, Some((from, to))) = (spec.unit, tasks.window) {
            let to = to.min(Instant::ZERO + report.length).max(from);
            let per_second = (values.sum() * 1_000_000_000).checked_div(u128::from(to.since(from).0)).unwrap_or(0);
            push("per_second", u64::try_from(per_second).unwrap_or(u64::MAX), Unit::Count, Better::Higher);
        }
        push("mean", values.mean(), unit, better);
        let held = match spec.unit {
            MarkerUnit::WholeUs => Some(1000),
            MarkerUnit::PerSecond => Some(1),
            MarkerUnit::Ns | MarkerUnit::Count | MarkerUnit::EachUs => None,
        };
        if let Some(held) = held {
            let buckets = marker_buckets(report, tasks, &(0..tasks.tasks.len()), marker);
            for (name, milli) in BUCKET_PERCENTILES {
                push(name, buckets.percentile(milli).0 * held, unit, better);
            }
            push("max", values.max(), unit, better);
            continue;
        }
        push("p50", values.quantile(500), unit, better);
        push("p99", values.quantile(990), unit, better);
        push("max", values.max(), unit, better);
    }
    if tasks.tasks.len() <= MAX_TASKS_WITH_METRICS {
        let mut bearers: BTreeMap<&str, u32> = BTreeMap::new();
        for (id, spec) in tasks.tasks.iter_enumerated() {
            let bearer = bearers.entry(&spec.name).or_insert(0);
            *bearer += 1;
            let name = if *bearer == 1 { spec.name.clone() } else { format!("{}#{bearer}", spec.name) };
            let row = report.tasks.iter().find(|row| row.task == id);
            let (runtime, wait) = row.map_or((0, 0), |row| (row.runtime.0, row.max_wait.0));
            metrics.push(Metric::new(format!("tasks.{name}.runtime_ms"), runtime, Unit::Ms, Better::Neither));
            metrics.push(Metric::new(format!("tasks.{name}.max_wait_ms"), wait, Unit::Ms, Better::Lower));
        }
    }
    metrics
}

/// Percentiles of markers that are counted in the buckets of schbench: those that schbench prints, in thousandths of a percent.
const BUCKET_PERCENTILES: [(&str, u32); 7] =
    [("p50", 50_000), ("p75", 75_000), ("p90", 90_000), ("p95", 95_000), ("p99", 99_000), ("p99.5", 99_500), ("p99.9", 99_900)];

/// Whether a row is that of `marker` and of a measured task among `rows`.
fn counts(row: &MarkerReport, tasks: &TaskSet, rows: &Range<usize>, marker: MarkerId) -> bool {
    row.marker == marker && rows.contains(&row.task.index()) && tasks.tasks.get(row.task).is_some_and(|task| task.measured)
}

/// The values of a marker of whole microseconds (in us) or per second, in the buckets of schbench.
pub fn marker_buckets(report: &RunReport, tasks: &TaskSet, rows: &Range<usize>, marker: MarkerId) -> PlatHistogram {
    let mut values = PlatHistogram::default();
    let reports = report.markers.iter().filter(|row| counts(row, tasks, rows, marker));
    reports.filter_map(|row| row.buckets.as_ref()).for_each(|buckets| values.merge(buckets));
    values
}

/// The values of a marker over the measured tasks among `rows`.
pub fn marker_values(report: &RunReport, tasks: &TaskSet, rows: &Range<usize>, marker: MarkerId) -> Histogram {
    let mut values = Histogram::new();
    report.markers.iter().filter(|row| counts(row, tasks, rows, marker)).for_each(|row| values.merge(&row.values));
    values
}

/// The metrics that a run of `tasks` will have, with value 0.
pub fn metrics_to_come(tasks: &TaskSet) -> Vec<Metric> {
    let mut metrics = metrics(&RunStats::new(Instant::ZERO, 1).finish(Instant::ZERO), tasks);
    metrics.extend(lock_metrics_to_come(tasks));
    metrics.extend(quota_metrics(tasks, &[]));
    metrics
}
