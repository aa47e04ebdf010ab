//! The table of cyclictest: a line per thread, then a histogram.

use crate::run::RunOutcome;
use fairground_metrics::EachUs;
use fairground_report::{Column, Table};
use fairground_stdx::Id;
use fairground_workload::Threads;
use std::ops::Range;

/// The process id of the first task of a run.
const FIRST_PID: usize = 1000;

/// The table of the tasks `own`, in the layout of the real program.
pub(crate) fn thread_table(spec: &Threads, own: Range<usize>, outcome: &RunOutcome) -> Table {
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
            FIRST_PID + task,
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
