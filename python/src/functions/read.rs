//! `read`.

use super::raised;
use crate::events::EventColumns;
use crate::input::path_of;
use crate::trace::Trace;
use crate::work::watched;
use fairground::{convert, interval};
use pyo3::prelude::*;

/// A recorded trace as tables.
#[pyfunction]
pub(crate) fn read(
    py: Python<'_>,
    trace: &Bound<'_, PyAny>,
    time: Option<&str>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trace> {
    let path = path_of(trace)?;
    let interval = raised(py, interval::interval(time), None)?;
    let made = watched(py, progress, |_| {
        let mut columns = EventColumns::new(Vec::new());
        let handed = convert::read(&path, interval, &mut columns)?;
        Ok((handed, columns.finish()))
    })?;
    let (handed, records) = raised(py, made, None)?;
    Ok(Trace::new(path, interval, handed, records))
}
