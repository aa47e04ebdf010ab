//! A sweep as a page: what came out, a chart per metric, the table. Its size has a bound, however many runs there are: curves of many
//! values are summed up in stretches, and the table ends after so many rows with a sentence where the rest is.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for display only")]

use super::aggregate::{axes_of_rows, short_name};
use super::show::{kind_of, sweep_summary, sweep_table};
use super::{AxisColumn, PointRow, Swept};
use fairground_metrics::Unit;
use fairground_report::document::hex;
use fairground_report::page::{Axis, Bar, Bars, Block, Chart, Page, Point, Quantity, Scale, Series};
use fairground_report::units::format_metric;
use std::collections::BTreeMap;

/// Rows of the table.
const ROWS: usize = 300;
/// Curves of one chart.
const CURVES: usize = 8;
/// Points of one curve.
const STRETCHES: usize = 48;
/// Charts of a metric beside the first one.
const MORE: usize = 3;
/// Bars of one chart.
const BARS: usize = 40;
/// An axis whose largest value is so many times the smallest has a logarithmic scale.
const WIDE: f64 = 50.0;

/// The page.
pub(super) fn page(swept: &Swept) -> Page {
    let mut page = Page::new(&swept.spec.title);
    page.fact("made by", concat!("fairground ", env!("CARGO_PKG_VERSION"), " sweep")).fact("digest", hex(swept.digest));
    page.push(Block::Snippet("What came out".to_string(), sweep_summary(swept).join("\n")));
    let points = swept.points();
    for metric in &swept.shown {
        for block in page_of_metric(swept, &points, metric) {
            page.push(block);
        }
    }
    let mut table = sweep_table(swept);
    let mut number = 0;
    let left_out = table.keep(|_| {
        number += 1;
        number <= ROWS
    });
    if left_out > 0 {
        table.note(format!("{left_out} more rows: `-o FILE.csv` and `-o FILE.parquet` have all, with every metric."));
    }
    page.push(Block::Table(table));
    page
}

/// A metric against the numeric axis with most values, with a curve for each value of another axis; and against each numeric axis that has
/// no curves there. Without a numeric axis, bars.
fn page_of_metric(swept: &Swept, points: &[PointRow], metric: &str) -> Vec<Block> {
    let Some((unit, _)) = kind_of(swept, metric) else { return Vec::new() };
    let values: Vec<(&PointRow, u64)> =
        points.iter().filter_map(|point| swept.aggregate(point, metric).map(|found| (point, found.median))).collect();
    let spec = &swept.spec;
    let axes = axes_of_rows(spec);
    let length = |axis: usize| distinct(swept, axis);
    let numeric = |axis: &usize| spec.axes[*axis].column() != AxisColumn::Text && length(*axis) > 1;
    let Some(across) = axes.iter().copied().filter(numeric).max_by_key(|&axis| (length(axis), usize::MAX - axis)) else {
        let axis = axes.iter().copied().find(|&axis| (2..=BARS).contains(&length(axis)));
        return axis.map(|axis| Block::Bars(bars(swept, &values, metric, unit, axis))).into_iter().collect();
    };
    let together = spec.dimensions().iter().find(|dimension| dimension.contains(&across));
    let curves = axes
        .iter()
        .copied()
        .filter(|axis| together.is_none_or(|row| !row.contains(axis)) && (2..=CURVES).contains(&length(*axis)))
        .max_by_key(|&axis| length(axis));
    let alone = |axis: &usize| numeric(axis) && *axis != across && Some(*axis) != curves;
    let others = axes.iter().copied().filter(alone).take(MORE).map(|axis| (axis, None));
    let all = [(across, curves)].into_iter().chain(others);
    all.map(|(axis, curves)| Block::Chart(chart(swept, &values, metric, unit, axis, curves))).collect()
}

/// How many different values an axis has.
fn distinct(swept: &Swept, axis: usize) -> usize {
    let mut values: Vec<String> = swept.spec.axes[axis].values.iter().map(ToString::to_string).collect();
    values.sort_unstable();
    values.dedup();
    values.len()
}

fn quantity(unit: Unit) -> (Quantity, f64) {
    match unit {
        Unit::Ns | Unit::Us | Unit::Ms => (Quantity::Time, 1.0),
        Unit::Percent => (Quantity::Percent, 1_000.0),
        Unit::Count | Unit::Rate => (Quantity::Plain, unit.scale() as f64),
    }
}

fn chart(swept: &Swept, values: &[(&PointRow, u64)], metric: &str, unit: Unit, across: usize, curves: Option<usize>) -> Chart {
    let spec = &swept.spec;
    let row = |point: &PointRow| &swept.rows[point.runs.start];
    let at = |point: &PointRow| row(point).point[across].number().unwrap_or(0.0);
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |ends, (point, _)| (ends.0.min(at(point)), ends.1.max(at(point))));
    let is_log = low > 0.0 && high / low >= WIDE;
    let is_summed = distinct(swept, across) > STRETCHES;
    // Where a value stands: itself, or the middle of its stretch.
    let place = |x: f64| {
        let scaled = |x: f64| if is_log { x.ln() } else { x };
        let (from, to) = (scaled(low), scaled(high));
        if !is_summed || to <= from {
            return x;
        }
        let stretch = ((scaled(x) - from) / (to - from) * STRETCHES as f64).floor().min(STRETCHES as f64 - 1.0);
        let middle = from + (stretch + 0.5) / STRETCHES as f64 * (to - from);
        if is_log { middle.exp() } else { middle }
    };
    let (kind, scale) = quantity(unit);
    // By curve, by place: floats above 0 are ordered as their bits, so the place of the axis is the key.
    let mut found: BTreeMap<usize, Vec<(f64, u64)>> = BTreeMap::new();
    let places = |point: &PointRow, axis: usize| spec.places(row(point).number)[axis];
    for (point, value) in values {
        let curve = curves.map_or(0, |axis| places(point, axis));
        found.entry(curve).or_default().push((place(at(point)), *value));
    }
    let mut is_band = false;
    let series = found.into_iter().map(|(curve, mut rows)| {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let points = rows.chunk_by(|a, b| a.0 == b.0).map(|rows| {
            let at = |tenths: usize| rows[(rows.len() * tenths / 10).min(rows.len() - 1)].1 as f64 / scale;
            is_band |= rows.len() > 1;
            Point { x: rows[0].0, y: at(5), band: (rows.len() > 1).then(|| (at(1), at(9))) }
        });
        let points = points.collect();
        let name = match curves {
            Some(axis) => format!("{} {}", short_name(spec, axis), spec.axes[axis].values[curve]),
            None => metric.to_string(),
        };
        Series { name, points }
    });
    let series: Vec<Series> = series.collect();
    let time = spec.axes[across].column() == AxisColumn::Time;
    let x_kind = if time { Quantity::Time } else { Quantity::Plain };
    let x_scale = if is_log { Scale::Log } else { Scale::Linear };
    let note = match (is_band, is_summed) {
        (true, true) => {
            "Values of the axis lie in stretches. Line: the median of the points there; band: the middle 80 % of them."
        }
        (true, false) => "Line: the median over the other axes; band: the middle 80 % of the points.",
        _ => "",
    };
    Chart {
        title: format!("{metric} against {}", spec.axes[across].kind.name()),
        x: Axis::new(short_name(spec, across), x_scale, x_kind),
        y: Axis::new(metric, Scale::Linear, kind),
        series,
        lines: Vec::new(),
        note: note.to_string(),
    }
}

fn bars(swept: &Swept, values: &[(&PointRow, u64)], metric: &str, unit: Unit, axis: usize) -> Bars {
    let mut found: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (point, value) in values {
        let number = swept.rows[point.runs.start].number;
        found.entry(swept.spec.places(number)[axis]).or_default().push(*value);
    }
    let is_many = found.values().any(|values| values.len() > 1);
    let bar = |(place, mut values): (usize, Vec<u64>)| {
        values.sort_unstable();
        let amount = values[values.len() / 2];
        let name = swept.spec.axes[axis].values[place].to_string();
        Bar { name, amount, text: format_metric(amount, unit), marked: false }
    };
    let note = if is_many { "Medians over the other axes." } else { "" };
    let title = format!("{metric} by {}", short_name(&swept.spec, axis));
    Bars { title, bars: found.into_iter().map(bar).collect(), note: note.to_string() }
}
