//! What a service may be that nothing is known of but its use of CPU time: the prior of the fit.
//!
//! All but one of its numbers are drawn. The last, how much faster requests come in bursts, is left to be found: see [`super::find`].

use super::fluid::Request;
use fairground_stdx::distribution::{Lognormal, Pareto};
use fairground_stdx::{Distribution, RngStream};

/// A service of the family: arrivals of two states (MMPP-2), lognormal CPU times, equal workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Guess {
    /// Mean CPU time of a request, ns.
    pub(super) service_ns: u64,
    /// Its standard deviation, percent of the mean.
    pub(super) cv_percent: u64,
    /// Mean length of a burst, ns.
    pub(super) burst_ns: u64,
    /// Share of time in bursts, hundredths of a percent.
    pub(super) share: u64,
    pub(super) workers: u64,
}

/// Mean CPU time of a request, ns.
const SERVICE_NS: (u64, u64) = (1_000_000, 100_000_000);
/// Most requests of a run.
const REQUESTS_MOST: u64 = 100_000;
/// Standard deviation of it, percent of the mean.
pub(super) const CV_PERCENT: (u64, u64) = (10, 300);
/// Mean length of a burst, ns.
pub(super) const BURST_NS: (u64, u64) = (10_000_000, 1_000_000_000);
/// Share of time in bursts, hundredths of a percent.
pub(super) const SHARE: (u64, u64) = (100, 5_000);
/// Most workers; the fewest are as many as the CPU time needs.
pub(super) const WORKERS_MOST: u64 = 64;
/// Rate in bursts by that in calm times, percent.
pub(super) const RATIO_PERCENT: (u64, u64) = (100, 10_000);

/// A number between two bounds of which all magnitudes are equally likely: the exponent 0.01 comes near enough to 0.
pub(super) fn of_any_magnitude((low, high): (u64, u64), stream: &mut RngStream) -> u64 {
    Distribution::Pareto(Pareto::new(low, high, 1)).draw(stream)
}

/// Bounds of the mean CPU time of a request, ns. Where a run has more work than many short requests make, none is shorter.
pub(super) fn service_bounds(usage_ns_per_s: u64, end: u64) -> (u64, u64) {
    let work = u128::from(usage_ns_per_s) * u128::from(end) / 1_000_000_000 / u128::from(REQUESTS_MOST);
    let low = u64::try_from(work).unwrap_or(u64::MAX).max(SERVICE_NS.0);
    (low, SERVICE_NS.1.max(low))
}

impl Guess {
    /// Draws a service that uses so much CPU time per second, for runs of `end` ns.
    pub(super) fn draw(usage_ns_per_s: u64, end: u64, stream: &mut RngStream) -> Guess {
        let fewest = usage_ns_per_s / 1_000_000_000 + 1;
        // Whole workers, each as likely as the magnitudes from it to the next.
        let workers = (fewest * 1000, WORKERS_MOST.max(fewest) * 1000 + 999);
        Guess {
            service_ns: of_any_magnitude(service_bounds(usage_ns_per_s, end), stream),
            cv_percent: of_any_magnitude(CV_PERCENT, stream),
            burst_ns: of_any_magnitude(BURST_NS, stream),
            share: of_any_magnitude(SHARE, stream),
            workers: of_any_magnitude(workers, stream) / 1000,
        }
    }
}

/// What is drawn of the requests of a service, whatever the rate in bursts is.
pub(super) struct Draft {
    end: u64,
    demands: Vec<u64>,
    /// Arrivals at a steady rate; the last number is the end.
    steady: Vec<u64>,
    /// From when to when bursts last.
    bursts: Vec<(u64, u64)>,
}

/// Mean gap of the steady arrivals.
const GAP: u64 = 1 << 20;

impl Draft {
    /// Requests of `end` ns that use so much CPU time altogether.
    pub(super) fn new(guess: &Guess, usage_ns_per_s: u64, end: u64, stream: &mut RngStream) -> Draft {
        let whole = u128::from(usage_ns_per_s) * u128::from(end) / 1_000_000_000;
        let count = usize::try_from(whole / u128::from(guess.service_ns.max(1))).unwrap_or(usize::MAX).max(1);
        let demand = Distribution::Lognormal(Lognormal::new(guess.service_ns, guess.cv_percent));
        let mut demands: Vec<u64> = (0..count).map(|_| demand.draw(stream)).collect();
        let sum: u128 = demands.iter().map(|&demand| u128::from(demand)).sum();
        for demand in &mut demands {
            *demand = u64::try_from(u128::from(*demand) * whole / sum.max(1)).unwrap_or(u64::MAX);
        }
        let mut at = 0;
        let steady = (0..=count).map(|_| {
            at += stream.exponential(GAP);
            at
        });
        Draft { end, demands, steady: steady.collect(), bursts: bursts(guess, end, stream) }
    }

    /// The requests when they come so much faster in bursts, in percent. All else stays: steady arrivals are shifted so that each piece of
    /// time has its share of them.
    pub(super) fn requests(&self, ratio_percent: u64) -> Vec<Request> {
        // Calm time weighs 100 per ns, a burst `ratio_percent`.
        let all: u128 = self.bursts.iter().map(|burst| u128::from(burst.1 - burst.0)).sum();
        let weight = u128::from(self.end) * 100 + all * (u128::from(ratio_percent) - 100);
        let steady_end = u128::from(self.steady[self.demands.len()].max(1));
        let (mut from, mut passed, mut next) = (0, 0, 0);
        let place = |(row, &demand): (usize, &u64)| {
            let at = u128::from(self.steady[row]) * weight / steady_end;
            loop {
                // The piece from `from` on: calm up to the next burst, or that burst.
                let burst = self.bursts.get(next).copied().unwrap_or((self.end, self.end));
                let (rate, to) = if from < burst.0 { (100, burst.0) } else { (u128::from(ratio_percent), burst.1) };
                let weighs = u128::from(to - from) * rate;
                if at < passed + weighs || from >= self.end {
                    let within = u64::try_from((at - passed) / rate).unwrap_or(0);
                    return Request { arrival: from + within, demand };
                }
                passed += weighs;
                from = to;
                if to == burst.1 {
                    next += 1;
                }
            }
        };
        self.demands.iter().enumerate().map(place).collect()
    }
}

/// Bursts up to `end`. The first state is drawn by the share of time that each has.
fn bursts(guess: &Guess, end: u64, stream: &mut RngStream) -> Vec<(u64, u64)> {
    let calm = guess.burst_ns * (10_000 - guess.share) / guess.share.max(1);
    let mut in_burst = stream.below(10_000) < guess.share;
    let (mut now, mut bursts) = (0, Vec::new());
    while now < end {
        let to = now.saturating_add(stream.exponential(if in_burst { guess.burst_ns } else { calm }).max(1)).min(end);
        if in_burst {
            bursts.push((now, to));
        }
        (now, in_burst) = (to, !in_burst);
    }
    bursts
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::StreamKind;

    #[test]
    fn a_draft_keeps_its_cpu_time_and_crowds_its_requests_into_bursts() {
        let mut stream = RngStream::new(3, StreamKind::Vopr, 0);
        let guess = Guess { service_ns: 1_000_000, cv_percent: 100, burst_ns: 200_000_000, share: 2_000, workers: 4 };
        let end = 20_000_000_000;
        let draft = Draft::new(&guess, 500_000_000, end, &mut stream);
        let within = |at: u64| draft.bursts.iter().any(|burst| (burst.0..burst.1).contains(&at));
        let time: u64 = draft.bursts.iter().map(|burst| burst.1 - burst.0).sum();
        for ratio in [100, 400, 10_000] {
            let requests = draft.requests(ratio);
            let demand: u64 = requests.iter().map(|request| request.demand).sum();
            assert!(demand.abs_diff(10_000_000_000) < 20_000, "{demand}");
            assert!(requests.is_sorted_by_key(|request| request.arrival) && requests.iter().all(|request| request.arrival < end));
            // Of all requests those in bursts are: their time times the ratio, by all time so weighted.
            let inside = requests.iter().filter(|request| within(request.arrival)).count() as u64;
            let due = requests.len() as u64 * time / 1000 * ratio / ((time * ratio + (end - time) * 100) / 1000);
            assert!(inside.abs_diff(due) < 250, "{ratio}: {inside} for {due}");
        }
    }

    #[test]
    fn guesses_lie_between_their_bounds_and_in_all_magnitudes() {
        let mut stream = RngStream::new(3, StreamKind::Vopr, 1);
        let guesses: Vec<Guess> = (0..2000).map(|_| Guess::draw(2_500_000_000, 1_000_000_000, &mut stream)).collect();
        assert!(guesses.iter().all(|guess| (3..=WORKERS_MOST).contains(&guess.workers) && guess.share <= SHARE.1));
        let short = guesses.iter().filter(|guess| guess.service_ns < 10_000_000).count();
        assert!(short.abs_diff(1000) < 100, "{short}");
        assert_eq!(service_bounds(8_000_000_000, 10_000_000_000), SERVICE_NS);
        assert_eq!(service_bounds(1_000_000_000_000, 100_000_000_000), (1_000_000_000, 1_000_000_000));
    }
}
