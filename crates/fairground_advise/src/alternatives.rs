//! The same goal with other periods and bursts: what each needs, the cheapest first.
//!
//! The seed that decided the answer is looked for with each period and burst. By as many steps as its own smallest limit lies lower, the answer is
//! taken to lie lower, too: requests are the same, so that only the limit's period and burst differ. Some other seeds try that, since those that are
//! hard with one period need not be those that are hard with another.
//!
//! Of all that can be set in one place ([`SetIn`]) only the cheapest is wanted. So a period and burst with which the seed does not hold [`WORTH`] below the
//! answer, or below the cheapest so far in that place, is no cheaper, and one run says so.

use super::Goal;
use super::lab::{Lab, Variant};
use super::seeds::Aim;
use super::smallest::{Hunt, Ladder, Seed, Smallest, quotas};
use super::verdict::is_unstable;
use fairground_model::CpuMax;
use fairground_scenario::Error;
use fairground_stdx::Ns;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A period and burst, and what limit it needs about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative {
    /// The limit with its period and burst.
    pub limit: CpuMax,
    /// Where it can be set.
    pub set_in: SetIn,
}

/// Where a limit can be set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SetIn {
    /// The pod's own `resources.limits.cpu`.
    Pod,
    /// The period is one for all pods of a node: the kubelet's `cpuCFSQuotaPeriod`.
    Node,
    /// The files of the cgroup only: Kubernetes and systemd have no burst.
    Cgroup,
}

impl SetIn {
    /// Where this limit can be set.
    pub fn of(limit: CpuMax) -> SetIn {
        match (limit.burst, limit.period) {
            (Ns::ZERO, CpuMax::DEFAULT_PERIOD) => SetIn::Pod,
            (Ns::ZERO, _) => SetIn::Node,
            _ => SetIn::Cgroup,
        }
    }
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            SetIn::Pod => "pod spec",
            SetIn::Node => "kubelet (whole node)",
            SetIn::Cgroup => "cgroup files",
        }
    }
}

/// Periods that are tried, ms: the longest first, which needs the least most often.
const PERIODS_MS: [u64; 4] = [250, 100, 50, 20];

/// How large the burst is with each quota that is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bursts {
    /// As it is now; a quota below it has one of its own size.
    AsNow,
    /// None.
    Zero,
    /// As large as the quota.
    OfQuota,
}

impl Bursts {
    fn of(self, now: CpuMax, quota: Ns) -> Ns {
        match self {
            Bursts::AsNow => now.burst.min(quota),
            Bursts::Zero => Ns::ZERO,
            Bursts::OfQuota => quota,
        }
    }
}

/// The limits that are tried with a period and a burst, no limit at the end.
pub(super) fn limits(lab: &Lab<'_>, now: CpuMax, period: Ns, bursts: Bursts) -> Vec<CpuMax> {
    let all_cpus = Ns(period.0.saturating_mul(lab.base.machine.cpus.len() as u64));
    let limit = |quota: Ns| CpuMax { quota: Some(quota), period, burst: bursts.of(now, quota) };
    let mut limits: Vec<CpuMax> = quotas(period, all_cpus).into_iter().map(limit).collect();
    limits.push(CpuMax { quota: None, period, burst: Ns::ZERO });
    limits
}

/// Whether the kernel knows bursts.
pub(super) fn has_bursts(lab: &Lab<'_>) -> bool {
    let quota = CpuMax::DEFAULT_PERIOD;
    lab.can_run(&Variant::new(CpuMax { quota: Some(quota), period: CpuMax::DEFAULT_PERIOD, burst: quota }))
}

/// A period, without a burst or with one as large as the quota, that needs no smaller limit than the answer or than another one that can be set in the
/// same place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dearer {
    /// The period.
    pub period: Ns,
    /// Whether there is a burst.
    pub has_burst: bool,
}

/// What other periods and bursts need.
#[derive(Clone, Default, Debug)]
pub(super) struct Found {
    /// Those that need less than the answer, and less than any other in the same place; the cheapest first.
    pub(super) cheaper: Vec<Alternative>,
    pub(super) dearer: Vec<Dearer>,
}

/// What other periods and bursts need.
pub(super) fn alternatives(lab: &Lab<'_>, now: CpuMax, goals: &[Goal], demand: u64, found: &Smallest) -> Result<Found, Error> {
    let Some(CpuMax { quota: Some(_), .. }) = found.limit else { return Ok(Found::default()) };
    let bursts = if has_bursts(lab) { &[Bursts::Zero, Bursts::OfQuota][..] } else { &[Bursts::Zero] };
    let around = Around { lab, now, goals, demand, answer: found };
    let all: Vec<Found> = bursts.par_iter().map(|&bursts| around.with_bursts(bursts)).collect::<Result<Vec<Found>, Error>>()?;
    let (mut cheaper, mut dearer) = (Vec::new(), Vec::new());
    for one in all {
        cheaper.extend(one.cheaper);
        dearer.extend(one.dearer);
    }
    let share = |limit: CpuMax| limit.quota.map(|quota| u128::from(quota.0) * 1_000_000_000 / u128::from(limit.period.0.max(1)));
    cheaper.sort_by_key(|row: &Alternative| (share(row.limit), row.set_in, row.limit.period));
    Ok(Found { cheaper, dearer })
}

/// Seeds that try what the one that decided has shown.
pub(super) const TRIED: u64 = 5;
/// By so many places, of 1 % each, another period and burst must need less.
const WORTH: i64 = 2;

/// What other limits are held against.
struct Around<'a> {
    lab: &'a Lab<'a>,
    now: CpuMax,
    goals: &'a [Goal],
    demand: u64,
    answer: &'a Smallest,
}

impl Around<'_> {
    /// What the periods need with such bursts.
    fn with_bursts(&self, bursts: Bursts) -> Result<Found, Error> {
        let now = self.now;
        // The present period without a burst is searched with all seeds, if there is none now.
        let is_other = |period: &Ns| *period != now.period || bursts == Bursts::OfQuota || now.burst != Ns::ZERO;
        let mut found = Found::default();
        // By how many places the cheapest so far in each place lies above the answer.
        let mut best: BTreeMap<SetIn, (i64, Alternative)> = BTreeMap::new();
        let has_burst = bursts == Bursts::OfQuota;
        for period in PERIODS_MS.map(Ns::from_ms).into_iter().filter(is_other) {
            let set_in = SetIn::of(CpuMax { quota: None, period, burst: Ns(u64::from(has_burst)) });
            let from = best.get(&set_in).map_or(0, |row| row.0);
            let worse = match self.needs(period, bursts, from - WORTH)? {
                Some((limit, by)) => best.insert(set_in, (by, Alternative { limit, set_in })).map(|row| row.1.limit.period),
                None => Some(period),
            };
            found.dearer.extend(worse.map(|period| Dearer { period, has_burst }));
        }
        found.cheaper = best.into_values().map(|row| row.1).collect();
        Ok(found)
    }

    /// The limit that a period and burst need, and by how many places it lies above the answer, if it is at most `most` places above.
    fn needs(&self, period: Ns, bursts: Bursts, most: i64) -> Result<Option<(CpuMax, i64)>, Error> {
        let Around { lab, now, goals, demand, answer } = *self;
        let Some((&(decided, usual), next)) = answer.found.deciding.split_first() else { return Ok(None) };
        let limits = limits(lab, now, period, bursts);
        // Short periods have no small quotas: counted from the end, places mean the same CPUs.
        let shift = self::limits(lab, now, now.period, Bursts::AsNow).len() as i64 - limits.len() as i64;
        let place = |usual: usize, by: i64| usize::try_from(usual as i64 + by - shift).unwrap_or(0);
        let ladder = Ladder::new(lab, goals, limits);
        let hunt = Hunt::new(&ladder, Aim::default());
        let enough = place(usual, most);
        let own = hunt.of_seed(answer.found.seed(decided), (0, enough + 1), enough, 8)?;
        if own > enough {
            return Ok(None);
        }
        // Less than the service uses would do for one run only.
        let stable = ladder.limits.partition_point(|limit| is_unstable(demand, *limit));
        let others = (0..).filter(|seed| answer.found.deciding.iter().all(|row| row.0 != *seed));
        let tried = next.iter().map(|row| row.0).chain(others).take(TRIED as usize);
        let tried: Vec<Seed> = tried.map(|nr| answer.found.seed(nr)).collect();
        let needed = hunt.enough_for(&tried, own.max(stable))?;
        Ok((needed <= enough).then(|| (ladder.limits[needed], needed as i64 + shift - usual as i64)))
    }
}
