//! What the kept services say about limits.

use super::super::bootstrap::{Interval, NEVER};
use super::super::goal::Goal;
use super::super::verdict::Verdict;
use super::super::{quota, smallest};
use super::fluid::{self, Most, Request, Server};
use super::{Measured, Range};
use fairground_model::CpuMax;
use fairground_stdx::Ns;

/// Limits that are tried, percent of the present one.
const PERCENT: [u64; 6] = [100, 110, 125, 150, 200, 300];

/// What every kept service is asked.
pub(super) struct Question<'a> {
    pub(super) permille: u64,
    goals: &'a [Goal],
    /// The present limit first; no limit last.
    limits: Vec<CpuMax>,
    /// Quotas among which the smallest that meets the goals is looked for.
    quotas: Vec<Ns>,
    measured: &'a Measured,
}

/// What one of them says.
pub(super) struct Answers {
    /// The percentile with each limit, ns.
    pub(super) latencies: Vec<u64>,
    /// With which limits the goals hold.
    holds: Vec<bool>,
    /// The smallest quota that meets the goals, ns.
    smallest: u64,
}

/// A limit, and what it does to the kept services.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FitPoint {
    /// The limit.
    pub limit: CpuMax,
    /// The percentile, ns.
    pub latency: Range,
    /// It by that of the same requests without a limit, thousandths.
    pub ratio: Range,
    /// Services for which it is OK, TIGHT, BAD.
    pub verdicts: [u64; 3],
    /// Services that meet the goals.
    pub holds: u64,
    /// Services.
    pub of: u64,
}

/// Another quota with the burst that it can have.
fn with(now: CpuMax, quota: Option<Ns>) -> CpuMax {
    CpuMax { quota, burst: now.burst.min(quota.unwrap_or(Ns::ZERO)), ..now }
}

/// The verdict on one service: the same requests with and without a limit leave no interval.
fn verdict_of(ratio: u64) -> Verdict {
    Verdict::of(Interval { mean: ratio, low: ratio, high: ratio }, 0, CpuMax::UNLIMITED)
}

impl<'a> Question<'a> {
    pub(super) fn new(measured: &'a Measured, goals: &'a [Goal]) -> Question<'a> {
        let (now, most) = (measured.limit, measured.cpus * 1_000_000_000);
        let all = quota(most, now.period);
        let of = |percent: &u64| now.quota.map(|quota| Ns(quota.0 / 100 * percent));
        let mut quotas: Vec<Ns> = PERCENT.iter().filter_map(of).collect();
        quotas.retain(|quota| *quota < all || Some(*quota) == now.quota);
        let limits = quotas.into_iter().map(Some).chain([None]).map(|quota| with(now, quota)).collect();
        // Nine tenths of the use: with less, the queue grows without end.
        let least = quota(measured.usage_ns_per_s / 10 * 9, now.period);
        let mut quotas = smallest::quotas(now.period, all);
        quotas.retain(|quota| *quota >= least.min(all));
        Question { permille: goals.first().map_or(990, |goal| goal.permille), goals, limits, quotas, measured }
    }

    /// Runs the same requests under each limit.
    pub(super) fn ask(&self, requests: &[Request], server: Server, end: u64) -> Answers {
        let run = |limit: CpuMax| fluid::run(requests, Server { limit, ..server }, end, Most::ANY).unwrap_or_default();
        let (mut latencies, mut holds) = (Vec::new(), Vec::new());
        for limit in &self.limits {
            let mut flow = run(*limit);
            latencies.push(flow.percentile(self.permille));
            holds.push(self.is_met(&mut flow));
        }
        let mut smallest = NEVER;
        if !self.goals.is_empty() {
            let below = self.quotas.partition_point(|quota| {
                let mut flow = run(with(self.measured.limit, Some(*quota)));
                !self.is_met(&mut flow)
            });
            smallest = self.quotas.get(below).map_or(NEVER, |quota| quota.0);
        }
        Answers { latencies, holds, smallest }
    }
    fn is_met(&self, flow: &mut fluid::Flow) -> bool {
        self.goals.iter().all(|goal| flow.percentile(goal.permille) <= goal.most.0)
    }

    /// Each limit over all of them.
    pub(super) fn points(&self, answers: &[Answers]) -> Vec<FitPoint> {
        if answers.is_empty() {
            return Vec::new();
        }
        let last = self.limits.len() - 1;
        let ratio = |one: &Answers, place: usize| match (one.latencies[place], one.latencies[last]) {
            (NEVER, free) if free != NEVER => NEVER,
            (limited, free) => u64::try_from(u128::from(limited) * 1000 / u128::from(free.max(1))).unwrap_or(NEVER),
        };
        let point = |(place, limit): (usize, &CpuMax)| {
            let ratios: Vec<u64> = answers.iter().map(|one| ratio(one, place)).collect();
            let are = |verdict| ratios.iter().filter(|ratio| verdict_of(**ratio) == verdict).count() as u64;
            FitPoint {
                limit: *limit,
                latency: Range::of(answers.iter().map(|one| one.latencies[place]).collect()),
                verdicts: [Verdict::Ok, Verdict::Tight, Verdict::Bad].map(are),
                ratio: Range::of(ratios),
                holds: answers.iter().filter(|one| one.holds[place]).count() as u64,
                of: answers.len() as u64,
            }
        };
        self.limits.iter().enumerate().map(point).collect()
    }
    /// The smallest quota over all of them.
    pub(super) fn smallest(&self, answers: &[Answers]) -> Option<Range> {
        let asked = !self.goals.is_empty() && !answers.is_empty();
        asked.then(|| Range::of(answers.iter().map(|one| one.smallest).collect()))
    }
}
