//! `compare`.

use super::{given, raised};
use crate::input::{Changes, path_of};
use crate::report::Report;
use crate::work::watched;
use fairground::compare::{self as facade, CompareOptions};
use fairground::compare_traces::{TraceOptions, compare_traces};
use fairground::output::ResultKind;
use fairground_scenario::{Error, Overrides};
use pyo3::prelude::*;

/// What is asked: `worth_pct` is the smallest effect that matters, `tasks` and `windows` are for two recordings.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    a: Option<String>,
    b: Option<String>,
    changes: Vec<String>,
    metrics: Vec<String>,
    runs: u64,
    worth_pct: f64,
    tasks: Vec<String>,
    windows: u64,
}

/// Two profiles of a scenario over paired seeds, or, with `other`, two recordings.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    other: Option<&Bound<'_, PyAny>>,
    asked: Asked,
    changes: Changes,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let Asked { a, b, changes: made_of, metrics, runs, worth_pct, tasks, windows } = asked;
    let worth_permille = raised(py, permille(worth_pct), None)?;
    if let Some(other) = other {
        let paths = [path_of(scenario)?, path_of(other)?];
        let options = TraceOptions { tasks, windows, worth_permille };
        let made = watched(py, progress, |control| compare_traces([&paths[0], &paths[1]], &options, control))?;
        let compared = raised(py, made, None)?;
        let report = Report::new(py, "compare", &compared.summary().join("\n"), &compared.tables, &compared.document())?;
        return Ok(report.with_notes(compared.notes()).with_exit_code(compared.exit_code()));
    }
    let given = given(scenario)?;
    let overrides = Overrides { else_profile: a.clone(), ..changes.overrides() };
    let options = CompareOptions {
        a,
        b,
        changes: made_of,
        metrics,
        worth_permille: Some(worth_permille),
        runs,
        paranoid: false,
        timelines: true,
    };
    let made = watched(py, progress, |control| {
        let input = given.open(&overrides)?;
        let compared = facade::compare(input.scenario(), &options, control)?;
        Ok((input, compared))
    })?;
    let (input, compared) = raised(py, made, Some(&given))?;
    let scenario = input.scenario();
    let tables = [compared.report.table(), compared.report.values_table()];
    let report = Report::new(py, "compare", &compared.summary(scenario).join("\n"), &tables, &compared.document(scenario))?;
    Ok(report
        .with_notes(scenario.notes.clone())
        .with_exit_code(compared.exit_code())
        .with_page(&compared.file(scenario, ResultKind::Html)))
}

/// A percentage in thousandths.
fn permille(percent: f64) -> Result<u64, Error> {
    // Exact: both ends are checked, and what lies between two thousandths goes to the nearest.
    if (0.0..=100.0).contains(&percent) {
        return Ok((percent * 10.0).round() as u64);
    }
    Err(Error::one("worth_pct", format!("`{percent}` is no percentage"), "A number from 0 to 100, such as 0.5."))
}
