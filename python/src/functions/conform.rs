//! `conform`.

use super::raised;
use crate::input::{Changes, path_of};
use crate::report::Report;
use crate::work::watched;
use fairground_recordings::conform::{self as model, ConformOptions};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A recording against the model, decision by decision.
#[pyfunction]
pub(crate) fn conform(
    py: Python<'_>,
    trace: &Bound<'_, PyAny>,
    scenario: Option<PathBuf>,
    fit_lags: bool,
    changes: Changes,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let path = path_of(trace)?;
    let overrides = changes.overrides();
    let options = ConformOptions { overrides, keep: 1, scenario, fit: fit_lags, ..ConformOptions::default() };
    let made = watched(py, progress, |control| model::conform(&path, &options, control))?;
    let made = raised(py, made, None)?;
    let report = Report::new(py, "conform", &model::summary(&made).join("\n"), &model::tables(&made), &model::document(&made))?;
    Ok(report.with_notes(made.notes))
}
