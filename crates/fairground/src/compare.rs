//! A against B: two profiles of one scenario over paired seeds.

use crate::output::{ResultKind, table_parquet};
use crate::pages::{self, Side};
use crate::run::{self, RunEnding, RunOptions, RunOutcome};
use fairground_metrics::{Better, Comparison, Metric, Paired, Rule, Timeline, Verdict};
use fairground_model::{Digest, Mistakes, NullSink};
use fairground_report::document::hex;
use fairground_report::table::number;
use fairground_report::units::{decimal, format_metric};
use fairground_report::{Cell, Column, CompareReport, CompareRow, Document, Input, Table};
use fairground_scenario::{Control, Error, Scenario, profile};
use fairground_sched::profile::Profile;
use rayon::prelude::*;
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is compared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompareOptions {
    /// The baseline's profile; the scenario's if there is none.
    pub a: Option<String>,
    /// The other side's profile; the baseline's if there is none.
    pub b: Option<String>,
    /// Changes that make B out of its profile: a feature, `NAME=VALUE`, or `+overlay`.
    pub changes: Vec<String>,
    /// The number of pairs: seeds from the scenario's on.
    pub runs: u64,
    /// Whether every run checks its invariants.
    pub paranoid: bool,
    /// Whether what CPUs did in the first pair is kept, for a page.
    pub timelines: bool,
}

/// A comparison with what is behind it.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The table.
    pub report: CompareReport,
    /// What differs between the sides.
    pub differences: Vec<fairground_sched::profile::DiffRow>,
    /// Digest over the record digests of all runs in order.
    pub digest: u128,
    /// Whether the caller stopped it: then nothing was decided.
    pub interrupted: bool,
    /// The runs: for each seed that of the baseline and that of the other side.
    pub outcomes: Vec<RunOutcome>,
    /// Both sides with the first seed.
    pub sides: [Scenario; 2],
    /// What CPUs did in the first pair, if that was asked for.
    pub timelines: Option<[Timeline; 2]>,
}

impl Compared {
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
        document
    }
    /// One row per run: side, seed, digests, and all its named numbers.
    pub fn runs_table(&self) -> Table {
        let mut columns = vec![
            Column::right("run", "run"),
            Column::left("side", "side"),
            Column::left("profile", "profile"),
            Column::right("seed", "seed"),
            Column::left("scenario digest", "scenario_digest"),
            Column::left("digest", "digest"),
            Column::right("simulated", "simulated_ns"),
            Column::right("events", "events"),
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
                own.map_or_else(Cell::empty, |own| {
                    Cell::new(format_metric(own.value, own.unit), number(decimal(own.value, own.unit)))
                })
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
    fn page(&self, scenario: &Scenario) -> fairground_report::Page {
        let side = |index: usize, name| Side {
            name,
            runs: self.outcomes.iter().skip(index).step_by(2).collect(),
            scenario: &self.sides[index],
            timeline: self.timelines.as_ref().map(|timelines| timelines[index].clone()),
        };
        pages::compare_page(scenario, self, [side(0, &self.report.a), side(1, &self.report.b)])
    }
    /// 0 no row speaks against B, 1 a row is worse, 4 the runs do not tell.
    pub fn exit_code(&self) -> u8 {
        let judged = || self.report.rows.iter().filter(|row| row.comparison.better != Better::Neither);
        if self.report.any_worse() {
            1
        } else if judged().any(|row| row.comparison.verdict == Verdict::Inconclusive) {
            4
        } else {
            0
        }
    }
}

/// Runs both sides with the same seeds, on all CPUs of this host. Results are stored by run number.
pub fn compare(scenario: &Scenario, options: &CompareOptions, control: Control<'_>) -> Result<Compared, Error> {
    let (a, b) = sides(scenario, options)?;
    let differences = a.profile.diff(&b.profile);
    let jobs: Vec<Scenario> =
        (0..options.runs.max(1)).flat_map(|run| [&a, &b].map(|side| side.with_seed(scenario.seed.wrapping_add(run)))).collect();
    let done = AtomicU64::new(0);
    let total = jobs.len() as u64;
    let settings = RunOptions { paranoid: options.paranoid, ..RunOptions::default() };
    let ran: Result<Vec<(RunOutcome, Option<Timeline>)>, Error> = jobs
        .par_iter()
        .enumerate()
        .map(|(number, job)| {
            let mut sink = (options.timelines && number < 2).then(|| pages::timeline_of(job));
            let outcome = match &mut sink {
                Some(sink) => run::run(job, &settings, sink, control.quiet()),
                None => run::run(job, &settings, &mut NullSink, control.quiet()),
            };
            control.at(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            outcome.map(|outcome| {
                let timeline = sink.map(|sink| sink.finish(outcome.end()));
                (outcome, timeline)
            })
        })
        .collect();
    let (outcomes, timelines): (Vec<RunOutcome>, Vec<Option<Timeline>>) = ran?.into_iter().unzip();
    let interrupted = outcomes.iter().any(|outcome| outcome.ending == RunEnding::Interrupted);
    let side = |index: usize| {
        outcomes.iter().skip(index).step_by(2).map(|outcome| outcome.metrics.clone()).collect::<Vec<Vec<Metric>>>()
    };
    let mut digest = Digest::default();
    outcomes.iter().for_each(|outcome| digest.bytes(&outcome.digest.to_le_bytes()));
    let pairs = Paired::collect(&side(0), &side(1));
    let rows =
        pairs.iter().map(|pair| (pair, pair.compare(Rule::default()))).filter(|(pair, comparison)| is_shown(pair, comparison));
    let rows = rows.map(|(_, comparison)| CompareRow { case: scenario.title.clone(), load: load(scenario), comparison });
    let report = CompareReport {
        a: side_name(&a.profile),
        b: side_name(&b.profile),
        single_change: is_single_change(&a.profile, &b.profile),
        rows: rows.collect(),
    };
    let timelines = timelines.into_iter().flatten().collect::<Vec<_>>().try_into().ok();
    Ok(Compared { report, differences, digest: digest.value(), interrupted, outcomes, sides: [a, b], timelines })
}

/// Metrics that are 0 in every run say nothing, and those of single tasks only where they differ.
fn is_shown(pair: &Paired, comparison: &Comparison) -> bool {
    let is_zero = pair.a.iter().chain(&pair.b).all(|&value| value == 0);
    let is_quiet = pair.name.starts_with("tasks.") && comparison.verdict == Verdict::NoDifference;
    !is_zero && !is_quiet
}

fn load(scenario: &Scenario) -> String {
    match scenario.tasks().tasks.iter().filter(|task| task.measured).count() {
        1 => "1 task".to_string(),
        many => format!("{many} tasks"),
    }
}

/// The scenario with the profile of a baseline; its own if none is named.
pub fn baseline(scenario: &Scenario, name: Option<&str>) -> Result<Scenario, Error> {
    Ok(scenario.with_profile(named("--a", name, &scenario.profile)?))
}

fn named(flag: &str, name: Option<&str>, base: &Profile) -> Result<Profile, Error> {
    match name {
        None => Ok(base.clone()),
        Some(name) => Profile::parse(name).map_err(|wrong| Error::one(flag, wrong.message, wrong.hint)),
    }
}

/// Both sides of a comparison.
pub fn sides(scenario: &Scenario, options: &CompareOptions) -> Result<(Scenario, Scenario), Error> {
    let a = named("--a", options.a.as_deref(), &scenario.profile)?;
    let mut b = named("--b", options.b.as_deref(), &a)?;
    let mut wrong = Mistakes::default();
    for change in &options.changes {
        match changed(b.clone(), change) {
            Ok(profile) => b = profile,
            Err(error) => wrong.whole(format!("--change {change}: {}", error.message), error.hint),
        }
    }
    if wrong.0.is_empty() && a == b {
        wrong.whole(
            "both sides are the same",
            "Give `--a` and `--b`, or `--change FEATURE`, `--change NAME=VALUE`, `--change +overlay`.",
        );
    }
    wrong.or(()).map_err(|wrong| Error::input("command line", "", wrong))?;
    Ok((scenario.with_profile(a), scenario.with_profile(b)))
}

fn changed(base: Profile, change: &str) -> Result<Profile, fairground_sched::profile::ProfileError> {
    if let Some(overlay) = change.strip_prefix('+') {
        return base.with_overlay(overlay);
    }
    match change.split_once('=') {
        Some((name, value)) => profile::with_setting(base, name.trim(), value.trim()),
        None => base.with_feature(change),
    }
}

/// One feature, one tunable, one seam, or one overlay.
pub(crate) fn is_single_change(a: &Profile, b: &Profile) -> bool {
    let overlay = |from: &Profile, to: &Profile| {
        let rest = to.name.strip_prefix(from.name.as_str()).and_then(|rest| rest.strip_prefix('+'));
        let name = rest.filter(|rest| !rest.contains('+'));
        name.and_then(|name| from.clone().with_overlay(name).ok()).is_some_and(|with| with == *to)
    };
    a.diff(b).len() == 1 || overlay(a, b) || overlay(b, a)
}

/// The profile's name with what was changed from it: `v5.19 NEXT_BUDDY`.
pub fn side_name(profile: &Profile) -> String {
    let Ok(base) = Profile::parse(&profile.name) else { return profile.name.clone() };
    let mut name = profile.name.clone();
    for row in base.diff(profile) {
        let text = match row.to.value.as_str() {
            "on" => row.name.to_string(),
            "off" => format!("NO_{}", row.name),
            value => format!("{}={value}", row.name),
        };
        name = format!("{name} {text}");
    }
    name
}
