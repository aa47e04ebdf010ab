//! `run`: what a run did, per task, per CPU and in all.

use crate::columns;
use crate::document::{Document, Input, hex};
use crate::table::{Cell, Column, Table, number};
use crate::units::{decimal, fixed};
use fairground_metrics::{Metric, RunReport, Unit};
use fairground_stdx::{Id, Ns};
use serde_json::{Map, Value, json};

/// Facts about a run that are not statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunFacts {
    /// The digest of all that decides the run.
    pub scenario_digest: u128,
    /// The digest of the record stream.
    pub digest: u128,
    /// The seed.
    pub seed: u64,
    /// The length of simulated time.
    pub simulated: Ns,
    /// Ticks, context switches and wake-ups.
    pub events: u64,
    /// How long the run took, measured by the caller.
    pub wall: Ns,
}

impl RunFacts {
    /// Events per second of wall-clock time, rounded down.
    pub fn events_per_s(&self) -> u64 {
        let rate = u128::from(self.events) * 1_000_000_000 / u128::from(self.wall.0.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

/// The document of `run --json`, to which a command may add fields.
pub fn run_document(inputs: &[Input], facts: &RunFacts, metrics: &[Metric], tables: &[Table]) -> Document {
    let mut document = Document::new("run", inputs, Some(facts.seed), Some(facts.digest));
    document
        .set("scenario_digest", hex(facts.scenario_digest))
        .set("simulated_ns", facts.simulated.0)
        .set("events", facts.events)
        .set("wall_ns", facts.wall.0)
        .set("events_per_s", facts.events_per_s())
        .set("metrics", metrics_json(metrics))
        .set_tables(tables);
    document
}

/// `{name: {"value", "unit"}, …}`.
pub fn metrics_json(metrics: &[Metric]) -> Value {
    let pair = |metric: &Metric| {
        let value = number(decimal(metric.value, metric.unit));
        (metric.name.clone(), json!({ "value": value, "unit": metric.unit.name() }))
    };
    Value::Object(metrics.iter().map(pair).collect::<Map<_, _>>())
}

/// The named numbers of a run.
pub fn metrics_table(metrics: &[Metric]) -> Table {
    let columns = columns![left "metric", right "value", left "unit"];
    let mut table = Table::new("metrics", "Metrics", columns);
    for metric in metrics {
        let places = if metric.unit == Unit::Count { 0 } else { 3 };
        let text = fixed(metric.value, metric.unit.scale(), places);
        table.push(vec![
            metric.name.clone().into(),
            Cell::new(text, number(decimal(metric.value, metric.unit))),
            metric.unit.name().into(),
        ]);
    }
    table
}

/// Per task: run time, share of one CPU, switches, delays and wake-up latencies. `groups` has the path of the group in which each
/// task of the run starts, in the order of their ids; a run without groups has none.
pub fn task_table(report: &RunReport, groups: &[&str]) -> Table {
    let mut columns = columns![
        left "task", right "nice", spare right "runs", right "run ms" "run_ns", right "%cpu" "cpu_pct", right "switches",
        spare right "invol" "switches_involuntary", spare right "migr" "migrations", right "wait max" "wait_max_ns",
        spare right "wakeups", spare right "lat p50" "wakeup_latency_p50_ns", right "lat p99" "wakeup_latency_p99_ns",
        right "lat max" "wakeup_latency_max_ns",
    ];
    if !groups.is_empty() {
        columns.push(Column::left("group", "group"));
    }
    let mut table = Table::new("tasks", "Tasks", columns);
    table.grows("tasks", &["wakeup_latency_max_ns", "wakeup_latency_p99_ns", "wait_max_ns"]);
    for task in &report.tasks {
        let mut row: Vec<Cell> = vec![
            task.info.name.clone().into(),
            task.nice().map_or_else(above_fair, Cell::from),
            task.slices.into(),
            Cell::new(fixed(task.runtime.0, 1_000_000, 3), task.runtime.0),
            share_cell(task.runtime, report.length),
            task.switches().into(),
            task.involuntary.into(),
            task.migrations.into(),
            Cell::ns(task.max_wait),
            task.latency.len().into(),
            Cell::ns(Ns(task.latency.quantile(500))),
            Cell::ns(Ns(task.latency.quantile(990))),
            Cell::ns(Ns(task.latency.max())),
        ];
        if !groups.is_empty() {
            row.push(groups.get(task.task.index()).copied().unwrap_or_default().into());
        }
        table.push(row);
    }
    table
}

/// Per CPU: time busy, idle and in the kernel.
pub fn cpu_table(report: &RunReport) -> Table {
    let columns = columns![
        right "cpu", right "busy ms" "busy_ns", right "busy %" "busy_pct", right "idle ms" "idle_ns",
        right "kernel ms" "kernel_ns", right "kernel %" "kernel_pct", right "switches",
    ];
    let mut table = Table::new("cpus", "CPUs", columns);
    table.grows("CPUs", &["busy_ns", "kernel_ns"]);
    let ms = |time: Ns| Cell::new(fixed(time.0, 1_000_000, 3), time.0);
    for cpu in &report.cpus {
        table.push(vec![
            u64::from(cpu.cpu.get()).into(),
            ms(cpu.busy),
            share_cell(cpu.busy, report.length),
            ms(cpu.idle),
            ms(cpu.kernel()),
            share_cell(cpu.kernel(), report.length),
            cpu.switches.into(),
        ]);
    }
    table
}

/// What the kernel spent its time on, all CPUs together. Sections that never ran are left out.
pub fn section_table(report: &RunReport) -> Table {
    let columns = columns![left "section", right "count", right "total" "total_ns", right "mean" "mean_ns"];
    let mut table = Table::new("kernel_sections", "Time in the kernel", columns);
    for (section, sum) in report.sections().into_iter().filter(|(_, sum)| sum.count > 0) {
        let mean = Ns(sum.time.0 / sum.count);
        table.push(vec![section.name().into(), Cell::count(sum.count), Cell::ns(sum.time), Cell::ns(mean)]);
    }
    table
}

/// How often each rule decided.
pub fn reason_table(report: &RunReport) -> Table {
    let columns = columns![left "reason", right "count", left "rule"];
    let mut table = Table::new("reasons", "Why decisions fell", columns);
    table.grows("rules", &["count"]);
    for row in &report.reasons {
        let rule = row.reason.sentence().replace("{a}", "A").replace("{b}", "B");
        table.push(vec![row.reason.slug().into(), Cell::count(row.count), rule.into()]);
    }
    table
}

/// `part` of `whole` in percent, two digits.
pub fn share_cell(part: Ns, whole: Ns) -> Cell {
    let hundredths = u128::from(part.0) * 10_000 / u128::from(whole.0.max(1));
    let hundredths = u64::try_from(hundredths).unwrap_or(u64::MAX);
    Cell::new(fixed(hundredths, 100, 2), number(fairground_metrics::Decimal::ratio(hundredths, 100)))
}

/// How a task above the fair class stands in the column of nice values.
fn above_fair(priority: i32) -> Cell {
    match priority {
        ..100 => format!("rt {priority}").into(),
        _ => "dl".into(),
    }
}

#[cfg(test)]
mod tests;
