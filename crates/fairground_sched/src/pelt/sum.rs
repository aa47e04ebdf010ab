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
    match advance_time(now, sa) {
        0 => false,
        units => accumulate(units, sa, rates, freq),
    }
}

/// As [`update_sum`] for the utilisation alone; the other sums stay as they are.
///
/// Kernel: pelt.c ___update_load_sum(), v4.19–
#[inline(always)]
pub(super) fn update_util_sum(now: u64, sa: &mut SchedAvg, rate: u64, freq: u32) -> bool {
    let units = advance_time(now, sa);
    if units == 0 {
        return false;
    }
    let stretch = Stretch::of(units, sa);
    if let Some(decay) = stretch.decay {
        sa.util_sum = decay.apply(u64::from(sa.util_sum)) as u32;
    }
    if rate != 0 {
        sa.util_sum += (rate * stretch.contribution(freq)) as u32;
    }
    stretch.decay.is_some()
}

/// Moves the time of the last update to `now` in whole units; returns how many have passed.
#[inline(always)]
fn advance_time(now: u64, sa: &mut SchedAvg) -> u64 {
    let delta = now.wrapping_sub(sa.last_update_time);
    if (delta as i64) < 0 {
        sa.last_update_time = now;
        return 0;
    }
    let units = delta >> UNIT_SHIFT;
    sa.last_update_time += units << UNIT_SHIFT;
    units
}

/// A stretch of time since the last update.
struct Stretch {
    units: u64,
    /// Units of the period that was open at its beginning which still lay ahead.
    head: u64,
    periods: u64,
    tail: u64,
    /// What the sums lose, if a period ended.
    decay: Option<Decay>,
}

impl Stretch {
    /// The stretch of `units` that begins in the open period of `sa`, which it moves on.
    #[inline(always)]
    fn of(units: u64, sa: &mut SchedAvg) -> Stretch {
        let open = u64::from(sa.period_contrib);
        let end = open + units;
        let (periods, tail) = (end / PERIOD_UNITS, end % PERIOD_UNITS);
        sa.period_contrib = tail as u32;
        let decay = if periods == 0 { None } else { Some(Decay::over(periods)) };
        Stretch { units, head: PERIOD_UNITS - open, periods, tail, decay }
    }
    /// What it adds to a sum, scaled by frequency.
    #[inline(always)]
    fn contribution(&self, freq: u32) -> u64 {
        let contribution = match self.decay {
            Some(decay) => decay.apply(self.head) + whole_periods(self.periods) + self.tail,
            None => self.units,
        };
        if u64::from(freq) == SCHED_CAPACITY_SCALE { contribution } else { cap_scale(contribution, freq) }
    }
}

/// Kernel: pelt.c accumulate_sum(), v4.12–
#[inline(always)]
fn accumulate(units: u64, sa: &mut SchedAvg, rates: Rates, freq: u32) -> bool {
    let stretch = Stretch::of(units, sa);
    if let Some(decay) = stretch.decay {
        sa.load_sum = decay.apply(sa.load_sum);
        sa.runnable_sum = decay.apply(sa.runnable_sum);
        sa.util_sum = decay.apply(u64::from(sa.util_sum)) as u32;
    }
    let contribution = stretch.contribution(freq);
    sa.load_sum += rates.load * contribution;
    sa.runnable_sum += rates.runnable * contribution;
    sa.util_sum += (rates.util * contribution) as u32;
    stretch.decay.is_some()
}
