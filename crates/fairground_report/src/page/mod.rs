//! A page for a browser: one HTML file that holds everything it shows and asks the network for nothing.
//!
//! A page is a list of blocks. Tables, charts and heat maps are plain HTML and SVG, readable without a script and on paper; only the
//! timeline of CPUs is drawn by the script that stands at the end of the page.

mod axis;
mod bars;
mod chart;
mod heat_map;
pub(crate) mod html;
mod timeline;
mod waterfall;

pub use axis::{Axis, Quantity, Scale};
pub use bars::{Bar, Bars};
pub use chart::{Chart, Point, Series};
pub use heat_map::{HeatCell, HeatMap};
pub use timeline::{Owner, TimelineBlock};
pub use waterfall::{Lane, Stretch, Waterfall};

use crate::table::{Align, Table};
use html::escaped;
use std::fmt;

/// One piece of a page.
#[derive(Clone, PartialEq, Debug)]
pub enum Block {
    /// A heading; the page's list of contents has it.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
    /// Curves.
    Chart(Chart),
    /// A value for each pair of two things.
    HeatMap(HeatMap),
    /// Amounts side by side.
    Bars(Bars),
    /// What several things were at over one stretch of time.
    Waterfall(Waterfall),
    /// What CPUs did when.
    Timeline(TimelineBlock),
    /// Text to copy, such as a piece of configuration: its title, and the text.
    Snippet(String, String),
}

/// A page.
#[derive(Clone, PartialEq, Debug)]
pub struct Page {
    title: String,
    facts: Vec<(String, String)>,
    blocks: Vec<Block>,
}

impl Page {
    /// A page without blocks.
    pub fn new(title: impl Into<String>) -> Page {
        Page { title: title.into(), facts: Vec::new(), blocks: Vec::new() }
    }
    /// Adds a line to what stands under the title: where the figures come from.
    pub fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) -> &mut Page {
        self.facts.push((name.into(), value.into()));
        self
    }
    /// Appends a block.
    pub fn push(&mut self, block: Block) -> &mut Page {
        self.blocks.push(block);
        self
    }
    /// Appends a heading.
    pub fn heading(&mut self, text: impl Into<String>) -> &mut Page {
        self.push(Block::Heading(text.into()))
    }
}

/// Nothing may be loaded: the browser itself holds the page to that.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The whole file.
impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = escaped(&self.title);
        writeln!(f, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
        writeln!(f, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
        writeln!(f, "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">")?;
        writeln!(f, "<meta name=\"generator\" content=\"fairground {}\">", env!("CARGO_PKG_VERSION"))?;
        writeln!(f, "<title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>", include_str!("page.css"))?;
        writeln!(f, "<header>\n<h1>{title}</h1>\n<dl class=\"facts\">")?;
        for (name, value) in &self.facts {
            writeln!(f, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value))?;
        }
        writeln!(f, "</dl>")?;
        self.contents(f)?;
        writeln!(f, "</header>\n<main>")?;
        for (number, block) in self.blocks.iter().enumerate() {
            write_block(f, number, block)?;
        }
        writeln!(f, "</main>")?;
        if self.blocks.iter().any(|block| matches!(block, Block::Timeline(_))) {
            writeln!(f, "<script>\n{}</script>", include_str!("page.js"))?;
        }
        writeln!(f, "</body>\n</html>")
    }
}

impl Page {
    fn contents(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings = self.blocks.iter().enumerate().filter_map(|(number, block)| match block {
            Block::Heading(text) => Some((number, text)),
            _ => None,
        });
        let links: Vec<String> = headings.map(|(number, text)| format!("<a href=\"#h{number}\">{}</a>", escaped(text))).collect();
        if links.len() < 2 { Ok(()) } else { writeln!(f, "<nav>{}</nav>", links.join("\n")) }
    }
}

fn write_block(f: &mut fmt::Formatter<'_>, number: usize, block: &Block) -> fmt::Result {
    match block {
        Block::Heading(text) => writeln!(f, "<h2 id=\"h{number}\">{}</h2>", escaped(text)),
        Block::Text(text) => writeln!(f, "<p>{}</p>", escaped(text)),
        Block::Table(table) => write_table(f, table),
        Block::Chart(chart) => chart.write(f),
        Block::HeatMap(map) => map.write(f),
        Block::Bars(bars) => bars.write(f),
        Block::Waterfall(waterfall) => waterfall.write(f),
        Block::Timeline(timeline) => timeline.write(f, number),
        Block::Snippet(title, text) => {
            writeln!(
                f,
                "<figure class=\"snippet\"><figcaption>{}</figcaption><pre>{}</pre></figure>",
                escaped(title),
                escaped(text)
            )
        }
    }
}

/// Tables of more rows are cut off by a window of their own; on paper all rows stand.
const TALL: usize = 30;

fn write_table(f: &mut fmt::Formatter<'_>, table: &Table) -> fmt::Result {
    let tall = if table.rows().len() > TALL { " tall" } else { "" };
    writeln!(f, "<figure class=\"table{tall}\" data-table=\"{}\">", escaped(&table.name))?;
    if !table.title.is_empty() {
        writeln!(f, "<figcaption>{}</figcaption>", escaped(&table.title))?;
    }
    if !table.lines().is_empty() {
        writeln!(f, "<pre>{}</pre>", escaped(&table.lines().join("\n")))?;
    } else {
        let class = |index: usize| if table.columns()[index].align == Align::Right { " class=\"n\"" } else { "" };
        write!(f, "<div class=\"window\"><table>\n<thead><tr>")?;
        for (index, column) in table.columns().iter().enumerate() {
            write!(f, "<th{}>{}</th>", class(index), escaped(&column.title))?;
        }
        writeln!(f, "</tr></thead>\n<tbody>")?;
        for row in table.rows() {
            write!(f, "<tr>")?;
            for (index, cell) in row.iter().enumerate() {
                write!(f, "<td{}>{}</td>", class(index), escaped(&cell.text))?;
            }
            writeln!(f, "</tr>")?;
        }
        writeln!(f, "</tbody>\n</table></div>")?;
    }
    table.notes().iter().try_for_each(|note| writeln!(f, "<p class=\"note\">{}</p>", escaped(note)))?;
    writeln!(f, "</figure>")
}

#[cfg(test)]
mod tests;
