//! Which columns of a table are shown in a width, and how wide each is.
//!
//! A table that is too wide is made narrower in this order:
//!
//! 1. columns of words but the first are folded, the widest first, down to [`FOLDED`] or their longest word;
//! 2. spare columns are left out, those on the right first;
//! 3. other columns of numbers are left out, those on the right first, but never the first column of the table;
//! 4. columns of words are folded down to [`NARROW`] or their longest word.
//!
//! Columns of words are never left out: they hold names and verdicts. What was left out is named below the table.

use super::{Align, Table};

/// A folded column is at least so wide.
const FOLDED: usize = 20;
/// Where nothing else helps, it is at least so wide.
const NARROW: usize = 8;

/// What is shown of a table.
pub(super) struct Fitted {
    /// The columns that are shown, by their places, with their widths.
    pub(super) columns: Vec<(usize, usize)>,
    /// The titles of those that are not.
    pub(super) left_out: Vec<String>,
}

/// What a cell or a title takes.
pub(super) fn width_of(text: &str) -> usize {
    text.chars().count()
}

impl Table {
    /// The columns that fit. `around` is what each takes beside its cells; the last one takes `around - at_end`.
    pub(super) fn fitted(&self, width: Option<usize>, around: usize, at_end: usize, folds: bool) -> Fitted {
        let mut columns: Vec<(usize, usize)> =
            (0..self.columns.len()).map(|place| (place, self.widest(place, width_of))).collect();
        let mut left_out = Vec::new();
        let Some(width) = width else { return Fitted { columns, left_out } };
        let total = |columns: &[(usize, usize)]| columns.iter().map(|row| row.1 + around).sum::<usize>().saturating_sub(at_end);
        loop {
            let over = total(&columns).saturating_sub(width);
            let narrower = if folds { self.folded(&columns, over, FOLDED) } else { columns.clone() };
            if total(&narrower) <= width {
                columns = narrower;
                break;
            }
            let Some(place) = self.dispensable(&columns) else {
                columns = if folds { self.folded(&columns, over, NARROW) } else { narrower };
                break;
            };
            columns.retain(|row| row.0 != place);
            left_out.insert(0, self.columns[place].title.clone());
        }
        Fitted { columns, left_out }
    }
    /// The column that goes next.
    fn dispensable(&self, columns: &[(usize, usize)]) -> Option<usize> {
        let rest = || columns.iter().skip(1).rev().map(|row| row.0);
        let spare = rest().find(|&place| self.columns[place].is_spare);
        spare.or_else(|| rest().find(|&place| self.columns[place].align == Align::Right))
    }
    /// The same columns, `over` narrower in all if those of words can be.
    fn folded(&self, columns: &[(usize, usize)], over: usize, least: usize) -> Vec<(usize, usize)> {
        let mut narrower = columns.to_vec();
        let least: Vec<usize> = columns.iter().map(|&(place, width)| self.longest_word(place).max(least).min(width)).collect();
        for _ in 0..over {
            let can = (1..narrower.len()).filter(|&at| narrower[at].1 > least[at]);
            let Some(widest) = can.max_by_key(|&at| narrower[at].1) else { break };
            narrower[widest].1 -= 1;
        }
        narrower
    }
    /// How narrow a column can be without a word being cut.
    fn longest_word(&self, place: usize) -> usize {
        match self.columns[place].align {
            Align::Right => usize::MAX,
            Align::Left => self.widest(place, |text| text.split(' ').map(width_of).max().unwrap_or(0)),
        }
    }
    fn widest(&self, place: usize, width: impl Fn(&str) -> usize) -> usize {
        let cells = self.rows.iter().map(|row| width(&row[place].text));
        cells.chain([width(&self.columns[place].title)]).max().unwrap_or(0)
    }
}
