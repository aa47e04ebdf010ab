//! Quantities for the eye.

use fairground_metrics::{Decimal, SideStats, Unit};
use fairground_stdx::Ns;

/// A length of time with two digits behind the point and the largest unit in which it is at least one:
/// `8.00 ms`. Rounded half up.
pub fn format_ns(length: Ns) -> String {
    let scale = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")].into_iter().find(|(scale, _)| length.0 >= *scale);
    match scale {
        Some((scale, unit)) => format!("{} {unit}", fixed(length.0, scale, 2)),
        None => format!("{} ns", length.0),
    }
}

/// `value / scale` with `places` digits behind the point, rounded half up, in integers.
pub fn fixed(value: u64, scale: u64, places: u32) -> String {
    let tens = 10u128.pow(places.min(9));
    let scaled = (u128::from(value) * tens * 2 + u128::from(scale.max(1))) / (u128::from(scale.max(1)) * 2);
    if places == 0 {
        return scaled.to_string();
    }
    format!("{}.{:0>width$}", scaled / tens, scaled % tens, width = places.min(9) as usize)
}

/// A count with a thin grouping that survives a mail: `12 345 678`.
pub fn format_count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with the word for what is counted: `1 task`, `48 tasks`.
pub fn counted(count: u64, word: &str) -> String {
    format!("{} {word}{}", format_count(count), if count == 1 { "" } else { "s" })
}

/// A metric's value, as held, in its unit.
pub fn format_metric(value: u64, unit: Unit) -> String {
    match unit {
        Unit::Ns | Unit::Us | Unit::Ms => format_ns(Ns(value)),
        Unit::Count => format_count(value),
        // Below one percent with all digits.
        Unit::Percent => format!("{} %", fixed(value, unit.scale(), if (1..unit.scale()).contains(&value) { 3 } else { 2 })),
        Unit::Rate => format!("{}/s", fixed(value, unit.scale(), 1)),
    }
}

/// The mean of one side in the metric's unit.
pub fn format_mean(side: &SideStats, unit: Unit) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for display only; means are not negative")]
    let rounded = side.mean.round() as u64;
    format_metric(rounded, unit)
}

/// A value as held, exactly, in the unit that is shown.
pub fn decimal(value: u64, unit: Unit) -> Decimal {
    Decimal::ratio(value, unit.scale())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_the_largest_unit_of_at_least_one() {
        let shown: Vec<String> =
            [0, 999, 1_000, 8_000_000, 999_999, 1_234_567_890, 65_995_000_000].map(|ns| format_ns(Ns(ns))).into();
        assert_eq!(shown, ["0 ns", "999 ns", "1.00 us", "8.00 ms", "1000.00 us", "1.23 s", "66.00 s"]);
    }

    #[test]
    fn fixed_rounds_half_up() {
        assert_eq!(
            [fixed(5, 1000, 2), fixed(4, 1000, 2), fixed(2500, 1000, 0), fixed(u64::MAX, 1, 1)],
            ["0.01", "0.00", "3", "18446744073709551615.0"]
        );
        assert_eq!(fixed(7, 0, 1), "7.0");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!([0, 999, 1_000, 12_345_678].map(format_count), ["0", "999", "1 000", "12 345 678"]);
        assert_eq!(format_metric(12_345, Unit::Percent), "12.35 %");
        assert_eq!([63, 0].map(|value| format_metric(value, Unit::Percent)), ["0.063 %", "0.00 %"]);
        assert_eq!([counted(1, "task"), counted(1_056, "task")], ["1 task", "1 056 tasks"]);
        assert_eq!(format_metric(43_127, Unit::Rate), "43.1/s");
    }
}
