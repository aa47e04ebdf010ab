//! All figures of a sweep as rows of plain values with typed columns: what CSV and Parquet files hold.

use super::aggregate::{Metrics, axes_of_rows, state};
use super::axes::{Axis, AxisColumn, AxisValue};
use super::{Outcome, Row, Swept};
use fairground_formats::parquet::{Field, Kind, Value, write_table};
use fairground_metrics::{Decimal, Unit};
use fairground_report::outside::{harmless_cell, shown};
use fairground_report::units::decimal;
use serde_json::json;
use std::fmt::Write;

/// A column with its type and unit.
pub(super) struct SheetColumn {
    pub(super) key: String,
    pub(super) kind: Kind,
    pub(super) unit: &'static str,
}

/// A plain value.
#[derive(Clone)]
pub(super) enum Plain {
    Null,
    Int(i64),
    Float(f64),
    Figure(Decimal),
    Text(String),
}

/// Columns, and rows that are made one after another.
pub(super) struct Sheet<'s> {
    swept: &'s Swept,
    metrics: Metrics,
    axes: Vec<usize>,
    pub(super) columns: Vec<SheetColumn>,
}

/// What stands beside the median of a metric.
const BESIDE: [&str; 4] = ["low", "high", "p10", "p90"];

fn int(value: usize) -> Plain {
    i64::try_from(value).map_or(Plain::Null, Plain::Int)
}

impl<'s> Sheet<'s> {
    pub(super) fn of(swept: &'s Swept) -> Sheet<'s> {
        let (metrics, axes) = (Metrics::of(&swept.rows), axes_of_rows(&swept.spec));
        let is_aggregated = swept.spec.is_aggregated();
        let mut columns = Vec::new();
        let mut add = |key: &str, kind: Kind, unit: &'static str| columns.push(SheetColumn { key: key.to_string(), kind, unit });
        add(if is_aggregated { "point" } else { "run" }, Kind::Int, "");
        for &axis in &axes {
            let (axis, column) = (&swept.spec.axes[axis], swept.spec.axes[axis].column());
            add(&key_of(axis), kind_of(column), column.unit());
        }
        add("state", Kind::Text, "");
        if is_aggregated {
            add("seeds", Kind::Int, "");
        }
        for (name, unit, _) in &metrics.names {
            add(name, Kind::Double, unit.name());
            for beside in BESIDE.iter().filter(|_| is_aggregated) {
                add(&format!("{name}:{beside}"), Kind::Double, unit.name());
            }
        }
        if !is_aggregated {
            add("digest", Kind::Text, "");
        }
        Sheet { swept, metrics, axes, columns }
    }
    /// Names, types and units of the columns, for documents and for the footer of Parquet files.
    pub(super) fn schema(&self) -> serde_json::Value {
        let kind = |kind| match kind {
            Kind::Int => "int",
            Kind::Double => "float",
            Kind::Text => "text",
        };
        self.columns.iter().map(|row| json!({ "name": row.key, "type": kind(row.kind), "unit": row.unit })).collect()
    }
    fn rows(&self) -> impl Iterator<Item = Vec<Plain>> {
        self.swept.points().into_iter().enumerate().map(|(number, point)| {
            let runs = &self.swept.rows[point.runs.clone()];
            let first = &runs[0];
            let mut cells = vec![int(if self.swept.spec.is_aggregated() { number } else { first.number })];
            cells.extend(self.axes.iter().map(|&axis| plain(&first.point[axis], self.swept.spec.axes[axis].column())));
            cells.push(Plain::Text(state(runs).to_string()));
            if !self.swept.spec.is_aggregated() {
                let units = self.metrics.names.iter().map(|row| row.1);
                cells.extend(self.metrics.values(first).into_iter().zip(units).map(|(value, unit)| figure(value, unit)));
                cells.push(digest_of(first));
                return cells;
            }
            cells.push(int(runs.iter().filter(|row| row.figures().is_some()).count()));
            for (found, (_, unit, _)) in self.metrics.aggregates(self.swept, &point).iter().zip(&self.metrics.names) {
                let interval = found.and_then(|found| found.interval);
                let values = [
                    found.map(|found| found.median),
                    interval.map(|ends| ends.0),
                    interval.map(|ends| ends.1),
                    found.map(|found| found.p10),
                    found.map(|found| found.p90),
                ];
                cells.extend(values.map(|value| figure(value, *unit)));
            }
            cells
        })
    }
    /// Rows as objects, for documents.
    pub(super) fn json(&self) -> Vec<serde_json::Value> {
        let object = |row: Vec<Plain>| {
            let pairs = self.columns.iter().zip(row).map(|(column, value)| (column.key.clone(), json_of(value)));
            serde_json::Value::Object(pairs.collect())
        };
        self.rows().map(object).collect()
    }
    /// CSV as RFC 4180 has it, with `\n` at line ends.
    pub(super) fn csv(&self) -> Vec<u8> {
        let keys: Vec<String> = self.columns.iter().map(|column| quoted(&column.key)).collect();
        let mut text = keys.join(",") + "\n";
        for row in self.rows() {
            for (place, value) in row.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                let _ = match value {
                    Plain::Null => Ok(()),
                    Plain::Int(value) => write!(text, "{value}"),
                    Plain::Float(value) => write!(text, "{value}"),
                    Plain::Figure(value) => write!(text, "{value}"),
                    Plain::Text(value) => write!(text, "{}", quoted(&harmless_cell(&shown(value)))),
                };
            }
            text.push('\n');
        }
        text.into_bytes()
    }
    /// A Parquet file with names and values for its footer.
    pub(super) fn parquet(&self, metadata: Vec<(String, String)>) -> Vec<u8> {
        let rows: Vec<Vec<Plain>> = self.rows().collect();
        let fields: Vec<Field> = self.columns.iter().map(|column| Field::new(column.key.clone(), column.kind)).collect();
        let value = |(cell, column): (&'_ Plain, &SheetColumn)| -> f64 {
            match (cell, column.kind) {
                (Plain::Float(value), _) => *value,
                (Plain::Figure(value), _) => value.to_f64(),
                #[allow(clippy::cast_precision_loss, reason = "a column of floats")]
                (Plain::Int(value), _) => *value as f64,
                _ => f64::NAN,
            }
        };
        let cells: Vec<Vec<Value<'_>>> = rows
            .iter()
            .map(|row| {
                let pairs = row.iter().zip(&self.columns);
                pairs
                    .map(|(cell, column)| match (cell, column.kind) {
                        (Plain::Null, _) => Value::Null,
                        (Plain::Text(text), _) => Value::Text(text),
                        (Plain::Int(number), Kind::Int) => Value::Int(*number),
                        _ => Value::Double(value((cell, column))),
                    })
                    .collect()
            })
            .collect();
        let mut bytes = Vec::new();
        write_table(Box::new(&mut bytes), fields, &cells, metadata).expect("invariant: memory can be written");
        bytes
    }
}

fn digest_of(row: &Row) -> Plain {
    if let Outcome::Done { digest, .. } = &row.outcome { Plain::Text(digest.clone()) } else { Plain::Null }
}

fn figure(value: Option<u64>, unit: Unit) -> Plain {
    value.map_or(Plain::Null, |value| Plain::Figure(decimal(value, unit)))
}

fn kind_of(column: AxisColumn) -> Kind {
    match column {
        AxisColumn::Int | AxisColumn::Time => Kind::Int,
        AxisColumn::Float => Kind::Double,
        AxisColumn::Text => Kind::Text,
    }
}

/// The name of an axis in files, with the unit of the plain values.
pub(super) fn key_of(axis: &Axis) -> String {
    let unit = axis.column().unit();
    if unit.is_empty() { axis.kind.name().to_string() } else { format!("{}_{unit}", axis.kind.name()) }
}

/// The plain value of an axis in a column of this type.
fn plain(value: &AxisValue, column: AxisColumn) -> Plain {
    match (value, column) {
        (AxisValue::Int(number), AxisColumn::Int) => Plain::Int(*number),
        (value, AxisColumn::Float) => value.number().map_or(Plain::Null, Plain::Float),
        (value, AxisColumn::Time) => value.ns().and_then(|ns| i64::try_from(ns).ok()).map_or(Plain::Null, Plain::Int),
        (value, _) => Plain::Text(value.to_string()),
    }
}

/// The same in documents.
pub(super) fn axis_json(value: &AxisValue, column: AxisColumn) -> serde_json::Value {
    json_of(plain(value, column))
}

fn json_of(value: Plain) -> serde_json::Value {
    match value {
        Plain::Null => serde_json::Value::Null,
        Plain::Int(value) => value.into(),
        Plain::Float(value) => value.into(),
        Plain::Figure(value) => fairground_report::table::number(value),
        Plain::Text(value) => value.into(),
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_string() }
}
