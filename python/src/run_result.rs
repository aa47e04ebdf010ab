//! What comes out of a run.

use crate::errors::exception;
use crate::events::{EventColumns, Records};
use crate::input::path_of;
use crate::report::{framed, loaded, tables_dict};
use crate::table::Table;
use crate::work::watched;
use fairground::output::{AsKernel, Outputs};
use fairground::pages;
use fairground::run::{self, RunOptions, RunOutcome};
use fairground_metrics::{self as metrics, Unit};
use fairground_model::Sink;
use fairground_report::{self as report, Document, plain_html};
use fairground_scenario::{Control, Scenario};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// A run that took longer here is not made again only because a notebook shows its result.
const SHOWN_AT_ONCE: Duration = Duration::from_secs(5);

/// One named number of a run.
#[pyclass(frozen, module = "fairground")]
pub(crate) struct Metric(metrics::Metric);

#[pymethods]
impl Metric {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }
    /// Nanoseconds of times, percent, per second, or a count.
    #[getter]
    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.0.unit {
            Unit::Ns | Unit::Us | Unit::Ms | Unit::Count => self.0.value.into_py_any(py),
            Unit::Percent | Unit::Rate => self.0.shown().into_py_any(py),
        }
    }
    #[getter]
    fn unit(&self) -> &'static str {
        match self.0.unit {
            Unit::Ns | Unit::Us | Unit::Ms => Unit::Ns.name(),
            other => other.name(),
        }
    }
    #[getter]
    fn better(&self) -> Option<&'static str> {
        (self.0.better != metrics::Better::Neither).then(|| self.0.better.name())
    }
    fn __float__(&self) -> f64 {
        match self.0.unit {
            Unit::Percent | Unit::Rate => self.0.shown(),
            _ => self.0.value as f64,
        }
    }
    fn __repr__(&self) -> String {
        format!("<fairground.Metric {}: {}>", self.0.name, self.__str__())
    }
    fn __str__(&self) -> String {
        report::units::format_metric(self.0.value, self.0.unit)
    }
}

/// A run that was made.
#[pyclass(frozen, module = "fairground")]
pub(crate) struct RunResult {
    scenario: Scenario,
    outcome: RunOutcome,
    /// Tables besides those of every run.
    first: Vec<report::Table>,
    tables: OnceLock<Vec<Py<Table>>>,
    document: OnceLock<Document>,
    records: OnceLock<Records>,
    page: OnceLock<String>,
}

impl RunResult {
    /// `document` is that of the command, if it is not that of every run. What people may not ask for is made when they do.
    pub(crate) fn new(
        scenario: Scenario,
        outcome: RunOutcome,
        first: Vec<report::Table>,
        document: Option<Document>,
        records: Option<Records>,
    ) -> RunResult {
        RunResult {
            scenario,
            outcome,
            first,
            tables: OnceLock::new(),
            document: document.map_or_else(OnceLock::new, OnceLock::from),
            records: records.map_or_else(OnceLock::new, OnceLock::from),
            page: OnceLock::new(),
        }
    }
    /// Makes the run once more for another listener: it is the same run.
    fn again<T: Sink + Send>(&self, py: Python<'_>, mut sink: T) -> PyResult<T> {
        let made = watched(py, None, |control: Control<'_>| {
            run::run(&self.scenario, &RunOptions::default(), &mut sink, control)?;
            Ok(sink)
        })?;
        made.map_err(|error| exception(py, &error, None))
    }
    /// If they were not kept the run is made again.
    fn records(&self, py: Python<'_>) -> PyResult<Records> {
        if let Some(records) = self.records.get() {
            return Ok(records.clone());
        }
        let records = self.again(py, event_columns(&self.scenario))?.into_inner().finish();
        Ok(self.records.get_or_init(|| records).clone())
    }
    fn page(&self, py: Python<'_>) -> PyResult<&str> {
        if let Some(page) = self.page.get() {
            return Ok(page);
        }
        let sink = self.again(py, pages::timeline_of(&self.scenario))?;
        let timeline = sink.finish(self.outcome.end());
        let page = run::run_page(&self.scenario, &self.outcome, Some(timeline)).to_string();
        Ok(self.page.get_or_init(|| page))
    }
}

/// The sink that keeps the records of a run of this scenario.
pub(crate) fn event_columns(scenario: &Scenario) -> AsKernel<EventColumns> {
    let markers = scenario.tasks().markers.iter().map(|marker| marker.name.clone()).collect();
    AsKernel::new(Box::new(EventColumns::new(markers)))
}

#[pymethods]
impl RunResult {
    #[getter]
    fn summary(&self) -> String {
        run::summary(&self.scenario, &self.outcome).join("\n")
    }
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for metric in &self.outcome.metrics {
            dict.set_item(&metric.name, Metric(metric.clone()))?;
        }
        Ok(dict)
    }
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.tables.get().is_none() {
            let of_run = run::run_tables(&self.scenario, &self.outcome).into_iter();
            let searches = run::search_tables(&self.scenario, &self.outcome);
            let all = self.first.iter().cloned().chain(of_run).chain(searches);
            let made = all.map(|table| Py::new(py, Table::of(&table))).collect::<PyResult<Vec<_>>>()?;
            self.tables.get_or_init(|| made);
        }
        tables_dict(py, self.tables.get().map_or(&[], Vec::as_slice))
    }
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Table> {
        Ok(Table::of_frame("events", "Records", self.records(py)?.events))
    }
    #[getter]
    fn tasks(&self, py: Python<'_>) -> PyResult<Table> {
        Ok(Table::of_frame("tasks", "Tasks", self.records(py)?.tasks))
    }
    #[getter]
    fn digest(&self) -> String {
        format!("{:032x}", self.outcome.digest)
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.outcome.seed
    }
    #[getter]
    fn simulated_ns(&self) -> u64 {
        self.outcome.simulated.0
    }
    #[getter]
    fn wall_s(&self) -> f64 {
        self.outcome.wall.as_secs_f64()
    }
    #[getter]
    fn holds(&self) -> bool {
        self.outcome.holds()
    }
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.scenario.notes.clone()
    }
    /// The scenario in its one fixed spelling.
    #[getter]
    fn scenario(&self) -> String {
        self.scenario.canonical()
    }
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.document.get_or_init(|| run::run_document(&self.scenario, &self.outcome)).to_string())
    }
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        self.page(py).map(str::to_string)
    }
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        if self.page.get().is_none() && self.outcome.wall > SHOWN_AT_ONCE {
            let more = "The timeline needs the run once more: call html() to have it.";
            return Ok(format!("{}<p>{more}</p>", plain_html(&self.summary())));
        }
        Ok(framed(self.page(py)?, self.scenario.machine.cpus.len()))
    }
    /// Writes files as `-o` does: the run is made again for all of them together.
    #[pyo3(signature = (*files))]
    fn save(&self, py: Python<'_>, files: &Bound<'_, PyTuple>) -> PyResult<()> {
        let paths = files.iter().map(|file| path_of(&file)).collect::<PyResult<Vec<PathBuf>>>()?;
        let made = watched(py, None, |control: Control<'_>| {
            let mut outputs = Outputs::for_run(&paths, &self.scenario)?;
            let outcome = run::run(&self.scenario, &RunOptions::default(), &mut outputs, control)?;
            outputs.finish_run(&self.scenario, &outcome)
        })?;
        made.map(drop).map_err(|error| exception(py, &error, None))
    }
    fn __repr__(&self) -> String {
        format!("<fairground.RunResult {:?}, digest {}>", self.scenario.title, self.digest())
    }
    fn __str__(&self) -> String {
        self.summary()
    }
}
