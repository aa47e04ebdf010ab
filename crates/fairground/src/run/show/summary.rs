//! What happened, in at most ten lines, and one for each warning of the kernel.

use crate::run::{RunEnding, RunOutcome, WorstWait};
use fairground_metrics::Metric;
use fairground_metrics::latency::WarnReport;
use fairground_report::units::{counted, fixed, format_count, format_metric, format_ns};
use fairground_scenario::{BandResult, Scenario};
use fairground_stdx::{Ns, TaskId};

/// What was run and what came out of it: the use of the CPUs, requests, the group that was throttled longest, the worst wait and its
/// cause, the verdict of the expectations, digests. No wall-clock time.
pub fn summary(scenario: &Scenario, outcome: &RunOutcome) -> Vec<String> {
    let mut lines = vec![what_ran(scenario, outcome), cpus(outcome)];
    lines.extend(requests(outcome));
    lines.extend(throttled(outcome));
    lines.extend(outcome.report.warns.iter().map(kernel_warn));
    if let Some(worst) = &outcome.worst {
        lines.push(worst_wait(worst, outcome));
        lines.extend(worst.cause.iter().map(|cause| format!("  cause     {cause}")));
        lines.extend(worst.ask.iter().map(|command| format!("  more      {command}")));
    }
    lines.extend(expected(&outcome.bands));
    lines.push(format!("digest      {:032x} of scenario {:032x}", outcome.digest, outcome.scenario_digest));
    lines
}

fn what_ran(scenario: &Scenario, outcome: &RunOutcome) -> String {
    let partial = match outcome.ending {
        RunEnding::Complete(_) => String::new(),
        RunEnding::Interrupted => format!("PARTIAL: interrupted at {} of {}: ", outcome.simulated, scenario.duration),
        RunEnding::AtEvent => format!("PARTIAL: stopped at {} before an event, as asked: ", outcome.simulated),
    };
    format!(
        "{partial}{}: {} on {} ({}), seed {}, {} simulated",
        scenario.title,
        scenario.profile.full_name(),
        scenario.machine.name,
        counted(scenario.machine.cpus.len() as u64, "CPU"),
        outcome.seed,
        format_ns(outcome.simulated),
    )
}

fn metric<'a>(outcome: &'a RunOutcome, name: &str) -> Option<&'a Metric> {
    outcome.metrics.iter().find(|metric| metric.name == name)
}

fn cpus(outcome: &RunOutcome) -> String {
    let share = |name| metric(outcome, name).map_or_else(String::new, |metric| format_metric(metric.value, metric.unit));
    format!(
        "CPUs        {} busy, {} in the kernel; {} switches, {} wake-ups, {} migrations",
        share("busy_pct"),
        share("kernel_pct"),
        format_count(outcome.report.switches),
        format_count(outcome.report.wakeups),
        format_count(outcome.report.migrations),
    )
}

/// Requests of a service: how many came, were answered, and were answered in time.
fn requests(outcome: &RunOutcome) -> Option<String> {
    let count = |name| metric(outcome, name).map(|metric| format_count(metric.value));
    Some(format!(
        "requests    {} came, {} answered, {} of them in time",
        count("requests.count")?,
        count("request_latency.count")?,
        count("good.count")?
    ))
}

/// The group whose queues were throttled longest.
fn throttled(outcome: &RunOutcome) -> Option<String> {
    let row = outcome.quotas.iter().reduce(
        |most, row| {
            if row.stats.throttled_time > most.stats.throttled_time { row } else { most }
        },
    )?;
    let stats = &row.stats;
    let share = (stats.nr_throttled * 1000).checked_div(stats.nr_periods).unwrap_or(0);
    Some(format!(
        "throttled   {}: {} on all CPUs together, in {} of {} periods ({} %)",
        row.group,
        format_ns(stats.throttled_time),
        stats.nr_throttled,
        stats.nr_periods,
        fixed(share, 10, 1)
    ))
}

/// A state that the kernel takes for impossible, and warns of.
fn kernel_warn(row: &WarnReport) -> String {
    let (warn, at) = (row.warn, format_ns(Ns(row.at.ns())));
    format!("kernel-warn {}: {}, first on CPU {} at {at}", warn.function(), warn.condition(), row.cpu)
}

fn worst_wait(worst: &WorstWait, outcome: &RunOutcome) -> String {
    let from = format_ns(Ns(worst.from.ns()));
    let until = match worst.from + worst.length {
        until if until >= outcome.end() => "the end of the run".to_string(),
        until => format_ns(Ns(until.ns())),
    };
    let longer =
        longer_of_hogs(worst, outcome).map(|longest| format!("; tasks that never sleep waited up to {}", format_ns(longest)));
    let longer = longer.unwrap_or_default();
    format!("worst wait  {}: {}, from {from} to {until}{longer}", task_name(outcome, worst.task), format_ns(worst.length))
}

/// The longest wait of a task that never sleeps, if it is longer: such tasks have nothing to be late for, but the table shows them.
fn longer_of_hogs(worst: &WorstWait, outcome: &RunOutcome) -> Option<Ns> {
    let is_measured = |task: TaskId| outcome.tasks.tasks.get(task).is_some_and(|task| task.measured);
    let hogs = outcome.report.tasks.iter().filter(|row| row.latency.len() <= 1 && is_measured(row.task));
    hogs.map(|row| row.longest_later.length).max().filter(|longest| *longest > worst.length)
}

fn task_name(outcome: &RunOutcome, task: TaskId) -> &str {
    outcome.tasks.tasks.get(task).map_or("?", |task| task.name.as_str())
}

/// How many expectations hold, and the first that does not.
fn expected(bands: &[BandResult]) -> Option<String> {
    let held = bands.iter().filter(|row| row.within()).count();
    let missed = bands.iter().find(|row| !row.within()).map(|row| {
        let value = row.value.as_ref().map_or_else(|| "missing".to_string(), |metric| format_metric(metric.value, metric.unit));
        format!("; MISSED: {} is {value}", row.band.metric)
    });
    (!bands.is_empty()).then(|| format!("expected    {held} of {} hold{}", bands.len(), missed.unwrap_or_default()))
}
