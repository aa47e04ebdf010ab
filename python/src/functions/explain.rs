//! `explain`.

use super::{given, raised};
use crate::input::{Changes, Given};
use crate::report::Report;
use crate::work::watched;
use fairground::interval;
use fairground_explain::{self as story, Answer, ExplainOptions, RecordedOptions};
use fairground_report::{Document, Table};
use fairground_scenario::{Control, Error};
use pyo3::prelude::*;

/// What is asked: `time` and `top` are for recordings.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    task: Option<String>,
    at: Option<String>,
    percentile: Option<String>,
    what_if: Vec<String>,
    time: Option<String>,
    top: usize,
}

/// Why a task was late.
#[pyfunction]
pub(crate) fn explain(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    asked: Asked,
    changes: Changes,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let given = given(scenario)?;
    let made = watched(py, progress, |control| told(&given, &asked, changes, control))?;
    let told = raised(py, made, Some(&given))?;
    Ok(Report::new(py, "explain", &told.story, &told.tables, &told.document)?.with_notes(told.notes))
}

/// What is told.
struct Told {
    story: String,
    tables: Vec<Table>,
    document: Document,
    notes: Vec<String>,
}

fn told(given: &Given, asked: &Asked, changes: Changes, control: Control<'_>) -> Result<Told, Error> {
    let overrides = changes.overrides();
    let refused = |message: &str, hint: &str| Error::one("explain", message, hint);
    let recorded = RecordedOptions {
        task: asked.task.clone(),
        at: asked.at.clone(),
        interval: interval::interval(asked.time.as_deref())?,
        top: asked.top,
        overrides: overrides.clone(),
        scenario: None,
    };
    if let Given::File(path) = given
        && story::is_recording(path)
    {
        if !asked.what_if.is_empty() || asked.percentile.is_some() {
            let message = format!("`{}` is a recording: nothing is simulated that could be changed", path.display());
            return Err(refused(&message, "Use `task`, `at`, `time` and `top`, or `replay` first."));
        }
        let told = story::recorded(path, &recorded, control)?;
        let (text, tables, document) = (told.summary(), told.tables(), told.document());
        return Ok(Told { story: text, tables, document, notes: told.origin.notes });
    }
    if asked.time.is_some() {
        return Err(refused("`time` is for traces", "Of a scenario, `at` chooses the delay."));
    }
    let input = given.open(&overrides)?;
    let scenario = input.scenario();
    if scenario.profile.tree().is_some() {
        return Err(refused(
            "a kernel tree decides: the command `fairground explain` tells what is known then",
            "Use it instead.",
        ));
    }
    let notes = scenario.notes.clone();
    let options = ExplainOptions {
        task: asked.task.clone(),
        at: asked.at.clone(),
        percentile: asked.percentile.clone(),
        what_if: asked.what_if.clone(),
    };
    let stopped = || refused("the run was stopped: nothing is explained", "Let it end.");
    Ok(match story::explain(scenario, &options, control)?.ok_or_else(stopped)? {
        Answer::NeverLate { task, digest } => {
            let document = story::document_of_none(scenario, task.as_deref(), digest);
            Told { story: story::story_of_none(task.as_deref()), tables: Vec::new(), document, notes }
        }
        Answer::Late(explanation) => {
            let document = story::document(scenario, &explanation);
            Told { story: story::story(&explanation), tables: story::tables(&explanation), document, notes }
        }
    })
}
