//! A table that stands in somebody else's page, such as a notebook.

use super::{Align, Table};
use crate::page::html::escaped;

/// Pages of notebooks set text that is not theirs in letters of any width.
const PLAIN: &str = "font-family: monospace; white-space: pre-wrap";

/// Plain text as it stands in somebody else's page: columns stay below each other.
pub fn plain_html(text: &str) -> String {
    format!("<pre style=\"{PLAIN}\">{}</pre>\n", escaped(text))
}

impl Table {
    /// The table with so many rows at most, without scripts and with all its styles on the elements. What was left out is said below it.
    pub fn to_html(&self, most: usize) -> String {
        let mut html = String::new();
        if !self.title.is_empty() {
            html += &format!("<p><b>{}</b></p>\n", escaped(&self.title));
        }
        if self.lines.is_empty() {
            self.push_rows(&mut html, most);
        } else {
            html += &plain_html(&self.lines.join("\n"));
        }
        html.extend(self.notes.iter().map(|note| format!("<p>{}</p>\n", escaped(note))));
        html
    }
    fn push_rows(&self, html: &mut String, most: usize) {
        let side = |place: usize| match self.columns.get(place).map(|column| column.align) {
            Some(Align::Right) => "right",
            Some(Align::Left) | None => "left",
        };
        let row = |kind: &str, cells: &mut dyn Iterator<Item = &str>| {
            let cell = |(place, text)| format!("<{kind} style=\"text-align: {}\">{}</{kind}>", side(place), escaped(text));
            format!("<tr>{}</tr>\n", cells.enumerate().map(cell).collect::<String>())
        };
        *html += "<div style=\"overflow-x: auto\"><table>\n<thead>";
        *html += &row("th", &mut self.columns.iter().map(|column| column.title.as_str()));
        *html += "</thead>\n<tbody>\n";
        html.extend(self.rows.iter().take(most).map(|cells| row("td", &mut cells.iter().map(|cell| cell.text.as_str()))));
        *html += "</tbody>\n</table></div>\n";
        if let Some(more) = self.rows.len().checked_sub(most).filter(|&more| more > 0) {
            *html += &format!("<p>and {more} more</p>\n");
        }
    }
}
