//! `list_…`.

use super::raised;
use crate::input::Changes;
use crate::table::Table;
use fairground::domains::domain_table;
use fairground::lists::{self, Listed};
use fairground_scenario::Error;
use pyo3::prelude::*;

/// A list by its name.
#[pyfunction]
pub(crate) fn listed(py: Python<'_>, what: &str) -> PyResult<Table> {
    let found = Listed::ALL.iter().find(|row| row.0 == what).map(|row| lists::list(row.1));
    let names: Vec<&str> = Listed::ALL.iter().map(|row| row.0).collect();
    let unknown = || Error::one("list", format!("there is no list `{what}`"), format!("There are {}.", names.join(", ")));
    Ok(Table::of(&raised(py, found.ok_or_else(unknown), None)?))
}

/// The domains of a machine under a kernel; of one CPU only if that is given.
#[pyfunction]
pub(crate) fn domains(py: Python<'_>, changes: Changes, cpu: Option<u32>) -> PyResult<Table> {
    let table = domain_table(&changes.overrides(), None, cpu, &mut Vec::new());
    Ok(Table::of(&raised(py, table, None)?))
}
