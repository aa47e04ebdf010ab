//! `sweep`: a plan of runs, which are made here or by others.

use super::{given, raised};
use crate::errors::exception;
use crate::input::Given;
use crate::report::Report;
use crate::work::watched;
use fairground::output::ResultKind;
use fairground::sweep::{
    Begun, Row, Sweep, SweepOptions, SweepText, Swept, sweep_document, sweep_file, sweep_summary, sweep_table,
};
use fairground_scenario::text_file::{name_of, read_text};
use fairground_scenario::{Error, Source};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What a sweep without a file is called in messages.
const NAME: &str = "sweep";
/// What its base is called if the caller gives one without a file.
const BASE: &str = "base";

/// What other processes make the same plan of: name, text, folder, base with its name, `until`, `seeds_apart`.
type Carried = (String, String, PathBuf, Option<(String, String)>, Option<String>, bool);

/// A sweep that was begun: what is finished, with the journal, and the rows that came since.
struct Open {
    begun: Begun,
    rows: Vec<Row>,
}

/// The runs of a sweep.
#[pyclass(frozen, module = "fairground._native")]
pub(crate) struct SweepPlan {
    sweep: Sweep,
    until: Option<String>,
    seeds_apart: bool,
    open: Mutex<Option<Open>>,
}

impl SweepPlan {
    fn of(sweep: Sweep, until: Option<String>, seeds_apart: bool) -> Result<SweepPlan, Error> {
        let mut plan = SweepPlan { sweep, until, seeds_apart, open: Mutex::new(None) };
        if seeds_apart {
            plan.sweep.set_seeds_apart();
        }
        if let Some(width) = &plan.until {
            plan.sweep.set_until(width)?;
        }
        Ok(plan)
    }
    fn report(&self, py: Python<'_>, swept: &Swept) -> PyResult<Report> {
        let inputs = self.sweep.inputs();
        let (document, summary) = (sweep_document(swept, &inputs), sweep_summary(swept).join("\n"));
        let report = Report::new(py, "sweep", &summary, &[sweep_table(swept)], &document)?;
        Ok(report.with_exit_code(swept.exit_code()).with_page(&sweep_file(swept, &inputs, ResultKind::Html)))
    }
    /// Does something with what was begun.
    fn with_open<T>(&self, act: impl FnOnce(&mut Open) -> PyResult<T>) -> PyResult<T> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        act(open.as_mut().ok_or_else(|| PyRuntimeError::new_err("begin() comes first"))?)
    }
}

/// The sweep of what was handed in.
fn read(sweep: &Given, base: Option<&Given>) -> Result<Sweep, Error> {
    let base = base.map(|base| match base {
        Given::File(path) => Ok((Source { name: name_of(path), text: read_text(path)? }, folder_of(path))),
        Given::Text(text) | Given::Written(text, _) => {
            Ok((Source { name: BASE.to_string(), text: text.clone() }, PathBuf::new()))
        }
    });
    let (name, text, folder, journal) = match (sweep, &base) {
        (Given::File(path), None) => return Sweep::load(path),
        (Given::File(path), Some(_)) => {
            let journal = PathBuf::from(format!("{}.journal", path.display()));
            (name_of(path), read_text(path)?, folder_of(path), Some(journal))
        }
        (Given::Text(text) | Given::Written(text, _), _) => (NAME.to_string(), text.clone(), PathBuf::new(), None),
    };
    let (base, folder) = match base.transpose()? {
        Some((source, of_base)) => (Some(source), of_base),
        None => (None, folder),
    };
    Sweep::parse(SweepText { name, text, folder, base, journal })
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

#[pymethods]
impl SweepPlan {
    /// Reads a sweep and checks each value of each axis.
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
        let made = watched(py, None, |_| SweepPlan::of(read(&sweep, base.as_ref())?, until, seeds_apart))?;
        raised(py, made, Some(&sweep))
    }
    /// The plan that another process carried here.
    #[staticmethod]
    fn of_carried(py: Python<'_>, carried: Carried) -> PyResult<SweepPlan> {
        let (name, text, folder, base, until, seeds_apart) = carried;
        let base = base.map(|(name, text)| Source { name, text });
        let made = watched(py, None, |_| {
            SweepPlan::of(Sweep::parse(SweepText { name, text, folder, base, journal: None })?, until, seeds_apart)
        })?;
        raised(py, made, None)
    }
    fn carried(&self) -> Carried {
        let SweepText { name, text, folder, base, journal: _ } = self.sweep.carried();
        (name, text, folder, base.map(|base| (base.name, base.text)), self.until.clone(), self.seeds_apart)
    }
    #[getter]
    fn runs(&self) -> usize {
        self.sweep.runs()
    }
    /// The scenario of one run in its one fixed spelling: what the axes change stands in it.
    fn scenario(&self, py: Python<'_>, number: usize) -> PyResult<String> {
        if number >= self.sweep.runs() {
            return Err(PyIndexError::new_err(format!("run {number} of {}", self.sweep.runs())));
        }
        let made = watched(py, None, |_| self.sweep.scenario(number).map(|scenario| scenario.canonical()))?;
        raised(py, made, None)
    }
    /// Makes all runs here.
    fn run(
        &self,
        py: Python<'_>,
        threads: usize,
        journal: Option<PathBuf>,
        fresh: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Report> {
        let options = SweepOptions { threads, fresh, journal };
        let made = watched(py, progress, |control| self.sweep.run(&options, control))?;
        self.report(py, &raised(py, made, None)?)
    }
    /// Opens the journal. Returns the numbers of the runs that are not finished.
    fn begin(&self, py: Python<'_>, journal: Option<PathBuf>, fresh: bool) -> PyResult<Vec<usize>> {
        let options = SweepOptions { threads: 0, fresh, journal };
        let made = watched(py, None, |_| self.sweep.begin(&options))?;
        let begun = raised(py, made, None)?;
        let numbers = begun.open.clone();
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(Open { begun, rows: Vec::new() });
        Ok(numbers)
    }
    /// Makes the runs from `first` to before `end` in one thread, and returns their rows, a line each.
    fn lines(&self, py: Python<'_>, first: usize, end: usize) -> PyResult<String> {
        let made = watched(py, None, |control| {
            let rows = self.sweep.run_points(first..end, 1, control)?;
            Ok(rows.iter().map(|row| self.sweep.line_of(row) + "\n").collect())
        })?;
        raised(py, made, None)
    }
    /// Notes rows that `lines` of another process has made. Returns how many there are.
    fn note(&self, py: Python<'_>, lines: &str) -> PyResult<usize> {
        self.with_open(|open| {
            let made = py.detach(|| {
                let rows = lines.lines().map(|line| self.sweep.row_of_line(line));
                let rows = rows.collect::<Result<Vec<Row>, Error>>()?;
                rows.iter().try_for_each(|row| open.begun.note(row))?;
                Ok(rows)
            });
            let rows = made.map_err(|error: Error| exception(py, &error, None))?;
            let count = rows.len();
            open.rows.extend(rows);
            Ok(count)
        })
    }
    /// Puts together what was finished before and what was noted since.
    fn finish(&self, py: Python<'_>) -> PyResult<Report> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let open = open.ok_or_else(|| PyRuntimeError::new_err("begin() comes first"))?;
        let made = watched(py, None, |_| open.begun.assemble(&self.sweep, open.rows))?;
        self.report(py, &raised(py, made, None)?)
    }
}
