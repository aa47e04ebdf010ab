//! Plain text with aligned columns.

use super::{Align, Table};
use std::fmt;

/// Two blanks between columns, none at the end of a line, a rule of dashes under the headings.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.title.is_empty() {
            writeln!(f, "{}", self.title)?;
        }
        if !self.lines.is_empty() {
            return self.lines.iter().chain(&self.notes).try_for_each(|line| writeln!(f, "{line}"));
        }
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let headings: Vec<&str> = self.columns.iter().map(|column| column.title.as_str()).collect();
        writeln!(f, "{}", self.padded(&headings, &widths))?;
        let dashes: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        writeln!(f, "{}", dashes.join("  "))?;
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
            writeln!(f, "{}", self.padded(&cells, &widths))?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

impl Table {
    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].text.chars().count());
        cells.chain([self.columns[column].title.chars().count()]).max().unwrap_or(0)
    }
    fn padded(&self, cells: &[&str], widths: &[usize]) -> String {
        let padded = self.columns.iter().zip(cells).zip(widths).map(|((column, cell), &width)| match column.align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_string()
    }
}
