//! The same goal with other periods and bursts: what each needs, the cheapest first.
//!
//! The seeds that decided the answer are looked for with each period and burst. The middle of how many steps higher or lower their own
//! smallest limits lie is taken for the answer too. Three seeds suffice for that: requests are the same, so that only the
//! limit's period and burst differ.

use super::Goal;
use super::lab::{Lab, Variant};
use super::smallest::{Search, Smallest, quotas};
use super::verdict::is_unstable;
use fairground_model::CpuMax;
use fairground_scenario::Error;
use fairground_stdx::Ns;

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

/// So many seeds that did not decide the answer try what those that did have shown.
const TRIED: usize = 5;

/// What other periods and bursts need, the cheapest first.
pub(super) fn alternatives(
    lab: &Lab<'_>,
    now: CpuMax,
    goals: &[Goal],
    demand: u64,
    found: &Smallest,
) -> Result<Vec<Alternative>, Error> {
    let Some(CpuMax { quota: Some(_), .. }) = found.limit else { return Ok(Vec::new()) };
    let usual = limits(lab, now, now.period, Bursts::AsNow);
    let (seeds, own): (Vec<u64>, Vec<usize>) = found.deciding.iter().copied().unzip();
    let bursts = if has_bursts(lab) { &[Bursts::Zero, Bursts::OfQuota][..] } else { &[Bursts::Zero] };
    let periods = PERIODS_MS.map(Ns::from_ms);
    let others = bursts.iter().flat_map(|&bursts| periods.iter().map(move |&period| (period, bursts)));
    // The present period without a burst is searched with all seeds, if there is none now.
    let others = others.filter(|&(period, bursts)| period != now.period || bursts == Bursts::OfQuota || now.burst != Ns::ZERO);
    let tried: Vec<u64> = (0..).filter(|seed| !seeds.contains(seed)).take(TRIED).collect();
    let mut rows = Vec::new();
    // Neighbours in this order need limits near each other.
    let mut hint = found.place;
    for (period, bursts) in others {
        let limits = limits(lab, now, period, bursts);
        // Short periods have no small quotas: counted from the end, places mean the same CPUs.
        let shift = usual.len() as i64 - limits.len() as i64;
        let search = Search { lab, goals, limits };
        let mut moves: Vec<i64> = search
            .of_seeds(&seeds, usize::try_from(hint as i64 - shift).unwrap_or(0))?
            .into_iter()
            .zip(&own)
            .map(|(place, own)| place as i64 + shift - *own as i64)
            .collect();
        moves.sort_unstable();
        let place = found.place as i64 - shift + moves.get(moves.len() / 2).copied().unwrap_or(0);
        hint = usize::try_from(place + shift).unwrap_or(0);
        // Less than the service uses would do for one run only.
        let stable = search.limits.partition_point(|limit| is_unstable(demand, *limit));
        // Seeds that are hard with one period need not be those that are hard with another.
        let place = search.enough_for(&tried, usize::try_from(place).unwrap_or(0).max(stable))?;
        let limit = search.limits.get(place).copied();
        rows.extend(limit.filter(|limit| limit.quota.is_some()).map(|limit| Alternative { limit, set_in: SetIn::of(limit) }));
    }
    let share = |limit: CpuMax| limit.quota.map(|quota| u128::from(quota.0) * 1_000_000_000 / u128::from(limit.period.0.max(1)));
    rows.sort_by_key(|row| (share(row.limit), row.set_in, row.limit.period));
    Ok(rows)
}
