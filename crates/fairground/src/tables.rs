//! The tables of a run: those of the workloads, then those that every run has.

use crate::compare::side_name;
use crate::freq_table::freq_table;
use crate::group_table;
use crate::lock_table::lock_tables;
use crate::quota_table::quota_table;
use crate::run::{RunEnding, RunOutcome};
use crate::thread_table::thread_table;
use fairground_metrics::{Histogram, PlatHistogram};
use fairground_model::{Instr, TaskSet, cgroup};
use fairground_report::searches::{bpftrace_histogram, efficiency_table};
use fairground_report::units::{fixed, format_count, format_metric, format_ns};
use fairground_report::{Cell, Column, Document, Input, RunFacts, Table, run, time_spent};
use fairground_scenario::{
    BandResult, Scenario, Workload,
    metrics::{marker_buckets, marker_values},
};
use fairground_stdx::{Ns, TgId};
use fairground_workload::{Aggregate, Figure, Percentiles};
use serde_json::Value;
use std::ops::Range;

/// The tables of a run, the workloads' own first.
pub fn run_tables(scenario: &Scenario, outcome: &RunOutcome) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut first = 0;
    for workload in &scenario.workloads {
        // Tasks are numbered by workload, in the order in which these are written.
        let last = first + workload.tasks.tasks.len();
        if !workload.columns.is_empty() {
            tables.push(workload_table(workload, first..last, outcome));
        }
        let own = workload.percentiles.iter().map(|spec| percentile_table(spec, first..last, outcome));
        tables.extend(own);
        tables.extend(workload.threads.iter().map(|spec| thread_table(spec, first..last, outcome)));
        first = last;
    }
    tables.push(run::task_table(&outcome.report, &task_groups(&outcome.tasks)));
    if !outcome.tasks.groups.is_empty() {
        tables.push(group_table::group_table(outcome, &scenario.profile));
    }
    if !outcome.quotas.is_empty() {
        tables.push(quota_table(&outcome.quotas));
    }
    if !outcome.locks.locks.is_empty() {
        tables.extend(lock_tables(&outcome.locks));
    }
    tables.extend(freq_table(&outcome.frequencies));
    tables.push(run::cpu_table(&outcome.report));
    tables.push(time_spent::time_spent_table(&outcome.spent));
    let rest = [run::section_table(&outcome.report), run::reason_table(&outcome.report), run::metrics_table(&outcome.metrics)];
    tables.extend(rest.into_iter().filter(|table| !table.rows().is_empty()));
    if !outcome.bands.is_empty() {
        tables.push(band_table(&outcome.bands));
    }
    tables
}

/// How well the searches for an idle CPU did, and how long those took that came to a cache domain; nothing if none did.
pub fn search_tables(scenario: &Scenario, outcome: &RunOutcome) -> Vec<Table> {
    if outcome.sis.sis_domain_search == 0 {
        return Vec::new();
    }
    let labels: Vec<&str> = scenario.workloads.iter().map(|workload| workload.label.as_str()).collect();
    let load = format!("{} tasks", outcome.tasks.tasks.iter().filter(|task| task.measured).count());
    let row = (&*labels.join(" + "), load, outcome.sis);
    vec![
        efficiency_table("Searches for an idle CPU", [row]),
        bpftrace_histogram("select_idle_cpu_us", &outcome.idle_search_times),
    ]
}

/// The group in which each task starts; empty if there are no groups.
fn task_groups(set: &TaskSet) -> Vec<&str> {
    let path = |group: &Option<TgId>| group.map_or(cgroup::ROOT, |group| set.groups[group].name.as_str());
    if set.groups.is_empty() { Vec::new() } else { set.first_groups().iter().map(path).collect() }
}

/// The document of `run --json`, to which a command may add fields.
pub fn run_document(scenario: &Scenario, outcome: &RunOutcome) -> Document {
    let facts = RunFacts {
        scenario_digest: outcome.scenario_digest,
        digest: outcome.digest,
        seed: outcome.seed,
        simulated: outcome.simulated,
        events: outcome.counts.events(),
        wall: Ns(u64::try_from(outcome.wall.as_nanos()).unwrap_or(u64::MAX)),
    };
    let inputs = [Input::new(&scenario.name(), scenario.digest())];
    let mut tables = run_tables(scenario, outcome);
    tables.push(time_spent::time_by_op_table(&outcome.spent));
    tables.extend(search_tables(scenario, outcome));
    let mut document = run::run_document(&inputs, &facts, &outcome.metrics, &tables);
    document.set("title", scenario.title.as_str()).set("partial", outcome.is_partial());
    document.set("ticks", outcome.counts.ticks).set("notes", scenario.notes.clone());
    if !outcome.bands.is_empty() {
        document.set("holds", outcome.holds());
    }
    document
}

/// What was run and what came out, in a few lines. No wall-clock time.
pub fn summary(scenario: &Scenario, outcome: &RunOutcome) -> String {
    let partial = match outcome.ending {
        RunEnding::Complete(_) => String::new(),
        RunEnding::Interrupted => format!("PARTIAL: interrupted at {} of {}\n", outcome.simulated, scenario.duration),
        RunEnding::AtEvent => format!("PARTIAL: stopped at {} before an event, as asked\n", outcome.simulated),
    };
    let counts = outcome.counts;
    format!(
        "{partial}{}: {} on {} ({} CPUs), seed {}, {} simulated\n{} ticks, {} switches, {} wake-ups, {} migrations\nscenario {:032x}\ndigest   {:032x}",
        scenario.title,
        side_name(&scenario.profile),
        scenario.machine.name,
        scenario.machine.cpus.len(),
        outcome.seed,
        format_ns(outcome.simulated),
        format_count(counts.ticks),
        format_count(counts.switches),
        format_count(counts.wakeups),
        format_count(counts.migrations),
        outcome.scenario_digest,
        outcome.digest,
    )
}

/// How fast it went here: the only line with wall-clock time, for stderr.
pub fn speed(outcome: &RunOutcome) -> String {
    let wall = Ns(u64::try_from(outcome.wall.as_nanos()).unwrap_or(u64::MAX));
    let events = outcome.counts.events();
    let rate = u128::from(events) * 1_000_000_000 / u128::from(wall.0.max(1));
    format!(
        "{} events in {} ({} events/s)",
        format_count(events),
        format_ns(wall),
        format_count(u64::try_from(rate).unwrap_or(u64::MAX))
    )
}

const NSEC_PER_SEC: u128 = 1_000_000_000;

/// The number of measured tasks among `own` whose program makes the measurement `name`.
fn makers(set: &TaskSet, own: &Range<usize>, name: &str) -> u128 {
    let makes = |instr: &Instr| match instr {
        Instr::MarkSince { marker, .. } | Instr::MarkBetween { marker, .. } | Instr::MarkValue { marker, .. } => {
            set.markers[*marker].name == name
        }
        _ => false,
    };
    let tasks = set.tasks.iter().skip(own.start).take(own.len());
    tasks.filter(|task| task.measured && set.programs[task.program].code.iter().any(makes)).count() as u128
}

/// The workload's own table: one row, its columns computed from the markers of its tasks.
fn workload_table(workload: &Workload, own: Range<usize>, outcome: &RunOutcome) -> Table {
    let key = |title: &str| title.replace([' ', '/'], "_");
    let heading = |title: &str, unit: &str| if unit.is_empty() { title.to_string() } else { format!("{title} ({unit})") };
    let columns =
        workload.columns.iter().map(|column| Column::right(heading(column.title, column.unit), key(column.title))).collect();
    let (from, to) = outcome.window();
    let title = match outcome.tasks.window {
        Some(_) => format!("{}, measured from {} to {}", workload.label, Ns(from.ns()), Ns(to.ns())),
        None => workload.label.clone(),
    };
    let mut table = Table::new(key(&workload.label), title, columns);
    let window_ns = u128::from(to.since(from).0);
    let values = |name: &str| {
        let marker = outcome.tasks.markers.iter_enumerated().find(|row| row.1.name == name);
        marker.map_or_else(Histogram::new, |(marker, _)| marker_values(&outcome.report, &outcome.tasks, &own, marker))
    };
    let cells = workload.columns.iter().map(|column| {
        let (top, bottom) = match column.figure {
            Figure::Of(name, aggregate) => (u128::from(aggregated(&values(name), aggregate)), 1),
            Figure::Ratio(name, other) => (values(name).sum(), values(other).sum()),
            Figure::PerSecond(name) => (values(name).sum() * NSEC_PER_SEC, window_ns),
            Figure::PerSecondEach(name) => {
                let makers = makers(&outcome.tasks, &own, name);
                (values(name).sum() * NSEC_PER_SEC, window_ns * makers)
            }
        };
        let (top, bottom) = (top * u128::from(column.scale.0), bottom * u128::from(column.scale.1));
        if bottom == 0 {
            return Cell::new("-", Value::Null);
        }
        // Rounded down at nine digits, more than any column shows.
        let nano = u64::try_from(top * 1_000_000_000 / bottom).unwrap_or(u64::MAX);
        let text = fixed(nano, 1_000_000_000, u32::from(column.decimals));
        let data = text.parse::<f64>().map_or(Value::Null, Value::from);
        Cell::new(text, data)
    });
    table.push(cells.collect());
    table
}

/// A table of percentiles in schbench's layout, whose `min` is 0 whatever the values are.
fn percentile_table(spec: &Percentiles, own: Range<usize>, outcome: &RunOutcome) -> Table {
    let columns =
        vec![Column::right("percentile", "percentile"), Column::right(spec.unit, spec.unit), Column::right("samples", "samples")];
    let marker = outcome.tasks.markers.iter_enumerated().find(|row| row.1.name == spec.marker);
    let values = marker.map_or_else(PlatHistogram::default, |row| marker_buckets(&outcome.report, &outcome.tasks, &own, row.0));
    let mut table = Table::new(spec.marker, "", columns);
    table.line(match spec.counts {
        true => {
            let seconds = outcome.simulated.0 / 1_000_000_000;
            format!("{} runtime {seconds} (s) ({} total samples)", spec.title, values.len())
        }
        false => spec.title.to_string(),
    });
    let mut before = 0;
    for row in spec.rows {
        let (value, up_to) = values.percentile(row.milli);
        let samples = up_to - std::mem::replace(&mut before, up_to);
        if !row.shown {
            continue;
        }
        let star = if row.starred { "*" } else { "" };
        table.line(match spec.counts {
            true => format!("\t{star:<2}{}: {value:<10} ({samples} samples)", row.label),
            false => format!("\t{star}{}: {value}", row.label),
        });
        let percent = f64::from(row.milli) / 1000.0;
        table.push(vec![Cell::float(percent, 3), value.into(), samples.into()]);
    }
    let indent = if spec.counts { "\t  " } else { "\t" };
    table.line(format!("{indent}min=0, max={}", values.max()));
    table.push(vec![Cell::float(100.0, 3), values.max().into(), (values.len() - before).into()]);
    table
}

fn aggregated(values: &Histogram, aggregate: Aggregate) -> u64 {
    match aggregate {
        Aggregate::Count => values.len(),
        Aggregate::Sum => u64::try_from(values.sum()).unwrap_or(u64::MAX),
        Aggregate::Max => values.max(),
        Aggregate::Mean => values.mean(),
        Aggregate::PerMille(permille) => values.quantile(u64::from(permille)),
    }
}

/// The scenario's expectations beside the run.
pub fn band_table(bands: &[BandResult]) -> Table {
    let columns = vec![
        Column::left("metric", "metric"),
        Column::right("value", "value"),
        Column::right("min", "min"),
        Column::right("max", "max"),
        Column::left("within", "within"),
        Column::left("why", "why"),
    ];
    let mut table = Table::new("expect", "Expectations", columns);
    for row in bands {
        let value = row.value.as_ref().map_or_else(
            || Cell::new("missing", Value::Null),
            |metric| Cell::new(format_metric(metric.value, metric.unit), metric.value),
        );
        let limit = |limit: &Option<fairground_scenario::Limit>| {
            limit.as_ref().map_or_else(Cell::empty, |limit| Cell::new(limit.text.clone(), limit.held))
        };
        let within = Cell::new(if row.within() { "yes" } else { "NO" }, row.within());
        let why = row.band.why.clone().unwrap_or_default();
        table.push(vec![row.band.metric.clone().into(), value, limit(&row.band.min), limit(&row.band.max), within, why.into()]);
    }
    table
}
