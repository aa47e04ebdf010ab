//! Files that are made of what came out of a whole run.

use super::file::ending;
use crate::run::{RunOutcome, run_page};
use crate::schedstat::ENDING as SCHEDSTAT;
use fairground_formats::schedstat;
use fairground_metrics::Timeline;
use fairground_report::hgrm::hgrm;
use fairground_scenario::Scenario;
use std::path::Path;

/// What such a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfRun {
    /// The counters at its end.
    SchedStat,
    /// A page for a browser.
    Page,
    /// The distribution of wake-up latencies.
    Hgrm,
}

impl OfRun {
    /// What the ending of a file asks for, if it is one of these.
    pub(super) fn of(path: &Path) -> Option<OfRun> {
        let rows = [(SCHEDSTAT, OfRun::SchedStat), ("html", OfRun::Page), ("hgrm", OfRun::Hgrm)];
        rows.into_iter().find(|row| ending(path).eq_ignore_ascii_case(row.0)).map(|row| row.1)
    }
    /// The file's content. A page has the timeline, if there is one.
    pub(super) fn text(self, scenario: &Scenario, outcome: &RunOutcome, timeline: Option<&Timeline>) -> String {
        match self {
            OfRun::SchedStat => schedstat::write(&outcome.schedstat),
            OfRun::Page => run_page(scenario, outcome, timeline.cloned()).to_string(),
            OfRun::Hgrm => hgrm(&outcome.report.latency),
        }
    }
}
