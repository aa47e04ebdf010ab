//! State of a new entity.

use super::{LOAD_AVG_MAX, PeltFamily, PostInit, SCHED_CAPACITY_SCALE, SchedAvg};
use crate::ctx::SCHED_CLOCK_AT_START;
use crate::fair::weight::SCHED_FIXEDPOINT_SHIFT;

/// Family A: a new task is one unit short of its first whole period.
const FULL_PERIOD_CONTRIB: u32 = 1023;

impl PostInit {
    /// Utilisation of a new task on a queue in state `cfs`; `weight` is stored (scaled up).
    fn util(self, cfs: &SchedAvg, cpu_capacity: u32, weight: u64) -> u32 {
        let (whole, weight) = match self {
            PostInit::FullScale => (SCHED_CAPACITY_SCALE as u32, weight),
            PostInit::CpuCapacity | PostInit::FairOnly => (cpu_capacity, weight),
            PostInit::ScaledDownWeight => (cpu_capacity, weight >> SCHED_FIXEDPOINT_SHIFT),
        };
        let cap = u64::from(whole.saturating_sub(cfs.util_avg) / 2);
        let util = match cfs.util_avg {
            0 => cap,
            queue => cap.min(u64::from(queue) * weight / (cfs.load_avg + 1)),
        };
        util as u32
    }
}

impl PeltFamily {
    /// A task that was never runnable: it starts with the load of its scaled-down weight. Groups start at zero.
    ///
    /// Kernel: fair.c init_entity_runnable_average(), v4.12–
    pub fn init_task(self, sa: &mut SchedAvg, weight: u64) {
        *sa = SchedAvg { load_avg: weight, ..SchedAvg::default() };
        match self {
            PeltFamily::A => {
                sa.load_sum = weight * LOAD_AVG_MAX;
                sa.period_contrib = FULL_PERIOD_CONTRIB;
            }
            PeltFamily::B => {
                sa.runnable_avg = weight;
                sa.period_contrib = FULL_PERIOD_CONTRIB;
            }
            PeltFamily::C => sa.runnable_avg = weight,
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => {}
        }
    }

    /// The entity of a group on a queue in state `cfs`: without load, and in step with that queue. From family B on it was last aged
    /// when the machine started, at a period's beginning, as one that is there from then on.
    ///
    /// Kernel: fair.c init_entity_runnable_average(), attach_entity_cfs_rq(), v4.12–
    pub fn init_group(self, sa: &mut SchedAvg, cfs: &SchedAvg) {
        let (last_update_time, period_contrib) = match self {
            PeltFamily::A => (cfs.last_update_time.max(SCHED_CLOCK_AT_START), FULL_PERIOD_CONTRIB),
            PeltFamily::B | PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => (SCHED_CLOCK_AT_START, 0),
        };
        *sa = SchedAvg { last_update_time, period_contrib, ..SchedAvg::default() };
    }

    /// First wake-up of a task: the estimate of its utilisation on the queue that was chosen.
    /// `weight` is stored (scaled up). The caller attaches the entity afterwards, or only sets its
    /// time if the task is of another class (see [`PostInit`]).
    ///
    /// Kernel: fair.c post_init_entity_util_avg(), v4.12–
    pub fn post_init(self, rule: PostInit, sa: &mut SchedAvg, cfs: &SchedAvg, cpu_capacity: u32, weight: u64) {
        let util = rule.util(cfs, cpu_capacity, weight);
        if util == 0 {
            return;
        }
        sa.util_avg = util;
        match self {
            PeltFamily::A => sa.util_sum = util * LOAD_AVG_MAX as u32,
            PeltFamily::B | PeltFamily::C => {}
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => sa.runnable_avg = u64::from(util),
        }
    }
}
