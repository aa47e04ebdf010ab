//! A sweep as a table and as a JSON document.

use super::{Outcome, Row, Swept};
use crate::output::{ResultKind, table_parquet};
use fairground_metrics::Metric;
use fairground_report::document::hex;
use fairground_report::page::{Block, Page};
use fairground_report::run::metrics_json;
use fairground_report::units::format_metric;
use fairground_report::{Cell, Column, Document, Input, Table, columns};
use serde_json::{Value, json};

/// One line per run: number, axes, state, metrics.
pub fn sweep_table(swept: &Swept) -> Table {
    let metrics = metric_names(swept);
    let mut columns = columns![right "run"];
    columns.extend(swept.spec.axes.iter().map(|axis| Column::left(axis.kind.name(), axis.kind.name())));
    columns.push(Column::left("state", "state"));
    columns.extend(metrics.iter().map(|name| Column::right(name.clone(), name.clone())));
    columns.push(Column::left("digest", "digest").spare());
    let mut table = Table::new("sweep", swept.spec.title.clone(), columns);
    table.grows("runs", &[]);
    for row in &swept.rows {
        let mut cells: Vec<Cell> = vec![(row.number as u64).into()];
        cells.extend(row.point.iter().map(|value| Cell::from(value.clone())));
        cells.push(state(row).into());
        cells.extend(metrics.iter().map(|name| metric_cell(row, name)));
        cells.push(digest_of(row).into());
        table.push(cells);
    }
    for row in &swept.rows {
        if let Outcome::Broken(message) | Outcome::Refused(message) = &row.outcome {
            table.note(format!("run {}: {}: {}", row.number, state(row), message.lines().next().unwrap_or_default()));
        }
    }
    table
}

/// What came out, in at most ten lines: how many runs there are, and between which runs each metric lies.
pub fn sweep_summary(swept: &Swept) -> Vec<String> {
    const METRICS: usize = 6;
    let of_state = |wanted: &str| swept.rows.iter().filter(|row| state(row) == wanted).count();
    let states: Vec<String> = STATES
        .iter()
        .map(|name| (name, of_state(name)))
        .filter(|row| row.1 > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let axes: Vec<String> = swept.spec.axes.iter().map(|axis| format!("{} {}", axis.values.len(), axis.kind.name())).collect();
    let mut lines =
        vec![format!("{}: {} runs = {}: {}", swept.spec.title, swept.rows.len(), axes.join(" x "), states.join(", "))];
    let names = metric_names(swept);
    for name in names.iter().take(METRICS) {
        let of_row =
            |row: &Row| metrics_of(row).iter().find(|metric| metric.name == *name).map(|metric| (metric.value, metric.unit));
        let values = || swept.rows.iter().filter_map(|row| of_row(row).map(|value| (value, row)));
        let least = values().min_by_key(|row| row.0.0);
        // Of equal ones the first.
        let most = values().rev().max_by_key(|row| row.0.0);
        if let (Some((low, first)), Some((high, last))) = (least, most) {
            let point = |row: &Row| format!("run {} ({})", row.number, row.point.join(", "));
            let (low, high) = (format_metric(low.0, low.1), format_metric(high.0, high.1));
            lines.push(format!("{name}: from {low} in {} to {high} in {}", point(first), point(last)));
        }
    }
    if names.len() > METRICS {
        lines.push(format!("{} more metrics; `metrics` in the sweep file chooses", names.len() - METRICS));
    }
    lines
}

/// The document of `sweep --json`.
pub fn sweep_document(swept: &Swept, inputs: &[Input]) -> Document {
    let mut document = Document::new("sweep", inputs, None, Some(swept.digest));
    let rows: Vec<Value> = swept.rows.iter().map(|row| row_json(swept, row)).collect();
    document
        .set("title", swept.spec.title.as_str())
        .set("runs", swept.rows.len())
        .set("summary", sweep_summary(swept))
        .set("partial", swept.interrupted)
        .set("rows", rows);
    document
}

/// What a file of results holds.
pub fn sweep_file(swept: &Swept, inputs: &[Input], kind: ResultKind) -> Vec<u8> {
    match kind {
        ResultKind::Csv => sweep_table(swept).to_csv().into_bytes(),
        ResultKind::Parquet => {
            let pairs = [("command", "sweep".to_string()), ("digest", hex(swept.digest))];
            table_parquet(&sweep_table(swept), pairs.map(|(key, value)| (format!("fairground.{key}"), value)).into())
        }
        ResultKind::Json => sweep_document(swept, inputs).to_string().into_bytes(),
        ResultKind::Html => {
            let mut page = Page::new(&swept.spec.title);
            page.fact("made by", concat!("fairground ", env!("CARGO_PKG_VERSION"), " sweep")).fact("digest", hex(swept.digest));
            page.push(Block::Snippet("What came out".to_string(), sweep_summary(swept).join("\n")));
            page.push(Block::Table(sweep_table(swept)));
            page.to_string().into_bytes()
        }
    }
}

fn row_json(swept: &Swept, row: &Row) -> Value {
    let axes: serde_json::Map<String, Value> =
        swept.spec.axes.iter().zip(&row.point).map(|(axis, value)| (axis.kind.name().to_string(), json!(value))).collect();
    let mut line = json!({ "run": row.number, "axes": axes, "state": state(row), "scenario_digest": row.scenario_digest });
    match &row.outcome {
        Outcome::Done { digest, simulated_ns, events, metrics, .. } => {
            line["digest"] = json!(digest);
            line["simulated_ns"] = json!(simulated_ns);
            line["events"] = json!(events);
            line["metrics"] = metrics_json(metrics);
        }
        Outcome::Broken(message) | Outcome::Refused(message) => line["message"] = json!(message),
        Outcome::Missing => {}
    }
    line
}

/// All states, as tables spell them.
const STATES: [&str; 5] = ["done", "missed", "refused", "broken", "missing"];

fn state(row: &Row) -> &'static str {
    match row.outcome {
        Outcome::Done { holds: true, .. } => "done",
        Outcome::Done { holds: false, .. } => "missed",
        Outcome::Broken(_) => "broken",
        Outcome::Refused(_) => "refused",
        Outcome::Missing => "missing",
    }
}

fn digest_of(row: &Row) -> String {
    match &row.outcome {
        Outcome::Done { digest, .. } => digest.clone(),
        _ => String::new(),
    }
}

fn metrics_of(row: &Row) -> &[Metric] {
    match &row.outcome {
        Outcome::Done { metrics, .. } => metrics,
        _ => &[],
    }
}

/// The metrics that the file asks for, or else all that occur, in order of first sight.
fn metric_names(swept: &Swept) -> Vec<String> {
    if !swept.spec.metrics.is_empty() {
        return swept.spec.metrics.clone();
    }
    let mut names: Vec<String> = Vec::new();
    for metric in swept.rows.iter().flat_map(metrics_of) {
        if !names.contains(&metric.name) {
            names.push(metric.name.clone());
        }
    }
    names
}

fn metric_cell(row: &Row, name: &str) -> Cell {
    let found = metrics_of(row).iter().find(|metric| metric.name == name);
    found.map_or_else(Cell::empty, |metric| Cell::metric(metric.value, metric.unit))
}
