//! The part of a run that figures are taken from.

use fairground_model::{InGroup, Sink, TaskInfo, TraceEvent};
use fairground_stdx::units::parse_ns;
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// A part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its first instant.
    pub start: Instant,
    /// Its last instant.
    pub end: Instant,
}

impl Window {
    /// The whole run.
    pub const ALL: Window = Window { start: Instant::ZERO, end: Instant::MAX };

    /// Whether an instant lies in the window, both ends included.
    #[inline]
    pub fn holds(self, at: Instant) -> bool {
        self.start <= at && at <= self.end
    }
    /// The length of `start..end` that lies in the window; `None` if nothing does.
    pub fn overlap(self, start: Instant, end: Instant) -> Option<Ns> {
        let (low, high) = (start.max(self.start), end.min(self.end));
        (low < high).then(|| high.since(low))
    }
}

/// A moment of a recording as people name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// What the clock of the recording shows, in ns: `2105.336885`, in seconds as perf and trace-cmd print it.
    Clock(u64),
    /// As long after the beginning: `1.5s`, `+1.5`.
    After(Ns),
}

/// perf and trace-cmd print whole microseconds, so a time may be less than this before or behind what is meant.
const PRINTED_NS: u64 = 1_000;

impl Moment {
    /// Reads a moment; `None` if the text is none.
    pub fn parse(text: &str) -> Option<Moment> {
        let text = text.trim();
        let seconds = |number: &str| parse_ns(&format!("{number}s")).ok();
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '.') && !has_unit(text);
        match text.strip_prefix('+').map(str::trim_start) {
            Some(after) if is_number(after) => seconds(after).map(Moment::After),
            Some(after) => parse_ns(after).ok().map(Moment::After),
            None if is_number(text) => seconds(text).map(|clock| Moment::Clock(clock.0)),
            None => parse_ns(text).ok().map(Moment::After),
        }
    }
    /// The instant that is meant where the clock shows `epoch_ns` at the instant 0. `None` = it is before that, or too late for any run.
    pub fn instant(self, epoch_ns: u64) -> Option<Instant> {
        let ns = match self {
            Moment::Clock(clock) if clock < epoch_ns && epoch_ns - clock < PRINTED_NS => 0,
            Moment::Clock(clock) => clock.checked_sub(epoch_ns)?,
            Moment::After(after) => after.0,
        };
        Some(Instant::from_ns(ns)).filter(|&at| at <= Instant::MAX)
    }
    /// Whether it lies between two instants, as exactly as it is printed.
    pub fn is_within(self, epoch_ns: u64, first: Instant, last: Instant) -> bool {
        self.instant(epoch_ns).is_some_and(|at| first.ns() <= at.ns() + PRINTED_NS && at.ns() < last.ns() + PRINTED_NS)
    }
}

fn has_unit(text: &str) -> bool {
    text.contains(|c: char| c.is_alphabetic())
}

/// A part of a recording as people name it: `A,B`, `A,` or `,B`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// Its first moment; else the beginning.
    pub from: Option<Moment>,
    /// Its last moment; else the end.
    pub to: Option<Moment>,
}

impl Interval {
    /// Reads an interval; `None` if the text is none.
    pub fn parse(text: &str) -> Option<Interval> {
        let (from, to) = text.split_once(',')?;
        let side = |text: &str| if text.trim().is_empty() { Some(None) } else { Moment::parse(text).map(Some) };
        Some(Interval { from: side(from)?, to: side(to)? })
    }
    /// The part of the run, where the clock shows `epoch_ns` at the instant 0. A moment that the run does not have leaves nothing.
    pub fn window(self, epoch_ns: u64) -> Window {
        let instant = |moment: Option<Moment>, default| moment.map_or(Some(default), |moment| moment.instant(epoch_ns));
        match (instant(self.from, Instant::ZERO), instant(self.to, Instant::MAX)) {
            (Some(start), Some(end)) => Window { start, end },
            _ => Window { start: Instant::MAX, end: Instant::ZERO },
        }
    }
}

/// Passes on the records of an interval.
pub struct Clip<'a> {
    interval: Interval,
    window: Window,
    sink: &'a mut dyn Sink,
}

impl<'a> Clip<'a> {
    /// Hands on what lies in the interval to `sink`.
    pub fn new(interval: Interval, sink: &'a mut dyn Sink) -> Clip<'a> {
        Clip { interval, window: interval.window(0), sink }
    }
}

impl Sink for Clip<'_> {
    fn epoch(&mut self, clock_ns: u64) {
        self.window = self.interval.window(clock_ns);
        self.sink.epoch(clock_ns);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.sink.task(task, info);
    }
    fn group(&mut self, at: Instant, cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        if at < self.window.start {
            // It is there when the interval begins.
            self.sink.group(self.window.start, cpu, task, InGroup::Is(group.path()));
        } else if self.window.holds(at) {
            self.sink.group(at, cpu, task, group);
        }
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if self.window.holds(at) {
            self.sink.record(at, cpu, event);
        }
    }
    fn inferred(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if self.window.holds(at) {
            self.sink.inferred(at, cpu, event);
        }
    }
    fn wants_samples(&self) -> bool {
        self.sink.wants_samples()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_of_the_clock_or_from_the_beginning() {
        let known = [
            ("2105.336885", Some(Moment::Clock(2_105_336_885_000))),
            ("12", Some(Moment::Clock(12_000_000_000))),
            ("+0.5", Some(Moment::After(Ns(500_000_000)))),
            ("+20ms", Some(Moment::After(Ns(20_000_000)))),
            ("1.5s", Some(Moment::After(Ns(1_500_000_000)))),
            ("soon", None),
            ("-1", None),
            ("", None),
            ("+", None),
        ];
        for (text, moment) in known {
            assert_eq!(Moment::parse(text), moment, "{text}");
        }
    }

    #[test]
    fn an_interval_becomes_a_window_by_the_clock() {
        let window = |text: &str| Interval::parse(text).map(|interval| interval.window(100_000_000_000));
        let of = |start, end| Some(Window { start: Instant::from_ns(start), end: Instant::from_ns(end) });
        assert_eq!(window("100.5,+2"), of(500_000_000, 2_000_000_000));
        assert_eq!(window(",101"), of(0, 1_000_000_000));
        assert_eq!(window("250ms,").unwrap().start, Instant::from_ns(250_000_000));
        assert!(window("5,6").is_some_and(|window| !window.holds(Instant::ZERO)), "before the recording began");
        for text in ["1", "1,2,3", "a,b", "1;2"] {
            assert_eq!(window(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_that_was_cut_to_microseconds_is_within() {
        let (epoch, first, last) = (5_000_000_700, Instant::ZERO, Instant::from_ns(1_000_000));
        let within = |clock| Moment::Clock(clock).is_within(epoch, first, last);
        assert!(within(5_000_000_000) && within(5_001_001_000) && !within(4_999_999_000) && !within(5_001_002_000));
    }
}
