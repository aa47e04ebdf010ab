//! Counts of classes as bars.

use super::html::escaped;
use crate::units::format_count;
use std::fmt;

/// How many there are of each class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bars {
    /// What it shows.
    pub title: String,
    /// The classes in order with their counts.
    pub bars: Vec<(String, u64)>,
    /// What is counted.
    pub unit: String,
    /// A line that stands under the bars; may be empty.
    pub note: String,
}

impl Bars {
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "<figure class=\"bars\">\n<figcaption>{}</figcaption>\n<div class=\"window\"><table>", escaped(&self.title))?;
        let most = self.bars.iter().map(|bar| bar.1).max().unwrap_or(0).max(1);
        for (name, count) in &self.bars {
            // Whole thousandths of the width.
            let width = u128::from(*count) * 1000 / u128::from(most);
            writeln!(
                f,
                "<tr><th>{}</th><td class=\"n\">{} {}</td><td class=\"bar\" data-count=\"{count}\"><i style=\"width:{}.{}%\"></i></td></tr>",
                escaped(name),
                format_count(*count),
                escaped(&self.unit),
                width / 10,
                width % 10,
            )?;
        }
        writeln!(f, "</table></div>")?;
        if !self.note.is_empty() {
            writeln!(f, "<p class=\"note\">{}</p>", escaped(&self.note))?;
        }
        writeln!(f, "</figure>")
    }
}
