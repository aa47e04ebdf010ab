//! The named numbers of a run: each is a row of a table, beside what it is measured on. `fairground list metrics` shows all rows.

mod locks;
mod parts;
mod quota;

pub use locks::{LOCK_MODES, LockOutcome};
pub(crate) use parts::OTHER;
pub use parts::{PartOutcome, PartRow};
pub use quota::{QuotaRow, quota_rows};

use fairground_metrics::latency::RUN_METRICS;
use fairground_metrics::{Better, Histogram, MarkerReport, Metric, MetricRow, PlatHistogram, RunReport, RunStats, Unit};
use fairground_model::{Instr, MarkerUnit, TaskSet};
use fairground_stdx::{Id, Instant, MarkerId, Ns, TaskId};
use locks::{ALL_LOCKS_METRICS, LOCK_METRICS, LOCK_TASK_METRICS, LOCK_WAIT_METRICS, SPIN_METRICS, lock_metrics};
use parts::{EXTENSION_METRICS, PART_METRICS, part_metrics};
use quota::{QUOTA_METRICS, quota_metrics};
use std::collections::BTreeMap;
use std::ops::Range;

/// Tasks up to this number have metrics of their own; beyond it a list would drown the rest.
const MAX_TASKS_WITH_METRICS: usize = 64;

/// All named numbers of a run of `tasks`.
pub fn metrics(
    report: &RunReport,
    tasks: &TaskSet,
    locks: &LockOutcome,
    parts: &PartOutcome,
    quotas: &[QuotaRow],
) -> Vec<Metric> {
    let mut metrics = report.metrics();
    for (marker, spec) in tasks.markers.iter_enumerated() {
        let marked = Marked::new(report, tasks, marker);
        // That something happened has no size.
        let tells = |row: &&MarkerRow| spec.unit != MarkerUnit::Event || ["count", "per_second"].contains(&row.name);
        let rows = MARKER_METRICS.iter().filter(tells).filter_map(|row| Some((row, (row.value)(&marked)?)));
        metrics.extend(rows.map(|(row, value)| {
            let (unit, better) = row.unit.unwrap_or(marked.unit());
            Metric::new(format!("{}.{}", spec.name, row.name), value, unit, better)
        }));
    }
    if tasks.tasks.len() <= MAX_TASKS_WITH_METRICS {
        let names = numbered(tasks.tasks.iter().map(|spec| spec.name.as_str()));
        for ((id, _), name) in tasks.tasks.iter_enumerated().zip(names) {
            let row = report.tasks.iter().find(|row| row.task == id);
            let times = row.map_or((Ns::ZERO, Ns::ZERO), |row| (row.runtime, row.max_wait));
            metrics.extend(TASK_METRICS.iter().map(|metric| metric.of(&format!("tasks.{name}."), &times)));
            for (marker, spec) in tasks.markers.iter_enumerated().filter(|row| row.1.unit == MarkerUnit::Left) {
                if makes(tasks, id, marker) {
                    let own = report.markers.iter().find(|row| row.task == id && row.marker == marker);
                    let values = own.map_or_else(Histogram::new, |row| row.values.clone());
                    metrics.extend(
                        TASK_LEFT_METRICS.iter().map(|metric| metric.of(&format!("tasks.{name}.{}_us.", spec.name), &values)),
                    );
                }
            }
        }
    }
    metrics.extend(lock_metrics(locks));
    metrics.extend(part_metrics(parts));
    metrics.extend(quota_metrics(tasks, quotas));
    metrics
}

/// The metrics that a run of `tasks` will have, with value 0.
pub fn metrics_to_come(tasks: &TaskSet) -> Vec<Metric> {
    let nothing = RunStats::new(Instant::ZERO, 1).finish(Instant::ZERO);
    metrics(&nothing, tasks, &LockOutcome::nothing(tasks), &PartOutcome::nothing(tasks), &[])
}

/// Names told apart: the second of a name is `NAME#2`, and so on.
fn numbered<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut bearers: BTreeMap<&str, u32> = BTreeMap::new();
    let name = |name: &'a str| {
        let bearer = bearers.entry(name).or_insert(0);
        *bearer += 1;
        if *bearer == 1 { name.to_string() } else { format!("{name}#{bearer}") }
    };
    names.map(name).collect()
}

/// What is said of a metric in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    /// Its name, with a word in capitals for each part that a run fills in.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub better: &'static str,
    /// What it is.
    pub sentence: &'static str,
}

/// All metrics that runs can have.
pub fn described() -> Vec<Described> {
    fn rows<T>(prefix: &str, rows: &[MetricRow<T>]) -> Vec<Described> {
        let row = |row: &MetricRow<T>| described_row(format!("{prefix}{}", row.name), Some((row.unit, row.better)), row.sentence);
        rows.iter().map(row).collect()
    }
    let markers = MARKER_METRICS.iter().map(|row| described_row(format!("MEASUREMENT.{}", row.name), row.unit, row.sentence));
    let mut all = rows("", &RUN_METRICS);
    all.extend(markers);
    all.extend(rows("tasks.TASK.", &TASK_METRICS));
    all.extend(rows("tasks.TASK.slack_us.", &TASK_LEFT_METRICS));
    all.extend(rows("locks.LOCK.", &LOCK_METRICS));
    all.extend(rows("locks.SPIN_LOCK.", &SPIN_METRICS));
    all.extend(rows("locks.LOCK.MODE.", &LOCK_WAIT_METRICS));
    all.extend(rows("tasks.TASK.", &LOCK_TASK_METRICS));
    all.extend(rows("", &ALL_LOCKS_METRICS));
    all.extend(rows("parts.PART.", &PART_METRICS));
    all.extend(rows("slice_extensions.", &EXTENSION_METRICS));
    all.extend(rows("quota.GROUP.", &QUOTA_METRICS));
    all
}

fn described_row(name: String, unit: Option<(Unit, Better)>, sentence: &'static str) -> Described {
    let word = |unit: Unit| if unit == Unit::Count { "count" } else { unit.name() };
    let (unit, better) = unit.map_or(("us or count", "by unit"), |(unit, better)| (word(unit), better.name()));
    Described { name, unit, better, sentence }
}

/// How long a task ran, and the longest that it was runnable and did not.
type TaskTimes = (Ns, Ns);

/// The metrics of each task.
static TASK_METRICS: [MetricRow<TaskTimes>; 2] = [
    MetricRow::new("runtime_ms", Unit::Ms, Better::Neither, "How long the task ran", |times| times.0.0),
    MetricRow::new("max_wait_ms", Unit::Ms, Better::Lower, "The longest that it was runnable and did not run", |times| times.1.0),
];

/// The metrics of what each task had left until it was due.
static TASK_LEFT_METRICS: [MetricRow<Histogram>; 2] = [
    MetricRow::new("mean", Unit::Us, Better::Higher, "The mean time that the task had left until its timer expired", |left| {
        left.mean()
    }),
    MetricRow::new("p1", Unit::Us, Better::Higher, "The task had less left in 1 % of its rounds; 0 where it was late", |left| {
        left.quantile(10)
    }),
];

/// Whether the program of a task makes a measurement.
fn makes(tasks: &TaskSet, task: TaskId, wanted: MarkerId) -> bool {
    let is_it = |instr: &Instr| match instr {
        Instr::MarkSince { marker, .. } | Instr::MarkBetween { marker, .. } | Instr::MarkValue { marker, .. } => {
            *marker == wanted
        }
        _ => false,
    };
    tasks.tasks.get(task).and_then(|spec| tasks.programs.get(spec.program)).is_some_and(|program| program.code.iter().any(is_it))
}

/// What the measured tasks of a run have measured of one thing.
struct Marked {
    kind: MarkerUnit,
    values: Histogram,
    /// The same in the buckets of schbench, where the program counts so, and what one of a bucket is held as.
    buckets: Option<(PlatHistogram, u64)>,
    per_second: Option<u64>,
}

impl Marked {
    fn new(report: &RunReport, tasks: &TaskSet, marker: MarkerId) -> Marked {
        let (kind, all) = (tasks.markers[marker].unit, 0..tasks.tasks.len());
        let values = marker_values(report, tasks, &all, marker);
        let held = match kind {
            MarkerUnit::WholeUs => Some(1000),
            MarkerUnit::PerSecond => Some(1),
            MarkerUnit::Ns | MarkerUnit::Left | MarkerUnit::Count | MarkerUnit::Event | MarkerUnit::EachUs => None,
        };
        let per_second = matches!(kind, MarkerUnit::Count | MarkerUnit::Event).then(|| {
            let end = Instant::ZERO + report.length;
            let (from, to) = tasks.window.unwrap_or((Instant::ZERO, end));
            let length = to.min(end).max(from).since(from);
            // In thousandths, rounded down.
            let held = (values.sum() * 1_000_000_000_000).checked_div(u128::from(length.0)).unwrap_or(0);
            u64::try_from(held).unwrap_or(u64::MAX)
        });
        let buckets = held.map(|held| (marker_buckets(report, tasks, &all, marker), held));
        Marked { kind, values, buckets, per_second }
    }
    fn unit(&self) -> (Unit, Better) {
        match self.kind {
            MarkerUnit::Ns | MarkerUnit::WholeUs | MarkerUnit::EachUs => (Unit::Us, Better::Lower),
            MarkerUnit::Left => (Unit::Us, Better::Higher),
            MarkerUnit::Count | MarkerUnit::Event => (Unit::Count, Better::Neither),
            MarkerUnit::PerSecond => (Unit::Count, Better::Higher),
        }
    }
    /// A percentile that only schbench prints, in thousandths of a percent.
    fn of_buckets(&self, milli: u32) -> Option<u64> {
        self.buckets.as_ref().map(|(buckets, held)| buckets.percentile(milli).0 * held)
    }
    fn percentile(&self, milli: u32) -> Option<u64> {
        self.of_buckets(milli).or_else(|| Some(self.values.quantile(u64::from(milli) / 100)))
    }
}

/// A metric of a measurement; none = in the unit of the measurement.
struct MarkerRow {
    name: &'static str,
    unit: Option<(Unit, Better)>,
    sentence: &'static str,
    /// None = measurements of this kind do not have it.
    value: fn(&Marked) -> Option<u64>,
}

const fn marker(
    name: &'static str,
    unit: Option<(Unit, Better)>,
    sentence: &'static str,
    value: fn(&Marked) -> Option<u64>,
) -> MarkerRow {
    MarkerRow { name, unit, sentence, value }
}

const MORE: Option<(Unit, Better)> = Some((Unit::Count, Better::Higher));
const PER_SECOND: Option<(Unit, Better)> = Some((Unit::Rate, Better::Higher));

/// The metrics of each measurement of a workload, over all measured tasks that make it.
static MARKER_METRICS: [MarkerRow; 11] = [
    marker("count", MORE, "How many values were measured", |marked| Some(marked.values.len())),
    marker("per_second", PER_SECOND, "Their sum per second of the window, or of the run without one", |marked| marked.per_second),
    marker("mean", None, "Their mean", |marked| Some(marked.values.mean())),
    marker("p50", None, "Their median", |marked| marked.percentile(50_000)),
    marker("p75", None, "75 % are at most this (measurements in schbench's buckets)", |marked| marked.of_buckets(75_000)),
    marker("p90", None, "90 % are at most this (measurements in schbench's buckets)", |marked| marked.of_buckets(90_000)),
    marker("p95", None, "95 % are at most this (measurements in schbench's buckets)", |marked| marked.of_buckets(95_000)),
    marker("p99", None, "99 % are at most this", |marked| marked.percentile(99_000)),
    marker("p99.5", None, "99.5 % are at most this (measurements in schbench's buckets)", |marked| marked.of_buckets(99_500)),
    marker("p99.9", None, "99.9 % are at most this (measurements in schbench's buckets)", |marked| marked.of_buckets(99_900)),
    marker("max", None, "The largest", |marked| Some(marked.values.max())),
];

/// The reports of `marker` by measured tasks among `rows`. What only tasks that are not measured can tell, such as how many requests the
/// clients of a service made, is told by them.
fn reports<'a>(
    report: &'a RunReport,
    tasks: &TaskSet,
    rows: &Range<usize>,
    marker: MarkerId,
) -> impl Iterator<Item = &'a MarkerReport> {
    let is_of = |row: &&MarkerReport| row.marker == marker && rows.contains(&row.task.index());
    let is_measured = |row: &&MarkerReport| tasks.tasks.get(row.task).is_some_and(|task| task.measured);
    let found: Vec<&MarkerReport> = report.markers.iter().filter(is_of).collect();
    let measured: Vec<&MarkerReport> = found.iter().copied().filter(is_measured).collect();
    if measured.is_empty() { found } else { measured }.into_iter()
}

/// The values of a marker of whole microseconds (in us) or per second, in the buckets of schbench.
pub fn marker_buckets(report: &RunReport, tasks: &TaskSet, rows: &Range<usize>, marker: MarkerId) -> PlatHistogram {
    let mut values = PlatHistogram::default();
    let reports = reports(report, tasks, rows, marker);
    reports.filter_map(|row| row.buckets.as_ref()).for_each(|buckets| values.merge(buckets));
    values
}

/// The values of a marker over the measured tasks among `rows`.
pub fn marker_values(report: &RunReport, tasks: &TaskSet, rows: &Range<usize>, marker: MarkerId) -> Histogram {
    let mut values = Histogram::new();
    reports(report, tasks, rows, marker).for_each(|row| values.merge(&row.values));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered_from_the_second_on() {
        assert_eq!(numbered(["a", "b", "a", "a"].into_iter()), ["a", "b", "a#2", "a#3"]);
    }

    #[test]
    fn every_metric_is_described_once_with_a_sentence() {
        let all = described();
        let names: std::collections::BTreeSet<&str> = all.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().all(|row| row.sentence.starts_with(|first: char| first.is_uppercase() || first.is_ascii_digit())));
    }
}
