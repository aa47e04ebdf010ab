//! Plain text with aligned columns.

use super::fit::{Fitted, width_of};
use super::{Align, Table};
use crate::paragraph::{folded, wrapped};
use std::fmt;

/// Blanks between columns.
const GAP: usize = 2;

/// Two blanks between columns, none at the end of a line, a rule of dashes under the headings.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text(None))
    }
}

impl Table {
    /// Text in lines of this width, where the table can be made so narrow.
    pub(super) fn to_text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            text += &paragraph(&self.title, width);
        }
        if self.lines.is_empty() {
            let fitted = self.fitted(width, GAP, GAP, true);
            let titles: Vec<&str> = self.columns.iter().map(|column| column.title.as_str()).collect();
            text += &self.row(&titles, &fitted);
            let dashes: Vec<String> = fitted.columns.iter().map(|row| "-".repeat(row.1)).collect();
            text += &(dashes.join(&" ".repeat(GAP)) + "\n");
            for row in &self.rows {
                let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
                text += &self.row(&cells, &fitted);
            }
            text.extend(fitted.note().map(|note| paragraph(&note, width)));
        }
        // Other programs' lines stay as they are.
        let folds = width.filter(|_| self.is_prose);
        self.lines.iter().for_each(|line| text += &paragraph(line, folds));
        text.extend(self.notes.iter().map(|note| paragraph(note, width)));
        text
    }
    /// A row; of more lines than one if a cell is folded.
    fn row(&self, cells: &[&str], fitted: &Fitted) -> String {
        let parts: Vec<Vec<String>> = fitted.columns.iter().map(|&(place, width)| folded(cells[place], width)).collect();
        let height = parts.iter().map(Vec::len).max().unwrap_or(1);
        let mut text = String::new();
        for line in 0..height {
            let shown = fitted.columns.iter().zip(&parts).map(|(&(place, width), part)| {
                let cell = part.get(line).map_or("", String::as_str);
                let blanks = " ".repeat(width.saturating_sub(width_of(cell)));
                match self.columns[place].align {
                    Align::Left => format!("{cell}{blanks}"),
                    Align::Right => format!("{blanks}{cell}"),
                }
            });
            text += shown.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end();
            text.push('\n');
        }
        text
    }
}

impl Fitted {
    /// What stands below a table that lacks columns.
    pub(super) fn note(&self) -> Option<String> {
        (!self.left_out.is_empty()).then(|| format!("left out, for the width: {} (--full)", self.left_out.join(", ")))
    }
}

fn paragraph(text: &str, width: Option<usize>) -> String {
    match width {
        Some(width) => wrapped(text, width) + "\n",
        None => format!("{text}\n"),
    }
}
