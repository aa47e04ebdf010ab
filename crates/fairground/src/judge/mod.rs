//! A verdict on two kernels over a battery of cases: for the author of a patch, as a mail.
//!
//! Each case is a comparison of its own, with paired seeds and verdicts corrected over all its metrics. Over all cases they
//! are not corrected again: of twenty cases without any difference one may show one.

mod battery;
mod mail;
mod page;

pub use battery::Battery;

use crate::compare::{CompareOptions, Compared, Shift, compare};
use fairground_metrics::{Comparison, Verdict};
use fairground_model::Digest;
use fairground_report::{CompareReport, Document};
use fairground_scenario::{Control, Error, Overrides, Scenario};
use serde_json::json;
use std::path::Path;

/// What is judged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JudgeOptions {
    /// The baseline's profile.
    pub a: String,
    /// The other side's.
    pub b: String,
    /// Over which cases.
    pub battery: Battery,
    /// Only cases whose name is among these; all without any.
    pub only: Vec<String>,
    /// The number of pairs of each case, if not that of the battery.
    pub runs: Option<u64>,
}

/// A case with what came out.
#[derive(Clone, Debug)]
pub struct JudgedCase {
    /// Its name: `hackbench on smp-4`.
    pub title: String,
    /// Its metrics, but for those of single tasks.
    pub report: CompareReport,
    /// The rules that decided more often on one side.
    pub shifts: Vec<Shift>,
}

impl JudgedCase {
    fn rows(&self) -> impl Iterator<Item = &Comparison> {
        self.report.rows.iter().map(|row| &row.comparison)
    }
    /// Whether a metric got worse, better or otherwise different.
    fn is_decided(&self) -> bool {
        self.rows().any(|row| !matches!(row.verdict, Verdict::NoDifference | Verdict::Inconclusive))
    }
}

/// A verdict.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The whole names of both profiles.
    pub sides: [String; 2],
    /// Over which cases.
    pub battery: Battery,
    /// The number of pairs of each case.
    pub pairs: u64,
    /// The cases that ran.
    pub cases: Vec<JudgedCase>,
    /// Those that one of the sides could not run, and why.
    pub left_out: Vec<(String, String)>,
    /// Digest over the records of all runs in order.
    pub digest: u128,
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

impl Judged {
    /// 0 nothing is worse, 1 something is, 4 nothing is shown to be worse and something is not decided, or nothing could be run.
    pub fn exit_code(&self) -> u8 {
        match () {
            () if self.count(Verdict::Worse) > 0 => 1,
            () if self.cases.is_empty() || self.count(Verdict::Inconclusive) > 0 => 4,
            () => 0,
        }
    }

    /// In how many metrics of all cases that is the verdict.
    pub(super) fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().flat_map(JudgedCase::rows).filter(|row| row.verdict == verdict).count()
    }

    /// The document of `judge --json`.
    pub fn document(&self) -> Document {
        let row = |case: &JudgedCase, row: &Comparison| {
            json!({ "case": case.title, "metric": row.name, "unit": row.unit.name(), "baseline": row.a.mean, "compare": row.b.mean,
                    "effect": row.effect.estimate, "verdict": row.verdict.name() })
        };
        let rows: Vec<_> = self.cases.iter().flat_map(|case| case.rows().map(move |comparison| row(case, comparison))).collect();
        let shift = |case: &JudgedCase, shift: &Shift| json!({ "case": case.title, "rule": shift.reason.slug(), "baseline": shift.a, "compare": shift.b });
        let shifts: Vec<_> = self.cases.iter().flat_map(|case| case.shifts.iter().map(move |row| shift(case, row))).collect();
        let left_out: Vec<_> = self.left_out.iter().map(|(case, why)| json!({ "case": case, "why": why })).collect();
        let mut document = Document::new("judge", &[], Some(1), Some(self.digest));
        document.set("baseline", self.sides[0].clone()).set("compare", self.sides[1].clone());
        document.set("battery", self.battery.name()).set("pairs", self.pairs).set("partial", self.interrupted);
        document.set("rows", rows).set("decisions", shifts).set("left_out", left_out);
        document
    }
}

/// Runs both sides of each case with the same seeds.
pub fn judge(options: &JudgeOptions, control: Control<'_>) -> Result<Judged, Error> {
    let pairs = options.runs.unwrap_or(options.battery.pairs());
    let cases = options.battery.cases();
    let chosen: Vec<_> =
        cases.iter().filter(|case| options.only.is_empty() || options.only.iter().any(|name| name == case.name)).collect();
    if let Some(name) = options.only.iter().find(|name| cases.iter().all(|case| case.name != **name)) {
        let mut names: Vec<&str> = cases.iter().map(|case| case.name).collect();
        names.dedup();
        let message = format!("--only: the {} battery has no case `{name}`", options.battery.name());
        return Err(Error::one("command line", message, format!("It has {}.", names.join(", "))));
    }
    let mut judged = Judged {
        sides: [String::new(), String::new()],
        battery: options.battery,
        pairs,
        cases: Vec::new(),
        left_out: Vec::new(),
        digest: 0,
        interrupted: false,
    };
    let mut digest = Digest::default();
    for (number, case) in chosen.iter().enumerate() {
        control.at(number as u64, chosen.len() as u64);
        let scenario = Scenario::parse(case.name, &case.scenario(), Path::new(""), &Overrides::default())?;
        let sides =
            CompareOptions { a: Some(options.a.clone()), b: Some(options.b.clone()), runs: pairs, ..CompareOptions::default() };
        // A wrong name of a profile is no reason to leave a case out.
        let (a, b) = crate::compare::sides(&scenario, &sides)?;
        judged.sides = [a.profile.full_name(), b.profile.full_name()];
        match compare(&scenario, &sides, control.quiet()) {
            Ok(compared) => {
                digest.bytes(&compared.digest.to_le_bytes());
                judged.interrupted |= compared.interrupted;
                judged.cases.push(of_case(scenario.title.clone(), compared));
            }
            Err(Error::Broken(broken)) => return Err(Error::Broken(broken)),
            Err(why) => judged.left_out.push((scenario.title.clone(), mistake_of(&why))),
        }
        if judged.interrupted {
            break;
        }
    }
    judged.digest = digest.value();
    Ok(judged)
}

/// Single tasks of a benchmark are nobody's goal.
fn of_case(title: String, compared: Compared) -> JudgedCase {
    let shifts = compared.shifts();
    let mut report = compared.report;
    report.rows.retain(|row| !row.comparison.name.starts_with("tasks."));
    JudgedCase { title, report, shifts }
}

/// The first mistake without where it stands: a case is no file of the user's.
fn mistake_of(why: &Error) -> String {
    match why {
        Error::Input(files) => {
            let first = files.iter().flat_map(|file| &file.mistakes.0).next();
            first.map_or_else(|| why.to_string(), |mistake| mistake.message.clone())
        }
        _ => why.to_string(),
    }
}
