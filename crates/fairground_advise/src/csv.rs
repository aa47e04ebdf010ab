//! Tables of numbers that somebody measured: a header of names with their units, then numbers.

use fairground_model::Mistakes;
use std::ops::Range;

/// A table, its columns by name.
pub(super) struct Csv<'t> {
    pub(super) names: Vec<&'t str>,
    /// The cells of each line, and where it stands.
    pub(super) rows: Vec<(Vec<&'t str>, Range<usize>)>,
}

/// Splits a text. Lines that are empty or begin with `#` say nothing.
pub(super) fn split(text: &str) -> Csv<'_> {
    let mut at = 0;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let span = at..at + line.len();
        at += line.len() + 1;
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            lines.push((line.split(',').map(str::trim).collect::<Vec<&str>>(), span));
        }
    }
    let mut lines = lines.into_iter();
    let names = lines.next().map(|row| row.0).unwrap_or_default();
    Csv { names, rows: lines.collect() }
}

/// A column.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) place: usize,
    /// ns in its unit; 1 for plain numbers.
    scale: u64,
}

/// Endings of the names of columns, with ns in each.
const UNITS: [(&str, u64); 7] = [
    ("_seconds_total", 1_000_000_000),
    ("_seconds", 1_000_000_000),
    ("_usec", 1_000),
    ("_ms", 1_000_000),
    ("_us", 1_000),
    ("_ns", 1),
    ("_s", 1_000_000_000),
];

impl Csv<'_> {
    /// The column of times of one of these names, which has its unit behind it.
    pub(super) fn time(&self, names: &[&str]) -> Option<Column> {
        self.names.iter().enumerate().find_map(|(place, header)| {
            let (stem, scale) = UNITS.iter().find_map(|(ending, scale)| Some((header.strip_suffix(ending)?, *scale)))?;
            names.contains(&stem).then_some(Column { place, scale })
        })
    }
    /// The column of plain numbers of one of these names.
    pub(super) fn count(&self, names: &[&str]) -> Option<Column> {
        let place = self.names.iter().position(|header| names.contains(header))?;
        Some(Column { place, scale: 1 })
    }
    /// The number in a cell, in ns or as it stands; none where the cell is empty.
    pub(super) fn number(&self, row: usize, column: Column, m: &mut Mistakes) -> Option<u64> {
        let (cells, span) = &self.rows[row];
        let text = cells.get(column.place).copied().unwrap_or_default();
        if text.is_empty() {
            return None;
        }
        let number = decimal(text, column.scale);
        if number.is_none() {
            let message = format!("`{text}` is no number for `{}`", self.names[column.place]);
            m.at(span.clone(), message, "Numbers are not negative, such as 12 or 0.125; a value that is missing is left empty.");
        }
        number
    }
}

/// `text` times `scale`, rounded down.
pub(super) fn decimal(text: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // More than nine digits behind the point are less than a ns.
    let nine: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let fraction = u128::from(nine.parse::<u64>().ok()?) * u128::from(scale) / 1_000_000_000;
    let all = whole.parse::<u128>().ok()?.checked_mul(u128::from(scale))?.checked_add(fraction)?;
    u64::try_from(all).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_unit() {
        let csv = split("# a log\narrival_s, latency_ms,cpu_us,n\n0.5,12.25, 3,4\n\n1.000000001,x,\n");
        let column = |name| csv.time(&[name]).unwrap();
        let mut m = Mistakes::default();
        let mut at = |row, name| csv.number(row, column(name), &mut m);
        assert_eq!([at(0, "arrival"), at(0, "latency"), at(0, "cpu")], [Some(500_000_000), Some(12_250_000), Some(3_000)]);
        assert_eq!([at(1, "arrival"), at(1, "latency"), at(1, "cpu")], [Some(1_000_000_001), None, None]);
        assert_eq!(m.0.len(), 1);
        assert!(m.0[0].message.contains("`x` is no number for `latency_ms`"));
        assert_eq!(
            ["", "-1", "1e3", "1.", "99999999999999999999", ".5"].map(|text| decimal(text, 1)),
            [None, None, None, Some(1), None, None]
        );
        assert!(csv.time(&["n"]).is_none() && csv.count(&["n"]).is_some() && csv.count(&["cpu"]).is_none());
        assert!(split("").names.is_empty());
    }
}
