//! Errors as exceptions of Python.

use crate::as_toml::Places;
use fairground_model::Mistakes;
use fairground_scenario::{Error, FileMistakes};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// The module with the exceptions.
const MODULE: &str = "fairground._errors";

/// An error as an exception. What was written of a dictionary is shown by dotted paths, all else by lines.
pub(crate) fn exception(py: Python<'_>, error: &Error, places: Option<&Places>) -> PyErr {
    exception_of(py, error, &|_| places)
}

/// The same of several dictionaries, each found by what it is called.
pub(crate) fn exception_of<'p>(py: Python<'_>, error: &Error, places: &dyn Fn(&str) -> Option<&'p Places>) -> PyErr {
    made(py, error, places).unwrap_or_else(|failed| failed)
}

fn made<'p>(py: Python<'_>, error: &Error, places: &dyn Fn(&str) -> Option<&'p Places>) -> PyResult<PyErr> {
    let module = py.import(MODULE)?;
    let value = match error {
        Error::Input(files) => {
            let mistakes = PyList::empty(py);
            for file in files {
                add(&module, &mistakes, file, places(&file.name))?;
            }
            module.getattr("InputError")?.call1((mistakes,))?
        }
        Error::World { cause, .. } => module.getattr("WorldError")?.call1((cause.raw_os_error(), error.to_string()))?,
        Error::Broken(broken) => module.getattr("BrokenInvariant")?.call1((broken.to_string(),))?,
    };
    Ok(PyErr::from_value(value))
}

fn add(module: &Bound<'_, PyModule>, list: &Bound<'_, PyList>, file: &FileMistakes, places: Option<&Places>) -> PyResult<()> {
    let of_dict = places.filter(|_| !file.text.is_empty());
    for mistake in &file.mistakes.0 {
        let (mut line, mut path) = (None, None);
        match (&mistake.span, of_dict) {
            (Some(span), Some(places)) => path = places.path(span).map(str::to_string),
            (Some(span), None) => line = Some(Mistakes::line_of(&file.text, span.start)),
            (None, _) => {}
        }
        let row = (&file.name, line, path, &mistake.message, &mistake.hint);
        list.append(module.getattr("Mistake")?.call1(row)?)?;
    }
    Ok(())
}
