//! The core step: decay the sums over the time passed and add what this time contributes.

use super::tables::{HALF_LIFE_PERIODS, LOAD_AVG_MAX, PELT_MIN_DIVIDER, RUNNABLE_AVG_YN_INV};
use super::{SCHED_CAPACITY_SCALE, SCHED_CAPACITY_SHIFT, SchedAvg};

/// Units of a period, and binary places of a unit's 1024 ns.
const PERIOD_UNITS: u64 = 1024;
const UNIT_SHIFT: u32 = 10;

/// value * capacity / 1024.
///
/// Kernel: sched.h cap_scale(), v4.12–
#[inline]
pub const fn cap_scale(value: u64, capacity: u32) -> u64 {
    (value * capacity as u64) >> SCHED_CAPACITY_SHIFT
}

/// value * y^periods, truncated. Not the identity for 0 periods: the table's first entry is 2^32 - 1.
///
/// Kernel: pelt.c decay_load(), v4.12–
#[inline]
pub const fn decay_load(value: u64, periods: u64) -> u64 {
    Decay::over(periods).apply(value)
}

/// The factor y^periods: a shift for whole half-lives, and an entry of the table for the rest.
#[derive(Clone, Copy)]
struct Decay {
    half_lives: u32,
    inverse: u32,
}

impl Decay {
    #[inline(always)]
    const fn over(periods: u64) -> Decay {
        if periods > HALF_LIFE_PERIODS * 63 {
            return Decay { half_lives: 0, inverse: 0 };
        }
        let inverse = RUNNABLE_AVG_YN_INV[(periods % HALF_LIFE_PERIODS) as usize];
        Decay { half_lives: (periods / HALF_LIFE_PERIODS) as u32, inverse }
    }
    #[inline(always)]
    const fn apply(self, value: u64) -> u64 {
        (((value >> self.half_lives) as u128 * self.inverse as u128) >> 32) as u64
    }
}

/// What the whole periods of a stretch contribute, for stretches of fewer periods than this has entries.
const WHOLE_PERIODS: [u64; 64] = {
    let mut table = [0; 64];
    let mut periods = 1;
    while periods < 64 {
        table[periods as usize] = LOAD_AVG_MAX - decay_load(LOAD_AVG_MAX, periods) - PERIOD_UNITS;
        periods += 1;
    }
    table
};

/// Contribution of the whole periods of a stretch that ends `periods` periods.
#[inline(always)]
const fn whole_periods(periods: u64) -> u64 {
    if periods < 64 { WHOLE_PERIODS[periods as usize] } else { LOAD_AVG_MAX - decay_load(LOAD_AVG_MAX, periods) - PERIOD_UNITS }
}

/// Contribution of a stretch that ends at least one period: `head` units of the period that was open,
/// the whole periods between, and `tail` units of the one that is open now.
///
/// Kernel: pelt.c __accumulate_pelt_segments(), v4.12–
#[inline]
pub const fn segments(periods: u64, head: u64, tail: u64) -> u64 {
    decay_load(head, periods) + whole_periods(periods) + tail
}

/// The largest sum that can exist at this place in the open period.
///
/// Kernel: pelt.h get_pelt_divider(), v4.14–
#[inline]
pub const fn pelt_divider(sa: &SchedAvg) -> u64 {
    PELT_MIN_DIVIDER + sa.period_contrib as u64
}

/// What each sum gains per unit of contribution; 0 for what was not the case.
#[derive(Clone, Copy, Default)]
pub(super) struct Rates {
    pub(super) load: u64,
    pub(super) runnable: u64,
    pub(super) util: u64,
}

/// Steps the sums to `now`; true if a period ended, so that the averages are to be computed again.
/// `freq` scales the contribution (1024 where the clock is scaled instead). Time below one unit is
/// kept for the next call; a clock that went back only resets the time.
///
/// Kernel: pelt.c ___update_load_sum(), v4.12–
#[inline(always)]
pub(super) fn update_sum(now: u64, sa: &mut SchedAvg, rates: Rates, freq: u32) -> bool {
    let delta = now.wrapping_sub(sa.last_update_time);
    if (delta as i64) < 0 {
        sa.last_update_time = now;
        return false;
    }
    let units = delta >> UNIT_SHIFT;
    if units == 0 {
        return false;
    }
    sa.last_update_time += units << UNIT_SHIFT;
    accumulate(units, sa, rates, freq)
}

/// Kernel: pelt.c accumulate_sum(), v4.12–
#[inline(always)]
fn accumulate(units: u64, sa: &mut SchedAvg, rates: Rates, freq: u32) -> bool {
    let open = u64::from(sa.period_contrib);
    let end = open + units;
    let (periods, tail) = (end / PERIOD_UNITS, end % PERIOD_UNITS);
    sa.period_contrib = tail as u32;
    let mut contribution = units;
    if periods != 0 {
        let decay = Decay::over(periods);
        sa.load_sum = decay.apply(sa.load_sum);
        sa.runnable_sum = decay.apply(sa.runnable_sum);
        sa.util_sum = decay.apply(u64::from(sa.util_sum)) as u32;
        contribution = decay.apply(PERIOD_UNITS - open) + whole_periods(periods) + tail;
    }
    if u64::from(freq) != SCHED_CAPACITY_SCALE {
        contribution = cap_scale(contribution, freq);
    }
    sa.load_sum += rates.load * contribution;
    sa.runnable_sum += rates.runnable * contribution;
    sa.util_sum += (rates.util * contribution) as u32;
    periods != 0
}
