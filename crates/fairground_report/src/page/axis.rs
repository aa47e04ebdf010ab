//! Axes: from values to places, and the values that are marked.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for display only")]

use crate::units::format_ns;
use fairground_stdx::Ns;

/// How values lie on an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long. Where there are values that are not above 0, they stand apart at the lower end.
    Log,
}

/// What the numbers of an axis are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// A length of time in ns.
    Time,
    /// Percent.
    Percent,
    /// A plain number.
    Plain,
    /// One of how many is beyond, shown as a percentile: 100 is p99. Wants a logarithmic scale.
    OneOf,
}

impl Quantity {
    /// The value for people.
    pub fn shown(self, value: f64) -> String {
        match self {
            Quantity::Time => format_ns(Ns(value.max(0.0).round() as u64)),
            Quantity::Percent => format!("{} %", trimmed(value, 2)),
            Quantity::Plain => trimmed(value, 3),
            Quantity::OneOf => {
                // Two digits beyond the last nine.
                let places = (value.max(1.0).log10().floor() as usize).saturating_sub(1) + 2;
                format!("{} %", trimmed(100.0 - 100.0 / value.max(1.0), places))
            }
        }
    }
    /// The same where it is short: `10 us`, not `10.00 us`.
    fn marked(self, value: f64) -> String {
        let shown = self.shown(value);
        match shown.split_once(' ') {
            Some((number, unit)) if self == Quantity::Time && number.contains('.') => {
                format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
            }
            _ => shown,
        }
    }
}

/// A number with at most so many digits behind the point.
fn trimmed(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if short == "-0" { "0".to_string() } else { short.to_string() }
}

/// One axis of a chart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// How values lie on it.
    pub scale: Scale,
    /// What its numbers are.
    pub quantity: Quantity,
}

impl Axis {
    /// An axis.
    pub fn new(label: impl Into<String>, scale: Scale, quantity: Quantity) -> Axis {
        Axis { label: label.into(), scale, quantity }
    }
    /// The axis over all these values.
    pub(super) fn over(&self, values: impl Iterator<Item = f64>) -> Range {
        let is_log = self.scale == Scale::Log;
        let (mut low, mut high, mut has_zero) = (f64::INFINITY, f64::NEG_INFINITY, false);
        for value in values.filter(|value| value.is_finite()) {
            if is_log && value <= 0.0 {
                has_zero = true;
            } else {
                (low, high) = (low.min(value), high.max(value));
            }
        }
        let (low, high) = match (low <= high, is_log) {
            (false, true) => (1.0, 10.0),
            (false, false) => (0.0, 1.0),
            (true, true) if self.quantity == Quantity::OneOf => (1.0, high.max(10.0)),
            (true, true) => around(low, high),
            // A linear axis begins at 0, so that a small difference does not look large.
            (true, false) => (low.min(0.0), if high > low.min(0.0) { high } else { low.min(0.0) + 1.0 }),
        };
        let end = if self.quantity == Quantity::OneOf || is_log { high } else { low + (high - low) * 1.05 };
        Range { scale: self.scale, quantity: self.quantity, low, high: end, zero: if has_zero { ZERO } else { 0.0 } }
    }
}

/// The next of 1, 2, 5, 10, … below and above.
fn around(low: f64, high: f64) -> (f64, f64) {
    let steps = |value: f64| [1.0, 2.0, 5.0, 10.0].map(|step| step * 10f64.powi(value.log10().floor() as i32));
    let below = steps(low).into_iter().rfind(|&step| step <= low * 1.000_001).unwrap_or(low);
    let above = steps(high).into_iter().find(|&step| step >= high * 0.999_999).unwrap_or(high);
    (below, if above > below { above } else { below * 10.0 })
}

/// The part of a logarithmic axis that lies below its positive values, where there are others.
const ZERO: f64 = 0.1;

/// An axis with its ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Range {
    scale: Scale,
    quantity: Quantity,
    low: f64,
    high: f64,
    zero: f64,
}

impl Range {
    /// Where a value lies: 0 the lower end, 1 the upper.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value <= 0.0 => 0.0,
            Scale::Log => {
                self.zero + (1.0 - self.zero) * (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
            }
        };
        place.clamp(0.0, 1.0)
    }
    /// The values that are marked, with what stands beside them.
    pub(super) fn marks(&self) -> Vec<(f64, String)> {
        let mut values = match self.scale {
            Scale::Linear => self.steps(),
            Scale::Log => self.decades(),
        };
        if self.zero > 0.0 {
            values.insert(0, 0.0);
        }
        values.into_iter().map(|value| (value, self.quantity.marked(value))).collect()
    }
    /// Four to eight round values.
    fn steps(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let ten = 10f64.powi(rough.log10().floor() as i32);
        let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * ten).into_iter().find(|&step| step >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        #[allow(clippy::cast_precision_loss, reason = "for display only")]
        let at = |number: i64| number as f64 * step;
        (first..first + 12).map(at).take_while(|value| *value <= self.high * 1.000_001).collect()
    }
    /// Powers of ten; between them 2 and 5 where these are few, and p50 on an axis of percentiles.
    fn decades(&self) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let between: &[f64] = match self.quantity {
            Quantity::OneOf => &[1.0],
            _ if last - first <= 3 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let mut all: Vec<f64> = (first..=last).flat_map(|ten| between.iter().map(move |step| step * 10f64.powi(ten))).collect();
        if self.quantity == Quantity::OneOf {
            all.insert(1, 2.0);
        }
        all.retain(|value| (self.low * 0.999_999..=self.high * 1.000_001).contains(value));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(scale: Scale, quantity: Quantity, values: &[f64]) -> Vec<String> {
        Axis::new("", scale, quantity).over(values.iter().copied()).marks().into_iter().map(|mark| mark.1).collect()
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(marks(Scale::Linear, Quantity::Plain, &[3.0, 97.0]), ["0", "50", "100"]);
        assert_eq!(
            marks(Scale::Log, Quantity::Time, &[1_500.0, 70_000.0]),
            ["1 us", "2 us", "5 us", "10 us", "20 us", "50 us", "100 us"]
        );
        assert_eq!(marks(Scale::Log, Quantity::OneOf, &[1.0, 5_000.0]), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        assert_eq!(
            marks(Scale::Log, Quantity::Time, &[1.0, 3e9]),
            ["1 ns", "10 ns", "100 ns", "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s"]
        );
    }

    #[test]
    fn no_value_and_one_value_have_an_axis_too() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [&[][..], &[0.0], &[7.0], &[-3.0], &[f64::NAN]] {
                let range = Axis::new("", scale, Quantity::Plain).over(values.iter().copied());
                assert!(!range.marks().is_empty(), "{scale:?} {values:?}");
                assert!((0.0..=1.0).contains(&range.place(7.0)), "{scale:?} {values:?}");
            }
        }
    }

    /// A wait of nothing is no wait of the shortest length.
    #[test]
    fn zero_stands_apart_on_a_logarithmic_axis() {
        assert_eq!(marks(Scale::Log, Quantity::Time, &[0.0, 1_000.0, 10_000.0]), ["0 ns", "1 us", "2 us", "5 us", "10 us"]);
        let range = Axis::new("", Scale::Log, Quantity::Time).over([0.0, 1_000.0, 10_000.0].into_iter());
        assert_eq!([0.0, 1_000.0, 10_000.0].map(|value| range.place(value)), [0.0, ZERO, 1.0]);
    }

    #[test]
    fn percentiles_keep_their_nines() {
        let shown: Vec<String> = [1.0, 2.0, 10.0, 100.0, 1_000.0, 80_000.0].map(|value| Quantity::OneOf.shown(value)).into();
        assert_eq!(shown, ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99875 %"]);
    }
}
