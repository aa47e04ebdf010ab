//! The time of requests against the quota, and against period and burst.

use super::bootstrap::{self, Interval};
use super::goal::Goal;
use super::lab::{Lab, Variant};
use super::sample::Sample;
use fairground_model::{CpuMax, Digest};
use fairground_scenario::Error;
use fairground_stdx::Ns;

/// Quotas of the curve, as shares of the demand in percent.
const CURVE_PERCENT: [u64; 10] = [105, 110, 120, 130, 150, 175, 200, 250, 300, 400];
/// So many are tried at once; larger ones only if the last of them is felt.
const AT_ONCE: usize = 3;
/// A limit is felt if the percentile is more than 1.01 times that without one, thousandths.
const FELT: u64 = 1010;
/// Periods of the grid, ms.
const PERIODS_MS: [u64; 7] = [10, 20, 50, 100, 250, 500, 1000];

/// What is looked at, and what all is held against.
pub(super) struct View<'a> {
    /// Which percentile, thousandths.
    pub(super) permille: u64,
    pub(super) goals: &'a [Goal],
    /// The same seeds without a limit.
    pub(super) free: &'a [Sample],
}

/// What a limit does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// The limit.
    pub limit: CpuMax,
    /// The percentile that is looked at, ns.
    pub latency: Interval,
    /// It by that of the same requests without a limit, thousandths.
    pub ratio: Interval,
    /// The 50th, 90th and 99.9th percentile, ns; none where runs have too few requests beyond it.
    pub percentiles: [Option<u64>; 3],
    /// Periods in which the group was throttled, hundredths of a percent.
    pub throttled: u64,
    /// Answers in time per 1000 s.
    pub good_per_ks: u64,
    /// Time-outs, hundredths of a percent of all requests.
    pub timeouts: u64,
    /// Seeds with which the goal holds.
    pub holds: u64,
    /// Seeds.
    pub seeds: u64,
    pub(super) digest: u128,
}

/// Seeds of the curve and of what is beside it: with a goal, whose answer rests on seeds of its own, and without. Seeds of the grid.
const SEEDS: [u64; 2] = [3, 5];
pub(super) const GRID_SEEDS: u64 = 3;

/// With how many seeds limits and changes are looked at beside the search.
pub(super) fn seeds(goals: &[Goal]) -> u64 {
    SEEDS[usize::from(goals.is_empty())]
}

/// Percentiles that are shown beside the one that is looked at.
pub(super) const SHOWN: [u64; 3] = [500, 900, 999];
/// A percentile is shown if so many requests of all seeds lie beyond it.
const BEYOND: u64 = 100;

impl View<'_> {
    /// The percentile without a limit.
    pub(super) fn unlimited(&self) -> Interval {
        bootstrap::mean(&of_each(self.free, self.permille))
    }
    /// The samples of a limit, whose seeds are the first of those without.
    pub(super) fn point(&self, limit: CpuMax, samples: &[Sample]) -> Point {
        let sum = |of: fn(&Sample) -> u64| samples.iter().map(of).sum::<u64>();
        let requests = sum(Sample::requests);
        let at = |permille: u64| {
            let is_enough = requests * (1000 - permille) >= BEYOND * 1000;
            Some(bootstrap::mean(&of_each(samples, permille)).mean).filter(|_| is_enough)
        };
        let latencies = of_each(samples, self.permille);
        let free = of_each(&self.free[..samples.len().min(self.free.len())], self.permille);
        let share = |part: u64, of: u64| (part * 10_000).checked_div(of).unwrap_or(0);
        let window = samples.iter().map(|sample| u128::from(sample.window.0)).sum::<u128>().max(1);
        let mut digest = Digest::default();
        samples.iter().for_each(|sample| digest.bytes(&sample.digest.to_le_bytes()));
        Point {
            limit,
            latency: bootstrap::mean(&latencies),
            ratio: bootstrap::ratio_permille(&latencies, &free),
            percentiles: SHOWN.map(at),
            throttled: share(sum(|sample| sample.nr_throttled), sum(|sample| sample.nr_periods)),
            good_per_ks: u64::try_from(u128::from(sum(|sample| sample.good)) * 1_000_000_000_000 / window).unwrap_or(u64::MAX),
            timeouts: share(sum(|sample| sample.timeouts), requests),
            holds: samples.iter().filter(|sample| sample.holds(self.goals)).count() as u64,
            seeds: samples.len() as u64,
            digest: digest.value(),
        }
    }
    /// The points of many limits, each with so many seeds.
    pub(super) fn points(&self, lab: &Lab<'_>, variants: &[Variant], seeds: u64) -> Result<Vec<Point>, Error> {
        let samples = lab.samples(variants, seeds)?;
        Ok(variants.iter().zip(&samples).map(|(variant, samples)| self.point(variant.limit, samples)).collect())
    }
}

fn of_each(samples: &[Sample], permille: u64) -> Vec<u64> {
    samples.iter().map(|sample| sample.percentile(permille)).collect()
}

/// The curve: quotas as shares of the demand, the present one among them, and no limit at its end.
pub(super) fn curve(lab: &Lab<'_>, view: &View<'_>, limit: CpuMax, demand: u64) -> Result<Vec<Point>, Error> {
    let shares = CURVE_PERCENT.map(|percent| quota(demand / 100 * percent, limit.period));
    let mut quotas: Vec<Ns> = shares.into_iter().chain(limit.quota).collect();
    quotas.sort_unstable();
    quotas.dedup();
    let variant = |quota: &Ns| {
        // The burst of the present limit, which a smaller quota cannot have in full.
        Variant::new(CpuMax { quota: Some(*quota), burst: limit.burst.min(*quota), ..limit })
    };
    // Where a limit is not felt, larger ones are not either.
    let (mut points, mut is_felt): (Vec<Point>, bool) = (Vec::new(), true);
    for some in quotas.chunks(AT_ONCE) {
        let tried: Vec<Variant> = some.iter().filter(|quota| is_felt || Some(**quota) == limit.quota).map(variant).collect();
        points.extend(view.points(lab, &tried, seeds(view.goals))?);
        is_felt = is_felt && points.last().is_none_or(|point| point.ratio.high > FELT);
    }
    points.push(view.point(CpuMax { quota: None, burst: Ns::ZERO, ..limit }, view.free));
    Ok(points)
}

/// Period by burst, each at the same share of CPUs. Where a kernel has no burst, there is none; quotas below 1 ms are left out.
pub(super) fn grid(lab: &Lab<'_>, view: &View<'_>, chosen: CpuMax) -> Result<Vec<Point>, Error> {
    let Some(share) = chosen.quota else { return Ok(Vec::new()) };
    let limits = PERIODS_MS.iter().flat_map(|&ms| {
        let period = Ns::from_ms(ms);
        let exact = u128::from(share.0) * u128::from(period.0) / u128::from(chosen.period.0.max(1));
        let quota = Ns(u64::try_from(exact / 1000 * 1000).unwrap_or(u64::MAX));
        let half = Ns(quota.0 / 2000 * 1000);
        [Ns::ZERO, half, quota].map(|burst| CpuMax { quota: Some(quota), period, burst })
    });
    let variants: Vec<Variant> = limits.filter(|limit| limit.check().is_ok()).map(Variant::new).collect();
    let variants: Vec<Variant> =
        variants.into_iter().filter(|variant| variant.limit.burst == Ns::ZERO || lab.can_run(variant)).collect();
    view.points(lab, &variants, GRID_SEEDS)
}

/// The quota of a share of CPUs within a period, rounded up to a whole microsecond and to what a kernel takes.
pub(super) fn quota(ns_per_s: u64, period: Ns) -> Ns {
    let ns = u128::from(ns_per_s) * u128::from(period.0) / 1_000_000_000;
    Ns(u64::try_from(ns.div_ceil(1000) * 1000).unwrap_or(u64::MAX)).clamp(CpuMax::LEAST, CpuMax::LARGEST)
}
