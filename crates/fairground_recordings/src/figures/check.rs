//! Figures against the limits of a recorded set.

use super::figure::{Figure, FigureMap};
use fairground_metrics::Decimal;

/// One row of a set's `expect` list, as written there: numbers as their text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpectRow {
    /// The figure's name.
    pub figure: String,
    /// The recorded value.
    pub value: String,
    /// The smallest value that passes.
    pub lo: String,
    /// The largest value that passes.
    pub hi: String,
}

/// One row that was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedRow {
    /// The figure's name.
    pub figure: String,
    /// Our value; `None` if the run does not have this figure.
    pub ours: Option<Decimal>,
    /// The recorded value.
    pub value: Decimal,
    /// The smallest value that passes.
    pub lo: Decimal,
    /// The largest value that passes.
    pub hi: Decimal,
}

impl CheckedRow {
    /// Whether our value lies in `lo..=hi`; a missing value does not.
    pub fn inside(&self) -> bool {
        self.ours.is_some_and(|ours| self.lo <= ours && ours <= self.hi)
    }
}

/// A row that cannot be checked, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkippedRow {
    /// The figure's name.
    pub figure: String,
    /// Why it was skipped.
    pub reason: &'static str,
}

/// Figures against limits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Check {
    /// Rows with numbers, in the order of the list.
    pub rows: Vec<CheckedRow>,
    /// Rows without numbers, in the order of the list.
    pub skipped: Vec<SkippedRow>,
}

impl Check {
    /// Compares `figures` with the rows of an `expect` list.
    pub fn new(expect: &[ExpectRow], figures: &FigureMap) -> Check {
        let mut check = Check::default();
        for row in expect {
            let (Some(value), Some(lo), Some(hi)) =
                (Decimal::parse(&row.value), Decimal::parse(&row.lo), Decimal::parse(&row.hi))
            else {
                check.skipped.push(SkippedRow { figure: row.figure.clone(), reason: "its limits are no plain decimal numbers" });
                continue;
            };
            let ours = match figures.get(&row.figure) {
                Some(Figure::Number(number)) => Some(*number),
                Some(Figure::Cpus(_)) | None => None,
            };
            check.rows.push(CheckedRow { figure: row.figure.clone(), ours, value, lo, hi });
        }
        check
    }
    /// Whether every checked row lies inside its limits.
    pub fn passes(&self) -> bool {
        self.rows.iter().all(CheckedRow::inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(figure: &str, value: &str, lo: &str, hi: &str) -> ExpectRow {
        ExpectRow { figure: figure.into(), value: value.into(), lo: lo.into(), hi: hi.into() }
    }

    #[test]
    fn limits_are_inclusive_missing_figures_fail_and_text_is_listed() {
        let figures = FigureMap::from([
            ("a".to_string(), 5.into()),
            ("b".to_string(), Decimal::parse("0.1190000001").unwrap_or_default().into()),
            ("c".to_string(), Decimal::parse("0.119").unwrap().into()),
        ]);
        let expect =
            [row("a", "4", "3.5", "5"), row("c", "0.1", "0", "0.118"), row("gone", "1", "0", "2"), row("pelt", "every", "x", "")];
        let check = Check::new(&expect, &figures);
        assert_eq!(check.rows.iter().map(CheckedRow::inside).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(check.rows[2].ours, None);
        assert_eq!(check.skipped, [SkippedRow { figure: "pelt".into(), reason: "its limits are no plain decimal numbers" }]);
        assert!(!check.passes());
        assert!(Check::new(&expect[..1], &figures).passes());
    }
}
