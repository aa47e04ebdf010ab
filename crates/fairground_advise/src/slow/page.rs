//! The slowest request and the stalls as pictures.

use super::super::text::cpus_of;
use super::Slow;
use super::request::{STATES, Span};
use fairground_report::page::{Axis, Bars, Block, Chart, Lane, Page, Point, Quantity, Scale, Series, Stretch, Waterfall};
use fairground_report::units::format_ns;
use fairground_stdx::{Instant, Ns};

/// Lanes of threads beside the one of the request.
const LANES: usize = 24;

impl Slow {
    /// Appends the shares, the slowest request with the pool, and the stalls.
    pub(in super::super) fn push_to(&self, page: &mut Page, permille: u64, name: &str) {
        page.heading("Where the time goes").push(Block::Table(self.shares_table(permille, name)));
        page.push(Block::Table(self.slowest_table()))
            .push(Block::Waterfall(self.waterfall()))
            .push(Block::Chart(self.pool_chart()));
        if !self.stalls.is_empty() {
            page.push(Block::Bars(self.bars()));
        }
        page.push(Block::Table(self.stalls_table()));
    }
    fn waterfall(&self) -> Waterfall {
        let (request, strip) = (&self.slowest.request, &self.slowest.strip);
        let since = |at: Instant| at.saturating_since(strip.from).0;
        let stretch = |span: &Span| Stretch { from: since(span.from), to: since(span.to), kind: span.state as usize };
        let lane = |name: String, spans: &[Span]| Lane { name, stretches: spans.iter().map(stretch).collect() };
        let mut lanes = vec![lane("the request".to_string(), &self.slowest.spans)];
        lanes.extend(strip.threads.iter().take(LANES).map(|(name, spans)| lane(name.clone(), spans)));
        let left_out = strip.threads.len().saturating_sub(LANES);
        let more = if left_out > 0 { format!(" {left_out} more threads are not drawn.") } else { String::new() };
        Waterfall {
            title: format!(
                "The slowest request, {}: where it was, and what all threads of the group did",
                format_ns(request.latency())
            ),
            start: strip.from.ns(),
            length: since(strip.to),
            kinds: STATES.map(|state| (state.key().to_string(), state.name().to_string())).into(),
            lanes,
            marks: strip.refills.iter().map(|at| since(*at)).collect(),
            mark: "the pool was refilled".to_string(),
            note: format!("From {} before the request came.{more}", format_ns(request.arrived.saturating_since(strip.from))),
        }
    }
    /// The pool over the same time: it stays as it is until it changes.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    fn pool_chart(&self) -> Chart {
        let strip = &self.slowest.strip;
        let x = |at: Instant| at.saturating_since(strip.from).0 as f64;
        let steps = |of: fn(&super::Level) -> Ns| {
            let ends = strip.levels.iter().skip(1).map(|level| level.at).chain([strip.to]);
            let pairs = strip.levels.iter().zip(ends);
            let point = |at: Instant, y: Ns| Point { x: x(at), y: y.0 as f64, band: None };
            pairs.flat_map(|(level, end)| [point(level.at, of(level)), point(end, of(level))]).collect::<Vec<Point>>()
        };
        Chart {
            title: format!("The pool of the group at {} CPUs", cpus_of(self.limit)),
            x: Axis::new("time, as above", Scale::Linear, Quantity::Time),
            y: Axis::new("quota that is left", Scale::Linear, Quantity::Time),
            series: vec![
                Series { name: "in the pool".to_string(), points: steps(|level| level.pool) },
                Series { name: "on CPUs".to_string(), points: steps(|level| level.held) },
            ],
            lines: Vec::new(),
            note: "What is on CPUs was taken from the pool in slices, and is there for the threads that run on them.".to_string(),
        }
    }
    fn bars(&self) -> Bars {
        Bars {
            title: "How long CPUs stood still for want of quota".to_string(),
            bars: self.stall_classes().into_iter().map(|(name, stalls)| (name, stalls.len() as u64)).collect(),
            unit: "stalls".to_string(),
            note: "The first seed; each CPU on which the group was throttled counts for itself.".to_string(),
        }
    }
}
