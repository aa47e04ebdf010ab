//! A comparison as a table of runs, as a document and as a page.

use super::{Compared, shifts_table};
use crate::output::{ResultKind, table_parquet};
use crate::pages::{latency_chart, page, percentile_series, timeline_block};
use crate::run::RunOutcome;
use fairground_metrics::{Histogram, Timeline};
use fairground_model::MarkerUnit;
use fairground_report::document::hex;
use fairground_report::page::{Block, Page, Series};
use fairground_report::units::{counted, format_ns};
use fairground_report::{Cell, Column, Document, Input, Table, columns};
use fairground_scenario::{Scenario, metrics::marker_values};
use fairground_stdx::Ns;
use serde_json::json;

impl Compared {
    /// What came out, in at most ten lines: the verdict first.
    pub fn summary(&self, scenario: &Scenario) -> Vec<String> {
        let mut lines = vec![self.report.verdict()];
        if self.interrupted {
            lines.insert(0, "PARTIAL: the comparison was interrupted, which decides nothing".to_string());
        }
        lines.extend(self.report.highlights());
        let pairs = self.outcomes.len() / 2;
        let runs = counted(pairs as u64, "pair");
        let (machine, length) = (&scenario.machine, format_ns(self.outcomes.first().map_or(Ns::ZERO, |run| run.simulated)));
        let cpus = counted(machine.cpus.len() as u64, "CPU");
        lines.push(format!(
            "runs        {runs} of {}, seeds from {}, {} ({cpus}), {length} each",
            scenario.title, scenario.seed, machine.name
        ));
        if self.is_the_same_run() {
            lines.push("seeds       change nothing here: all pairs are the same pair, so effects are exact".to_string());
        }
        if !self.unpaired.is_empty() {
            let names: Vec<&str> = self.unpaired.iter().take(3).map(String::as_str).collect();
            let more = if self.unpaired.len() > 3 { ", ..." } else { "" };
            lines.push(format!("not tested  {} metrics that not every run has: {}{more}", self.unpaired.len(), names.join(", ")));
        }
        let first: Vec<&str> = self.differences.iter().take(4).map(|row| row.name).collect();
        let more = if self.differences.len() > 4 { ", ..." } else { "" };
        lines.push(match self.report.single_change.is_none() {
            true => "differ in   what their kernels do: a tree decides by its own rules".to_string(),
            false => format!("differ in   {}: {}{more}", self.differences.len(), first.join(", ")),
        });
        lines
    }
    /// Whether each side ran the same whatever the seed was.
    fn is_the_same_run(&self) -> bool {
        let side = |index: usize| {
            let mut digests = self.outcomes.iter().skip(index).step_by(2).map(|outcome| outcome.digest);
            let first = digests.next();
            digests.all(|digest| Some(digest) == first)
        };
        self.outcomes.len() > 2 && side(0) && side(1)
    }
    /// The document of `compare --json`.
    pub fn document(&self, scenario: &Scenario) -> Document {
        let inputs = [Input::new(&scenario.name(), scenario.digest())];
        let mut document = self.report.document(&inputs, Some(scenario.seed), self.digest);
        let differences: Vec<serde_json::Value> = self
            .differences
            .iter()
            .map(|row| json!({ "name": row.name, "baseline": row.from.value, "compare": row.to.value }))
            .collect();
        document.set("differences", differences).set("partial", self.interrupted);
        document.set("summary", self.summary(scenario)).set("unpaired", self.unpaired.clone());
        document
    }
    /// One row per run: side, seed, digests, and all its named numbers.
    pub fn runs_table(&self) -> Table {
        let mut columns = columns![
            right "run", left "side", left "profile", right "seed", left "scenario digest" "scenario_digest",
            left "digest", right "simulated" "simulated_ns", right "events",
        ];
        let metrics = self.outcomes.first().map_or(&[][..], |outcome| &outcome.metrics);
        columns.extend(metrics.iter().map(|metric| Column::right(metric.name.clone(), metric.name.clone())));
        let mut table = Table::new("compare_runs", "Runs", columns);
        for (index, outcome) in self.outcomes.iter().enumerate() {
            let (side, name) = [("baseline", &self.report.a), ("compare", &self.report.b)][index % 2];
            let mut row: Vec<Cell> = vec![
                (index as u64 / 2).into(),
                side.into(),
                name.clone().into(),
                outcome.seed.into(),
                hex(outcome.scenario_digest).into(),
                hex(outcome.digest).into(),
                Cell::ns(outcome.simulated),
                outcome.counts.events().into(),
            ];
            row.extend(metrics.iter().map(|metric| {
                let own = outcome.metrics.iter().find(|own| own.name == metric.name);
                own.map_or_else(Cell::empty, |own| Cell::metric(own.value, own.unit))
            }));
            table.push(row);
        }
        table
    }
    /// What a file of results holds.
    pub fn file(&self, scenario: &Scenario, kind: ResultKind) -> Vec<u8> {
        match kind {
            ResultKind::Csv => self.runs_table().to_csv().into_bytes(),
            ResultKind::Json => self.document(scenario).to_string().into_bytes(),
            ResultKind::Parquet => {
                let inputs = format!("{} {}", scenario.name(), hex(scenario.digest()));
                let pairs = [("command", "compare".to_string()), ("inputs", inputs), ("digest", hex(self.digest))];
                table_parquet(&self.runs_table(), pairs.map(|(key, value)| (format!("fairground.{key}"), value)).into())
            }
            ResultKind::Html => self.page(scenario).to_string().into_bytes(),
        }
    }
    fn page(&self, scenario: &Scenario) -> Page {
        let side = |index: usize, name| Side {
            name,
            runs: self.outcomes.iter().skip(index).step_by(2).collect(),
            scenario: &self.sides[index],
            timeline: self.timelines.as_ref().map(|timelines| timelines[index].clone()),
        };
        compare_page(scenario, self, [side(0, &self.report.a), side(1, &self.report.b)])
    }
}

/// One side of a comparison: its runs in the order of seeds.
struct Side<'r> {
    name: &'r str,
    runs: Vec<&'r RunOutcome>,
    scenario: &'r Scenario,
    /// The timeline of its first run, if it was collected.
    timeline: Option<Timeline>,
}

/// Tables, curves of latency of both sides with the spread of their runs, and the timelines of the first pair.
fn compare_page(scenario: &Scenario, compared: &Compared, sides: [Side<'_>; 2]) -> Page {
    let report = &compared.report;
    let mut page = page(&format!("{}: {} against {}", scenario.title, report.a, report.b), "compare", scenario);
    let runs = sides[0].runs.len();
    page.fact("baseline", &report.a)
        .fact("compare", &report.b)
        .fact("pairs of runs", runs.to_string())
        .fact("first seed", scenario.seed.to_string())
        .fact("scenario", format!("{:032x}", scenario.digest()))
        .fact("digest", format!("{:032x}", compared.digest));
    page.push(Block::Snippet("What came out".to_string(), compared.summary(scenario).join("\n")));
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
    page.heading("Decisions").push(Block::Table(shifts_table(&compared.shifts())));
    page.heading("What differs").push(Block::Table(differences(compared)));
    page
}

/// A curve of each time that the programs measured, for both sides.
fn markers(scenario: &Scenario, sides: &[Side<'_>; 2]) -> Vec<Block> {
    let set = scenario.tasks();
    let times = set
        .markers
        .iter_enumerated()
        .filter(|row| matches!(row.1.unit, MarkerUnit::Ns | MarkerUnit::Left | MarkerUnit::WholeUs | MarkerUnit::EachUs));
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
    let columns = columns![left "what differs" "name", left "baseline", left "compare"];
    let mut table = Table::new("differences", "", columns);
    for row in &compared.differences {
        table.push(vec![row.name.into(), row.from.value.clone().into(), row.to.value.clone().into()]);
    }
    table
}
