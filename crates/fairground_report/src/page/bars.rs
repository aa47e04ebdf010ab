//! Amounts side by side, as bars.

use super::html::escaped;
use std::fmt;

/// One bar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bar {
    /// What it is of.
    pub name: String,
    /// Its length, in any unit.
    pub amount: u64,
    /// The amount as it is shown, with its unit.
    pub text: String,
    /// Whether it is pointed out.
    pub marked: bool,
}

/// Amounts of one kind: how many there are of each class, or a figure of each of several things.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bars {
    /// What it shows.
    pub title: String,
    /// The bars in order.
    pub bars: Vec<Bar>,
    /// A line that stands under the bars; may be empty.
    pub note: String,
}

impl Bars {
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "<figure class=\"bars\">\n<figcaption>{}</figcaption>\n<div class=\"window\"><table>", escaped(&self.title))?;
        let most = self.bars.iter().map(|bar| bar.amount).max().unwrap_or(0).max(1);
        for Bar { name, amount, text, marked } in &self.bars {
            // Whole thousandths of the width.
            let width = u128::from(*amount) * 1000 / u128::from(most);
            writeln!(
                f,
                "<tr{}><th>{}</th><td class=\"n\">{}</td><td class=\"bar\" data-amount=\"{amount}\"><i style=\"width:{}.{}%\"></i></td></tr>",
                if *marked { " class=\"marked\"" } else { "" },
                escaped(name),
                escaped(text),
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
