//! What several things were at over one stretch of time: a lane each, as SVG.

use super::axis::{Axis, Quantity, Range, Scale};
use super::html::escaped;
use crate::units::format_ns;
use fairground_stdx::Ns;
use std::fmt;

/// A stretch of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// From, ns after the start.
    pub from: u64,
    /// To.
    pub to: u64,
    /// Of which kind, by its place in the list.
    pub kind: usize,
}

/// One lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// Whose it is.
    pub name: String,
    /// Its stretches in order.
    pub stretches: Vec<Stretch>,
}

/// Lanes over one stretch of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waterfall {
    /// What it shows.
    pub title: String,
    /// The instant at which it begins, ns.
    pub start: u64,
    /// How long it is, ns.
    pub length: u64,
    /// Kinds of stretches: a key for colours and a name for people.
    pub kinds: Vec<(String, String)>,
    /// The lanes from above.
    pub lanes: Vec<Lane>,
    /// Instants at which a line is drawn, ns after the start.
    pub marks: Vec<u64>,
    /// What happened at these.
    pub mark: String,
    /// A line that stands under it; may be empty.
    pub note: String,
}

const WIDTH: f64 = 760.0;
/// Room left for the marks: left and right as in a chart, so that one of the same time can stand below; below.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 24.0;
/// Height of a lane, and of what is drawn in it.
const LANE: f64 = 18.0;
const BAR: f64 = 13.0;

impl Waterfall {
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = Axis::new("", Scale::Linear, Quantity::Time).over([0.0, self.length as f64].into_iter());
        let bottom = self.lanes.len() as f64 * LANE + 4.0;
        writeln!(f, "<figure class=\"chart waterfall\" data-start=\"{}\" data-length=\"{}\">", self.start, self.length)?;
        writeln!(f, "<figcaption>{}</figcaption>", escaped(&self.title))?;
        writeln!(f, "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\">", bottom + BOTTOM)?;
        for (value, text) in range.marks() {
            let x = left(&range, value);
            writeln!(f, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>")?;
            writeln!(f, "<text class=\"x\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>", bottom + 15.0, escaped(&text))?;
        }
        for (row, lane) in self.lanes.iter().enumerate() {
            self.lane(f, &range, row as f64 * LANE + 2.0, lane)?;
        }
        for mark in &self.marks {
            let x = left(&range, *mark as f64);
            writeln!(f, "<line class=\"mark\" data-at=\"{mark}\" x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>")?;
        }
        writeln!(f, "</svg>\n<div class=\"legend\">")?;
        let used = |kind: usize| self.lanes.iter().flat_map(|lane| &lane.stretches).any(|stretch| stretch.kind == kind);
        for (_, (key, name)) in self.kinds.iter().enumerate().filter(|row| used(row.0)) {
            writeln!(f, "<span class=\"k-{}\"><i></i><span>{}</span></span>", escaped(key), escaped(name))?;
        }
        if !self.marks.is_empty() {
            writeln!(f, "<span class=\"k-mark\"><i></i><span>{}</span></span>", escaped(&self.mark))?;
        }
        writeln!(f, "</div>")?;
        if !self.note.is_empty() {
            writeln!(f, "<p class=\"note\">{}</p>", escaped(&self.note))?;
        }
        writeln!(f, "</figure>")
    }
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    fn lane(&self, f: &mut fmt::Formatter<'_>, range: &Range, top: f64, lane: &Lane) -> fmt::Result {
        writeln!(f, "<g class=\"lane\" data-lane=\"{}\">", escaped(&lane.name))?;
        let name = escaped(&short(&lane.name));
        writeln!(f, "<text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>", LEFT - 8.0, top + BAR - 2.0)?;
        for stretch in &lane.stretches {
            let (from, to) = (left(range, stretch.from as f64), left(range, stretch.to as f64));
            let (key, kind) = self.kinds.get(stretch.kind).map_or(("", ""), |kind| (kind.0.as_str(), kind.1.as_str()));
            let length = stretch.to.saturating_sub(stretch.from);
            writeln!(
                f,
                "<rect class=\"k-{}\" data-from=\"{}\" data-length=\"{length}\" x=\"{from:.2}\" y=\"{top:.1}\" width=\"{:.2}\" height=\"{BAR}\">\
                 <title>{}: {} from {} on</title></rect>",
                escaped(key),
                stretch.from,
                (to - from).max(0.3),
                escaped(kind),
                format_ns(Ns(length)),
                format_ns(Ns(stretch.from)),
            )?;
        }
        writeln!(f, "</g>")
    }
}

/// Longest name that fits beside a lane, in letters.
const NAME: usize = 12;

fn short(name: &str) -> String {
    match name.chars().count() {
        0..=NAME => name.to_string(),
        _ => name.chars().take(NAME - 1).chain(['…']).collect(),
    }
}

fn left(range: &Range, value: f64) -> f64 {
    LEFT + range.place(value) * (WIDTH - LEFT - RIGHT)
}
