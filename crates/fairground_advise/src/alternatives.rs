//! The same goal with other periods and bursts: what each needs, the cheapest first.
//!
//! The seeds that decided the answer are looked for with each period and burst. The middle of how many steps higher or lower their own
//! smallest limits lie is taken for the answer too. Three seeds suffice for that: requests are the same, so that only the
//! limit's period and burst differ.

use super::Goal;
use super::lab::{Lab, Variant};
use super::smallest::{Search, Seed, Smallest, quotas};
use super::verdict::is_unstable;
use fairground_model::CpuMax;
use fairground_scenario::Error;
use fairground_stdx::Ns;
use rayon::prelude::*;

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

/// Periods that are tried, ms.
const PERIODS_MS: [u64; 4] = [20, 50, 100, 250];

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

/// What other periods and bursts need, the cheapest first.
pub(super) fn alternatives(
    lab: &Lab<'_>,
    now: CpuMax,
    goals: &[Goal],
    demand: u64,
    found: &Smallest,
) -> Result<Vec<Alternative>, Error> {
    let Some(CpuMax { quota: Some(_), .. }) = found.limit else { return Ok(Vec::new()) };
    let bursts = if has_bursts(lab) { &[Bursts::Zero, Bursts::OfQuota][..] } else { &[Bursts::Zero] };
    let around = Around { lab, now, goals, demand, found };
    // Periods in this order need limits near each other, so each begins where the one before ended.
    let rows: Vec<Vec<Alternative>> =
        bursts.par_iter().map(|&bursts| around.with_bursts(bursts)).collect::<Result<Vec<Vec<Alternative>>, Error>>()?;
    let mut rows = rows.concat();
    let share = |limit: CpuMax| limit.quota.map(|quota| u128::from(quota.0) * 1_000_000_000 / u128::from(limit.period.0.max(1)));
    rows.sort_by_key(|row| (share(row.limit), row.set_in, row.limit.period));
    Ok(rows)
}

/// So many seeds that did not decide the answer try what those that did have shown.
const TRIED: usize = 5;

/// What other limits are held against.
struct Around<'a> {
    lab: &'a Lab<'a>,
    now: CpuMax,
    goals: &'a [Goal],
    demand: u64,
    found: &'a Smallest,
}

impl Around<'_> {
    /// What the periods need with such bursts.
    fn with_bursts(&self, bursts: Bursts) -> Result<Vec<Alternative>, Error> {
        let now = self.now;
        // The present period without a burst is searched with all seeds, if there is none now.
        let is_other = |period: &Ns| *period != now.period || bursts == Bursts::OfQuota || now.burst != Ns::ZERO;
        let (mut rows, mut by) = (Vec::new(), 0);
        for period in PERIODS_MS.map(Ns::from_ms).into_iter().filter(is_other) {
            let limit;
            (limit, by) = self.needs(period, bursts, by)?;
            rows.extend(limit.filter(|limit| limit.quota.is_some()).map(|limit| Alternative { limit, set_in: SetIn::of(limit) }));
        }
        Ok(rows)
    }

    /// The limit that a period and burst need, and by how many steps it lies above the answer. It is looked for from `by` steps on.
    fn needs(&self, period: Ns, bursts: Bursts, by: i64) -> Result<(Option<CpuMax>, i64), Error> {
        let Around { lab, now, goals, demand, found } = *self;
        let limits = limits(lab, now, period, bursts);
        // Short periods have no small quotas: counted from the end, places mean the same CPUs.
        let shift = self::limits(lab, now, now.period, Bursts::AsNow).len() as i64 - limits.len() as i64;
        let place = |usual: usize, by: i64| usize::try_from(usual as i64 + by - shift).unwrap_or(0);
        let search = Search::new(lab, goals, limits);
        // The middle of three lies between the other two. They have the same requests, and move about as far.
        let (mut moves, mut by): (Vec<i64>, i64) = (Vec::new(), by);
        for &(seed, own) in &found.deciding {
            let among = match moves[..] {
                [least, most] => (place(own, least), place(own, most)),
                _ => (0, search.limits.len()),
            };
            let found = search.of_seed(found.seed(seed), among, place(own, by), if moves.is_empty() { 2 } else { 1 })?;
            by = found as i64 + shift - own as i64;
            moves.push(by);
            moves.sort_unstable();
        }
        let by = moves.get(moves.len() / 2).copied().unwrap_or(0);
        // Less than the service uses would do for one run only.
        let stable = search.limits.partition_point(|limit| is_unstable(demand, *limit));
        // Seeds that are hard with one period need not be those that are hard with another.
        let others = (0..).filter(|seed| found.deciding.iter().all(|row| row.0 != *seed));
        let tried: Vec<Seed> = others.take(TRIED).map(|nr| found.seed(nr)).collect();
        let enough = search.enough_for(&tried, place(found.place, by).max(stable))?;
        Ok((search.limits.get(enough).copied(), by))
    }
}
