//! A against B: two profiles of one scenario over paired seeds.

mod decisions;
mod show;

pub use decisions::Shift;
pub(crate) use decisions::shifts_table;

use crate::pages;
use crate::run::{self, RunEnding, RunOptions, RunOutcome};
use fairground_metrics::{Better, Comparison, Metric, Paired, Rule, Timeline, Verdict, compare_all};
use fairground_model::{Digest, Mistakes, NullSink};
use fairground_report::{CompareReport, CompareRow};
use fairground_scenario::{Control, Error, Scenario, profile};
use fairground_sched::profile::Profile;
use fairground_stdx::nearest;
use rayon::prelude::*;
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
    /// Only these metrics, by name; all without any. Each one more costs power, since verdicts are corrected over all of them.
    pub metrics: Vec<String>,
    /// The smallest effect that matters, in thousandths of the baseline's mean; half a percent if left out.
    pub worth_permille: Option<u64>,
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
    /// The metrics that not every run has: they cannot be paired.
    pub unpaired: Vec<String>,
}

impl Compared {
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
    let of_tree = [&a, &b].iter().any(|side| side.profile.tree().is_some());
    let jobs: Vec<Scenario> =
        (0..options.runs.max(1)).flat_map(|run| [&a, &b].map(|side| side.with_seed(scenario.seed.wrapping_add(run)))).collect();
    let done = AtomicU64::new(0);
    let total = jobs.len() as u64;
    control.at(0, total);
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
    let (a_runs, b_runs) = (side(0), side(1));
    let pairs = chosen(Paired::collect(&a_runs, &b_runs), &options.metrics)?;
    let unpaired = Paired::left_out(&a_runs, &b_runs);
    let rule = Rule { worth_permille: options.worth_permille.unwrap_or(Rule::default().worth_permille), ..Rule::default() };
    let judged = pairs.iter().zip(compare_all(&pairs, rule)).filter(|(pair, comparison)| is_shown(pair, comparison));
    let rows = judged.map(|(_, comparison)| CompareRow { case: scenario.title.clone(), load: load(scenario), comparison });
    let report = CompareReport {
        a: a.profile.full_name(),
        b: b.profile.full_name(),
        single_change: (!of_tree).then(|| a.profile.is_one_change_from(&b.profile)),
        tested: pairs.len(),
        worth_permille: rule.worth_permille,
        rows: rows.collect(),
    };
    let timelines = timelines.into_iter().flatten().collect::<Vec<_>>().try_into().ok();
    Ok(Compared { report, differences, digest: digest.value(), interrupted, outcomes, sides: [a, b], timelines, unpaired })
}

/// The metrics that were asked for.
fn chosen(mut pairs: Vec<Paired>, names: &[String]) -> Result<Vec<Paired>, Error> {
    let mut wrong = Mistakes::default();
    for name in names.iter().filter(|name| pairs.iter().all(|pair| pair.name != **name)) {
        let near = nearest::nearest(name, pairs.iter().map(|pair| pair.name.as_str()));
        let hint = near.map_or("`fairground list metrics` has them all.".to_string(), |near| format!("Did you mean `{near}`?"));
        wrong.whole(format!("--metric: not every run has a metric `{name}`"), hint);
    }
    if !names.is_empty() {
        pairs.retain(|pair| names.contains(&pair.name));
    }
    wrong.or(pairs).map_err(|wrong| Error::input("command line", "", wrong))
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
    let Some(name) = name else { return Ok(base.clone()) };
    let parsed = profile::named(name).and_then(|profile| profile.with_settings_of(base));
    parsed.map_err(|wrong| Error::one(flag, wrong.message, wrong.hint))
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
