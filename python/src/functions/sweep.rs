//! `sweep`.

use super::raised;
use crate::input::path_of;
use crate::report::Report;
use crate::work::watched;
use fairground::output::ResultKind;
use fairground::sweep::{Sweep, SweepOptions, sweep_document, sweep_file, sweep_summary, sweep_table};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Every combination of a sweep file.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    file: &Bound<'_, PyAny>,
    threads: usize,
    journal: Option<PathBuf>,
    fresh: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let path = path_of(file)?;
    let options = SweepOptions { threads, fresh, journal };
    let made = watched(py, progress, |control| {
        let sweep = Sweep::load(&path)?;
        let swept = sweep.run(&options, control)?;
        Ok((sweep.inputs(), swept))
    })?;
    let (inputs, swept) = raised(py, made, None)?;
    let document = sweep_document(&swept, &inputs);
    let report = Report::new(py, "sweep", &sweep_summary(&swept).join("\n"), &[sweep_table(&swept)], &document)?;
    Ok(report.with_exit_code(swept.exit_code()).with_page(&sweep_file(&swept, &inputs, ResultKind::Html)))
}
