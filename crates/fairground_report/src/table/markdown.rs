//! Markdown, aligned so that it can be read as text too.

use super::fit::width_of;
use super::{Align, Table};

/// `| ` before and ` ` behind a cell.
const AROUND: usize = 3;

impl Table {
    /// A Markdown table in lines of this width, where columns can be left out for that. Lines of other programs are a block of code.
    pub(super) fn to_markdown(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            text += &format!("**{}**\n\n", escaped(&self.title));
        }
        if !self.lines.is_empty() {
            text += &format!("```\n{}\n```\n", self.lines.join("\n"));
        } else {
            let table = self.escaped();
            // One more bar at the end.
            let fitted = table.fitted(width.map(|width| width.saturating_sub(1)), AROUND, 0, false);
            let titles: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
            text += &table.markdown_row(&titles, &fitted.columns);
            let rules = fitted.columns.iter().map(|&(place, width)| match table.columns[place].align {
                Align::Left => format!("| {} ", "-".repeat(width.max(3))),
                Align::Right => format!("| {}: ", "-".repeat(width.max(3) - 1)),
            });
            text += &(rules.collect::<String>() + "|\n");
            for row in &table.rows {
                let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
                text += &table.markdown_row(&cells, &fitted.columns);
            }
            text.extend(fitted.note().map(|note| format!("\n{note}\n")));
        }
        text.extend(self.notes.iter().map(|note| format!("\n{}\n", escaped(note))));
        text
    }
    fn markdown_row(&self, cells: &[&str], columns: &[(usize, usize)]) -> String {
        let shown = columns.iter().map(|&(place, width)| {
            let cell = cells[place];
            let blanks = " ".repeat(width.max(3).saturating_sub(width_of(cell)));
            match self.columns[place].align {
                Align::Left => format!("| {cell}{blanks} "),
                Align::Right => format!("| {blanks}{cell} "),
            }
        });
        shown.collect::<String>() + "|\n"
    }
    /// The same table with texts that Markdown takes for nothing else.
    fn escaped(&self) -> Table {
        let mut table = self.clone();
        table.columns.iter_mut().for_each(|column| column.title = escaped(&column.title));
        table.rows.iter_mut().flatten().for_each(|cell| cell.text = escaped(&cell.text));
        table
    }
}

/// Text of which Markdown makes no cells, marks or tags.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '|' | '\\' | '`' | '*' | '<' | '[') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}
