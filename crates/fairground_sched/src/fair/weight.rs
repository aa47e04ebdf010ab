//! Weights of nice levels, and the fixed-point division of a run time by a weight.

use crate::profile::Profile;
use crate::seam::{CalcDelta, ScaleLoadDown};
use fairground_model::policy::SCHED_PRIO_TO_WEIGHT;

/// Binary places that stored weights have more than those of the nice table.
pub const SCHED_FIXEDPOINT_SHIFT: u32 = 10;
/// Stored weight of nice 0: 1024 << 10.
pub const NICE_0_LOAD: u64 = 1024 << SCHED_FIXEDPOINT_SHIFT;
/// Weight (not scaled up) of a task of policy SCHED_IDLE.
pub const WEIGHT_IDLEPRIO: u32 = 3;
/// Inverse of [`WEIGHT_IDLEPRIO`].
pub const WMULT_IDLEPRIO: u32 = 1_431_655_765;
/// Largest inverse: that of weight 1, and of an empty queue.
const WMULT_CONST: u32 = u32::MAX;
/// The least that a scaled-down weight can be under [`ScaleLoadDown::FloorTwo`].
const MIN_SCALED_DOWN: u64 = 2;

/// Inverses of [`SCHED_PRIO_TO_WEIGHT`] with 32 binary places.
///
/// Kernel: core.c sched_prio_to_wmult, v4.12–
pub const SCHED_PRIO_TO_WMULT: [u32; 40] = nice_inverses();

/// 2^32 / weight to nearest; the kernel's table has the floor at nice 13, 14, 16 and 17.
const fn nice_inverses() -> [u32; 40] {
    let mut inverses = [0; 40];
    let mut row = 0;
    while row < 40 {
        let weight = SCHED_PRIO_TO_WEIGHT[row] as u64;
        let floored = matches!(row, 33 | 34 | 36 | 37);
        let half = if floored { 0 } else { weight / 2 };
        inverses[row] = (((1 << 32) + half) / weight) as u32;
        row += 1;
    }
    inverses
}

impl ScaleLoadDown {
    /// The scaled-down weight.
    ///
    /// Kernel: sched.h scale_load_down(), v4.12–
    #[inline]
    pub const fn apply(self, weight: u64) -> u64 {
        let shifted = weight >> SCHED_FIXEDPOINT_SHIFT;
        match self {
            ScaleLoadDown::FloorTwo if weight != 0 && shifted < MIN_SCALED_DOWN => MIN_SCALED_DOWN,
            _ => shifted,
        }
    }
}

/// A weight, and its inverse once somebody asked for it.
///
/// Kernel: sched.h struct load_weight, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoadWeight {
    weight: u64,
    /// 0: not computed since the weight changed.
    inv_weight: u32,
}

impl LoadWeight {
    /// A stored (scaled-up) weight whose inverse is computed when it is needed: groups and queue sums.
    #[inline]
    pub const fn new(weight: u64) -> LoadWeight {
        LoadWeight { weight, inv_weight: 0 }
    }

    /// Weight of a nice level from -20 to 19, with the inverse of the kernel's table.
    pub const fn nice(nice: i8) -> LoadWeight {
        let row = (nice + 20) as usize;
        LoadWeight { weight: (SCHED_PRIO_TO_WEIGHT[row] as u64) << SCHED_FIXEDPOINT_SHIFT, inv_weight: SCHED_PRIO_TO_WMULT[row] }
    }

    /// Weight of a task of policy SCHED_IDLE.
    pub const fn idle_policy() -> LoadWeight {
        LoadWeight { weight: (WEIGHT_IDLEPRIO as u64) << SCHED_FIXEDPOINT_SHIFT, inv_weight: WMULT_IDLEPRIO }
    }

    /// The stored (scaled-up) weight.
    #[inline]
    pub const fn weight(&self) -> u64 {
        self.weight
    }

    /// Adds `more` to the weight and forgets the inverse.
    ///
    /// Kernel: fair.c update_load_add(), v4.12–
    #[inline]
    pub fn add(&mut self, more: u64) {
        *self = LoadWeight::new(self.weight + more);
    }

    /// Takes `less` off the weight and forgets the inverse.
    ///
    /// Kernel: fair.c update_load_sub(), v4.12–
    #[inline]
    pub fn sub(&mut self, less: u64) {
        *self = LoadWeight::new(self.weight - less);
    }

    /// floor((2^32 - 1) / weight), kept until the weight changes.
    ///
    /// Kernel: fair.c __update_inv_weight(), v4.12–
    #[inline]
    pub fn inverse(&mut self, down: ScaleLoadDown) -> u32 {
        if self.inv_weight == 0 {
            self.inv_weight = match down.apply(self.weight) {
                0 => WMULT_CONST,
                weight => ((u64::from(WMULT_CONST) / weight) as u32).max(1),
            };
        }
        self.inv_weight
    }
}

/// How run times are divided by weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Division {
    down: ScaleLoadDown,
    rule: CalcDelta,
}

impl Profile {
    /// How this kernel divides run times by weights.
    #[inline]
    pub(crate) const fn division(&self) -> Division {
        Division { down: self.scale_load_down, rule: self.calc_delta }
    }
}

/// delta * weight / lw, cut to whole ns.
///
/// ```text
/// inverse   delta * (weight * 2^32 / lw) / 2^32       a few ns are lost
/// exact     delta * weight / lw                       the product is one of 64 bits: 4.9 h at nice 0
/// ```
///
/// Kernel: fair.c __calc_delta(), v4.12–
#[inline]
pub fn calc_delta(how: Division, delta: u64, weight: u64, lw: &mut LoadWeight) -> u64 {
    match how.rule {
        CalcDelta::Inverse => by_inverse(how.down, delta, weight, lw),
        CalcDelta::Exact => delta.wrapping_mul(weight) / lw.weight,
    }
}

#[inline(always)]
fn by_inverse(down: ScaleLoadDown, delta: u64, weight: u64, lw: &mut LoadWeight) -> u64 {
    let (fact, first) = shrink_to_32_bits(down.apply(weight));
    let (fact, second) = shrink_to_32_bits(fact * u64::from(lw.inverse(down)));
    let product = u128::from(delta) * u128::from(fact);
    (product >> (32 - first - second)) as u64
}

/// `fact` without as many low bits as it has bits beyond 32, and their number.
#[inline]
const fn shrink_to_32_bits(fact: u64) -> (u64, u32) {
    let excess = 32u32.saturating_sub(fact.leading_zeros());
    (fact >> excess, excess)
}

/// Run time of an entity as virtual time: delta * 1024 / weight; nice 0 is exact.
///
/// Kernel: fair.c calc_delta_fair(), v4.12–
#[inline]
pub fn calc_delta_fair(how: Division, delta: u64, lw: &mut LoadWeight) -> u64 {
    if lw.weight == NICE_0_LOAD { delta } else { calc_delta(how, delta, NICE_0_LOAD, lw) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seam::Seam;
    use proptest::prelude::*;

    const DOWN: ScaleLoadDown = ScaleLoadDown::FloorTwo;
    const BY_INVERSE: Division = Division { down: DOWN, rule: CalcDelta::Inverse };
    const EXACT: Division = Division { down: DOWN, rule: CalcDelta::Exact };

    /// The definition with its loops, as the reference model has it.
    fn slow_calc_delta(delta: u64, weight: u64, inverse: u64) -> u64 {
        let (mut fact, mut shift) = (weight, 32);
        while fact >> 32 != 0 {
            (fact, shift) = (fact >> 1, shift - 1);
        }
        fact *= inverse;
        while fact >> 32 != 0 {
            (fact, shift) = (fact >> 1, shift - 1);
        }
        ((u128::from(delta) * u128::from(fact)) >> shift) as u64
    }

    #[test]
    fn inverses_are_the_published_ones() {
        let known = [
            48388, 59856, 76040, 92818, 118348, 147320, 184698, 229616, 287308, 360437, 449829, 563644, 704093, 875809, 1099582,
            1376151, 1717300, 2157191, 2708050, 3363326, 4194304, 5237765, 6557202, 8165337, 10153587, 12820798, 15790321,
            19976592, 24970740, 31350126, 39045157, 49367440, 61356676, 76695844, 95443717, 119304647, 148102320, 186737708,
            238609294, 286331153,
        ];
        assert_eq!(SCHED_PRIO_TO_WMULT, known);
    }

    /// 24 ms at nice 19 are 24 * 1024 / 15 = 1638.4 ms, and at SCHED_IDLE 8192 ms.
    #[test]
    fn a_division_loses_nothing() {
        for (how, nice_19, idle) in [(BY_INVERSE, 1_638_399_999, 8_191_999_998), (EXACT, 1_638_400_000, 8_192_000_000)] {
            assert_eq!(calc_delta_fair(how, 24_000_000, &mut LoadWeight::nice(19)), nice_19);
            assert_eq!(calc_delta_fair(how, 24_000_000, &mut LoadWeight::idle_policy()), idle);
            assert_eq!(calc_delta_fair(how, 24_000_001, &mut LoadWeight::nice(0)), 24_000_001);
        }
    }

    #[test]
    fn lazy_inverse_of_sums() {
        assert_eq!(LoadWeight::new(NICE_0_LOAD).inverse(DOWN), 4_194_303);
        assert_eq!(LoadWeight::nice(0).inverse(DOWN), 4_194_304);
        assert_eq!(LoadWeight::default().inverse(DOWN), u32::MAX);
        assert_eq!(LoadWeight::new(u64::MAX).inverse(DOWN), 1);
        let mut sum = LoadWeight::new(NICE_0_LOAD);
        assert_eq!(sum.inverse(DOWN), 4_194_303);
        sum.add(NICE_0_LOAD);
        assert_eq!(sum.inverse(DOWN), u32::MAX / 2048);
        sum.sub(NICE_0_LOAD);
        assert_eq!(sum.inverse(DOWN), 4_194_303);
    }

    #[test]
    fn virtual_time_of_a_millisecond() {
        let known = [(-20, 11_536), (-10, 107_247), (-5, 328_099), (-1, 801_879), (0, 1_000_000), (1, 1_248_780), (5, 3_056_716)];
        for (nice, vtime) in known.into_iter().chain([(10, 9_309_090), (19, 68_266_666)]) {
            assert_eq!(calc_delta_fair(BY_INVERSE, 1_000_000, &mut LoadWeight::nice(nice)), vtime, "nice {nice}");
        }
        assert_eq!(calc_delta_fair(BY_INVERSE, 1_000_000, &mut LoadWeight::idle_policy()), 341_333_333);
        assert_eq!(calc_delta_fair(BY_INVERSE, 24_000_000, &mut LoadWeight::nice(19)), 1_638_399_999);
        assert_eq!(calc_delta_fair(BY_INVERSE, 24_000_000, &mut LoadWeight::nice(5)), 73_361_194);
    }

    #[test]
    fn small_weights_by_era() {
        assert_eq!((ScaleLoadDown::Shift.apply(2), DOWN.apply(2), DOWN.apply(0)), (0, 2, 0));
        assert_eq!((DOWN.apply(1023), DOWN.apply(5 << 10)), (2, 5));
        assert_eq!(ScaleLoadDown::at(fairground_model::version::v(5, 1)), ScaleLoadDown::Shift);
    }

    proptest! {
        #[test]
        fn equals_the_loops(delta in 0u64..1 << 50, weight in 2u64..1 << 30, load in 2u64..1 << 36) {
            let mut lw = LoadWeight::new(load << 10);
            let inverse = u64::from(lw.inverse(DOWN));
            prop_assert_eq!(calc_delta(BY_INVERSE, delta, weight << 10, &mut lw), slow_calc_delta(delta, weight, inverse));
        }
    }
}
