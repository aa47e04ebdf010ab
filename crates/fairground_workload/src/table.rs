//! The table that a workload prints: columns made of its markers, described as data.

/// What is done with all values of a marker, over all measured tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    /// The number of values.
    Count,
    /// Their sum.
    Sum,
    /// The largest.
    Max,
    /// Their mean: sum / count.
    Mean,
    /// The value below which so many of a thousand lie (990 = p99).
    PerMille(u16),
}

/// One number of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// An aggregate of the marker of this name.
    Of(&'static str, Aggregate),
    /// The sum of the first marker divided by the sum of the second.
    Ratio(&'static str, &'static str),
}

/// One column: the figure, times `scale.0`, divided by `scale.1`, printed with `decimals`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// The heading, in the real program's words where it has them.
    pub title: &'static str,
    /// The unit behind the number, such as `ms`; empty for a plain number.
    pub unit: &'static str,
    /// Where the number comes from.
    pub figure: Figure,
    /// From the marker's unit to the column's: multiply by the first, divide by the second.
    pub scale: (u64, u64),
    /// Digits behind the decimal point.
    pub decimals: u8,
}
