//! A run as tables, as a document and as a page: the tables of its workloads, then those that every run has.

mod page;
mod programs;
mod short;
mod summary;
mod system;
mod workload;

pub use page::run_page;
pub use short::shortened;
pub use summary::summary;

use super::RunOutcome;
use fairground_model::{TaskSet, cgroup};
use fairground_report::searches::{bpftrace_histogram, efficiency_table};
use fairground_report::units::{format_count, format_metric, format_ns};
use fairground_report::{Cell, Document, Input, RunFacts, Table, columns, run as report, time_spent};
use fairground_scenario::{BandResult, Limit, Scenario};
use fairground_stdx::{Ns, TgId};
use serde_json::Value;

/// The tables of a run, the workloads' own first.
pub fn run_tables(scenario: &Scenario, outcome: &RunOutcome) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut first = 0;
    for workload in &scenario.workloads {
        // Tasks are numbered by workload, in the order in which these are written.
        let last = first + workload.tasks.tasks.len();
        if !workload.columns.is_empty() {
            tables.push(workload::own_table(workload, first..last, outcome));
        }
        let own = workload.percentiles.iter().map(|spec| workload::percentile_table(spec, first..last, outcome));
        tables.extend(own);
        tables.extend(workload.threads.iter().map(|spec| workload::thread_table(spec, first..last, outcome)));
        first = last;
    }
    tables.push(report::task_table(&outcome.report, &task_groups(&outcome.tasks)));
    if !outcome.tasks.groups.is_empty() {
        tables.push(system::group_table(outcome, &scenario.profile));
    }
    if !outcome.quotas.is_empty() {
        tables.push(system::quota_table(&outcome.quotas));
    }
    if !outcome.locks.locks.is_empty() {
        tables.extend(system::lock_tables(&outcome.locks));
    }
    tables.extend(programs::mark_table(outcome));
    tables.extend(programs::part_table(outcome));
    tables.extend(programs::extension_table(outcome));
    tables.extend(system::freq_table(&outcome.frequencies));
    tables.push(report::cpu_table(&outcome.report));
    tables.push(time_spent::time_spent_table(&outcome.spent));
    let rest =
        [report::section_table(&outcome.report), report::reason_table(&outcome.report), report::metrics_table(&outcome.metrics)];
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
    let mut document = report::run_document(&inputs, &facts, &outcome.metrics, &tables);
    document
        .set("title", scenario.title.as_str())
        .set("summary", summary(scenario, outcome))
        .set("partial", outcome.is_partial());
    document.set("ticks", outcome.counts.ticks).set("notes", scenario.notes.clone());
    if !outcome.bands.is_empty() {
        document.set("holds", outcome.holds());
    }
    document
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

/// The scenario's expectations beside the run.
fn band_table(bands: &[BandResult]) -> Table {
    let columns = columns![left "metric", right "value", right "min", right "max", left "within", left "why"];
    let mut table = Table::new("expect", "Expectations", columns);
    for row in bands {
        let value = row.value.as_ref().map_or_else(
            || Cell::new("missing", Value::Null),
            |metric| Cell::new(format_metric(metric.value, metric.unit), metric.value),
        );
        let limit =
            |limit: &Option<Limit>| limit.as_ref().map_or_else(Cell::empty, |limit| Cell::new(limit.text.clone(), limit.held));
        let within = Cell::new(if row.within() { "yes" } else { "NO" }, row.within());
        let why = row.band.why.clone().unwrap_or_default();
        table.push(vec![row.band.metric.clone().into(), value, limit(&row.band.min), limit(&row.band.max), within, why.into()]);
    }
    table
}
