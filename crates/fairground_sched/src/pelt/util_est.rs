//! Estimated utilisation: what a task's utilisation was when it last went to sleep.

use super::{SchedAvg, UtilEst};
use crate::seam::seam;

/// The moving average gives a new sample a quarter.
const UTIL_EST_WEIGHT_SHIFT: u32 = 2;
/// 1 % of a capacity of 1024.
const UTIL_EST_MARGIN: i64 = 10;

seam! {
    /// How estimated utilisation is kept.
    UtilEstRule = "util_est" {
        None "none" "Utilisation is not estimated.",
        FlagInSample "flag-in-sample" "Last sample and moving average; the flag in bit 0 takes part in the arithmetic.",
        TwoValues "two-values" "Last sample and moving average; with UTIL_EST_FASTUP the average follows a rise at once.",
        SingleValue "single-value" "One value that follows a rise at once and averages only downwards, unless the task was held up.",
    }
    history { v(4, 12) => None, v(4, 17) => FlagInSample, v(5, 5) => TwoValues, v(6, 8) => SingleValue, }
}

impl UtilEstRule {
    /// Estimate of a task's next activation.
    ///
    /// Kernel: fair.c _task_util_est(), v4.17–
    #[inline]
    pub fn task_estimate(self, task: &SchedAvg) -> u32 {
        task.util_est.ewma.max(self.last_sample(&task.util_est))
    }

    /// A task is enqueued: the root queue of its CPU expects it.
    ///
    /// Kernel: fair.c util_est_enqueue(), v4.17–
    #[inline]
    pub fn enqueue(self, cfs: &mut SchedAvg, task: &SchedAvg) {
        cfs.util_est.enqueued += self.summand(task);
    }

    /// A task is dequeued: the root queue of its CPU no longer expects it.
    ///
    /// Kernel: fair.c util_est_dequeue(), v4.17–
    #[inline]
    pub fn dequeue(self, cfs: &mut SchedAvg, task: &SchedAvg) {
        cfs.util_est.enqueued = cfs.util_est.enqueued.saturating_sub(self.summand(task));
    }

    /// A task goes to sleep: takes a sample, unless its utilisation did not change since the last one.
    /// `fastup` is the switch UTIL_EST_FASTUP.
    ///
    /// Kernel: fair.c util_est_update(), v4.17–
    #[inline]
    pub fn update(self, task: &mut SchedAvg, cpu_capacity: u32, fastup: bool) {
        if task.util_est.unchanged {
            return;
        }
        let stored = match self {
            UtilEstRule::None => None,
            UtilEstRule::FlagInSample => flag_in_sample(task),
            UtilEstRule::TwoValues => two_values(task, cpu_capacity, fastup),
            UtilEstRule::SingleValue => single_value(task, cpu_capacity),
        };
        if let Some((enqueued, ewma)) = stored {
            task.util_est = UtilEst { enqueued, ewma, unchanged: true };
        }
    }

    /// What a task adds to its queue's sum.
    fn summand(self, task: &SchedAvg) -> u32 {
        match self {
            UtilEstRule::None => 0,
            UtilEstRule::FlagInSample => self.task_estimate(task) | 1,
            UtilEstRule::TwoValues | UtilEstRule::SingleValue => self.task_estimate(task),
        }
    }

    /// With the flag in bit 0 a sample is odd while the flag is set and even afterwards.
    fn last_sample(self, est: &UtilEst) -> u32 {
        match self {
            UtilEstRule::FlagInSample => (est.enqueued & !1) | u32::from(est.unchanged),
            UtilEstRule::None | UtilEstRule::TwoValues | UtilEstRule::SingleValue => est.enqueued,
        }
    }
}

/// Sample and average to store, v4.17–v5.4; nothing if the average is near enough.
fn flag_in_sample(task: &SchedAvg) -> Option<(u32, u32)> {
    let (sample, ewma) = (task.util_avg | 1, task.util_est.ewma);
    let diff = i64::from(sample) - i64::from(ewma);
    (!within_margin(diff)).then(|| (sample, quarter_step(ewma, diff)))
}

/// Sample and average to store, v5.5–v6.7.
fn two_values(task: &SchedAvg, cpu_capacity: u32, fastup: bool) -> Option<(u32, u32)> {
    let (sample, UtilEst { enqueued, ewma, .. }) = (task.util_avg, task.util_est);
    if fastup && ewma < sample {
        return Some((sample, sample));
    }
    let diff = i64::from(sample) - i64::from(ewma);
    if within_margin(diff) {
        let moved = !within_margin(i64::from(sample) - i64::from(enqueued));
        return moved.then_some((sample, ewma));
    }
    (sample <= cpu_capacity).then(|| (sample, quarter_step(ewma, diff)))
}

/// The value to store, v6.8–. It lies in `ewma`; `enqueued` stays 0.
fn single_value(task: &SchedAvg, cpu_capacity: u32) -> Option<(u32, u32)> {
    let (util, ewma) = (task.util_avg, task.util_est.ewma);
    let diff = i64::from(util) - i64::from(ewma);
    if diff >= 0 {
        return Some((0, util));
    }
    if within_margin(diff) {
        return Some((0, ewma));
    }
    if util > cpu_capacity {
        return None;
    }
    let held_up = i64::from(util) + UTIL_EST_MARGIN < task.runnable_avg as i64;
    Some((0, if held_up { ewma } else { quarter_step(ewma, diff) }))
}

/// |difference| < 1 %.
///
/// Kernel: fair.c within_margin(), v4.17–v6.7
const fn within_margin(difference: i64) -> bool {
    difference.abs() < UTIL_EST_MARGIN
}

/// (4 * ewma + diff) / 4.
const fn quarter_step(ewma: u32, diff: i64) -> u32 {
    ((((ewma as i64) << UTIL_EST_WEIGHT_SHIFT) + diff) >> UTIL_EST_WEIGHT_SHIFT) as u32
}
