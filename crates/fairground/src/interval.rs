//! `--time A,B` and `--at T`: which part of a recording or a run is meant.

use fairground_formats::ImportStats;
use fairground_metrics::{Moment, Window};
use fairground_scenario::Error;
use fairground_stdx::Instant;

pub use fairground_metrics::Interval;

/// How moments are written.
const HINT: &str =
    "Write a moment in seconds as perf and trace-cmd print it, 2105.336885, or from the beginning of the trace: 1.5s, +1.5.";

/// Reads the moment of a flag.
pub fn moment(flag: &str, text: &str) -> Result<Moment, Error> {
    Moment::parse(text).ok_or_else(|| Error::one("command line", format!("{flag}: `{text}` is no time"), HINT))
}

/// Reads the interval of `--time`; all of it if the flag is left out.
pub fn interval(text: Option<&str>) -> Result<Interval, Error> {
    let Some(text) = text else { return Ok(Interval::default()) };
    let wrong = || Error::one("command line", format!("--time: `{text}` is no interval A,B"), HINT);
    let interval = Interval::parse(text).ok_or_else(wrong)?;
    let Window { start, end } = interval.window(0);
    let comparable = matches!(
        (interval.from, interval.to),
        (Some(Moment::Clock(_)), Some(Moment::Clock(_))) | (Some(Moment::After(_)), Some(Moment::After(_)))
    );
    if comparable && end < start {
        return Err(Error::one("command line", format!("--time: `{text}` ends before it begins"), HINT));
    }
    Ok(interval)
}

/// What of time a recording or a run has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// What its own clock shows at the instant 0, in ns.
    pub epoch_ns: u64,
    /// Its first event.
    pub first: Instant,
    /// Its last event, or the end of the run.
    pub last: Instant,
}

impl Extent {
    pub(crate) fn of(stats: &ImportStats) -> Extent {
        Extent { epoch_ns: stats.offset_ns, first: stats.first_at, last: stats.last_at }
    }
    /// The instant as the recording's own clock shows it, in seconds as perf prints them.
    pub fn seconds(&self, at: Instant) -> String {
        let ns = self.epoch_ns.saturating_add(at.ns());
        format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
    }
    /// Refuses a moment that it does not have.
    pub fn check(&self, flag: &str, moment: Moment) -> Result<(), Error> {
        if moment.is_within(self.epoch_ns, self.first, self.last) {
            return Ok(());
        }
        let said = match moment {
            Moment::Clock(ns) => format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1000),
            Moment::After(after) => format!("+{}.{:06} s", after.0 / 1_000_000_000, after.0 % 1_000_000_000 / 1000),
        };
        let (first, last) = (self.seconds(self.first), self.seconds(self.last));
        let from_start = |at: Instant| format!("{}.{:06}", at.ns() / 1_000_000_000, at.ns() % 1_000_000_000 / 1000);
        let (early, late) = (from_start(self.first), from_start(self.last));
        let message = format!(
            "{flag}: {said} is not in the trace: it goes from {first} to {last} s, from its beginning +{early} to +{late} s"
        );
        Err(Error::one("command line", message, HINT))
    }
    /// Refuses an interval with an end that it does not have, or that holds nothing.
    pub fn check_interval(&self, interval: Interval) -> Result<(), Error> {
        interval.from.into_iter().chain(interval.to).try_for_each(|moment| self.check("--time", moment))?;
        let window = interval.window(self.epoch_ns);
        if window.end < window.start {
            return Err(Error::one("command line", "--time: the interval ends before it begins", HINT));
        }
        Ok(())
    }
}
