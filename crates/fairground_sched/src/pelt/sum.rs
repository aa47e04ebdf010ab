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

/// What the end of some periods does to sums, whatever the units of the first and the last.
#[derive(Clone, Copy)]
struct Ended {
    /// What sums lose.
    decay: Decay,
    /// Contribution of the whole periods between the first and the last.
    whole: u32,
}

impl Ended {
    /// Nearly all stretches end few periods: these are looked up.
    const FEW: [Ended; 64] = {
        let mut table = [Ended { decay: Decay::over(0), whole: 0 }; 64];
        let mut periods = 1;
        while periods < 64 {
            table[periods as usize] = Ended::compute(periods);
            periods += 1;
        }
        table
    };

    #[inline(always)]
    const fn periods(periods: u64) -> Ended {
        if periods < 64 { Ended::FEW[periods as usize] } else { Ended::compute(periods) }
    }
    #[cold]
    const fn compute(periods: u64) -> Ended {
        let decay = Decay::over(periods);
        Ended { decay, whole: (LOAD_AVG_MAX - decay.apply(LOAD_AVG_MAX) - PERIOD_UNITS) as u32 }
    }
    /// Contribution of all: `head` units of the period that was open, the whole periods, and `tail`
    /// units of the one that is open now.
    #[inline(always)]
    const fn contribution(self, head: u64, tail: u64) -> u32 {
        self.decay.apply(head) as u32 + self.whole + tail as u32
    }
}

/// Contribution of a stretch that ends at least one period: `head` units of the period that was open,
/// the whole periods between, and `tail` units of the one that is open now.
///
/// Kernel: pelt.c __accumulate_pelt_segments(), v4.12–
#[inline]
pub const fn segments(periods: u64, head: u64, tail: u64) -> u64 {
    Ended::periods(periods).contribution(head, tail) as u64
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
    pub(super) util: u32,
}

/// A stretch of time since an update: where it ends, and what it does to sums.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    /// Time of the last update, and units of the period that is open, at its end.
    last_update_time: u64,
    period_contrib: u32,
    /// What the sums lose, if a period ended.
    decay: Option<Decay>,
    /// What a sum gains per unit of its rate, before scaling; at most [`LOAD_AVG_MAX`].
    contribution: u32,
}

impl Stretch {
    /// Whether time has passed since the last update of `sa` that an update at `now` counts.
    #[inline]
    pub(super) fn counts(sa: &SchedAvg, now: u64) -> bool {
        let delta = now.wrapping_sub(sa.last_update_time);
        delta as i64 >= 0 && Stretch::is_counted(delta)
    }

    /// Whether an update of `sa` at `now` finds no unit of time that has passed.
    #[inline(always)]
    pub(super) const fn is_nothing(sa: &SchedAvg, now: u64) -> bool {
        now.wrapping_sub(sa.last_update_time) < 1 << UNIT_SHIFT
    }

    /// Whether so much time is a unit at least.
    #[inline]
    pub(super) const fn is_counted(delta_ns: u64) -> bool {
        delta_ns >> UNIT_SHIFT > 0
    }

    /// From the last update of `sa` to `now`. Time below one unit is kept for the next call; a clock
    /// that went back only resets the time.
    ///
    /// Kernel: pelt.c ___update_load_sum(), v4.12–
    #[inline(always)]
    pub(super) fn since_update(sa: &SchedAvg, now: u64) -> Stretch {
        let delta = now.wrapping_sub(sa.last_update_time);
        let open = sa.period_contrib;
        if (delta as i64) < 0 {
            return Stretch { last_update_time: now, period_contrib: open, decay: None, contribution: 0 };
        }
        let units = delta >> UNIT_SHIFT;
        let end = u64::from(open) + units;
        let (periods, tail) = (end / PERIOD_UNITS, end % PERIOD_UNITS);
        let (decay, contribution) = if periods == 0 {
            (None, units as u32)
        } else {
            let ended = Ended::periods(periods);
            (Some(ended.decay), ended.contribution(u64::from(PERIOD_UNITS as u32 - open), tail))
        };
        Stretch {
            last_update_time: sa.last_update_time + (units << UNIT_SHIFT),
            period_contrib: tail as u32,
            decay,
            contribution,
        }
    }
    /// The same where it ends a few periods: less than a half-life, and one at least.
    #[inline(always)]
    pub(super) fn of_few_periods(sa: &SchedAvg, now: u64) -> Option<Stretch> {
        let (units, open) = (now.wrapping_sub(sa.last_update_time) >> UNIT_SHIFT, sa.period_contrib);
        // A clock that went back gives more units than that.
        if units >= HALF_LIFE_PERIODS * PERIOD_UNITS {
            return None;
        }
        let end = u64::from(open) + units;
        let (periods, tail) = (end / PERIOD_UNITS, end % PERIOD_UNITS);
        if periods == 0 || periods >= HALF_LIFE_PERIODS {
            return None;
        }
        let Ended { decay: Decay { inverse, .. }, whole } = Ended::FEW[periods as usize % Ended::FEW.len()];
        let ended = Ended { decay: Decay { half_lives: 0, inverse }, whole };
        Some(Stretch {
            last_update_time: sa.last_update_time + (units << UNIT_SHIFT),
            period_contrib: tail as u32,
            decay: Some(ended.decay),
            contribution: ended.contribution(u64::from(PERIOD_UNITS as u32 - open), tail),
        })
    }

    /// Steps all sums to its end; true if a period ended, so that the averages are to be computed
    /// again. `freq` scales the contribution (1024 where the clock is scaled instead).
    ///
    /// Kernel: pelt.c accumulate_sum(), v4.12–
    #[inline(always)]
    pub(super) fn step(&self, sa: &mut SchedAvg, rates: Rates, freq: u32) -> bool {
        (sa.last_update_time, sa.period_contrib) = (self.last_update_time, self.period_contrib);
        match self.decay {
            Some(decay) => {
                sa.load_sum = decay.apply(sa.load_sum);
                sa.runnable_sum = decay.apply(sa.runnable_sum);
                sa.util_sum = decay.apply(u64::from(sa.util_sum)) as u32;
            }
            None if self.contribution == 0 => return false,
            None => {}
        }
        let contribution = self.scaled_contribution(freq);
        sa.load_sum = sa.load_sum.wrapping_add(rates.load * u64::from(contribution));
        sa.runnable_sum = sa.runnable_sum.wrapping_add(rates.runnable * u64::from(contribution));
        sa.util_sum += rates.util * contribution;
        self.decay.is_some()
    }
    /// As [`Stretch::step`] for the utilisation alone; the other sums stay as they are.
    #[inline(always)]
    pub(super) fn step_util(&self, sa: &mut SchedAvg, rate: u32, freq: u32) -> bool {
        (sa.last_update_time, sa.period_contrib) = (self.last_update_time, self.period_contrib);
        if let Some(decay) = self.decay {
            sa.util_sum = decay.apply(u64::from(sa.util_sum)) as u32;
        }
        sa.util_sum += rate * self.scaled_contribution(freq);
        self.decay.is_some()
    }
    #[inline(always)]
    fn scaled_contribution(&self, freq: u32) -> u32 {
        let full = u64::from(freq) == SCHED_CAPACITY_SCALE;
        if full { self.contribution } else { cap_scale(u64::from(self.contribution), freq) as u32 }
    }
}
