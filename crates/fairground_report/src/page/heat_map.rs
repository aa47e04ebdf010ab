//! A heat map: a table whose cells are coloured by their values.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for display only")]

use super::html::escaped;
use std::fmt;

/// One cell of a heat map.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatCell {
    /// What stands in it.
    pub text: String,
    /// What its colour goes by; `None` has no colour.
    pub value: Option<f64>,
    /// Whether it has a frame, as a choice has.
    pub marked: bool,
}

/// A value for each pair of two things.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// What the columns are, and each of them.
    pub x: (String, Vec<String>),
    /// What the rows are, and each of them.
    pub y: (String, Vec<String>),
    /// The cells, row by row.
    pub cells: Vec<Vec<HeatCell>>,
    /// Whether colours go by the logarithm of values.
    pub log: bool,
    /// A line that stands under the map; may be empty.
    pub note: String,
}

/// Colours in the style sheet, from the lowest to the highest.
const COLOURS: f64 = 10.0;

impl HeatMap {
    /// The colour of a value: 0 for the lowest.
    fn colour(&self, value: f64) -> usize {
        let place = |value: f64| if self.log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let values = self.cells.iter().flatten().filter_map(|cell| cell.value).filter(|value| value.is_finite());
        let all = values.filter(|value| !self.log || *value > 0.0).map(place);
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
        // One value alone has the lowest colour; a NaN becomes 0.
        let share = if high > low { ((place(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        (share * (COLOURS - 1.0)).round() as usize
    }
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "<figure class=\"heat\">\n<figcaption>{}</figcaption>\n<div class=\"window\"><table>", escaped(&self.title))?;
        let corner = format!("{} \\ {}", self.y.0, self.x.0);
        write!(f, "<thead><tr><th>{}</th>", escaped(&corner))?;
        self.x.1.iter().try_for_each(|name| write!(f, "<th>{}</th>", escaped(name)))?;
        writeln!(f, "</tr></thead>\n<tbody>")?;
        for (name, row) in self.y.1.iter().zip(&self.cells) {
            write!(f, "<tr><th>{}</th>", escaped(name))?;
            for cell in row {
                let colour = cell.value.map_or(String::new(), |value| format!("h{}", self.colour(value)));
                let mark = if cell.marked { " marked" } else { "" };
                write!(f, "<td class=\"{colour}{mark}\">{}</td>", escaped(&cell.text))?;
            }
            writeln!(f, "</tr>")?;
        }
        writeln!(f, "</tbody>\n</table></div>")?;
        if !self.note.is_empty() {
            writeln!(f, "<p class=\"note\">{}</p>", escaped(&self.note))?;
        }
        writeln!(f, "</figure>")
    }
}
