//! The tables of a run: those of the workloads, then those that every run has.

use crate::metrics::marker_values;
use crate::run::RunOutcome;
use crate::scenario::{BandResult, Scenario, Workload};
use fairground_metrics::Histogram;
use fairground_report::units::{fixed, format_metric};
use fairground_report::{Cell, Column, Table, run};
use fairground_workload::{Aggregate, Figure};
use serde_json::Value;

/// The tables of a run, the workloads' own first.
pub fn run_tables(scenario: &Scenario, outcome: &RunOutcome) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let own = scenario.workloads.iter().filter(|workload| !workload.columns.is_empty());
    tables.extend(own.map(|workload| workload_table(workload, outcome)));
    tables.push(run::task_table(&outcome.report));
    tables.push(run::cpu_table(&outcome.report));
    let rest = [run::section_table(&outcome.report), run::reason_table(&outcome.report), run::metrics_table(&outcome.metrics)];
    tables.extend(rest.into_iter().filter(|table| !table.rows().is_empty()));
    if !outcome.bands.is_empty() {
        tables.push(band_table(&outcome.bands));
    }
    tables
}

/// The workload's own table: one row, its columns computed from its markers.
///
/// Markers of the same name and unit are shared by all workloads of a scenario.
fn workload_table(workload: &Workload, outcome: &RunOutcome) -> Table {
    let key = |title: &str| title.replace([' ', '/'], "_");
    let heading = |title: &str, unit: &str| if unit.is_empty() { title.to_string() } else { format!("{title} ({unit})") };
    let columns =
        workload.columns.iter().map(|column| Column::right(heading(column.title, column.unit), key(column.title))).collect();
    let mut table = Table::new(key(&workload.label), workload.label.clone(), columns);
    let values = |name: &str| {
        let marker = outcome.tasks.markers.iter_enumerated().find(|row| row.1.name == name);
        marker.map_or_else(Histogram::new, |(marker, _)| marker_values(&outcome.report, &outcome.tasks, marker))
    };
    let cells = workload.columns.iter().map(|column| {
        let (top, bottom) = match column.figure {
            Figure::Of(name, aggregate) => (u128::from(aggregated(&values(name), aggregate)), 1),
            Figure::Ratio(name, other) => (values(name).sum(), values(other).sum()),
        };
        let (top, bottom) = (top * u128::from(column.scale.0), bottom * u128::from(column.scale.1));
        if bottom == 0 {
            return Cell::new("-", Value::Null);
        }
        // Rounded down at nine digits, more than any column shows.
        let nano = u64::try_from(top * 1_000_000_000 / bottom).unwrap_or(u64::MAX);
        let text = fixed(nano, 1_000_000_000, u32::from(column.decimals));
        let data = text.parse::<f64>().map_or(Value::Null, Value::from);
        Cell::new(text, data)
    });
    table.push(cells.collect());
    table
}

fn aggregated(values: &Histogram, aggregate: Aggregate) -> u64 {
    match aggregate {
        Aggregate::Count => values.len(),
        Aggregate::Sum => u64::try_from(values.sum()).unwrap_or(u64::MAX),
        Aggregate::Max => values.max(),
        Aggregate::Mean => values.mean(),
        Aggregate::PerMille(permille) => values.quantile(u64::from(permille)),
    }
}

/// The scenario's expectations beside the run.
pub fn band_table(bands: &[BandResult]) -> Table {
    let columns = vec![
        Column::left("metric", "metric"),
        Column::right("value", "value"),
        Column::right("min", "min"),
        Column::right("max", "max"),
        Column::left("within", "within"),
        Column::left("why", "why"),
    ];
    let mut table = Table::new("expect", "Expectations", columns);
    for row in bands {
        let value = row.value.as_ref().map_or_else(
            || Cell::new("missing", Value::Null),
            |metric| Cell::new(format_metric(metric.value, metric.unit), metric.value),
        );
        let limit = |limit: &Option<crate::scenario::Limit>| {
            limit.as_ref().map_or_else(Cell::empty, |limit| Cell::new(limit.text.clone(), limit.held))
        };
        let within = Cell::new(if row.within() { "yes" } else { "NO" }, row.within());
        let why = row.band.why.clone().unwrap_or_default();
        table.push(vec![row.band.metric.clone().into(), value, limit(&row.band.min), limit(&row.band.max), within, why.into()]);
    }
    table
}
