//! `run`, `replay`, and the text of a scenario.

use super::{given, raised};
use crate::input::{Changes, path_of};
use crate::run_result::{RunResult, event_columns};
use crate::work::watched;
use fairground::input::RunInput;
use fairground::replay::Replay;
use fairground::run::{self as facade, RunOptions, RunOutcome};
use fairground_explain as explain;
use fairground_model::{NullSink, Sink};
use fairground_recordings::figures::{expect_json, expect_table, figures_json};
use fairground_scenario::{Control, Error, Scenario};
use pyo3::prelude::*;

/// Simulates a scenario. With `events` its records are kept.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    changes: Changes,
    events: bool,
    paranoid: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    let given = given(scenario)?;
    let overrides = changes.overrides();
    let options = RunOptions { paranoid, command: "fairground run SCENARIO".to_string(), ..RunOptions::default() };
    let made = watched(py, progress, |control| {
        let input = given.open(&overrides)?;
        let mut columns = events.then(|| event_columns(input.scenario()));
        let mut figures = None;
        let outcome = match &input {
            RunInput::Scenario(scenario) => made(scenario, &options, columns.as_mut(), &mut NullSink, control)?,
            RunInput::Set(set) => {
                let mut sink = set.figures();
                let outcome = made(&set.scenario, &options, columns.as_mut(), &mut sink, control)?;
                figures = Some(set.check(sink, outcome.end(), &outcome.quotas));
                outcome
            }
        };
        Ok((input, outcome, columns.map(|columns| columns.into_inner().finish()), figures))
    })?;
    let (input, outcome, frame, figures) = raised(py, made, Some(&given))?;
    let scenario = input.scenario().clone();
    let (mut first, mut document) = (Vec::new(), None);
    if let Some((found, check)) = figures {
        let document = document.insert(facade::run_document(&scenario, &outcome));
        document.set("figures", figures_json(&found)).set("expect", expect_json(&check));
        first.push(expect_table(&check));
    }
    Ok(RunResult::new(scenario, outcome, first, document, frame))
}

/// A run with the cause of its worst wait, as the command makes it.
fn made(
    scenario: &Scenario,
    options: &RunOptions,
    columns: Option<&mut impl Sink>,
    other: &mut dyn Sink,
    control: Control<'_>,
) -> Result<RunOutcome, Error> {
    let (mut outcome, copy) = match columns {
        Some(columns) => facade::run_with_copy(scenario, options, &mut (other, columns), control)?,
        None => facade::run_with_copy(scenario, options, other, control)?,
    };
    explain::worst_wait(scenario, &mut outcome, copy)?;
    Ok(outcome)
}

/// Runs a recorded trace anew.
#[pyfunction]
pub(crate) fn replay(
    py: Python<'_>,
    trace: &Bound<'_, PyAny>,
    changes: Changes,
    strict: bool,
    events: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    let path = path_of(trace)?;
    let overrides = changes.overrides();
    let options = RunOptions { command: "fairground replay TRACE".to_string(), ..RunOptions::default() };
    let made = watched(py, progress, |control| {
        let replay = Replay::load(&path, &overrides, strict)?;
        let mut columns = events.then(|| event_columns(&replay.scenario));
        let outcome = made(&replay.scenario, &options, columns.as_mut(), &mut NullSink, control)?;
        Ok((replay, outcome, columns.map(|columns| columns.into_inner().finish())))
    })?;
    let (replay, outcome, frame) = raised(py, made, None)?;
    let (first, document) = (vec![replay.table(&outcome.metrics)], replay.document(&outcome));
    Ok(RunResult::new(replay.scenario, outcome, first, Some(document), frame))
}

/// A scenario in its one fixed spelling, checked and not run.
#[pyfunction]
pub(crate) fn written(py: Python<'_>, scenario: &Bound<'_, PyAny>, changes: Changes) -> PyResult<String> {
    let given = given(scenario)?;
    let overrides = changes.overrides();
    let made = watched(py, None, |_| given.open(&overrides).map(|input| input.scenario().canonical()))?;
    raised(py, made, Some(&given))
}
