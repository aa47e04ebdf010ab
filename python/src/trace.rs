//! A recorded trace.

use crate::errors::exception;
use crate::events::Records;
use crate::input::path_of;
use crate::table::Table;
use crate::work::watched;
use fairground::convert::{self, Handed};
use fairground::interval::Interval;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;

/// A trace that was read.
#[pyclass(frozen, module = "fairground")]
pub(crate) struct Trace {
    path: PathBuf,
    interval: Interval,
    handed: Handed,
    records: Records,
}

impl Trace {
    pub(crate) fn new(path: PathBuf, interval: Interval, handed: Handed, records: Records) -> Trace {
        Trace { path, interval, handed, records }
    }
}

#[pymethods]
impl Trace {
    #[getter]
    fn name(&self) -> &str {
        &self.handed.name
    }
    #[getter]
    fn format(&self) -> &str {
        self.handed.stats.format
    }
    #[getter]
    fn kernel(&self) -> Option<&str> {
        self.handed.stats.kernel_release.as_deref()
    }
    #[getter]
    fn epoch_ns(&self) -> u64 {
        self.handed.stats.offset_ns
    }
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.handed.notes()
    }
    #[getter]
    fn events(&self) -> Table {
        Table::of_frame("events", "Records", self.records.events.clone())
    }
    #[getter]
    fn tasks(&self) -> Table {
        Table::of_frame("tasks", "Tasks", self.records.tasks.clone())
    }
    /// Writes files as `convert` does: the trace is read again for each.
    #[pyo3(signature = (*files))]
    fn save(&self, py: Python<'_>, files: &Bound<'_, PyTuple>) -> PyResult<()> {
        let paths = files.iter().map(|file| path_of(&file)).collect::<PyResult<Vec<PathBuf>>>()?;
        let made = watched(py, None, |_| {
            paths.iter().try_for_each(|path| convert::convert(&self.path, path, self.interval, false).map(drop))
        })?;
        made.map_err(|error| exception(py, &error, None))
    }
    fn __repr__(&self) -> String {
        format!("<fairground.Trace {:?}, {}: {} records>", self.handed.name, self.handed.stats.format, self.records.events.rows())
    }
}
