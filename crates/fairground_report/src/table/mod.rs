//! One table for all outputs: text that can be pasted into a mail, CSV, JSON.

mod cell;
mod csv;
mod json;
mod text;

pub use cell::{Cell, number};

/// On which side a column's cells are flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its heading for people.
    pub title: String,
    /// Its name for programs (CSV, JSON), with the unit of the data: `wait_max_ns`.
    pub key: String,
    /// On which side its cells are flush.
    pub align: Align,
}

impl Column {
    /// A column of words.
    pub fn left(title: impl Into<String>, key: impl Into<String>) -> Column {
        Column { title: title.into(), key: key.into(), align: Align::Left }
    }
    /// A column of numbers.
    pub fn right(title: impl Into<String>, key: impl Into<String>) -> Column {
        Column { title: title.into(), key: key.into(), align: Align::Right }
    }
}

/// The columns of a table in order: side, title, and the key where it is another word than the title.
///
/// ```
/// use fairground_report::{Column, columns};
/// let columns = columns![left "task", right "wait ms" "wait_ns"];
/// assert_eq!(columns, [Column::left("task", "task"), Column::right("wait ms", "wait_ns")]);
/// ```
#[macro_export]
macro_rules! columns {
    (@one $side:ident $title:literal) => { $crate::Column::$side($title, $title) };
    (@one $side:ident $title:literal $key:literal) => { $crate::Column::$side($title, $key) };
    ($($side:ident $title:literal $($key:literal)?),* $(,)?) => { vec![$($crate::columns!(@one $side $title $($key)?)),*] };
}

/// A table: each row has a cell for each column.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// What it shows; empty for a table that needs no heading.
    pub title: String,
    /// Its name in JSON documents.
    pub name: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    notes: Vec<String>,
    lines: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub fn new(name: impl Into<String>, title: impl Into<String>, columns: Vec<Column>) -> Table {
        Table { title: title.into(), name: name.into(), columns, rows: Vec::new(), notes: Vec::new(), lines: Vec::new() }
    }
    /// Lines of text, which people read indented by two columns.
    pub fn of_lines(name: &str, title: impl Into<String>, lines: impl IntoIterator<Item = impl AsRef<str>>) -> Table {
        let mut table = Table::new(name, title, columns![left "line"]);
        for line in lines {
            table.line(format!("  {}", line.as_ref()));
            table.push(vec![line.as_ref().trim().into()]);
        }
        table
    }
    /// Appends a row. Missing cells are empty, surplus ones an error of ours.
    pub fn push(&mut self, mut row: Vec<Cell>) {
        assert!(row.len() <= self.columns.len(), "invariant: a row has no more cells than the table has columns");
        row.resize(self.columns.len(), Cell::empty());
        self.rows.push(row);
    }
    /// Adds a line of plain text, for people who read it as another program would have written it: the lines stand in
    /// the place of headings and rows.
    pub fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
    /// Adds a line that stands under the table.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
    /// Keeps the rows for which `is_kept` says so, and says how many it left out.
    pub fn keep(&mut self, is_kept: impl FnMut(&Vec<Cell>) -> bool) -> usize {
        let before = self.rows.len();
        self.rows.retain(is_kept);
        before - self.rows.len()
    }
    /// Of more rows than `most` keeps those with the largest whole numbers in the columns with these keys, the largest first, and
    /// says how many it left out.
    pub fn keep_largest(&mut self, most: usize, by: &[&str]) -> usize {
        let left_out = self.rows.len().saturating_sub(most);
        if left_out > 0 {
            let places: Vec<usize> = by.iter().filter_map(|key| self.columns.iter().position(|row| row.key == *key)).collect();
            let figure = |row: &Vec<Cell>, place: usize| row[place].data.as_u64().unwrap_or(0);
            let figures = |row: &Vec<Cell>| -> Vec<u64> { places.iter().map(|&place| figure(row, place)).collect() };
            self.rows.sort_by_cached_key(|row| std::cmp::Reverse(figures(row)));
            self.rows.truncate(most);
        }
        left_out
    }
    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// The rows.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }
    /// The lines of plain text that people read in place of headings and rows; none for most tables.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
    /// The lines under the table.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

#[cfg(test)]
mod tests;
