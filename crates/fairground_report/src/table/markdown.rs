//! Markdown tables, for pages and issue threads.

use super::{Align, Table};

impl Table {
    /// The table as people read it, in markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            text += &format!("**{}**\n\n", escaped(&self.title));
        }
        text += &line(self.columns.iter().map(|column| escaped(&column.title)));
        text += &line(self.columns.iter().map(|column| match column.align {
            Align::Left => "---".to_string(),
            Align::Right => "---:".to_string(),
        }));
        for row in &self.rows {
            text += &line(row.iter().map(|cell| escaped(&cell.text)));
        }
        for note in &self.notes {
            text += &format!("\n{}\n", escaped(note));
        }
        text
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('\n', " ")
}
