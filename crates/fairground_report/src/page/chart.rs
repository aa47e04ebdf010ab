//! Curves, as SVG.

use super::axis::{Axis, Range};
use super::html::escaped;
use std::fmt::{self, Write};

/// One point of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Its place on the axis across.
    pub x: f64,
    /// Its value.
    pub y: f64,
    /// The interval around the value, if it has one.
    pub band: Option<(f64, f64)>,
}

/// One curve.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// Its points from left to right.
    pub points: Vec<Point>,
}

/// A chart of one or several curves.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The axis across.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
    /// Values of the upper axis to draw a line at, such as a goal, each with what it is.
    pub lines: Vec<(f64, String)>,
    /// A line that stands under the chart; may be empty.
    pub note: String,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 320.0;
/// Room left for the marks: left, right, above, below.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 48.0;
/// Colours of curves in the style sheet.
const COLOURS: usize = 8;

/// The two axes of a chart.
struct Plane {
    x: Range,
    y: Range,
}

impl Plane {
    fn left(&self, x: f64) -> f64 {
        LEFT + self.x.place(x) * (WIDTH - LEFT - RIGHT)
    }
    fn top(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.place(y) * (HEIGHT - TOP - BOTTOM)
    }
    /// `x,y x,y …`
    fn path(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        points.fold(String::new(), |mut path, (x, y)| {
            let _ = write!(path, "{:.1},{:.1} ", self.left(x), self.top(y));
            path
        })
    }
}

impl Chart {
    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heights = self
            .points()
            .flat_map(|point| [point.y, point.band.map_or(point.y, |band| band.0), point.band.map_or(point.y, |band| band.1)]);
        let plane = Plane {
            x: self.x.over(self.points().map(|point| point.x)),
            y: self.y.over(heights.chain(self.lines.iter().map(|line| line.0))),
        };
        writeln!(f, "<figure class=\"chart\">\n<figcaption>{}</figcaption>", escaped(&self.title))?;
        writeln!(f, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escaped(&self.title))?;
        self.grid(f, &plane)?;
        for (index, (value, name)) in self.lines.iter().enumerate() {
            let top = plane.top(*value);
            writeln!(f, "<line class=\"goal\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{top:.1}\" y2=\"{top:.1}\"/>", WIDTH - RIGHT)?;
            // The names of lines that lie close together stand at the two ends in turn.
            let (class, x) = if index % 2 == 0 { ("goal", WIDTH - RIGHT) } else { ("goal left", LEFT + 4.0) };
            writeln!(f, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>", top - 4.0, escaped(name))?;
        }
        for (index, series) in self.series.iter().enumerate() {
            self.curve(f, &plane, index, series)?;
        }
        writeln!(f, "</svg>\n<div class=\"legend\">")?;
        for (index, series) in self.series.iter().enumerate() {
            writeln!(f, "<span class=\"s{}\"><i></i>{}</span>", index % COLOURS, escaped(&series.name))?;
        }
        writeln!(f, "</div>")?;
        if !self.note.is_empty() {
            writeln!(f, "<p class=\"note\">{}</p>", escaped(&self.note))?;
        }
        writeln!(f, "</figure>")
    }
    fn grid(&self, f: &mut fmt::Formatter<'_>, plane: &Plane) -> fmt::Result {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for (value, text) in plane.x.marks() {
            let x = plane.left(value);
            writeln!(f, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>")?;
            writeln!(f, "<text class=\"x\" x=\"{x:.1}\" y=\"{}\">{}</text>", bottom + 16.0, escaped(&text))?;
        }
        for (value, text) in plane.y.marks() {
            let y = plane.top(value);
            writeln!(f, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>")?;
            writeln!(f, "<text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>", LEFT - 6.0, y + 4.0, escaped(&text))?;
        }
        let (middle_x, middle_y) = ((LEFT + right) / 2.0, (TOP + bottom) / 2.0);
        writeln!(f, "<text class=\"label\" x=\"{middle_x}\" y=\"{}\">{}</text>", HEIGHT - 10.0, escaped(&self.x.label))?;
        writeln!(f, "<text class=\"label\" transform=\"translate(14 {middle_y}) rotate(-90)\">{}</text>", escaped(&self.y.label))
    }
    fn curve(&self, f: &mut fmt::Formatter<'_>, plane: &Plane, index: usize, series: &Series) -> fmt::Result {
        writeln!(
            f,
            "<g class=\"s{}\" data-series=\"{}\" data-points=\"{}\">",
            index % COLOURS,
            escaped(&series.name),
            series.points.len()
        )?;
        let bands = || series.points.iter().filter_map(|point| point.band.map(|band| (point.x, band)));
        if bands().count() > 1 {
            let upper: Vec<(f64, f64)> = bands().map(|(x, band)| (x, band.1)).collect();
            let lower = bands().map(|(x, band)| (x, band.0));
            writeln!(f, "<polygon points=\"{}\"/>", plane.path(lower.chain(upper.into_iter().rev())))?;
        }
        writeln!(f, "<polyline points=\"{}\"/>", plane.path(series.points.iter().map(|point| (point.x, point.y))))?;
        for point in &series.points {
            let (x, y) = (plane.left(point.x), plane.top(point.y));
            let band = point.band.map_or(String::new(), |(low, high)| {
                format!(" ({} to {})", self.y.quantity.shown(low), self.y.quantity.shown(high))
            });
            let text = format!("{}: {}, {}{band}", series.name, self.x.quantity.shown(point.x), self.y.quantity.shown(point.y));
            writeln!(f, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"><title>{}</title></circle>", escaped(&text))?;
        }
        writeln!(f, "</g>")
    }
}
