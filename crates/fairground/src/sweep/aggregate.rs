//! The seeds of a point as one row: median, interval for it, bands.

use super::row::{Figures, Outcome, Row, Shape};
use super::spec::SweepSpec;
use super::until;
use super::{AxisKind, Swept};
use fairground_metrics::{Better, Unit};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The runs of one point: all values but the seed are the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PointRow {
    /// Its runs, as places in the rows of the sweep.
    pub runs: Range<usize>,
}

/// What a metric was over the seeds of a point, as held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aggregate {
    /// How many runs have it.
    pub count: usize,
    /// The median: of four values the third.
    pub median: u64,
    /// The interval in which the median of all seeds lies with 95 %; none of fewer than six.
    pub interval: Option<(u64, u64)>,
    /// The value that one run in ten is below.
    pub p10: u64,
    /// The value that one run in ten is above.
    pub p90: u64,
}

impl Aggregate {
    /// Of these values; with `most`, of a point whose seeds might have been so many and were looked at as they came.
    fn of(mut values: Vec<u64>, most: Option<usize>) -> Option<Aggregate> {
        values.sort_unstable();
        let at = |tenths: usize| values[(values.len() * tenths / 10).min(values.len() - 1)];
        let count = values.len();
        if count == 0 {
            return None;
        }
        let interval = match most {
            Some(most) => until::interval_at_end(&values, most),
            None => until::interval_of_median(&values),
        };
        Some(Aggregate { count, median: at(5), interval, p10: at(1), p90: at(9) })
    }
}

/// The metrics of all rows, in the order of first sight, and where the numbers of each row belong.
pub(super) struct Metrics {
    pub(super) names: Shape,
    columns: BTreeMap<usize, Vec<usize>>,
}

fn address(figures: &Figures) -> usize {
    Arc::as_ptr(figures.shape()) as usize
}

impl Metrics {
    pub(super) fn of(rows: &[Row]) -> Metrics {
        let (mut names, mut places, mut columns) = (Shape::new(), BTreeMap::<String, usize>::new(), BTreeMap::new());
        for figures in rows.iter().filter_map(Row::figures) {
            columns.entry(address(figures)).or_insert_with(|| {
                let place = |row: &(String, Unit, Better)| {
                    *places.entry(row.0.clone()).or_insert_with(|| {
                        names.push(row.clone());
                        names.len() - 1
                    })
                };
                figures.shape().iter().map(place).collect::<Vec<usize>>()
            });
        }
        Metrics { names, columns }
    }
    /// The numbers of a row by column.
    pub(super) fn values(&self, row: &Row) -> Vec<Option<u64>> {
        let mut found = vec![None; self.names.len()];
        if let Some(figures) = row.figures() {
            let places = self.columns.get(&address(figures)).into_iter().flatten();
            places.zip(figures.values()).for_each(|(&place, &value)| found[place] = Some(value));
        }
        found
    }
    /// What each metric was over the seeds of a point, by column.
    pub(super) fn aggregates(&self, swept: &Swept, point: &PointRow) -> Vec<Option<Aggregate>> {
        let mut values = vec![Vec::new(); self.names.len()];
        for row in &swept.rows[point.runs.clone()] {
            let row = self.values(row);
            values.iter_mut().zip(row).for_each(|(all, value)| all.extend(value));
        }
        let most = swept.spec.until.as_ref().map(|_| point.runs.len());
        values.into_iter().map(|values| Aggregate::of(values, most)).collect()
    }
}

impl Swept {
    /// The points in order, each with its runs.
    pub fn points(&self) -> Vec<PointRow> {
        let mut points: Vec<PointRow> = Vec::new();
        for place in 0..self.rows.len() {
            let is_same = place > 0
                && self.spec.is_aggregated()
                && self.spec.cell(self.rows[place].number) == self.spec.cell(self.rows[place - 1].number);
            match points.last_mut().filter(|_| is_same) {
                Some(point) => point.runs.end = place + 1,
                None => points.push(PointRow { runs: place..place + 1 }),
            }
        }
        points
    }
    /// What a metric was over the seeds of a point.
    pub fn aggregate(&self, point: &PointRow, metric: &str) -> Option<Aggregate> {
        let values = self.rows[point.runs.clone()].iter().filter_map(|row| row.figures()?.get(metric)).collect();
        Aggregate::of(values, self.spec.until.as_ref().map(|_| point.runs.len()))
    }
}

/// The state of the runs of a point: that of the worst of them.
pub(super) fn state(rows: &[Row]) -> &'static str {
    let rank = |row: &Row| match row.outcome {
        Outcome::Spared => 0,
        Outcome::Done { holds: true, .. } => 1,
        Outcome::Done { holds: false, .. } => 2,
        Outcome::Missing => 3,
        Outcome::Refused(_) => 4,
        Outcome::Broken(_) => 5,
    };
    let worst = rows.iter().map(rank).max().unwrap_or(3);
    ["spared", "done", "missed", "missing", "refused", "broken"][worst]
}

/// The axes of the rows that people and files see, by their places.
pub(super) fn axes_of_rows(spec: &SweepSpec) -> Vec<usize> {
    let is_shown = |axis: &usize| !(spec.is_aggregated() && spec.axes[*axis].kind == AxisKind::Seed);
    (0..spec.axes.len()).filter(is_shown).collect()
}

/// Headings of the table that are no axes.
const HEADINGS: [&str; 4] = ["run", "point", "state", "seeds"];

/// What an axis is called where there is little room: the last part of its path, or the last two, if nothing else ends so.
pub(super) fn short_name(spec: &SweepSpec, axis: usize) -> &str {
    let last = |axis: usize, parts: usize| {
        let name = spec.axes[axis].kind.name();
        let start = name.rmatch_indices('.').nth(parts - 1).map_or(0, |(dot, _)| dot + 1);
        &name[start..]
    };
    let is_alone = |parts: &usize| {
        let name = last(axis, *parts);
        let others = (0..spec.axes.len()).filter(|&other| last(other, *parts) == name).count();
        others == 1 && !HEADINGS.contains(&name)
    };
    (1..=2).find(is_alone).map_or(spec.axes[axis].kind.name(), |parts| last(axis, parts))
}
