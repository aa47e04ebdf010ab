//! What a sweep varies: an axis, its values, and where in the scenario they go.

pub(super) mod conditions;
pub(super) mod path;
pub(super) mod read;
pub(super) mod sobol;
pub(super) mod values;

use std::ops::Range;
pub use values::AxisValue;

/// One axis: what is varied, and its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// What is varied.
    pub kind: AxisKind,
    /// The values in order.
    pub values: Vec<AxisValue>,
    /// Where each value stands in the sweep file.
    pub(super) spans: Vec<Range<usize>>,
}

impl Axis {
    /// What all of its values are.
    pub fn column(&self) -> AxisColumn {
        AxisColumn::of(&self.values)
    }
}

/// What an axis varies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AxisKind {
    /// The seed.
    Seed,
    /// The profile.
    Profile,
    /// One feature.
    Feature,
    /// The machine.
    Machine,
    /// A tunable or another setting of `--set`.
    Set(String),
    /// A key of the scenario file by its dotted path, such as `workload.0.args.processes`.
    Path(String),
}

impl AxisKind {
    /// The heading of the axis in tables.
    pub fn name(&self) -> &str {
        match self {
            AxisKind::Seed => "seed",
            AxisKind::Profile => "profile",
            AxisKind::Feature => "feature",
            AxisKind::Machine => "machine",
            AxisKind::Set(name) | AxisKind::Path(name) => name,
        }
    }
    /// The flag that says the same for one run; none for a path.
    pub(super) fn flag(&self) -> &'static str {
        match self {
            AxisKind::Seed => "--seed",
            AxisKind::Profile => "--profile",
            AxisKind::Feature => "--feature",
            AxisKind::Machine => "--machine",
            AxisKind::Set(_) => "--set",
            AxisKind::Path(_) => "",
        }
    }
}

/// The type of a column of axis values in JSON, CSV and Parquet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AxisColumn {
    /// Whole numbers.
    Int,
    /// Numbers.
    Float,
    /// Lengths of time, in ns.
    Time,
    /// Anything else, as text.
    Text,
}

impl AxisColumn {
    fn of(values: &[AxisValue]) -> AxisColumn {
        let all = |test: fn(&AxisValue) -> bool| values.iter().all(test);
        match () {
            () if all(|value| matches!(value, AxisValue::Int(_))) => AxisColumn::Int,
            () if all(|value| matches!(value, AxisValue::Int(_) | AxisValue::Float(_))) => AxisColumn::Float,
            () if all(|value| value.ns().is_some()) => AxisColumn::Time,
            () => AxisColumn::Text,
        }
    }
    /// The word in documents.
    pub const fn name(self) -> &'static str {
        match self {
            AxisColumn::Int | AxisColumn::Time => "int",
            AxisColumn::Float => "float",
            AxisColumn::Text => "text",
        }
    }
    /// The unit of the plain values; empty if there is none.
    pub const fn unit(self) -> &'static str {
        if matches!(self, AxisColumn::Time) { "ns" } else { "" }
    }
}
