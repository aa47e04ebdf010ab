//! Entities that join and leave queues: attach, detach, migration of sleepers, runnable load.

use super::tables::PELT_MIN_DIVIDER;
use super::{PeltFamily, SCHED_CAPACITY_SHIFT, SchedAvg};

/// What sleeping tasks that migrated away left to be subtracted from their old queue.
///
/// Kernel: fair.c struct cfs_rq `removed`, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Removed {
    /// How many tasks have left since it was emptied.
    pub nr: u32,
    /// Sum of their `load_avg`.
    pub load_avg: u64,
    /// Sum of their `util_avg`.
    pub util_avg: u64,
    /// Families B and C: sum of their `load_sum`. Family D, synced or not: sum of their `runnable_avg`.
    pub runnable: u64,
}

/// The sum that goes with an average: 32 bits of it, as wide as the kernel's field. Tasks on one queue whose averages add up to
/// 90,000 are beyond that.
pub(super) fn util_sum(avg: u32, divider: u32) -> u32 {
    (u64::from(avg) * u64::from(divider)) as u32
}

impl PeltFamily {
    /// Adds an entity's state to a queue that it joins; `weight` is the scaled-down se_weight.
    /// Returns the sum to propagate to the group entity above (families B to D).
    ///
    /// Kernel: fair.c attach_entity_load_avg(), v4.12–
    pub fn attach(self, cfs: &mut SchedAvg, se: &mut SchedAvg, weight: u64) -> i64 {
        se.last_update_time = cfs.last_update_time;
        if self != PeltFamily::A {
            se.period_contrib = cfs.period_contrib;
            self.rebuild_sums(se, weight);
        }
        cfs.load_avg += se.load_avg;
        cfs.load_sum = self.joined(cfs.load_sum.wrapping_add(self.queue_load_sum(se, weight)), cfs.load_avg);
        cfs.util_avg += se.util_avg;
        cfs.util_sum += se.util_sum;
        if self.counts_tasks() {
            cfs.runnable_avg += se.runnable_avg;
            cfs.runnable_sum += se.runnable_sum;
        }
        self.to_propagate(se.load_sum as i64)
    }

    /// Takes an entity's state off a queue that it leaves; `weight` is the scaled-down se_weight.
    /// Returns the (negative) sum to propagate to the group entity above (families B to D).
    ///
    /// Kernel: fair.c detach_entity_load_avg(), v4.12–
    pub fn detach(self, cfs: &mut SchedAvg, se: &SchedAvg, weight: u64) -> i64 {
        sub_positive(&mut cfs.load_avg, se.load_avg);
        sub_positive(&mut cfs.load_sum, self.queue_load_sum(se, weight));
        cfs.util_avg = cfs.util_avg.saturating_sub(se.util_avg);
        cfs.util_sum = cfs.util_sum.saturating_sub(se.util_sum);
        if self.counts_tasks() {
            sub_positive(&mut cfs.runnable_avg, se.runnable_avg);
            sub_positive(&mut cfs.runnable_sum, se.runnable_sum);
        }
        match self {
            PeltFamily::DSynced => {
                let divider = self.divider(cfs);
                cfs.util_sum = util_sum(cfs.util_avg, divider as u32);
                cfs.runnable_sum = cfs.runnable_avg * divider;
            }
            PeltFamily::D | PeltFamily::DWhole => self.floor_sums(cfs),
            PeltFamily::A | PeltFamily::B | PeltFamily::C => {}
        }
        self.to_propagate((se.load_sum as i64).wrapping_neg())
    }

    /// A sleeping task that migrates: the old queue is not locked, so what leaves it is noted in `removed`.
    /// The entity was synced to the queue before, and is attached to its next queue at enqueue.
    ///
    /// Kernel: fair.c remove_entity_load_avg(), v4.12–
    pub fn remove(self, removed: &mut Removed, se: &mut SchedAvg) {
        removed.nr += 1;
        removed.load_avg += se.load_avg;
        removed.util_avg += u64::from(se.util_avg);
        removed.runnable = removed.runnable.wrapping_add(match self {
            PeltFamily::A => 0,
            PeltFamily::B | PeltFamily::C => se.load_sum,
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => se.runnable_avg,
        });
        se.last_update_time = 0;
    }

    /// Subtracts what was noted in `removed` from the queue, before the queue's own update. Nothing if there was none;
    /// else the sum to propagate to the group entity above (families B to D).
    ///
    /// Kernel: fair.c update_cfs_rq_load_avg(), v4.12–
    #[inline]
    pub fn consume_removed(self, cfs: &mut SchedAvg, removed: &mut Removed) -> Option<i64> {
        (removed.nr != 0).then(|| self.subtract_removed(cfs, std::mem::take(removed)))
    }

    #[cold]
    fn subtract_removed(self, cfs: &mut SchedAvg, gone: Removed) -> i64 {
        let divider = self.divider(cfs);
        sub_positive(&mut cfs.load_avg, gone.load_avg);
        sub_positive(&mut cfs.load_sum, gone.load_avg.wrapping_mul(divider));
        cfs.util_avg = u64::from(cfs.util_avg).saturating_sub(gone.util_avg) as u32;
        cfs.util_sum = u64::from(cfs.util_sum).saturating_sub(gone.util_avg * divider) as u32;
        match self {
            PeltFamily::A => 0,
            PeltFamily::B | PeltFamily::C => (gone.runnable as i64).wrapping_neg(),
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => {
                sub_positive(&mut cfs.runnable_avg, gone.runnable);
                sub_positive(&mut cfs.runnable_sum, gone.runnable * divider);
                if self == PeltFamily::DSynced {
                    cfs.load_sum = cfs.load_avg.wrapping_mul(divider);
                    cfs.runnable_sum = cfs.runnable_avg * divider;
                }
                self.floor_sums(cfs);
                -((gone.runnable * divider) as i64) >> SCHED_CAPACITY_SHIFT
            }
        }
    }

    /// An entity becomes runnable: its load joins the queue's runnable load. `runnable_weight` is
    /// the scaled-down one of families B and C. Family D has no runnable load.
    ///
    /// Kernel: fair.c enqueue_runnable_load_avg(), v4.12–v5.6
    pub fn enqueue_runnable_load(self, cfs: &mut SchedAvg, se: &SchedAvg, runnable_weight: u64) {
        if let Some((avg, sum)) = self.runnable_load(se, runnable_weight) {
            cfs.runnable_avg += avg;
            cfs.runnable_sum = cfs.runnable_sum.wrapping_add(sum);
        }
    }

    /// The reverse of [`PeltFamily::enqueue_runnable_load`]; never below 0.
    ///
    /// Kernel: fair.c dequeue_runnable_load_avg(), v4.12–v5.6
    pub fn dequeue_runnable_load(self, cfs: &mut SchedAvg, se: &SchedAvg, runnable_weight: u64) {
        if let Some((avg, sum)) = self.runnable_load(se, runnable_weight) {
            sub_positive(&mut cfs.runnable_avg, avg);
            sub_positive(&mut cfs.runnable_sum, sum);
        }
    }

    /// Average and sum that an entity has in its queue's runnable load.
    const fn runnable_load(self, se: &SchedAvg, runnable_weight: u64) -> Option<(u64, u64)> {
        match self {
            PeltFamily::A => Some((se.load_avg, se.load_sum)),
            PeltFamily::B | PeltFamily::C => Some((se.runnable_avg, runnable_weight.wrapping_mul(se.runnable_sum))),
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => None,
        }
    }

    /// What is left of a sum when something went: no less than its average needs at the start of a period,
    ///
    /// ```text
    /// d        max(low 32 bits of the sum, low 32 bits of avg * PELT_MIN_DIVIDER)
    /// d-whole  max(sum, avg * PELT_MIN_DIVIDER)
    /// ```
    ///
    /// In family D that is a maximum of 32 bits, and the sums of load and of runnable tasks have 64. From load_avg
    /// 2^32 / 47742 = 89,962 on a queue's sum may be beyond 32 bits, and two tasks of nice -20 have 177,522. With the next one to
    /// leave the queue loses that much at its next update: a fault of the kernel.
    ///
    /// Kernel: fair.c dequeue_load_avg(), detach_entity_load_avg(), update_tg_cfs_load(), v5.17–
    #[inline]
    pub(super) fn left(self, sum: u64, avg: u64) -> u64 {
        let least = avg.wrapping_mul(PELT_MIN_DIVIDER);
        match self {
            PeltFamily::A | PeltFamily::B | PeltFamily::C | PeltFamily::DSynced => sum,
            PeltFamily::D => u64::from((sum as u32).max(least as u32)),
            PeltFamily::DWhole => sum.max(least),
        }
    }

    /// A queue's sum of load when something has joined.
    ///
    /// Kernel: fair.c enqueue_load_avg(), v7.0–
    #[inline]
    pub(super) fn joined(self, sum: u64, avg: u64) -> u64 {
        if self == PeltFamily::DWhole { self.left(sum, avg) } else { sum }
    }

    /// What is left of all three sums; that of utilisation has 32 bits in any family.
    fn floor_sums(self, sa: &mut SchedAvg) {
        sa.load_sum = self.left(sa.load_sum, sa.load_avg);
        sa.runnable_sum = self.left(sa.runnable_sum, sa.runnable_avg);
        sa.util_sum = sa.util_sum.max(util_sum(sa.util_avg, PELT_MIN_DIVIDER as u32));
    }

    /// Sums from averages, for the place in the period that the queue is at.
    fn rebuild_sums(self, se: &mut SchedAvg, weight: u64) {
        let divider = self.divider(se);
        se.util_sum = util_sum(se.util_avg, divider as u32);
        let product = se.load_avg.wrapping_mul(divider);
        if self.counts_tasks() {
            se.runnable_sum = se.runnable_avg * divider;
            se.load_sum = if weight < product { product.checked_div(weight).unwrap_or(product) } else { 1 };
        } else {
            se.load_sum = product.checked_div(weight).unwrap_or(divider);
            se.runnable_sum = se.load_sum;
        }
    }

    /// An entity's share of its queue's `load_sum`: family A has the weight in it already.
    const fn queue_load_sum(self, se: &SchedAvg, weight: u64) -> u64 {
        match self {
            PeltFamily::A => se.load_sum,
            PeltFamily::B | PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => {
                weight.wrapping_mul(se.load_sum)
            }
        }
    }

    /// Family A propagates by a flag, not by a sum.
    const fn to_propagate(self, sum: i64) -> i64 {
        match self {
            PeltFamily::A => 0,
            PeltFamily::B | PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => sum,
        }
    }
}

/// Subtracts, but not below 0.
///
/// Kernel: fair.c sub_positive(), v4.12–
#[inline]
pub(super) fn sub_positive(value: &mut u64, less: u64) {
    *value = value.saturating_sub(less);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pelt::{CfsRqLoad, Scale};

    const MINUS_20: u64 = 88_761;
    const TIME: u64 = 46_718;

    /// Two tasks of nice -20 stay when one of nice 0 leaves: sum and, after the next period, average of what stays.
    fn what_stays(family: PeltFamily, leave: fn(PeltFamily, &mut SchedAvg)) -> (u64, u64) {
        let load = 2 * MINUS_20 + 1024;
        let mut cfs = SchedAvg { load_avg: load, load_sum: load * TIME, ..SchedAvg::default() };
        leave(family, &mut cfs);
        let sum = cfs.load_sum;
        let weight = 2 * MINUS_20;
        family.update_cfs_rq(1024 * 1024, &mut cfs, CfsRqLoad { weight, runnable: 2, running: true }, Scale::FULL);
        (sum, cfs.load_avg)
    }

    fn of_nice_0() -> SchedAvg {
        SchedAvg { load_avg: 1024, load_sum: TIME, ..SchedAvg::default() }
    }

    #[test]
    fn two_urgent_tasks_lose_load_when_a_third_leaves() {
        let ways: [fn(PeltFamily, &mut SchedAvg); 3] = [
            |family, cfs| {
                family.detach(cfs, &of_nice_0(), 1024);
            },
            |family, cfs| {
                let mut removed = Removed::default();
                family.remove(&mut removed, &mut of_nice_0());
                family.consume_removed(cfs, &mut removed);
            },
            // Its new weight is its old one: what stays is cut, and then it comes back.
            |family, cfs| family.reweight(cfs, &mut of_nice_0(), 1024, 1024, 1024),
        ];
        let whole = 2 * MINUS_20 * TIME;
        let cut = whole - (1 << 32);
        for (way, comes_back) in ways.into_iter().zip([0, 0, 1024 * TIME]) {
            assert_eq!(what_stays(PeltFamily::D, way).0, cut + comes_back);
            for family in [PeltFamily::DSynced, PeltFamily::DWhole] {
                assert_eq!(what_stays(family, way).0, whole + comes_back, "{family:?}");
            }
        }
        let [kept, less] = [PeltFamily::DWhole, PeltFamily::D].map(|family| what_stays(family, ways[0]).1);
        assert!(kept.abs_diff(2 * MINUS_20) < 10, "{kept}");
        assert!((88_000..=92_000).contains(&(kept - less)), "{kept}, {less}");
    }

    /// The sum of a queue is 10 short of what its average needs: with d-whole one that joins finds and mends that.
    #[test]
    fn who_joins_lifts_the_sum_of_load() {
        for (family, short) in [(PeltFamily::D, 10), (PeltFamily::DWhole, 0)] {
            let mut cfs = SchedAvg { load_avg: 1024, load_sum: 1024 * TIME - 10, ..SchedAvg::default() };
            family.attach(&mut cfs, &mut of_nice_0(), 1024);
            assert_eq!((cfs.load_avg, cfs.load_sum), (2048, 2048 * TIME - short), "{family:?}");
        }
    }
}
