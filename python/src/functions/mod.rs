//! A function for each command. Arguments are checked by the wrappers in Python only as far as types go; what is wrong with their values is
//! found by the facade, as for the command.

pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod conform;
pub(crate) mod explain;
pub(crate) mod latency;
pub(crate) mod lists;
pub(crate) mod read;
pub(crate) mod run;
pub(crate) mod sweep;

use crate::errors::exception;
use crate::input::Given;
use fairground_scenario::Error;
use pyo3::prelude::*;

/// What was handed in, or the exception.
fn given(object: &Bound<'_, PyAny>) -> PyResult<Given> {
    Given::of(object)?.map_err(|error| exception(object.py(), &error, None))
}

/// What came of it, or the exception.
fn raised<T>(py: Python<'_>, made: Result<T, Error>, given: Option<&Given>) -> PyResult<T> {
    made.map_err(|error| exception(py, &error, given.and_then(Given::places)))
}
