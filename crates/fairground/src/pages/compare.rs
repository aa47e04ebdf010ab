//! The page of a comparison.

use super::{latency_chart, page, percentile_series, timeline_block};
use crate::compare::Compared;
use crate::run::RunOutcome;
use fairground_metrics::{Histogram, Timeline};
use fairground_model::MarkerUnit;
use fairground_report::page::{Block, Page, Series};
use fairground_report::{Column, Table};
use fairground_scenario::{Scenario, metrics::marker_values};

/// One side of a comparison: its runs in the order of seeds.
pub(crate) struct Side<'r> {
    pub(crate) name: &'r str,
    pub(crate) runs: Vec<&'r RunOutcome>,
    pub(crate) scenario: &'r Scenario,
    /// The timeline of its first run, if it was collected.
    pub(crate) timeline: Option<Timeline>,
}

/// Tables, curves of latency of both sides with the spread of their runs, and the timelines of the first pair.
pub(crate) fn compare_page(scenario: &Scenario, compared: &Compared, sides: [Side<'_>; 2]) -> Page {
    let report = &compared.report;
    let mut page = page(&format!("{}: {} against {}", scenario.title, report.a, report.b), "compare", scenario);
    let runs = sides[0].runs.len();
    page.fact("baseline", &report.a)
        .fact("compare", &report.b)
        .fact("pairs of runs", runs.to_string())
        .fact("first seed", scenario.seed.to_string())
        .fact("scenario", format!("{:032x}", scenario.digest()))
        .fact("digest", format!("{:032x}", compared.digest));
    if compared.interrupted {
        page.push(Block::Text("PARTIAL: the comparison was interrupted, which decides nothing.".to_string()));
    }
    page.heading("Verdicts").push(Block::Table(report.table())).push(Block::Table(report.values_table()));
    page.heading("Latency");
    let latencies = |side: &Side<'_>| series(side, |run| run.report.latency.clone());
    let note = "From sched_waking to the switch to the task, all runs of a side together; the band goes from the lowest run to the highest.";
    page.push(Block::Chart(latency_chart("Wake-up latency", sides.iter().map(latencies).collect(), note)));
    for chart in markers(scenario, &sides) {
        page.push(chart);
    }
    let [a, b] = sides.map(|side| side.timeline.map(|timeline| (side.name, side.scenario, timeline)));
    if a.is_some() || b.is_some() {
        page.heading("Timelines of the first pair");
    }
    for (name, scenario, timeline) in [a, b].into_iter().flatten() {
        page.push(Block::Timeline(timeline_block(format!("{name}, seed {}", scenario.seed), scenario, timeline)));
    }
    page.heading("What differs").push(Block::Table(differences(compared)));
    page
}

/// A curve of each time that the programs measured, for both sides.
fn markers(scenario: &Scenario, sides: &[Side<'_>; 2]) -> Vec<Block> {
    let set = scenario.tasks();
    let times = set
        .markers
        .iter_enumerated()
        .filter(|row| matches!(row.1.unit, MarkerUnit::Ns | MarkerUnit::WholeUs | MarkerUnit::EachUs));
    times
        .map(|(marker, spec)| {
            let of_run = |run: &RunOutcome| marker_values(&run.report, &run.tasks, &(0..run.tasks.tasks.len()), marker);
            let note = "Measured by the workload itself; the band goes from the lowest run to the highest.";
            Block::Chart(latency_chart(&spec.name, sides.iter().map(|side| series(side, of_run)).collect(), note))
        })
        .collect()
}

fn series(side: &Side<'_>, of_run: impl Fn(&RunOutcome) -> Histogram) -> Series {
    let each: Vec<Histogram> = side.runs.iter().map(|run| of_run(run)).collect();
    let mut all = Histogram::new();
    each.iter().for_each(|run| all.merge(run));
    percentile_series(side.name, &all, &each.iter().collect::<Vec<_>>())
}

fn differences(compared: &Compared) -> Table {
    let columns =
        vec![Column::left("what differs", "name"), Column::left("baseline", "baseline"), Column::left("compare", "compare")];
    let mut table = Table::new("differences", "", columns);
    for row in &compared.differences {
        table.push(vec![row.name.into(), row.from.value.clone().into(), row.to.value.clone().into()]);
    }
    table
}
