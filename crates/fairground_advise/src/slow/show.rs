//! Where the time of requests goes: as tables, in the document, and as pictures.

use super::pool::Strip;
use super::request::{Request, STATES, Span, State};
use super::{Slow, SlowRequest};
use crate::text::cpus_of;
use fairground_report::page::{Axis, Bar, Bars, Block, Chart, Lane, Page, Point, Quantity, Scale, Series, Stretch, Waterfall};
use fairground_report::units::{format_count, format_ns};
use fairground_report::{Cell, Column, Table, columns};
use fairground_stdx::{Instant, Ns};
use serde_json::{Value, json};

/// The classes of lengths of stalls by their upper ends, ms; one more is beyond.
pub(crate) const STALLS_MS: [u64; 9] = [1, 2, 5, 10, 20, 50, 100, 200, 500];
/// Threads that are named as users of the quota.
const NAMED: usize = 8;
/// Refills that are told one by one.
const SHOWN_REFILLS: usize = 6;

/// Lanes of threads beside the one of the request.
const LANES: usize = 24;

impl Slow {
    /// The shares of all requests, of the slowest hundredth and of the slowest one, in each state.
    pub(crate) fn shares_table(&self, permille: u64, name: &str) -> Table {
        let mut columns = columns![left "requests", right "count", right "mean" "mean_ns"];
        columns.extend(STATES.map(|state| Column::right(state.name(), format!("{}_pct", state.key()))));
        let title = format!("Where the time of requests goes at {} CPUs", cpus_of(self.limit));
        let mut table = Table::new("shares", title, columns);
        for (what, from) in [("all".to_string(), 0), (format!("from {name} on"), permille), ("the slowest".to_string(), 1000)] {
            let requests = self.from(from);
            let whole: u128 = requests.iter().map(|request| u128::from(request.latency().0)).sum();
            let mean = u64::try_from(whole / requests.len().max(1) as u128).unwrap_or(u64::MAX);
            let mut cells: Vec<Cell> = vec![what.into(), (requests.len() as u64).into(), Cell::new(format_ns(Ns(mean)), mean)];
            cells.extend(STATES.map(|state| percent(part(requests, state), whole)));
            table.push(cells);
        }
        table.note("the first seed; a request waits for a worker until one takes it, and is then where its worker is");
        table
    }
    /// The states in which the slowest requests spend most of their time, as a clause.
    pub(crate) fn where_time_goes(&self, permille: u64) -> String {
        let requests = self.from(permille);
        let whole: u128 = requests.iter().map(|request| u128::from(request.latency().0)).sum();
        let mut shares: Vec<(u128, &str)> =
            STATES.map(|state| (part(requests, state) * 100 / whole.max(1), state.name())).into_iter().collect();
        shares.sort_unstable_by_key(|row| std::cmp::Reverse(row.0));
        let told: Vec<String> =
            shares.iter().filter(|row| row.0 >= 5).map(|(percent, name)| format!("{percent} % {name}")).collect();
        format!("time of requests from {} on: {}", crate::goal::percentile_name(permille), told.join(", "))
    }
    /// How long queues of CPUs stood still.
    pub(crate) fn stalls_table(&self) -> Table {
        let columns = columns![
            left "length", right "stalls" "count", right "together" "total_ns", right "longest" "longest_ns",
        ];
        let mut table =
            Table::new("stalls", format!("How long CPUs stood still for want of quota at {} CPUs", cpus_of(self.limit)), columns);
        for (name, stalls) in self.stall_classes() {
            let total = stalls.iter().map(|stall| stall.0).sum::<u64>();
            let longest = stalls.last().copied().unwrap_or_default();
            let time = |ns: u64| Cell::new(format_ns(Ns(ns)), ns);
            table.push(vec![name.into(), (stalls.len() as u64).into(), time(total), time(longest.0)]);
        }
        table.note("the first seed; each CPU on which the group was throttled counts for itself");
        table
    }
    /// The classes of lengths that are not beyond the longest stall, each with its stalls.
    pub(crate) fn stall_classes(&self) -> Vec<(String, &[Ns])> {
        let mut classes = Vec::new();
        let mut low = 0;
        for ms in STALLS_MS.into_iter().map(Some).chain([None]) {
            let place = |ms: u64| self.stalls.partition_point(|stall| stall.0 < ms * 1_000_000);
            let stalls = &self.stalls[place(low)..ms.map_or(self.stalls.len(), place)];
            let name = ms.map_or_else(|| format!("{low} ms and more"), |ms| format!("{low} to {ms} ms"));
            classes.push((name, stalls));
            low = ms.unwrap_or(low);
        }
        while classes.last().is_some_and(|class| class.1.is_empty()) {
            classes.pop();
        }
        classes
    }
    /// The slowest request as sentences.
    pub(crate) fn slowest_table(&self) -> Table {
        Table::of_lines("slowest", "The slowest request", self.slowest.lines())
    }
    /// Appends the shares, the slowest request with the pool, and the stalls.
    pub(crate) fn push_to(&self, page: &mut Page, permille: u64, name: &str) {
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
        let bar = |(name, stalls): (String, &[Ns])| {
            let amount = stalls.len() as u64;
            Bar { name, amount, text: format!("{} stalls", format_count(amount)), marked: false }
        };
        Bars {
            title: "How long CPUs stood still for want of quota".to_string(),
            bars: self.stall_classes().into_iter().map(bar).collect(),
            note: "The first seed; each CPU on which the group was throttled counts for itself.".to_string(),
        }
    }
}

impl SlowRequest {
    fn lines(&self) -> Vec<String> {
        let (request, strip) = (&self.request, &self.strip);
        let mut lines = vec![format!(
            "{} from {} on, done by {}: {}",
            format_ns(request.latency()),
            format_ns(request.arrived.since(Instant::ZERO)),
            self.worker,
            parts_text(request),
        )];
        let throttled = self.spans.iter().filter(|span| span.state == State::Throttled);
        lines.extend(throttled.map(|span| {
            let after = format_ns(span.from.saturating_since(request.arrived));
            format!("throttled for {}, {after} after it came", format_ns(span.to.since(span.from)))
        }));
        let empty = strip.empty(request.arrived, request.done);
        let refills = strip.refills.iter().filter(|at| **at >= request.arrived && **at <= request.done);
        let refills: Vec<String> = refills.map(|at| format_ns(at.since(request.arrived))).collect();
        let refilled = match refills.as_slice() {
            [] => ", and was not refilled".to_string(),
            [first, .., last] if refills.len() > SHOWN_REFILLS => {
                format!("; refilled {} times, from {first} to {last} after it came", refills.len())
            }
            some => format!("; refilled {} after it came", some.join(", ")),
        };
        lines.push(format!("the pool was empty for {} of it{refilled}", format_ns(empty)));
        lines.push(format!("who used the quota from {} before it came until it was done: {}", self.lead(), drinkers(strip)));
        lines
    }
    /// How long before the request the strip begins.
    fn lead(&self) -> String {
        format_ns(self.request.arrived.saturating_since(self.strip.from))
    }
    /// The request in the document.
    pub(crate) fn json(&self) -> Value {
        let request = &self.request;
        let span = |span: &Span| json!({ "from_ns": span.from.ns(), "to_ns": span.to.ns(), "state": span.state.key() });
        let parts: serde_json::Map<String, Value> =
            STATES.iter().map(|state| (format!("{}_ns", state.key()), request.parts[*state as usize].0.into())).collect();
        let used: Vec<Value> =
            self.strip.threads.iter().map(|row| json!({ "thread": row.0, "ran_ns": Strip::ran(&row.1).0 })).collect();
        json!({
            "arrived_ns": request.arrived.ns(),
            "latency_ns": request.latency().0,
            "worker": self.worker,
            "parts": parts,
            "spans": self.spans.iter().map(span).collect::<Vec<_>>(),
            "pool_empty_ns": self.strip.empty(request.arrived, request.done).0,
            "refills_ns": self.strip.refills.iter().map(|at| at.ns()).collect::<Vec<_>>(),
            "used_from_ns": self.strip.from.ns(),
            "used": used,
        })
    }
}

/// `2.00 ms running, 80.00 ms throttled`.
pub(crate) fn parts_text(request: &Request) -> String {
    let some = STATES.iter().filter(|state| request.parts[**state as usize] > Ns::ZERO);
    some.map(|state| format!("{} {}", format_ns(request.parts[*state as usize]), state.name())).collect::<Vec<_>>().join(", ")
}

/// The threads that ran longest.
fn drinkers(strip: &Strip) -> String {
    let ran: Vec<(&str, Ns)> =
        strip.threads.iter().map(|row| (row.0.as_str(), Strip::ran(&row.1))).filter(|row| row.1 > Ns::ZERO).collect();
    let mut named: Vec<String> = ran.iter().take(NAMED).map(|(name, ran)| format!("{name} {}", format_ns(*ran))).collect();
    let rest: u64 = ran.iter().skip(NAMED).map(|row| row.1.0).sum();
    if rest > 0 {
        named.push(format!("{} others {}", ran.len() - NAMED, format_ns(Ns(rest))));
    }
    if named.is_empty() { "nobody".to_string() } else { named.join(", ") }
}

fn part(requests: &[Request], state: State) -> u128 {
    requests.iter().map(|request| u128::from(request.parts[state as usize].0)).sum()
}

fn percent(part: u128, whole: u128) -> Cell {
    Cell::percent(u64::try_from(part * 10_000 / whole.max(1)).unwrap_or(u64::MAX))
}
