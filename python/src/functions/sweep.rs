//! `sweep`: a plan of runs that is made here, or in parts elsewhere.

use super::given;
use crate::errors::{exception, exception_of};
use crate::input::Given;
use crate::report::{Report, late};
use crate::work::watched;
use fairground::output::ResultKind;
use fairground::sweep::{
    Begun, Row, Sweep, SweepOptions, SweepText, Swept, sweep_document, sweep_file, sweep_summary, sweep_table,
};
use fairground_scenario::text_file::{Texts, name_of, read_text};
use fairground_scenario::{Control, Error, Overrides, Source};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a text without a file is called in messages.
const TEXT: &str = "sweep";
/// What a base without a file is called.
const BASE: &str = "base";

/// A sweep that is checked: its runs are numbered from 0.
#[pyclass(frozen, module = "fairground._native")]
pub(crate) struct SweepPlan {
    sweep: Sweep,
    until: Option<String>,
    seeds_apart: bool,
    begun: Mutex<Option<(Begun, Vec<Row>)>>,
}

/// A plan as plain values: name, text, folder, base (name, text), texts of files (path, text), `until`, `seeds_apart`.
type Carried = (String, String, PathBuf, Option<(String, String)>, Vec<(PathBuf, String)>, Option<String>, bool);

#[pymethods]
impl SweepPlan {
    /// `sweep` is the path of a sweep file, a text with a line end, or a dictionary; `base` a scenario.
    #[new]
    fn new(
        py: Python<'_>,
        sweep: &Bound<'_, PyAny>,
        base: Option<&Bound<'_, PyAny>>,
        until: Option<String>,
        seeds_apart: bool,
    ) -> PyResult<SweepPlan> {
        let sweep = given(sweep)?;
        let base = base.map(given).transpose()?;
        let made = watched(py, None, |_| made(&sweep, base.as_ref(), until.as_deref(), seeds_apart))?;
        let places = |file: &str| if file == BASE { base.as_ref()?.places() } else { sweep.places() };
        let sweep = made.map_err(|error| exception_of(py, &error, &places))?;
        Ok(SweepPlan { sweep, until, seeds_apart, begun: Mutex::default() })
    }
    /// The plan that `carried()` was made of, on any machine.
    #[staticmethod]
    fn of_carried(py: Python<'_>, carried: Carried) -> PyResult<SweepPlan> {
        let (name, text, folder, base, texts, until, seeds_apart) = carried;
        let base = base.map(|(name, text)| Source { name, text });
        let texts = Texts::new(texts.into_iter().collect());
        let text = SweepText { name, text, folder, base, texts, journal: None };
        let made = watched(py, None, |_| parsed(text, until.as_deref(), seeds_apart))?;
        let sweep = made.map_err(|error| exception(py, &error, None))?;
        Ok(SweepPlan { sweep, until, seeds_apart, begun: Mutex::default() })
    }
    fn carried(&self) -> Carried {
        let SweepText { name, text, folder, base, texts, .. } = self.sweep.carried();
        let texts = texts.iter().map(|(path, text)| (path.clone(), text.clone())).collect();
        (name, text, folder, base.map(|base| (base.name, base.text)), texts, self.until.clone(), self.seeds_apart)
    }
    fn __len__(&self) -> usize {
        self.sweep.runs()
    }
    /// The scenario of one run in its one fixed spelling: what the axes change stands in it.
    fn scenario(&self, py: Python<'_>, number: usize) -> PyResult<String> {
        if number >= self.sweep.runs() {
            return Err(PyIndexError::new_err(format!("run {number} of {}", self.sweep.runs())));
        }
        let made = watched(py, None, |_| self.sweep.scenario(number).map(|scenario| scenario.canonical()))?;
        made.map_err(|error| exception(py, &error, None))
    }
    /// Makes what is not finished, on threads of this host.
    fn run(
        &self,
        py: Python<'_>,
        threads: usize,
        journal: Option<PathBuf>,
        fresh: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Report> {
        let options = SweepOptions { threads, fresh, journal };
        let swept = watched(py, progress, |control| self.sweep.run(&options, control))?;
        self.report(py, swept.map_err(|error| exception(py, &error, None))?)
    }
    /// Reads the journal and says which runs are open.
    fn open(&self, py: Python<'_>, journal: Option<PathBuf>, fresh: bool) -> PyResult<Vec<usize>> {
        let options = SweepOptions { threads: 0, fresh, journal };
        // A journal has one writer: this plan may be it.
        *self.begun() = None;
        let begun = watched(py, None, |_| self.sweep.begin(&options))?.map_err(|error| exception(py, &error, None))?;
        let open = begun.open.clone();
        *self.begun() = Some((begun, Vec::new()));
        Ok(open)
    }
    /// Makes the runs from `first` to before `end`, one after another: a line of the journal for each.
    fn run_lines(&self, py: Python<'_>, first: usize, end: usize) -> PyResult<String> {
        let rows = watched(py, None, |control: Control<'_>| {
            let rows = self.sweep.run_points(first..end, 1, control)?;
            Ok(rows.iter().map(|row| self.sweep.line_of(row) + "\n").collect())
        })?;
        rows.map_err(|error| exception(py, &error, None))
    }
    /// Takes such lines and notes them in the journal; says how many there were.
    fn note(&self, py: Python<'_>, lines: &str) -> PyResult<usize> {
        let noted = py.detach(|| -> Result<Option<usize>, Error> {
            let mut begun = self.begun();
            let Some((begun, rows)) = begun.as_mut() else { return Ok(None) };
            let before = rows.len();
            for line in lines.lines() {
                let row = self.sweep.row_of_line(line)?;
                begun.note(&row)?;
                rows.push(row);
            }
            Ok(Some(rows.len() - before))
        });
        noted.map_err(|error| exception(py, &error, None))?.ok_or_else(not_open)
    }
    /// Puts together what was finished before and what was noted.
    fn finish(&self, py: Python<'_>) -> PyResult<Report> {
        let (begun, rows) = self.begun().take().ok_or_else(not_open)?;
        let swept = py.detach(|| begun.assemble(&self.sweep, rows));
        self.report(py, swept.map_err(|error| exception(py, &error, None))?)
    }
}

impl SweepPlan {
    fn begun(&self) -> MutexGuard<'_, Option<(Begun, Vec<Row>)>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn report(&self, py: Python<'_>, swept: Swept) -> PyResult<Report> {
        let (swept, inputs) = (Arc::new(swept), self.sweep.inputs());
        let (of_document, of_page, inputs_of_page) = (Arc::clone(&swept), Arc::clone(&swept), inputs.clone());
        let document = late(move || sweep_document(&of_document, &inputs).to_string());
        let page = late(move || String::from_utf8_lossy(&sweep_file(&of_page, &inputs_of_page, ResultKind::Html)).into_owned());
        let report = Report::with_late(py, "sweep", &sweep_summary(&swept).join("\n"), &[sweep_table(&swept)], document)?;
        Ok(report.with_exit_code(swept.exit_code()).with_late_page(page))
    }
}

fn not_open() -> PyErr {
    PyRuntimeError::new_err("the plan is not open")
}

fn parsed(text: SweepText, until: Option<&str>, seeds_apart: bool) -> Result<Sweep, Error> {
    with_flags(Sweep::parse(text)?, until, seeds_apart)
}

fn with_flags(mut sweep: Sweep, until: Option<&str>, seeds_apart: bool) -> Result<Sweep, Error> {
    if seeds_apart {
        sweep.set_seeds_apart();
    }
    if let Some(until) = until {
        sweep.set_until(until)?;
    }
    Ok(sweep)
}

fn made(sweep: &Given, base: Option<&Given>, until: Option<&str>, seeds_apart: bool) -> Result<Sweep, Error> {
    let text = match (sweep, base) {
        (Given::File(path), None) => return with_flags(Sweep::load(path)?, until, seeds_apart),
        (Given::File(path), Some(_)) => {
            let mut journal = path.as_os_str().to_os_string();
            journal.push(".journal");
            let folder = folder_of(path);
            SweepText {
                name: name_of(path),
                text: read_text(path)?,
                folder,
                journal: Some(journal.into()),
                ..SweepText::default()
            }
        }
        (Given::Text(text) | Given::Written(text, _), _) => {
            SweepText { name: TEXT.into(), text: text.clone(), ..SweepText::default() }
        }
    };
    let Some(base) = base else { return parsed(text, until, seeds_apart) };
    let (source, folder) = match base {
        Given::Text(text) | Given::Written(text, _) => (Source { name: BASE.into(), text: text.clone() }, PathBuf::new()),
        Given::File(path) if path.extension().is_some_and(|ending| ending == "toml") => {
            (Source { name: name_of(path), text: read_text(path)? }, folder_of(path))
        }
        // An rt-app file or a recorded experiment, as the scenario that it is.
        Given::File(path) => {
            let text = base.open(&Overrides::default())?.scenario().canonical();
            (Source { name: name_of(path), text }, folder_of(path))
        }
    };
    parsed(SweepText { base: Some(source), folder, ..text }, until, seeds_apart)
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}
