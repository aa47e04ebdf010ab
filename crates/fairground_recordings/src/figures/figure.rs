//! One figure of a recorded set.

use fairground_metrics::Decimal;
use fairground_stdx::{CpuMask, Ns};
use std::collections::BTreeMap;
use std::fmt;

/// A figure of a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Figure {
    /// A number, in the unit that its name ends with.
    Number(Decimal),
    /// A set of CPUs.
    Cpus(CpuMask),
}

/// Figures by name.
pub type FigureMap = BTreeMap<String, Figure>;

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Number(number) => number.fmt(f),
            Figure::Cpus(cpus) => cpus.fmt(f),
        }
    }
}

impl From<Decimal> for Figure {
    fn from(number: Decimal) -> Figure {
        Figure::Number(number)
    }
}
impl From<u64> for Figure {
    fn from(count: u64) -> Figure {
        Figure::Number(count.into())
    }
}
impl From<Ns> for Figure {
    fn from(length: Ns) -> Figure {
        length.0.into()
    }
}
