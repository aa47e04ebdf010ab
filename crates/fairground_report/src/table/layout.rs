//! How much of a table people see, and in which form.

use super::{Cell, Table};
use std::cmp::Reverse;

/// So many rows are shown of a table that grows with what it is made of.
pub const ROWS: usize = 15;

/// How much of a table is shown, and in which form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Columns of text that lines may have; any number if there is none.
    pub width: Option<usize>,
    /// Rows that tables have at most which grow with what they are made of; any number if there is none.
    pub rows: Option<usize>,
    /// Markdown instead of plain text.
    pub is_markdown: bool,
}

impl Table {
    /// The table as people read it. What was left out stands below it, with the flag that shows all.
    pub fn laid_out(&self, layout: Layout) -> String {
        let cut = layout.rows.and_then(|most| self.cut(most));
        let table = cut.as_ref().unwrap_or(self);
        if layout.is_markdown { table.to_markdown(layout.width) } else { table.to_text(layout.width) }
    }
    /// The same table with so many rows, if it grows and has more.
    fn cut(&self, most: usize) -> Option<Table> {
        let long = self.long.as_ref()?;
        let most = most * long.each;
        let left_out = self.rows.len().checked_sub(most).filter(|&more| more > 0)? / long.each;
        let places: Vec<usize> =
            long.by.iter().filter_map(|key| self.columns.iter().position(|row| row.key == key.as_str())).collect();
        let figure = |row: &Vec<Cell>, place: usize| row[place].data.as_f64().unwrap_or(0.0);
        let mut rows: Vec<&Vec<Cell>> = self.rows.iter().collect();
        // A stable order: rows of equal figures stay as they are.
        rows.sort_by(|a, b| {
            let of = |row: &Vec<Cell>| places.iter().map(|&place| figure(row, place)).collect::<Vec<f64>>();
            Reverse(of(a)).partial_cmp(&Reverse(of(b))).unwrap_or(std::cmp::Ordering::Equal)
        });
        let rows = rows.into_iter().take(most).cloned().collect();
        let mut table = Table { rows, notes: Vec::new(), ..self.clone() };
        table.note(format!("{left_out} more {}: --full", long.what));
        table.notes.extend(self.notes.iter().cloned());
        Some(table)
    }
}
