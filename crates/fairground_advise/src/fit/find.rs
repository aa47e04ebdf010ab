//! The search for services that come out with the measured counters.
//!
//! Everything about a service is drawn but the rate in bursts, of which the share of throttled periods decides: it is looked for by
//! halves, with the same requests crowded more or less. What then comes out with another throttled time is thrown away.

use super::fluid::{self, Flow, Request, Server};
use super::prior::{Draft, Guess, RATIO_PERCENT};
use super::{FitOptions, Measured};
use fairground_stdx::{RngStream, StreamKind};
use std::cmp::Ordering;

/// Steps of the search by halves: the ratio of rates is then known to 7 %.
const STEPS: u32 = 6;

/// A service that was kept.
pub(super) struct Found {
    pub(super) row: u32,
    pub(super) ratio_percent: u64,
    /// Standard deviation of the CPU time of a period, µs.
    pub(super) spread_us: u64,
}

pub(super) struct Sampler<'a> {
    pub(super) measured: &'a Measured,
    pub(super) options: &'a FitOptions,
    /// Length of each run, ns.
    pub(super) end: u64,
}

impl Sampler<'_> {
    fn draft(&self, row: u32) -> (Server, Draft) {
        let mut stream = RngStream::new(self.options.seed, StreamKind::CounterFit, row);
        let usage = self.measured.usage_ns_per_s;
        let guess = Guess::draw(usage, self.end, &mut stream);
        let workers = self.options.workers.map_or(guess.workers, u64::from);
        let server = Server { workers, cpus: self.measured.cpus, limit: self.measured.limit };
        (server, Draft::new(&guess, usage, self.end, &mut stream))
    }
    /// The requests of a kept service, and who serves them.
    pub(super) fn requests(&self, found: &Found) -> (Server, Vec<Request>) {
        let (server, draft) = self.draft(found.row);
        (server, draft.requests(found.ratio_percent))
    }
    /// Draws the service of this number. Returns how many runs it took, too.
    pub(super) fn find(&self, row: u32) -> (Option<Found>, u64) {
        let (server, draft) = self.draft(row);
        let most = self.measured.most(self.end);
        let mut runs = 0;
        // Given up: too much of something, which fewer requests in bursts may mend.
        let mut run = |ratio_percent: u64| {
            runs += 1;
            let flow = fluid::run(&draft.requests(ratio_percent), server, self.end, most);
            let order = flow.as_ref().map_or(Ordering::Greater, |flow| self.measured.compare_throttled(flow));
            (order, flow)
        };
        let found = search(&mut run).and_then(|(ratio_percent, flow)| {
            let spread_us = flow.spread_us(self.end / self.measured.limit.period.0.max(1));
            self.measured.is_like(&flow, spread_us, self.end).then_some(Found { row, ratio_percent, spread_us })
        });
        (found, runs)
    }
}

/// The ratio with which a run comes out equal, if there is one.
fn search(run: &mut impl FnMut(u64) -> (Ordering, Option<Flow>)) -> Option<(u64, Flow)> {
    let (mut low, mut high) = RATIO_PERCENT;
    for (bound, wrong) in [(low, Ordering::Greater), (high, Ordering::Less)] {
        match run(bound) {
            (Ordering::Equal, flow) => return flow.map(|flow| (bound, flow)),
            (order, _) if order == wrong => return None,
            _ => {}
        }
    }
    for _ in 0..STEPS {
        let middle = (low * high).isqrt();
        match run(middle) {
            (Ordering::Equal, flow) => return flow.map(|flow| (middle, flow)),
            (Ordering::Less, _) => low = middle,
            (Ordering::Greater, _) => high = middle,
        }
    }
    None
}

impl Flow {
    /// Standard deviation of the CPU time of so many periods, µs.
    fn spread_us(&self, periods: u64) -> u64 {
        let periods = u128::from(periods.max(1));
        let mean = u128::from(self.used / 1000) / periods;
        u64::try_from((self.squares / periods).saturating_sub(mean * mean).isqrt()).unwrap_or(u64::MAX)
    }
}
