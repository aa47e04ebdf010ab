//! The page of one run.

use super::{run_tables, search_tables, summary};
use crate::pages::{latency_chart, page, percentile_series, timeline_block};
use crate::run::RunOutcome;
use fairground_metrics::Timeline;
use fairground_model::MarkerUnit;
use fairground_report::page::{Block, Page};
use fairground_report::units::{format_count, format_ns};
use fairground_scenario::{Scenario, metrics::marker_values};

/// Tasks up to this number have a curve of their own where a run has no more.
const MAX_TASKS_WITH_CURVES: usize = 7;
/// A task with fewer wake-ups has no curve of its own.
const MIN_WAKEUPS: u64 = 10;

/// Tables, curves of latency and the timeline of a run, if it was collected.
pub fn run_page(scenario: &Scenario, outcome: &RunOutcome, timeline: Option<Timeline>) -> Page {
    let mut page = page(&scenario.title, "run", scenario);
    page.fact("profile", scenario.profile.full_name())
        .fact("seed", outcome.seed.to_string())
        .fact("simulated", format_ns(outcome.simulated))
        .fact("switches", format_count(outcome.report.switches))
        .fact("wake-ups", format_count(outcome.report.wakeups))
        .fact("migrations", format_count(outcome.report.migrations))
        .fact("scenario", format!("{:032x}", outcome.scenario_digest))
        .fact("digest", format!("{:032x}", outcome.digest));
    page.push(Block::Snippet("What happened".to_string(), summary(scenario, outcome).join("\n")));
    for note in &scenario.notes {
        page.push(Block::Text(format!("Note: {note}")));
    }
    if let Some(timeline) = timeline {
        page.heading("Timeline");
        page.push(Block::Timeline(timeline_block("What each CPU did".to_string(), scenario, timeline)));
    }
    curves(&mut page, outcome);
    page.heading("Tables");
    for table in run_tables(scenario, outcome).into_iter().chain(search_tables(scenario, outcome)) {
        page.push(Block::Table(table));
    }
    page
}

/// Curves of wake-up latency and of the times that the programs measured.
fn curves(page: &mut Page, outcome: &RunOutcome) {
    page.heading("Latency");
    let report = &outcome.report;
    let mut series = vec![percentile_series("all tasks", &report.latency, &[])];
    let woken = || report.tasks.iter().filter(|task| task.latency.len() >= MIN_WAKEUPS);
    if (2..=MAX_TASKS_WITH_CURVES).contains(&woken().count()) {
        series.extend(woken().map(|task| percentile_series(&task.info.name, &task.latency, &[])));
    }
    let note = format!("From sched_waking to the switch to the task; {} wake-ups.", format_count(report.latency.len()));
    page.push(Block::Chart(latency_chart("Wake-up latency", series, note)));
    for (marker, spec) in outcome.tasks.markers.iter_enumerated() {
        if !matches!(spec.unit, MarkerUnit::Ns | MarkerUnit::Left | MarkerUnit::WholeUs | MarkerUnit::EachUs) {
            continue;
        }
        let values = marker_values(report, &outcome.tasks, &(0..outcome.tasks.tasks.len()), marker);
        let note = format!("Measured by the workload itself; {} values.", format_count(values.len()));
        page.push(Block::Chart(latency_chart(&spec.name, vec![percentile_series(&spec.name, &values, &[])], note)));
    }
}
