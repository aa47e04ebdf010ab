//! `latency`.

use super::{given, raised};
use crate::input::{Changes, Given};
use crate::report::Report;
use crate::work::watched;
use fairground::interval;
use fairground::perf_sched::{Filter, Latency, LatencyOptions, LatencyOrder, ReadyMark, Source};
use fairground_scenario::Error;
use pyo3::prelude::*;

/// What is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    tasks: Vec<String>,
    cgroups: Vec<String>,
    time: Option<String>,
    sort: String,
    mark: String,
    by_task: bool,
    simulate: bool,
}

/// How long tasks wait.
#[pyfunction]
pub(crate) fn latency(
    py: Python<'_>,
    input: &Bound<'_, PyAny>,
    asked: Asked,
    changes: Changes,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let given = given(input)?;
    let source = Source { overrides: changes.overrides(), simulate: asked.simulate };
    let options = raised(py, options(&asked), None)?;
    let made = watched(py, progress, |control| match &given {
        Given::File(path) => Latency::of(path, &source, &options, control),
        Given::Text(_) | Given::Written(..) => Latency::of_scenario(given.open(&source.overrides)?.scenario(), &options, control),
    })?;
    let latency = raised(py, made, Some(&given))?;
    let report = Report::new(py, "latency", &latency.summary.join("\n"), &latency.tables, &latency.document())?;
    Ok(report.with_notes(latency.origin.notes))
}

fn options(asked: &Asked) -> Result<LatencyOptions, Error> {
    let orders = [
        ("avg", LatencyOrder::Avg),
        ("max", LatencyOrder::Max),
        ("switch", LatencyOrder::Switch),
        ("runtime", LatencyOrder::Runtime),
    ];
    let marks = [("waking", ReadyMark::Waking), ("wakeup", ReadyMark::Wakeup)];
    Ok(LatencyOptions {
        mark: chosen("mark", &asked.mark, &marks)?,
        by_task: asked.by_task,
        filter: Filter::new(asked.tasks.clone(), None, interval::interval(asked.time.as_deref())?)?.in_groups(&asked.cgroups)?,
        order: chosen("sort", &asked.sort, &orders)?,
        clock: true,
        percentiles: true,
        histogram: true,
        queues: true,
        antagonists: true,
    })
}

/// The row of this name.
fn chosen<T: Copy>(what: &str, name: &str, rows: &[(&str, T)]) -> Result<T, Error> {
    let names: Vec<&str> = rows.iter().map(|row| row.0).collect();
    let found = rows.iter().find(|row| row.0 == name).map(|row| row.1);
    found
        .ok_or_else(|| Error::one(what, format!("`{name}` is none of its values"), format!("It is one of {}.", names.join(", "))))
}
