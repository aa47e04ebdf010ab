//! A table as Python has it.

use crate::arrow::{self, Bits, Column, Field, Frame, Kind, Text, Values};
use fairground_report::{self as report, Align, Layout, plain_html};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use serde_json::Value;
use std::sync::Arc;

/// Rows that a notebook shows of a table.
const SHOWN: usize = 60;

/// A table in columns, which libraries read by the Arrow C data interface.
#[pyclass(frozen, module = "fairground")]
pub(crate) struct Table {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    title: String,
    /// As the command prints it, and as a notebook shows it; empty for records.
    text: String,
    html: String,
    frame: Arc<Frame>,
}

impl Table {
    /// A table of a report.
    pub(crate) fn of(table: &report::Table) -> Table {
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for (at, column) in table.columns().iter().enumerate() {
            let cells: Vec<&Value> = table.rows().iter().filter_map(|row| row.get(at)).map(|cell| &cell.data).collect();
            for (ending, cells) in ends_of(&cells) {
                let align = if ending.is_empty() { column.align } else { Align::Right };
                let (kind, values) = typed(&cells, align);
                // A sweep calls the interval of NAME `NAME:interval`, and its ends in files `NAME:low` and `NAME:high`.
                let key =
                    if ending.is_empty() { &column.key } else { column.key.strip_suffix(":interval").unwrap_or(&column.key) };
                fields.push(Field::new(format!("{key}{ending}"), kind));
                columns.push(values);
            }
        }
        let batch = arrow::Batch { rows: table.rows().len(), columns };
        let text = table.laid_out(Layout::default());
        let frame = Arc::new(Frame { fields, batches: vec![batch] });
        Table { name: table.name.clone(), title: table.title.clone(), text, html: table.to_html(SHOWN), frame }
    }
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
    /// As a notebook shows it.
    pub(crate) fn html(&self) -> String {
        if self.html.is_empty() { plain_html(&self.__repr__()) } else { self.html.clone() }
    }
    /// Records.
    pub(crate) fn of_frame(name: &str, title: &str, frame: Arc<Frame>) -> Table {
        Table { name: name.to_string(), title: title.to_string(), text: String::new(), html: String::new(), frame }
    }
}

/// The columns of a column: an interval has two ends, of which each is one, with the endings that a sweep's files have.
fn ends_of<'v>(cells: &[&'v Value]) -> Vec<(&'static str, Vec<&'v Value>)> {
    let ends = |cell: &'v Value| cell.as_array().filter(|ends| ends.len() == 2);
    let is_interval = cells.iter().any(|cell| cell.is_array()) && cells.iter().all(|cell| cell.is_null() || ends(cell).is_some());
    if !is_interval {
        return vec![("", cells.to_vec())];
    }
    let end =
        |which: usize| cells.iter().map(|cell| ends(cell).and_then(|ends| ends.get(which)).unwrap_or(&Value::Null)).collect();
    vec![(":low", end(0)), (":high", end(1))]
}

/// Values in a column of the kind that they have.
fn typed(cells: &[&Value], align: Align) -> (Kind, Column) {
    let kind = match align {
        _ if cells.iter().any(|value| value.is_string()) => Kind::Text,
        // An axis of a sweep stands to the left whatever its values are.
        Align::Left if !cells.iter().any(|value| value.is_number()) => Kind::Text,
        _ if cells.iter().all(|value| value.is_null() || value.as_i64().is_some()) => Kind::Int64,
        _ if cells.iter().all(|value| value.is_null() || value.is_number()) => Kind::Float64,
        _ => Kind::Text,
    };
    let mut valid = Bits::default();
    cells.iter().for_each(|value| valid.push(!value.is_null()));
    let values = match kind {
        Kind::Int64 => Values::Int64(cells.iter().map(|value| value.as_i64().unwrap_or_default()).collect()),
        Kind::Float64 => Values::Float64(cells.iter().map(|value| value.as_f64().unwrap_or_default()).collect()),
        _ => Values::Text(cells.iter().map(|value| text_of(value)).collect::<Text>()),
    };
    (kind, Column::some(values, valid))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.frame.fields.iter().map(|field| field.name.clone()).collect()
    }
    fn __len__(&self) -> usize {
        self.frame.rows()
    }
    fn __repr__(&self) -> String {
        format!("<fairground.Table {}: {} rows of {} columns>", self.name, self.frame.rows(), self.frame.fields.len())
    }
    fn __str__(&self) -> String {
        if self.text.is_empty() { self.__repr__() } else { self.text.clone() }
    }
    fn _repr_html_(&self) -> String {
        self.html()
    }
    /// All rows as dictionaries: for small tables.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for batch in &self.frame.batches {
            for row in 0..batch.rows {
                let dict = PyDict::new(py);
                for (field, column) in self.frame.fields.iter().zip(&batch.columns) {
                    dict.set_item(&field.name, value(py, field, column, row)?)?;
                }
                list.append(dict)?;
            }
        }
        Ok(list)
    }
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema_capsule(py, &self.frame)
    }
    /// What a reader would rather have is not looked at, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        arrow::stream_capsule(py, &self.frame)
    }
}

fn value(py: Python<'_>, field: &Field, column: &Column, row: usize) -> PyResult<Option<Py<PyAny>>> {
    if !column.has(row) {
        return Ok(None);
    }
    let number = match &column.values {
        Values::Int64(values) => return values.get(row).map(|value| value.into_py_any(py)).transpose(),
        Values::Float64(values) => return values.get(row).map(|value| value.into_py_any(py)).transpose(),
        Values::Text(text) => return text.get(row).map(|value| value.into_py_any(py)).transpose(),
        Values::UInt8(values) => values.get(row).map(|&value| u32::from(value)),
        Values::UInt16(values) => values.get(row).map(|&value| u32::from(value)),
        Values::UInt32(values) => values.get(row).copied(),
    };
    let Some(number) = number else { return Ok(None) };
    match &field.words {
        Some(words) => words.get(number as usize).map(|word| word.into_py_any(py)).transpose(),
        None => number.into_py_any(py).map(Some),
    }
}

/// Text as it stands in HTML, also between double quotes.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
