//! What the model would have done in the state in which the recorded kernel decided.
//!
//! The comparison of `conform` is made over the record from some time before the wait to its end. Up to the wait it brings the model into the state of the
//! recorded kernel; during the wait it is asked at each decision. After each the record is followed.

use crate::recorded::{Ran, RecordedOptions, RecordedWait};
use fairground::interval::Extent;
use fairground_metrics::{Interval, Moment};
use fairground_recordings::conform::{self, ConformOptions, Conformance};
use fairground_report::{Cell, Table, columns};
use fairground_scenario::{Control, Error};
use fairground_stdx::Ns;
use std::path::Path;

/// So much of the record before a wait brings the model into its state.
const BEFORE_NS: u64 = 2_000_000_000;
/// Disagreements that are kept at most, those before the wait included.
const KEPT: usize = 1000;
/// A decision shows in a record that may be written so much later.
const AFTER_NS: u64 = 1_000_000;
/// Disagreements that are shown.
const SHOWN: usize = 20;

/// The answers of the model.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The comparison up to the end of the wait.
    pub made: Conformance,
    /// The disagreements during the wait on the CPUs on which it was spent, as places in those of the comparison.
    partings: Vec<usize>,
    /// How often a CPU on which the task waited got another task.
    stretches: usize,
}

impl Beside {
    /// Asks the model; else says why that is impossible.
    pub(crate) fn ask(
        path: &Path,
        wait: &RecordedWait,
        ran: &[Ran],
        asked: &RecordedOptions,
        control: Control<'_>,
    ) -> Result<Beside, String> {
        let moment = |ns| Some(Moment::After(Ns(ns)));
        let part = Interval { from: moment(wait.from.ns().saturating_sub(BEFORE_NS)), to: moment(wait.until.ns() + AFTER_NS) };
        let options = ConformOptions {
            overrides: asked.overrides.clone(),
            scenario: asked.scenario.clone(),
            keep: KEPT,
            part,
            ..ConformOptions::default()
        };
        let made = conform::conform(path, &options, control).map_err(|error| why(&error))?;
        if made.interrupted {
            return Err("it was interrupted".to_string());
        }
        let mismatches = made.outcome.mismatches.iter().enumerate();
        let meant =
            mismatches.filter(|(_, row)| wait.from <= row.at && row.at <= wait.until && ran.iter().any(|ran| ran.cpu == row.cpu));
        let partings = meant.map(|row| row.0).collect();
        Ok(Beside { made, partings, stretches: ran.len() })
    }
    /// Whether disagreements before the wait left no room for those in it.
    fn is_full(&self) -> bool {
        self.made.outcome.mismatches.len() >= KEPT
    }
    /// A line: whether the model would have done the same.
    pub(crate) fn summary(&self) -> String {
        let profile = &self.made.profile;
        match self.partings.len() {
            _ if self.is_full() => {
                format!(
                    "The model ({profile}) parts from the record {KEPT} times and more before the end of the wait: nothing is said of it.\n"
                )
            }
            0 => format!(
                "The model ({profile}), asked in the same states, would have decided the same on that CPU in all of the {} stretches.\n",
                self.stretches
            ),
            count => {
                format!("The model ({profile}), asked in the same states, parts from the record {count} times on that CPU.\n")
            }
        }
    }
    /// Where the model parts from the record during the wait.
    pub(crate) fn table(&self, extent: &Extent) -> Table {
        let columns = columns![right "at s" "at_ns", right "cpu", left "question" "kind", left "recorded", left "model", left "by the rule" "rule"];
        let mut table = Table::new("partings", "where the model would have done otherwise", columns);
        if self.is_full() {
            return table;
        }
        let rows = self.partings.iter().filter_map(|&place| self.made.outcome.mismatches.get(place));
        for row in rows.take(SHOWN) {
            let [recorded, model, rule] = conform::parting(&self.made, row);
            let at = Cell::new(extent.seconds(row.at), row.at.ns());
            table.push(vec![
                at,
                u64::from(row.cpu.get()).into(),
                row.kind.name().into(),
                recorded.into(),
                model.into(),
                rule.into(),
            ]);
        }
        if self.partings.len() > SHOWN {
            table.note(format!("{} further ones", self.partings.len() - SHOWN));
        }
        table
    }
}

/// Why the comparison could not be made, in a sentence.
fn why(error: &Error) -> String {
    match error {
        Error::Input(files) => {
            let said =
                files.iter().flat_map(|file| &file.mistakes.0).map(|mistake| format!("{}. {}", mistake.message, mistake.hint));
            said.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
