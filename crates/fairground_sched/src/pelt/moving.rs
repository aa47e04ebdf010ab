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
        cfs.load_sum = cfs.load_sum.wrapping_add(self.queue_load_sum(se, weight));
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
            PeltFamily::D => floor_sums(cfs),
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
            PeltFamily::DSynced | PeltFamily::D => se.runnable_avg,
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
            PeltFamily::DSynced | PeltFamily::D => {
                sub_positive(&mut cfs.runnable_avg, gone.runnable);
                sub_positive(&mut cfs.runnable_sum, gone.runnable * divider);
                if self == PeltFamily::DSynced {
                    cfs.load_sum = cfs.load_avg.wrapping_mul(divider);
                    cfs.runnable_sum = cfs.runnable_avg * divider;
                }
                floor_sums(cfs);
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
            PeltFamily::DSynced | PeltFamily::D => None,
        }
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
            PeltFamily::B | PeltFamily::C | PeltFamily::DSynced | PeltFamily::D => weight.wrapping_mul(se.load_sum),
        }
    }

    /// Family A propagates by a flag, not by a sum.
    const fn to_propagate(self, sum: i64) -> i64 {
        match self {
            PeltFamily::A => 0,
            PeltFamily::B | PeltFamily::C | PeltFamily::DSynced | PeltFamily::D => sum,
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

/// No sum may fall below what its average needs at the start of a period.
fn floor_sums(sa: &mut SchedAvg) {
    sa.load_sum = sa.load_sum.max(sa.load_avg.wrapping_mul(PELT_MIN_DIVIDER));
    sa.runnable_sum = sa.runnable_sum.max(sa.runnable_avg * PELT_MIN_DIVIDER);
    sa.util_sum = sa.util_sum.max(util_sum(sa.util_avg, PELT_MIN_DIVIDER as u32));
}
