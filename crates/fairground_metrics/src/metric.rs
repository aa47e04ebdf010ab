//! Named numbers of a run: value, unit, and which way is better.

/// What a metric's number counts. Times are held in ns and shown in the unit that the name says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Held in ns, shown in microseconds.
    Us,
    /// Held in ns, shown in milliseconds.
    Ms,
    /// A plain count.
    Count,
    /// Held in thousandths of a percent, shown in percent.
    Percent,
    /// Held in thousandths per second, shown per second.
    Rate,
}

impl Unit {
    /// The unit as it is shown; empty for a count.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::Count => "",
            Unit::Percent => "%",
            Unit::Rate => "1/s",
        }
    }
    /// How many of what is held make one of what is shown.
    pub const fn scale(self) -> u64 {
        match self {
            Unit::Ns | Unit::Count => 1,
            Unit::Us | Unit::Percent | Unit::Rate => 1_000,
            Unit::Ms => 1_000_000,
        }
    }
}

/// Which direction of a metric is an improvement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Smaller is better (latencies).
    Lower,
    /// Larger is better (work done).
    Higher,
    /// Neither by itself (switches, migrations).
    Neither,
}

impl Better {
    /// The word in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "-",
        }
    }
}

/// A row of a table of metrics: what is said of a metric, and how its value is read off what was measured.
#[derive(Debug)]
pub struct MetricRow<T: 'static> {
    /// The last part of its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// What it is, as a sentence.
    pub sentence: &'static str,
    /// Its value as held (see [`Unit`]).
    pub value: fn(&T) -> u64,
}

impl<T> MetricRow<T> {
    /// A row.
    pub const fn new(
        name: &'static str,
        unit: Unit,
        better: Better,
        sentence: &'static str,
        value: fn(&T) -> u64,
    ) -> MetricRow<T> {
        MetricRow { name, unit, better, sentence, value }
    }
    /// The metric of what was measured, under a name that begins with `prefix`.
    pub fn of(&self, prefix: &str, measured: &T) -> Metric {
        Metric::new(format!("{prefix}{}", self.name), (self.value)(measured), self.unit, self.better)
    }
}

/// One named number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metric {
    /// Its name in JSON and tables, such as `wakeup_latency_us.p99`.
    pub name: String,
    /// Its value as held (see [`Unit`]).
    pub value: u64,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

impl Metric {
    /// A metric of the given name, value, unit and direction.
    pub fn new(name: impl Into<String>, value: u64, unit: Unit, better: Better) -> Metric {
        Metric { name: name.into(), value, unit, better }
    }
    /// The value in the unit shown.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    pub fn shown(&self) -> f64 {
        self.value as f64 / self.unit.scale() as f64
    }
}
