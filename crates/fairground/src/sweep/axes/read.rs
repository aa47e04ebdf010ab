//! Reading `[axes]` and `[sobol]`: the old keys, and every other key as a path of the scenario.

use super::values::{self, Values, interval, is_made};
use super::{Axis, AxisKind, sobol};
use fairground_model::Mistakes;
use fairground_scenario::text::fields::Fields;
use std::ops::Range;
use toml_edit::{Item, TableLike};

/// Axes as they are read, with their lengths also where these are too many to be made.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) axes: Vec<Axis>,
    /// The number of values of each axis.
    pub(crate) counts: Vec<u128>,
    /// Which axes are sampled together.
    pub(crate) sampled: Vec<usize>,
}

impl Read {
    fn push(&mut self, kind: AxisKind, item: &Item, span: &Range<usize>, m: &mut Mistakes) {
        let Some(found) = values::read(kind.name(), item, span, m) else { return };
        if kind == AxisKind::Seed && found.values.iter().any(|value| !is_seed(value)) {
            m.at(span.clone(), "the axis `seed` has a value that is no seed", "Write `\"1..5\"` or a list of whole numbers.");
            return;
        }
        self.add(kind, found, span, m);
    }
    fn add(&mut self, kind: AxisKind, found: Values, span: &Range<usize>, m: &mut Mistakes) {
        if self.axes.iter().any(|axis| axis.kind.name() == kind.name()) {
            m.at(span.clone(), format!("there are two axes `{}`", kind.name()), "Leave one of them out.");
            return;
        }
        self.axes.push(Axis { kind, values: found.values, spans: found.spans });
        self.counts.push(found.count);
    }
    /// The axes of `[axes]`, the seed last: it varies fastest.
    pub(crate) fn axes(&mut self, axes: &Fields<'_>, m: &mut Mistakes) {
        let table = axes.raw();
        let is_values = |item: &Item| item.as_table_like().is_none_or(is_made);
        let old = |key: &str| table.get(key).filter(|item| is_values(item));
        for (key, kind) in [("profile", AxisKind::Profile), ("feature", AxisKind::Feature), ("machine", AxisKind::Machine)] {
            if let Some(item) = old(key) {
                self.push(kind, item, &axes.span_of(key), m);
            }
        }
        if let Some(item) = table.get("set") {
            match item.as_table_like() {
                Some(set) => {
                    for (name, values) in set.iter() {
                        let span = values.span().unwrap_or_else(|| axes.span_of("set"));
                        self.push(AxisKind::Set(name.to_string()), values, &span, m);
                    }
                }
                None => {
                    m.at(axes.span_of("set"), "`set` is no table", "Write `set = { sched_latency_ns = [6000000, 24000000] }`.");
                }
            }
        }
        for (key, item) in table.iter() {
            let is_old = matches!(key, "set" | "seed" | "feature") || (matches!(key, "profile" | "machine") && is_values(item));
            if !is_old {
                self.paths(key.to_string(), item, &axes.span_of(key), m);
            }
        }
        if let Some(item) = table.get("seed") {
            self.push(AxisKind::Seed, item, &axes.span_of("seed"), m);
        }
    }
    /// The axes below a path: `workload.0.nice` may stand as one key in quotes or as nested tables.
    fn paths(&mut self, path: String, item: &Item, span: &Range<usize>, m: &mut Mistakes) {
        match item.as_table_like().filter(|table| !is_made(*table)) {
            Some(table) => self.below(&path, table, span, m),
            None => self.push(AxisKind::Path(path), item, span, m),
        }
    }
    fn below(&mut self, path: &str, table: &dyn TableLike, span: &Range<usize>, m: &mut Mistakes) {
        if table.is_empty() {
            m.at(span.clone(), format!("the axis `{path}` is empty"), "Give it a value, or leave the axis out.");
        }
        // What was meant to make values and lacks an end is no table of the scenario.
        if ["step", "count", "scale"].iter().any(|key| table.contains_key(key)) {
            let hint = "Write `{ from = 1, to = 9, step = 2 }`.";
            m.at(span.clone(), format!("the axis `{path}` has no ends `from` and `to`"), hint);
            return;
        }
        for (key, item) in table.iter() {
            let span = item.span().unwrap_or_else(|| span.clone());
            self.paths(format!("{path}.{key}"), item, &span, m);
        }
    }
    /// The axes of `[sobol]`, which are sampled together.
    pub(crate) fn sobol(&mut self, mut fields: Fields<'_>, m: &mut Mistakes) {
        let span = fields.span();
        let count = fields.natural("count", m).map_or(0, |count| count.value);
        let axes = fields.table("axes", m);
        fields.end(m);
        let Some(axes) = axes else {
            m.at(span, "`[sobol]` without `axes`", "Write `[sobol.axes]` with `\"PATH\" = { from = 1, to = 9 }`.");
            return;
        };
        if count == 0 {
            m.at(span, "`[sobol]` without points", "Say how many: `count = 64`.");
            return;
        }
        let mut rows = Vec::new();
        leaves(String::new(), axes.raw(), &axes.span(), &mut rows);
        if rows.is_empty() || rows.len() > sobol::MAX_DIMENSIONS {
            let hint = format!("It has from 1 to {}.", sobol::MAX_DIMENSIONS);
            m.at(axes.span(), format!("`[sobol]` has {} axes", rows.len()), hint);
            return;
        }
        for (dimension, (path, item, span)) in rows.into_iter().enumerate() {
            let Some(table) = item.as_table_like() else {
                m.at(span, format!("the axis `{path}` has no ends `from` and `to`"), "Write `{ from = 1, to = 9 }`.");
                continue;
            };
            let mut ends = Fields::new(table, span.clone(), format!("the axis `{path}`"));
            let found = interval(&path, &mut ends, m);
            ends.end(m);
            let Some((interval, is_log)) = found else { continue };
            let made = u32::try_from(count).ok().filter(|count| u128::from(*count) <= values::MAX_VALUES).unwrap_or(0);
            let places = sobol::coordinates(dimension, made);
            let points = places.into_iter().map(|part| interval.at(part, is_log)).collect();
            let found = Values { count: u128::from(count), ..values::placed(points, &span) };
            self.sampled.push(self.axes.len());
            self.add(AxisKind::Path(path), found, &span, m);
        }
    }
}

fn leaves<'t>(path: String, table: &'t dyn TableLike, span: &Range<usize>, rows: &mut Vec<(String, &'t Item, Range<usize>)>) {
    for (key, item) in table.iter() {
        let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        let span = item.span().unwrap_or_else(|| span.clone());
        match item.as_table_like().filter(|inner| !inner.contains_key("from") && !inner.contains_key("to")) {
            Some(inner) => leaves(path, inner, &span, rows),
            None => rows.push((path, item, span)),
        }
    }
}

fn is_seed(value: &super::AxisValue) -> bool {
    matches!(value, super::AxisValue::Int(0..))
}
