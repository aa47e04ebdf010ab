//! The tables of single workloads: the columns that each of them names, and the layouts of schbench and cyclictest.

use crate::run::RunOutcome;
use fairground_metrics::{EachUs, Histogram, PlatHistogram};
use fairground_model::{Instr, TaskSet};
use fairground_report::units::fixed;
use fairground_report::{Cell, Column, Table};
use fairground_scenario::Workload;
use fairground_scenario::metrics::{marker_buckets, marker_values};
use fairground_stdx::{Id, Ns};
use fairground_workload::{Aggregate, Figure, Percentiles, Threads};
use serde_json::Value;
use std::ops::Range;

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
pub(super) fn own_table(workload: &Workload, own: Range<usize>, outcome: &RunOutcome) -> Table {
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
            return Cell::none();
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
pub(super) fn percentile_table(spec: &Percentiles, own: Range<usize>, outcome: &RunOutcome) -> Table {
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

/// The table of the tasks `own`, in the layout of the real program.
pub(super) fn thread_table(spec: &Threads, own: Range<usize>, outcome: &RunOutcome) -> Table {
    let keys = ["thread", "priority", "interval_us", "cycles", "min_us", "act_us", "avg_us", "max_us"];
    let mut table = Table::new("threads", "", keys.map(|key| Column::right(key.replace('_', " "), key)).into());
    let of_task = |task: usize| {
        let is_it = |name: &str| name == spec.marker;
        let rows = outcome.report.markers.iter().filter(|row| row.task.index() == task);
        rows.filter(|row| is_it(&outcome.tasks.markers[row.marker].name)).find_map(|row| row.each_us.clone()).unwrap_or_default()
    };
    let threads: Vec<EachUs> = own.clone().map(of_task).collect();
    for ((row, task), seen) in own.clone().enumerate().zip(&threads) {
        let policy = outcome.tasks.tasks.iter().nth(task).map(|spec| spec.policy);
        let priority = policy.and_then(|policy| policy.rt_priority()).map_or(0, |priority| priority.get());
        let (interval, avg) = (spec.intervals_us.get(row).copied().unwrap_or(0), seen.sum / seen.count.max(1));
        table.line(format!(
            "T:{row:2} ({:5}) P:{priority:2} I:{interval} C:{:7} Min:{:7} Act:{:5} Avg:{avg:5} Max:{:8}",
            fairground_sim::FIRST_PID as usize + task,
            seen.count,
            seen.min,
            seen.last,
            seen.max,
        ));
        let cells = [row as u64, u64::from(priority), interval, seen.count, seen.min, seen.last, avg, seen.max];
        table.push(cells.map(Into::into).into());
    }
    if spec.histogram_us > 0 {
        histogram(spec.histogram_us as usize, &threads).into_iter().for_each(|line| table.line(line));
    }
    table
}

/// The histogram with a column per thread, and what the real program writes below it.
fn histogram(below: usize, threads: &[EachUs]) -> Vec<String> {
    let row = |width: usize, separator: &str, value: &dyn Fn(&EachUs) -> u64| -> String {
        threads.iter().map(|seen| format!("{:0width$}", value(seen))).collect::<Vec<_>>().join(separator)
    };
    let bin = |us: usize| move |seen: &EachUs| seen.bins.get(us).copied().unwrap_or(0);
    let within = |seen: &EachUs| seen.bins.iter().take(below).sum::<u64>();
    let mut lines = vec!["# Histogram".to_string()];
    lines.extend((0..below).map(|us| format!("{us:06} {}", row(6, "\t", &bin(us)))));
    lines.push(format!("# Total: {}", row(9, " ", &within)));
    lines.push(format!("# Min Latencies: {}", row(5, " ", &|seen| seen.min)));
    lines.push(format!("# Avg Latencies: {}", row(5, " ", &|seen| seen.sum / seen.count.max(1))));
    lines.push(format!("# Max Latencies: {}", row(5, " ", &|seen| seen.max)));
    lines.push(format!("# Histogram Overflows: {}", row(5, " ", &|seen| seen.count - within(seen))));
    lines
}
