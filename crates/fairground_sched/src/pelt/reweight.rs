//! A change of weight of an entity that stays on its queue's books.

use super::moving::sub_positive;
use super::sum::pelt_divider;
use super::{PeltFamily, SchedAvg};

impl PeltFamily {
    /// The entity's load follows its new weight at once, and its queue's load with it. `old` and `new`
    /// are scaled-down weights, `runnable` is the new scaled-down runnable weight of families B and C. Family A lets the
    /// average follow by ageing. A weight that stays the same has an effect too: the average is made for the present place in
    /// the period, and in family D, cut or whole, what is left of the queue's sum is at least what its average needs.
    ///
    /// Kernel: fair.c reweight_entity(), dequeue_load_avg(), v4.15–
    pub fn reweight(self, cfs: &mut SchedAvg, se: &mut SchedAvg, old: u64, new: u64, runnable: u64) {
        if self == PeltFamily::A {
            return;
        }
        sub_positive(&mut cfs.load_avg, se.load_avg);
        sub_positive(&mut cfs.load_sum, old.wrapping_mul(se.load_sum));
        cfs.load_sum = self.left(cfs.load_sum, cfs.load_avg);
        let divider = pelt_divider(se);
        se.load_avg = new.wrapping_mul(se.load_sum) / divider;
        if !self.counts_tasks() {
            se.runnable_avg = runnable.wrapping_mul(se.runnable_sum) / divider;
        }
        cfs.load_avg += se.load_avg;
        cfs.load_sum = self.joined(cfs.load_sum.wrapping_add(new.wrapping_mul(se.load_sum)), cfs.load_avg);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1024 * (2^54 + 2^20) is 2^30 in 64 bits.
    #[test]
    fn what_is_beyond_64_bits_is_lost() {
        let state = |load_sum| SchedAvg { load_sum, period_contrib: 1024, ..SchedAvg::default() };
        for family in [PeltFamily::B, PeltFamily::C, PeltFamily::DSynced, PeltFamily::D, PeltFamily::DWhole] {
            let (mut cfs, mut se) = (state(3 * ((1 << 54) + (1 << 20))), state((1 << 54) + (1 << 20)));
            family.reweight(&mut cfs, &mut se, 3, 1024, 1024);
            assert_eq!(
                (se.load_avg, cfs.load_avg, cfs.load_sum),
                ((1 << 30) / 47_742, (1 << 30) / 47_742, 1 << 30),
                "{family:?}"
            );
        }
    }
}
