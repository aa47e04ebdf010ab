//! A sweep for people: its summary and its table; and as a JSON document.

use super::aggregate::{axes_of_rows, short_name, state};
use super::sheet::{Sheet, axis_json, key_of};
use super::{Outcome, PointRow, Row, SweepSpec, Swept, page};
use crate::output::ResultKind;
use fairground_metrics::{Better, Unit};
use fairground_report::document::hex;
use fairground_report::run::metrics_json;
use fairground_report::units::format_metric;
use fairground_report::{Cell, Column, Document, Input, Table, columns};
use fairground_stdx::nearest;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Metrics that people see if nobody names any.
const FEW: [&str; 3] = ["wakeup_latency_us.p99", "sched_delay_max_ms", "switches"];
/// So many mistakes of single runs are told.
const TOLD: usize = 10;

/// The metrics that the file names; else those of which the base expects something; else a few that occur.
pub(super) fn shown_metrics(spec: &SweepSpec, expected: Vec<String>, rows: &[Row]) -> Vec<String> {
    if !spec.metrics.is_empty() {
        return spec.metrics.clone();
    }
    let Some(shape) = rows.iter().find_map(Row::figures).map(|figures| figures.shape()) else { return Vec::new() };
    let known: BTreeSet<&str> = shape.iter().map(|row| row.0.as_str()).collect();
    let until = spec.until.iter().map(|until| until.metric.clone());
    let mut shown: Vec<String> = until.chain(expected).filter(|name| known.contains(name.as_str())).collect();
    if shown.is_empty() {
        shown.extend(FEW.iter().filter(|name| known.contains(*name)).map(ToString::to_string));
    }
    if shown.is_empty() {
        shown.extend(shape.iter().take(FEW.len()).map(|row| row.0.clone()));
    }
    let mut seen = BTreeSet::new();
    shown.retain(|name| seen.insert(name.clone()));
    shown.truncate(4);
    shown
}

/// Unit and direction of a metric, if a run has it.
pub(super) fn kind_of(swept: &Swept, metric: &str) -> Option<(Unit, Better)> {
    let mut last = None;
    swept.rows.iter().filter_map(Row::figures).find_map(|figures| {
        // Rows of one shape are looked at once.
        let is_new = last.replace(std::sync::Arc::as_ptr(figures.shape())) != Some(std::sync::Arc::as_ptr(figures.shape()));
        is_new.then(|| figures.shape().iter().find(|row| row.0 == metric).map(|row| (row.1, row.2)))?
    })
}

/// One line per run, or per point if the seeds are taken together: axes, state, the metrics that people see.
pub fn sweep_table(swept: &Swept) -> Table {
    let points = swept.points();
    let many = swept.spec.is_aggregated();
    let axes = axes_of_rows(&swept.spec);
    let mut columns = if many { columns![right "point"] } else { columns![right "run"] };
    for &axis in &axes {
        let key = key_of(&swept.spec.axes[axis]);
        columns.push(Column::left(short_name(&swept.spec, axis), key));
    }
    columns.push(Column::left("state", "state"));
    if many {
        columns.push(Column::right("seeds", "seeds"));
    }
    let kinds: Vec<Option<(Unit, Better)>> = swept.shown.iter().map(|name| kind_of(swept, name)).collect();
    for name in &swept.shown {
        columns.push(Column::right(name.clone(), name.clone()));
        if many {
            columns.push(Column::right("95 % interval", format!("{name}:interval")).spare());
        }
    }
    if !many {
        columns.push(Column::left("digest", "digest").spare());
    }
    let mut table = Table::new("sweep", swept.spec.title.clone(), columns);
    // Of many rows people see those that are worst by the first metric, if it has a worse side and that is the larger one.
    let first = swept.shown.iter().zip(&kinds).next().filter(|row| row.1.is_some_and(|kind| kind.1 == Better::Lower));
    let worst: Vec<&str> = first.into_iter().map(|row| row.0.as_str()).collect();
    table.grows(if many { "points" } else { "runs" }, &worst);
    for (number, point) in points.iter().enumerate() {
        let runs = &swept.rows[point.runs.clone()];
        let mut cells: Vec<Cell> = vec![(if many { number } else { runs[0].number } as u64).into()];
        cells.extend(axes.iter().map(|&axis| {
            let value = &runs[0].point[axis];
            Cell::new(value.to_string(), axis_json(value, swept.spec.axes[axis].column()))
        }));
        cells.push(state(runs).into());
        if many {
            cells.push((runs.iter().filter(|row| row.figures().is_some()).count() as u64).into());
        }
        for (name, kind) in swept.shown.iter().zip(&kinds) {
            let found = swept.aggregate(point, name);
            let cell = |value: Option<u64>| match (value, kind) {
                (Some(value), Some((unit, _))) => Cell::metric(value, *unit),
                _ => Cell::empty(),
            };
            cells.push(cell(found.map(|found| found.median)));
            if many {
                let interval = found.and_then(|found| found.interval);
                let ends = interval.map(|ends| [ends.0, ends.1].map(|end| cell(Some(end))));
                cells.push(ends.map_or(Cell::empty(), |[low, high]| {
                    Cell::new(format!("{} to {}", low.text, high.text), serde_json::Value::Array(vec![low.data, high.data]))
                }));
            }
        }
        if !many {
            cells.push(digest_of(&runs[0]).into());
        }
        table.push(cells);
    }
    notes(swept, &mut table);
    table
}

fn notes(swept: &Swept, table: &mut Table) {
    let failed = swept.rows.iter().filter_map(|row| match &row.outcome {
        Outcome::Broken(message) | Outcome::Refused(message) => Some((row, message)),
        _ => None,
    });
    for (row, message) in failed.clone().take(TOLD) {
        let what = if matches!(row.outcome, Outcome::Broken(_)) { "broken" } else { "refused" };
        table.note(format!("run {} ({}) {what}: {}", row.number, point_text(row), message.lines().next().unwrap_or_default()));
    }
    let more = failed.count().saturating_sub(TOLD);
    if more > 0 {
        table.note(format!("{more} more runs failed; documents (--json, -o FILE.json) have the message of each"));
    }
}

fn point_text(row: &Row) -> String {
    row.point.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The values of a point for people, without seeds that are taken together.
pub(super) fn place_of(swept: &Swept, number: usize, point: &PointRow) -> String {
    let first = &swept.rows[point.runs.start];
    let values: Vec<String> = axes_of_rows(&swept.spec).into_iter().map(|axis| first.point[axis].to_string()).collect();
    let (what, number) = if swept.spec.is_aggregated() { ("point", number) } else { ("run", first.number) };
    format!("{what} {number} ({})", values.join(", "))
}

/// The points at which a metric has its best and its worst median, the first of equal ones: of a metric without a better side the
/// smallest and the largest.
pub(super) fn extremes(swept: &Swept, points: &[PointRow], metric: &str, better: Better) -> Option<[(usize, u64); 2]> {
    let medians: Vec<(usize, u64)> = points
        .iter()
        .enumerate()
        .filter_map(|(number, point)| swept.aggregate(point, metric).map(|found| (number, found.median)))
        .collect();
    let least = *medians.iter().min_by_key(|row| row.1)?;
    let most = *medians.iter().rev().max_by_key(|row| row.1)?;
    Some(if better == Better::Higher { [most, least] } else { [least, most] })
}

/// What came out, in at most ten lines: how many runs there are, and the best and the worst point of each metric.
pub fn sweep_summary(swept: &Swept) -> Vec<String> {
    const METRICS: usize = 6;
    let of_state = |wanted: &str| swept.rows.iter().filter(|row| row_state(row) == wanted).count();
    let states: Vec<String> = STATES
        .iter()
        .map(|name| (name, of_state(name)))
        .filter(|row| row.1 > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let axes: Vec<String> = (0..swept.spec.axes.len())
        .map(|axis| format!("{} {}", swept.spec.axes[axis].values.len(), short_name(&swept.spec, axis)))
        .collect();
    let points = swept.points();
    let all: usize = swept.spec.axes.iter().map(|axis| axis.values.len()).product();
    // Samples, axes that go along together and conditions leave fewer runs than the product.
    let joined = axes.join(if all == swept.rows.len() { " x " } else { ", " });
    let is = if all == swept.rows.len() { "=" } else { "of" };
    let mut lines = vec![format!("{}: {} runs {is} {joined}: {}", swept.spec.title, swept.rows.len(), states.join(", "))];
    if let Some(until) = &swept.spec.until {
        let narrow = points.iter().filter(|point| is_narrow(swept, point)).count();
        lines.push(format!("{narrow} of {} points know the median of {} to {} %", points.len(), until.metric, until.percent));
    }
    for name in swept.shown.iter().take(METRICS) {
        let Some((unit, better)) = kind_of(swept, name) else {
            if let Some(figures) = swept.rows.iter().find_map(Row::figures) {
                let known = figures.shape().iter().map(|row| row.0.as_str());
                let hint = nearest::nearest(name, known).map_or(String::new(), |name| format!("; did you mean {name}?"));
                lines.push(format!("{name}: no run has this metric{hint}"));
            }
            continue;
        };
        let Some([first, last]) = extremes(swept, &points, name, better) else { continue };
        let words = if better == Better::Neither { ["from", "to"] } else { ["best", "worst"] };
        let part = |word: &str, (number, value): (usize, u64)| {
            format!("{word} {} in {}", format_metric(value, unit), place_of(swept, number, &points[number]))
        };
        let line = match (first.1 == last.1, better) {
            (true, _) => format!("{name}: {} in all", format_metric(first.1, unit)),
            (false, Better::Neither) => format!("{name}: {} {}", part(words[0], first), part(words[1], last)),
            (false, _) => format!("{name}: {}, {}", part(words[0], first), part(words[1], last)),
        };
        lines.push(line);
    }
    if swept.shown.len() > METRICS {
        lines.push(format!("{} more metrics; `metrics` in the sweep file chooses", swept.shown.len() - METRICS));
    }
    lines
}

fn is_narrow(swept: &Swept, point: &PointRow) -> bool {
    let Some(until) = &swept.spec.until else { return false };
    let found = swept.aggregate(point, &until.metric).and_then(|found| found.interval.map(|ends| (ends, found.median)));
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    found.is_some_and(|((low, high), median)| (high - low) as f64 * 100.0 <= until.percent * median as f64)
}

/// The document of `sweep --json`.
pub fn sweep_document(swept: &Swept, inputs: &[Input]) -> Document {
    let mut document = Document::new("sweep", inputs, None, Some(swept.digest));
    let rows: Vec<Value> = swept.rows.iter().map(|row| row_json(swept, row)).collect();
    let axis =
        |axis: &super::Axis| json!({ "name": axis.kind.name(), "type": axis.column().name(), "unit": axis.column().unit() });
    document
        .set("title", swept.spec.title.as_str())
        .set("runs", swept.rows.len())
        .set("summary", sweep_summary(swept))
        .set("partial", swept.interrupted)
        .set("axes", swept.spec.axes.iter().map(axis).collect::<Vec<_>>());
    if swept.spec.is_aggregated() {
        let sheet = Sheet::of(swept);
        document.set("columns", sheet.schema()).set("points", sheet.json());
    }
    document.set("rows", rows);
    document
}

/// What a file of results holds.
pub fn sweep_file(swept: &Swept, inputs: &[Input], kind: ResultKind) -> Vec<u8> {
    match kind {
        ResultKind::Csv => Sheet::of(swept).csv(),
        ResultKind::Parquet => {
            let sheet = Sheet::of(swept);
            let columns = sheet.schema().to_string();
            let pairs = [("command", "sweep".to_string()), ("digest", hex(swept.digest)), ("columns", columns)];
            sheet.parquet(pairs.map(|(key, value)| (format!("fairground.{key}"), value)).into())
        }
        ResultKind::Json => sweep_document(swept, inputs).to_string().into_bytes(),
        ResultKind::Html => page::page(swept).to_string().into_bytes(),
    }
}

fn row_json(swept: &Swept, row: &Row) -> Value {
    let axes: serde_json::Map<String, Value> = swept
        .spec
        .axes
        .iter()
        .zip(&row.point)
        .map(|(axis, value)| (axis.kind.name().to_string(), axis_json(value, axis.column())))
        .collect();
    let mut line = json!({ "run": row.number, "axes": axes, "state": row_state(row), "scenario_digest": row.scenario_digest });
    match &row.outcome {
        Outcome::Done { digest, simulated_ns, events, metrics, .. } => {
            line["digest"] = json!(digest);
            line["simulated_ns"] = json!(simulated_ns);
            line["events"] = json!(events);
            line["metrics"] = metrics_json(&metrics.to_metrics());
        }
        Outcome::Broken(message) | Outcome::Refused(message) => line["message"] = json!(message),
        Outcome::Missing | Outcome::Spared => {}
    }
    line
}

/// All states, as tables spell them.
const STATES: [&str; 6] = ["done", "missed", "spared", "refused", "broken", "missing"];

fn row_state(row: &Row) -> &'static str {
    state(std::slice::from_ref(row))
}

fn digest_of(row: &Row) -> String {
    match &row.outcome {
        Outcome::Done { digest, .. } => digest.clone(),
        _ => String::new(),
    }
}
