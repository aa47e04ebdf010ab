//! Estimated utilisation: what a task's utilisation was when it last went to sleep.

use super::{SchedAvg, UtilEst, UtilEstRule};

/// The moving average gives a new sample a quarter.
const UTIL_EST_WEIGHT_SHIFT: u32 = 2;
/// 1 % of a capacity of 1024.
const UTIL_EST_MARGIN: i64 = 10;

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
            UtilEstRule::SingleValueDecays => single_value(task, u32::MAX),
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
            UtilEstRule::TwoValues | UtilEstRule::SingleValue | UtilEstRule::SingleValueDecays => self.task_estimate(task),
        }
    }

    /// With the flag in bit 0 a sample is odd while the flag is set and even afterwards.
    fn last_sample(self, est: &UtilEst) -> u32 {
        match self {
            UtilEstRule::FlagInSample => (est.enqueued & !1) | u32::from(est.unchanged),
            UtilEstRule::None | UtilEstRule::TwoValues | UtilEstRule::SingleValue | UtilEstRule::SingleValueDecays => {
                est.enqueued
            }
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

/// The value to store, v6.8–. It lies in `ewma`; `enqueued` stays 0. A fall below it counts up to a use of `most` only.
fn single_value(task: &SchedAvg, most: u32) -> Option<(u32, u32)> {
    let (util, ewma) = (task.util_avg, task.util_est.ewma);
    let diff = i64::from(util) - i64::from(ewma);
    if diff >= 0 {
        return Some((0, util));
    }
    if within_margin(diff) {
        return Some((0, ewma));
    }
    if util > most {
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

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: UtilEstRule = UtilEstRule::TwoValues;

    /// Sample and average after a task with these went to sleep with `util`.
    fn after(stored: (u32, u32), util: u32, capacity: u32, fastup: bool) -> (u32, u32, bool) {
        let util_est = UtilEst { enqueued: stored.0, ewma: stored.1, unchanged: false };
        let mut task = SchedAvg { util_avg: util, util_est, ..SchedAvg::default() };
        RULE.update(&mut task, capacity, fastup);
        (task.util_est.enqueued, task.util_est.ewma, task.util_est.unchanged)
    }

    #[test]
    fn two_values_by_case() {
        assert_eq!(after((0, 0), 400, 1024, true), (400, 400, true), "a rise is followed at once");
        assert_eq!(after((0, 0), 400, 1024, false), (400, 100, true), "or by a quarter");
        assert_eq!(after((400, 400), 300, 1024, true), (300, 375, true), "a fall by a quarter");
        assert_eq!(after((300, 375), 370, 1024, true), (370, 375, true), "near the average a moved sample is kept");
        assert_eq!(after((368, 375), 370, 1024, true), (368, 375, false), "a sample that hardly moved is not");
        assert_eq!(after((900, 900), 600, 512, true), (900, 900, false), "more than the CPU has is no sample");
    }

    #[test]
    fn the_flag_is_part_of_the_oldest_sums() {
        let rule = UtilEstRule::FlagInSample;
        let mut task = SchedAvg { util_avg: 400, ..SchedAvg::default() };
        rule.update(&mut task, 1024, true);
        assert_eq!(rule.task_estimate(&task), 401);
        task.util_est.unchanged = false;
        assert_eq!(rule.task_estimate(&task), 400);
        let mut cfs = SchedAvg::default();
        rule.enqueue(&mut cfs, &task);
        assert_eq!(cfs.util_est.enqueued, 401);
    }

    /// On a CPU of 256 a task used 400 of 512: up to v6.15 that is no sample.
    #[test]
    fn who_used_more_than_its_cpu_has_is_averaged_from_v6_16_on() {
        for (rule, ewma, unchanged) in [(UtilEstRule::SingleValue, 512, false), (UtilEstRule::SingleValueDecays, 484, true)] {
            let mut task = SchedAvg { util_avg: 400, runnable_avg: 400, ..SchedAvg::default() };
            task.util_est.ewma = 512;
            rule.update(&mut task, 256, true);
            assert_eq!((task.util_est.ewma, task.util_est.unchanged), (ewma, unchanged), "{rule:?}");
        }
    }

    #[test]
    fn a_task_that_was_held_up_keeps_its_value() {
        let mut task = SchedAvg { util_avg: 300, runnable_avg: 311, ..SchedAvg::default() };
        task.util_est.ewma = 400;
        UtilEstRule::SingleValue.update(&mut task, 1024, true);
        assert_eq!((task.util_est.ewma, task.util_est.unchanged), (400, true));
    }
}
