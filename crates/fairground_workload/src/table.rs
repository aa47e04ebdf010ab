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
    /// The sum of the marker per second of the time in which measurements count.
    PerSecond(&'static str),
    /// The same, divided by the number of tasks that make the measurement.
    PerSecondEach(&'static str),
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

impl Column {
    /// A time in ns, in us to one digit.
    pub(crate) const fn us(title: &'static str, marker: &'static str, aggregate: Aggregate) -> Column {
        Column { title, unit: "us", figure: Figure::Of(marker, aggregate), scale: (1, 1000), decimals: 1 }
    }
}

/// One line of a table of percentiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Percentile {
    /// Which: thousandths of a percent (99_500 = p99.5).
    pub milli: u32,
    /// How the real program writes it.
    pub label: &'static str,
    /// Whether the real program marks it with a star.
    pub starred: bool,
    /// Whether the real program prints it. One that it does not still parts the values that are counted.
    pub shown: bool,
}

impl Percentile {
    /// A percentile.
    pub const fn new(milli: u32, label: &'static str) -> Percentile {
        Percentile { milli, label, starred: false, shown: true }
    }
    /// One that is marked.
    pub const fn starred(milli: u32, label: &'static str) -> Percentile {
        Percentile { milli, label, starred: true, shown: true }
    }
    /// One that is not printed.
    pub const fn hidden(milli: u32) -> Percentile {
        Percentile { milli, label: "", starred: false, shown: false }
    }
}

/// A table with a line per thread, and a histogram of all of them, in the words of cyclictest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Threads {
    /// The marker of latencies ([`fairground_model::MarkerUnit::EachUs`]).
    pub marker: &'static str,
    /// The interval of each thread, us.
    pub intervals_us: Vec<u64>,
    /// The histogram has a line for each microsecond below this; 0 = no histogram.
    pub histogram_us: u64,
}

/// A table of the percentiles of a marker of whole microseconds, or per second, in the buckets of schbench.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Percentiles {
    /// The real program's heading.
    pub title: &'static str,
    /// The unit of the values.
    pub unit: &'static str,
    /// The marker.
    pub marker: &'static str,
    /// Its lines, in increasing order.
    pub rows: &'static [Percentile],
    /// Whether the real program writes how many values lie between each line and the one before.
    pub counts: bool,
}
