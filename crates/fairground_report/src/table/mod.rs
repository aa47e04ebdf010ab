//! One table for all outputs: text and Markdown that can be pasted into a mail, CSV, JSON, HTML for a notebook.

mod cell;
mod csv;
mod fit;
mod html;
mod json;
mod layout;
mod markdown;
mod text;

pub use cell::{Cell, number};
pub use html::plain_html;
pub use layout::{Layout, ROWS};

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
    /// Whether people can do without it where the table is too wide.
    pub is_spare: bool,
}

impl Column {
    /// A column of words.
    pub fn left(title: impl Into<String>, key: impl Into<String>) -> Column {
        Column { title: title.into(), key: key.into(), align: Align::Left, is_spare: false }
    }
    /// A column of numbers.
    pub fn right(title: impl Into<String>, key: impl Into<String>) -> Column {
        Column { align: Align::Right, ..Column::left(title, key) }
    }
    /// The same, and the first to go where the table is too wide.
    pub fn spare(self) -> Column {
        Column { is_spare: true, ..self }
    }
}

/// The columns of a table in order: side, title, and the key where it is another word than the title. The word `spare` before it
/// marks one that goes first where the table is too wide.
///
/// ```
/// use fairground_report::{Column, columns};
/// let columns = columns![left "task", right "wait ms" "wait_ns", spare right "runs"];
/// assert_eq!(columns, [Column::left("task", "task"), Column::right("wait ms", "wait_ns"), Column::right("runs", "runs").spare()]);
/// ```
#[macro_export]
macro_rules! columns {
    (@one spare $side:ident $title:literal $($key:literal)?) => { $crate::columns!(@one $side $title $($key)?).spare() };
    (@one $side:ident $title:literal) => { $crate::Column::$side($title, $title) };
    (@one $side:ident $title:literal $key:literal) => { $crate::Column::$side($title, $key) };
    ($($($word:ident)+ $title:literal $($key:literal)?),* $(,)?) => {
        vec![$($crate::columns!(@one $($word)+ $title $($key)?)),*]
    };
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
    /// Whether the lines are sentences, which may be folded.
    is_prose: bool,
    long: Option<Long>,
}

/// That a table grows with what it is made of.
#[derive(Clone, PartialEq, Debug)]
struct Long {
    /// What a row is.
    what: &'static str,
    /// The keys of the columns by which a row is among the worst; without any the first rows are.
    by: Vec<String>,
    /// How many rows belong together.
    each: usize,
}

impl Table {
    /// A table without rows.
    pub fn new(name: impl Into<String>, title: impl Into<String>, columns: Vec<Column>) -> Table {
        let (rows, notes, lines) = (Vec::new(), Vec::new(), Vec::new());
        Table { title: title.into(), name: name.into(), columns, rows, notes, lines, is_prose: false, long: None }
    }
    /// Says that the table grows with what it is made of, and what a row is. People see the rows with the largest figures in the
    /// columns with these keys, or without keys the first ones ([`Layout`]); documents and files have all.
    pub fn grows(&mut self, what: &'static str, by: &[&str]) {
        let by = by.iter().map(|key| key.to_string()).collect();
        self.long = Some(Long { what, by, each: 1 });
    }
    /// The same of a table in which so many rows stand for one thing, one below the other.
    pub fn grows_by(&mut self, each: usize, what: &'static str) {
        self.long = Some(Long { what, by: Vec::new(), each });
    }
    /// Lines of text, which people read indented by two columns.
    pub fn of_lines(name: &str, title: impl Into<String>, lines: impl IntoIterator<Item = impl AsRef<str>>) -> Table {
        let mut table = Table::new(name, title, columns![left "line"]);
        table.is_prose = true;
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
