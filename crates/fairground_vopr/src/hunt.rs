//! Many cases, one after the other.

use crate::case::Case;
use crate::coverage::Coverage;
use crate::run::{CaseReport, Failure, failure_as_it_is, run_case, run_this};
use fairground_model::Digest;
use fairground_scenario::Control;
use fairground_stdx::units;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Which cases are run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hunt {
    /// The seeds, in this order.
    pub seeds: Range<u64>,
    /// No further case begins after so long.
    pub time: Option<Duration>,
}

/// What a hunt came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Found {
    /// Cases that held.
    pub runs: u64,
    /// Ticks, switches and wake-ups in them, each counted in one of its runs.
    pub events: u64,
    /// Migrations in them.
    pub migrations: u64,
    /// What they touched.
    pub coverage: Coverage,
    /// Digest over their digests.
    pub digest: u128,
    /// The first that did not hold.
    pub failure: Option<Box<Failure>>,
    /// The caller stopped it.
    pub interrupted: bool,
}

impl Found {
    fn add(&mut self, report: &CaseReport) {
        self.runs += 1;
        self.events += report.counts.events();
        self.migrations += report.counts.migrations;
        self.coverage.add(&report.coverage);
    }
}

/// Reads a length of time with its unit.
pub fn time_limit(text: &str) -> Result<Duration, units::UnitError> {
    units::parse_ns(text).map(|time| Duration::from_nanos(time.0))
}

/// Runs one case under the same checks; if it fails it is made smaller where that is wanted.
pub fn replay(case: Case, smaller: bool) -> Found {
    let mut found = Found::default();
    let run = if smaller { run_this } else { failure_as_it_is };
    match run(case, |_| Ok(())) {
        Ok(report) => {
            found.add(&report);
            found.digest = report.digest;
        }
        Err(failure) => found.failure = Some(failure),
    }
    found
}

/// Runs the cases until one fails, their time is up, or the caller stops it.
pub fn hunt(plan: &Hunt, control: Control<'_>) -> Found {
    let began = Instant::now();
    let total = plan.seeds.end.saturating_sub(plan.seeds.start);
    let (mut found, mut digest) = (Found::default(), Digest::default());
    for seed in plan.seeds.clone() {
        if control.stopped() {
            found.interrupted = true;
            break;
        }
        let elapsed = began.elapsed();
        if plan.time.is_some_and(|time| elapsed >= time) {
            break;
        }
        match plan.time {
            Some(time) => control.at(elapsed.as_millis() as u64, time.as_millis() as u64),
            None => control.at(found.runs, total),
        }
        match run_case(seed) {
            Ok(report) => {
                found.add(&report);
                digest.bytes(&report.digest.to_le_bytes());
            }
            Err(failure) => {
                found.failure = Some(failure);
                break;
            }
        }
    }
    found.digest = digest.value();
    found
}
