//! What Python hands in to be run: a path, a text, a dictionary, a builder.

use crate::as_toml::{self, Places};
use fairground::input::RunInput;
use fairground_model::Mistakes;
use fairground_scenario::{Error, Overrides, Scenario};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::path::{Path, PathBuf};

/// A scenario that was handed in, before it is read.
pub(crate) enum Given {
    /// A file, or the folder of a recorded set.
    File(PathBuf),
    /// The text of a scenario.
    Text(String),
    /// A scenario written out of a dictionary, and where each of its values stands there.
    Written(String, Places),
}

/// What a text is called in messages.
const TEXT: &str = "scenario";

impl Given {
    /// A `str` with a line end is a text, any other a path. A builder has `to_dict`.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Result<Given, Error>> {
        if let Ok(text) = object.cast::<PyString>() {
            let text = text.to_string();
            return Ok(Ok(if text.contains('\n') { Given::Text(text) } else { Given::File(text.into()) }));
        }
        if let Ok(path) = path_of(object) {
            return Ok(Ok(Given::File(path)));
        }
        let dict = match object.cast::<PyDict>() {
            Ok(dict) => dict.clone(),
            Err(_) if object.hasattr("to_dict")? => object.call_method0("to_dict")?.cast_into::<PyDict>()?,
            Err(_) if object.hasattr("keys")? => {
                let dict = PyDict::new(object.py());
                dict.update(object.cast()?)?;
                dict
            }
            Err(_) => {
                let kind = object.get_type().name()?;
                let message = format!("a scenario is a path, a text, a dictionary or a fairground.Scenario, not {kind}");
                return Err(PyTypeError::new_err(message));
            }
        };
        Ok(as_toml::written(&dict)?.map(|(text, places)| Given::Written(text, places)).map_err(Given::wrong))
    }
    fn wrong(mistakes: Mistakes) -> Error {
        Error::input(TEXT, "", mistakes)
    }
    /// Reads it.
    pub(crate) fn open(&self, overrides: &Overrides) -> Result<RunInput, Error> {
        match self {
            Given::File(path) => RunInput::open(path, overrides),
            Given::Text(text) | Given::Written(text, _) => {
                Ok(RunInput::Scenario(Box::new(Scenario::parse(TEXT, text, Path::new(""), overrides)?)))
            }
        }
    }
    /// Where the values of a dictionary stand in the text that was written of it.
    pub(crate) fn places(&self) -> Option<&Places> {
        match self {
            Given::Written(_, places) => Some(places),
            Given::File(_) | Given::Text(_) => None,
        }
    }
}

/// A `str` or something with `__fspath__`.
pub(crate) fn path_of(object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    object.extract()
}

/// The changes of the caller: `kernel`, `features`, `set`, `machine`, `capacities`, `seed`, `duration`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Changes {
    kernel: Option<String>,
    features: Vec<String>,
    set: Vec<String>,
    machine: Option<String>,
    capacities: Option<String>,
    seed: Option<u64>,
    duration: Option<String>,
}

impl Changes {
    pub(crate) fn overrides(self) -> Overrides {
        let Changes { kernel, features, set, machine, capacities, seed, duration } = self;
        Overrides { profile: kernel, features, set, machine, capacities, seed, duration, ..Overrides::default() }
    }
}
