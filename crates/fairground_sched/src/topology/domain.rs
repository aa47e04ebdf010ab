//! What a domain starts with.

use super::levels::LevelRow;
use super::{NewidleRate, SchedDomain, SdFlags, SdStats};
use crate::profile::Profile;
use crate::seam::DomainInit;
use fairground_stdx::{CpuId, CpuMask, SgId};

/// Relation of interval and CPUs: the upper bound is so many times the lower one, which is one ms per CPU.
pub(super) const MAX_INTERVAL_FACTOR: u32 = 2;
/// The imbalance in percent that threads of a core put up with: the least of all domains.
pub(crate) const SMT_IMBALANCE_PCT: u32 = 110;
/// The imbalance in percent that CPUs of a cache put up with.
const LLC_IMBALANCE_PCT: u32 = 117;

/// A domain of the level `row` as `cpu` sees it, its groups not known yet; `level_index` is the level's place.
///
/// Kernel: topology.c sd_init(), v4.12–
pub(super) fn sd_init(
    profile: &Profile,
    row: &LevelRow,
    level_index: u32,
    cpu: CpuId,
    span: CpuMask,
    reclaim: u32,
) -> SchedDomain {
    let weight = span.weight() as u32;
    let mut sd = SchedDomain {
        cpu,
        level: row.level,
        level_index,
        span,
        span_weight: weight,
        flags: base_flags(profile.domain_init).with(row.flags),
        parent: None,
        child: None,
        groups: 0..0,
        ring_start: 0,
        first_group: SgId::new(0),
        local_flags: None,
        min_interval: weight,
        max_interval: MAX_INTERVAL_FACTOR * weight,
        busy_factor: if profile.domain_init.is_short() { 16 } else { 32 },
        imbalance_pct: if profile.domain_init.is_short() { 117 } else { 125 },
        cache_nice_tries: 0,
        busy_idx: 0,
        idle_idx: 0,
        imb_numa_nr: 0,
        shared: None,
        last_balance: 0,
        balance_interval: weight,
        nr_balance_failed: 0,
        max_newidle_lb_cost: 0,
        last_decay_max_lb_cost: 0,
        avg_scan_cost: 0,
        newidle: NewidleRate::default(),
        stats: SdStats::default(),
    };
    behave(&mut sd, profile.domain_init, row.distance > reclaim);
    sd
}

fn base_flags(init: DomainInit) -> SdFlags {
    let all = SdFlags::BALANCE_NEWIDLE.with(SdFlags::BALANCE_EXEC).with(SdFlags::BALANCE_FORK).with(SdFlags::WAKE_AFFINE);
    match init {
        DomainInit::SiblingByLevel => all.with(SdFlags::LOAD_BALANCE),
        DomainInit::SiblingAlways => all.with(SdFlags::LOAD_BALANCE).with(SdFlags::PREFER_SIBLING),
        DomainInit::ShortIntervals => all.with(SdFlags::PREFER_SIBLING),
    }
}

/// Behaviour that follows from what a domain is; `far` = its nodes are too far apart to be balanced eagerly.
fn behave(sd: &mut SchedDomain, init: DomainInit, far: bool) {
    let by_level = init == DomainInit::SiblingByLevel;
    let (mut busy_idx, mut idle_idx) = (0, 0);
    if sd.flags.has(SdFlags::SHARE_CPUCAPACITY) {
        sd.imbalance_pct = SMT_IMBALANCE_PCT;
        if by_level {
            sd.flags = sd.flags.with(SdFlags::PREFER_SIBLING);
        }
    } else if sd.flags.has(SdFlags::SHARE_LLC) {
        (sd.imbalance_pct, sd.cache_nice_tries, busy_idx) = (LLC_IMBALANCE_PCT, 1, 2);
    } else if sd.flags.has(SdFlags::NUMA) {
        (sd.cache_nice_tries, busy_idx, idle_idx) = (2, 3, 2);
        sd.flags = sd.flags.with(SdFlags::SERIALIZE).without(SdFlags::PREFER_SIBLING);
        if far {
            sd.flags = sd.flags.without(SdFlags::BALANCE_EXEC.with(SdFlags::BALANCE_FORK).with(SdFlags::WAKE_AFFINE));
        }
    } else {
        (sd.cache_nice_tries, busy_idx, idle_idx) = (1, 2, 1);
        if by_level {
            sd.flags = sd.flags.with(SdFlags::PREFER_SIBLING);
        }
    }
    if !init.is_short() {
        (sd.busy_idx, sd.idle_idx) = (busy_idx, idle_idx);
    }
}
