//! What comes out of all commands but a run.

use crate::table::{Table, escaped};
use fairground_report::{self as report, Document, plain_html};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::LazyLock;

/// A text that is made when it is first asked for: the document of 100,000 runs takes 2 GB.
pub(crate) type Late = LazyLock<String, Box<dyn FnOnce() -> String + Send>>;

pub(crate) fn late(make: impl FnOnce() -> String + Send + 'static) -> Late {
    LazyLock::new(Box::new(make))
}

/// What a command found: a summary, tables, the document of `--json`.
#[pyclass(frozen, module = "fairground")]
pub(crate) struct Report {
    #[pyo3(get)]
    command: &'static str,
    #[pyo3(get)]
    summary: String,
    #[pyo3(get)]
    notes: Vec<String>,
    #[pyo3(get)]
    exit_code: u8,
    tables: Vec<Py<Table>>,
    document: Late,
    page: Option<Late>,
}

impl Report {
    pub(crate) fn new(
        py: Python<'_>,
        command: &'static str,
        summary: &str,
        tables: &[report::Table],
        document: &Document,
    ) -> PyResult<Report> {
        let document = document.to_string();
        Report::with_late(py, command, summary, tables, late(|| document))
    }
    /// The same with a document that is made when it is asked for.
    pub(crate) fn with_late(
        py: Python<'_>,
        command: &'static str,
        summary: &str,
        tables: &[report::Table],
        document: Late,
    ) -> PyResult<Report> {
        let tables = tables.iter().map(|table| Py::new(py, Table::of(table))).collect::<PyResult<Vec<_>>>()?;
        let summary = summary.trim_end().to_string();
        Ok(Report { command, summary, notes: Vec::new(), exit_code: 0, tables, document, page: None })
    }
    pub(crate) fn with_notes(self, notes: Vec<String>) -> Report {
        Report { notes, ..self }
    }
    pub(crate) fn with_exit_code(self, exit_code: u8) -> Report {
        Report { exit_code, ..self }
    }
    pub(crate) fn with_page(self, page: &[u8]) -> Report {
        let page = String::from_utf8_lossy(page).into_owned();
        self.with_late_page(late(|| page))
    }
    pub(crate) fn with_late_page(self, page: Late) -> Report {
        Report { page: Some(page), ..self }
    }
}

#[pymethods]
impl Report {
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        tables_dict(py, &self.tables)
    }
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.document)
    }
    /// The page that `-o FILE.html` writes; of a command without one its summary and its tables.
    fn html(&self, py: Python<'_>) -> String {
        if let Some(page) = &self.page {
            return page.to_string();
        }
        let tables = self.tables.iter().map(|table| table.bind(py).get().html());
        std::iter::once(plain_html(&self.summary)).chain(tables).collect()
    }
    fn _repr_html_(&self, py: Python<'_>) -> String {
        match &self.page {
            Some(page) => framed(page, 0),
            None => self.html(py),
        }
    }
    fn __repr__(&self) -> String {
        format!("<fairground.Report of {}>", self.command)
    }
    fn __str__(&self) -> &str {
        &self.summary
    }
}

/// Tables by their names. Two of one name, as of two workloads of a kind, are told apart by a number.
pub(crate) fn tables_dict<'py>(py: Python<'py>, tables: &[Py<Table>]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for table in tables {
        let name = table.bind(py).get().name();
        let mut key = name.to_string();
        for number in 2.. {
            if !dict.contains(&key)? {
                break;
            }
            key = format!("{name}-{number}");
        }
        dict.set_item(key, table)?;
    }
    Ok(dict)
}

/// A document as dictionaries and lists.
pub(crate) fn loaded<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}

/// A page in a frame of its own, whose styles and scripts do not meet those of a notebook. It is as high as the page of a run down to the
/// end of its timeline, where a CPU has a row, but fits a screen.
pub(crate) fn framed(page: &str, cpus: usize) -> String {
    let height = ROW.saturating_mul(cpus).saturating_add(ABOVE_TIMELINE).clamp(LEAST, MOST);
    format!(
        "<iframe sandbox=\"allow-scripts\" style=\"width: 100%; height: {height}px; border: 0\" srcdoc=\"{}\"></iframe>",
        escaped(page)
    )
}

/// Pixels: what stands above and below the rows of a timeline, a row, and the bounds of a frame.
const ABOVE_TIMELINE: usize = 640;
const ROW: usize = 26;
const LEAST: usize = 640;
const MOST: usize = 900;
