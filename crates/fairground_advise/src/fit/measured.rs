//! What counters say that a service must come out with.

use super::super::counters::Counters;
use super::fluid::{Flow, Most};
use fairground_model::CpuMax;
use std::cmp::Ordering;

/// The measured counters, as rates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Measured {
    pub(super) usage_ns_per_s: u64,
    /// Throttled periods, of so many.
    pub(super) throttled: u64,
    pub(super) periods: u64,
    /// Throttled time, ns per second, over all CPUs; none if it was not counted.
    pub(super) throttled_ns_per_s: Option<u64>,
    /// Standard deviation of the CPU time of a period, µs; none if samples are further apart than periods.
    pub(super) spread_us: Option<u64>,
    pub(super) limit: CpuMax,
    pub(super) cpus: u64,
}

/// A counter matches if it differs by at most a twentieth.
const PART: u128 = 20;
/// CPU time of a run, ns: 20 s of one CPU are 200 to 20,000 requests of the prior.
const WORK_NS: u128 = 20_000_000_000;
/// Shortest run, and longest that the CPU time may ask for, ns.
const LENGTH_NS: (u64, u64) = (20_000_000_000, 60_000_000_000);
/// A run has so many periods at least, and so many that ten are throttled, but no more than a thousand for that.
const PERIODS: (u64, u64) = (100, 1000);
const THROTTLED_LEAST: u64 = 10;
/// Samples a period apart that are needed to say how use differs between periods.
const SAMPLES_LEAST: usize = 200;

impl Measured {
    /// From counters; or why they are not enough.
    pub(crate) fn of(counters: &Counters) -> Result<Measured, &'static str> {
        let limit = counters.limit.filter(|limit| limit.quota.is_some());
        let limit = limit.ok_or("the limit under which they were counted is not known: give --cpu-max")?;
        if counters.periods.sum == 0 {
            return Err("they lack `nr_periods` and `nr_throttled` (cAdvisor has them only of containers with a limit)");
        }
        if counters.usage_ns_per_s() / 1_000_000_000 >= counters.cpus {
            return Err("they say more CPU time than its CPUs have: give their number with --cpus");
        }
        Ok(Measured {
            usage_ns_per_s: counters.usage_ns_per_s(),
            throttled: counters.throttled.sum.min(counters.periods.sum),
            periods: counters.periods.sum,
            throttled_ns_per_s: (counters.throttled_time.wall_ns > 0).then(|| counters.throttled_ns_per_s()),
            spread_us: spread_us(&counters.steps, limit.period.0),
            limit,
            cpus: counters.cpus.max(1),
        })
    }
    /// How long each run is, ns: whole periods.
    pub(super) fn length(&self) -> u64 {
        let period = self.limit.period.0.max(1);
        let by_work = WORK_NS * 1_000_000_000 / u128::from(self.usage_ns_per_s.max(1));
        let by_work = u64::try_from(by_work).unwrap_or(u64::MAX).clamp(LENGTH_NS.0, LENGTH_NS.1);
        let by_throttles = THROTTLED_LEAST.saturating_mul(self.periods) / self.throttled.max(1);
        by_work.div_ceil(period).max(by_throttles.clamp(PERIODS.0, PERIODS.1)) * period
    }
    /// From here on a run cannot match any more.
    pub(super) fn most(&self, end: u64) -> Most {
        let more = |per_second: u64| {
            let whole = u128::from(per_second) * u128::from(end) / 1_000_000_000;
            u64::try_from(whole + whole / PART + 1).unwrap_or(u64::MAX)
        };
        let periods = u128::from(end / self.limit.period.0.max(1));
        let throttled = periods * u128::from(self.throttled) / u128::from(self.periods);
        Most {
            throttled: u64::try_from(throttled + throttled / PART + 1).unwrap_or(u64::MAX),
            throttled_time: self.throttled_ns_per_s.map_or(u64::MAX, more),
        }
    }
    /// Whether a run is throttled in fewer periods than measured, in as many, or in more.
    pub(super) fn compare_throttled(&self, flow: &Flow) -> Ordering {
        // Shares as products. A run counts whole periods: half of one is no difference.
        let ours = u128::from(flow.throttled) * u128::from(self.periods);
        let theirs = u128::from(self.throttled) * u128::from(flow.periods);
        match ours.abs_diff(theirs) <= (theirs / PART).max(u128::from(self.periods) / 2) {
            true => Ordering::Equal,
            false => ours.cmp(&theirs),
        }
    }
    /// Whether all counters of a run are the measured ones.
    pub(super) fn is_like(&self, flow: &Flow, spread_us: u64, end: u64) -> bool {
        let per_second = |sum: u64| u128::from(sum) * 1_000_000_000 / u128::from(end.max(1));
        let near = |ours: u128, theirs: u64| ours.abs_diff(u128::from(theirs)) * PART <= u128::from(theirs);
        near(per_second(flow.used), self.usage_ns_per_s)
            && self.compare_throttled(flow) == Ordering::Equal
            && self.throttled_ns_per_s.is_none_or(|theirs| near(per_second(flow.throttled_time), theirs))
            && self.spread_us.is_none_or(|theirs| near(u128::from(spread_us), theirs))
    }
}

/// The standard deviation of use between samples that lie a period apart, to a tenth of it; none if few or not nearly all do.
fn spread_us(steps: &[(u64, u64)], period: u64) -> Option<u64> {
    let used: Vec<u128> = steps
        .iter()
        .filter(|step| step.0.abs_diff(period) <= period / 10)
        // As if they were exactly a period apart.
        .map(|step| u128::from(step.1) * u128::from(period) / u128::from(step.0.max(1)) / 1000)
        .collect();
    if used.len() < SAMPLES_LEAST || used.len() * 10 < steps.len() * 9 {
        return None;
    }
    let count = used.len() as u128;
    let mean = used.iter().sum::<u128>() / count;
    let squares = used.iter().map(|used| used * used).sum::<u128>() / count;
    u64::try_from(squares.saturating_sub(mean * mean).isqrt()).ok()
}
