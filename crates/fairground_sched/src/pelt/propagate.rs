//! How changes of a group's queue reach the group's entity and the queue above it.

use super::moving::util_sum;
use super::tables::{LOAD_AVG_MAX, PELT_MIN_DIVIDER};
use super::{PeltClockRule, PeltFamily, SchedAvg};

/// What family A needs to know of a task group to give one of its queues its share of the load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupShare {
    /// Load of all queues of the group, as far as they have reported it.
    pub tg_load_avg: u64,
    /// What this queue has reported.
    pub tg_load_avg_contrib: u64,
    /// The group's shares, scaled down.
    pub shares: u64,
}

impl GroupShare {
    /// What of a queue's load its group's entity has: all of it, as long as the group has no more load than shares.
    ///
    /// load * shares / (tg_load_avg - contrib + load + 1)
    ///
    /// Kernel: fair.c update_tg_cfs_load(), v4.12–v4.14
    pub fn of(self, load: u64) -> u64 {
        let tg_load = (self.tg_load_avg + 1 + load).saturating_sub(self.tg_load_avg_contrib);
        if load != 0 && tg_load > self.shares { load * self.shares / tg_load } else { load }
    }
}

/// A group entity whose state is to follow its queue.
pub struct GroupEntity<'a> {
    /// The entity's state.
    pub se: &'a mut SchedAvg,
    /// Its scaled-down weight and, in families B and C, runnable weight.
    pub weight: u64,
    /// Scaled-down runnable weight of families B and C.
    pub runnable_weight: u64,
    /// Whether the entity is queued.
    pub on_rq: bool,
}

impl PeltFamily {
    /// The group entity takes its queue's utilisation, and the queue above the difference.
    ///
    /// Kernel: fair.c update_tg_cfs_util(), v4.12–
    pub fn propagate_util(self, parent: &mut SchedAvg, se: &mut SchedAvg, group: &SchedAvg) {
        let delta = i64::from(group.util_avg) - i64::from(se.util_avg);
        if delta == 0 {
            return;
        }
        let divider = self.propagation_divider(parent) as u32;
        let sum = util_sum(group.util_avg, divider);
        let delta_sum = i64::from(sum) - i64::from(se.util_sum);
        (se.util_avg, se.util_sum) = (group.util_avg, sum);
        parent.util_avg = add_positive(u64::from(parent.util_avg), delta) as u32;
        parent.util_sum = match self {
            PeltFamily::D | PeltFamily::DWhole => {
                let moved = add_positive(u64::from(parent.util_sum), delta_sum) as u32;
                moved.max(util_sum(parent.util_avg, PELT_MIN_DIVIDER as u32))
            }
            PeltFamily::A | PeltFamily::B | PeltFamily::C | PeltFamily::DSynced => util_sum(parent.util_avg, divider),
        };
    }

    /// The same for the number of runnable tasks; only family D, synced or not, has it.
    ///
    /// Kernel: fair.c update_tg_cfs_runnable(), v5.7–
    pub fn propagate_runnable(self, parent: &mut SchedAvg, se: &mut SchedAvg, group: &SchedAvg) {
        let delta = group.runnable_avg as i64 - se.runnable_avg as i64;
        if !self.counts_tasks() || delta == 0 {
            return;
        }
        let divider = self.propagation_divider(parent);
        let sum = match self {
            // The kernel has it in 32 bits on the way.
            PeltFamily::D => u64::from((group.runnable_avg * divider) as u32),
            _ => group.runnable_avg * divider,
        };
        let delta_sum = sum as i64 - se.runnable_sum as i64;
        (se.runnable_avg, se.runnable_sum) = (group.runnable_avg, sum);
        parent.runnable_avg = add_positive(parent.runnable_avg, delta);
        parent.runnable_sum = match self {
            PeltFamily::DSynced => parent.runnable_avg * divider,
            _ => self.left(add_positive(parent.runnable_sum, delta_sum), parent.runnable_avg),
        };
    }

    /// Family A: the group entity takes that load, and the queue above the difference, which is returned.
    ///
    /// Kernel: fair.c update_tg_cfs_load(), v4.12–v4.14
    pub fn take_load(parent: &mut SchedAvg, se: &mut SchedAvg, load: u64) -> i64 {
        let delta = load as i64 - se.load_avg as i64;
        if delta != 0 {
            (se.load_avg, se.load_sum) = (load, load * LOAD_AVG_MAX);
            parent.load_avg = add_positive(parent.load_avg, delta);
            parent.load_sum = parent.load_avg * LOAD_AVG_MAX;
        }
        delta
    }

    /// Family A: the runnable load of the queue above changes by `delta`.
    ///
    /// Kernel: fair.c update_tg_cfs_load(), v4.12–v4.14
    pub fn add_runnable_load(parent: &mut SchedAvg, delta: i64) {
        if delta != 0 {
            parent.runnable_avg = add_positive(parent.runnable_avg, delta);
            parent.runnable_sum = parent.runnable_avg * LOAD_AVG_MAX;
        }
    }

    /// Family A with runnable load that propagates by itself: the group entity takes that runnable load, and the queue above
    /// the difference.
    ///
    /// Kernel: fair.c update_tg_cfs_runnable() of the patch `independent-runnable`, v4.12–v4.12
    pub fn take_runnable_load(parent: &mut SchedAvg, se: &mut SchedAvg, load: u64) {
        let delta = load as i64 - se.runnable_avg as i64;
        if delta != 0 {
            (se.runnable_avg, se.runnable_sum) = (load, load * LOAD_AVG_MAX);
            PeltFamily::add_runnable_load(parent, delta);
        }
    }

    /// Families B to D: what joined (`sum` > 0) or left (`sum` < 0) the group's queue since the last
    /// time changes the time that the group entity was runnable. `group_weight` is the scaled-down
    /// load of the group's queue, `cpu_capacity` that of the CPU.
    ///
    /// Kernel: fair.c update_tg_cfs_load(), v4.15–
    pub fn propagate_load(
        self,
        clock: PeltClockRule,
        parent: &mut SchedAvg,
        entity: GroupEntity<'_>,
        group: (&SchedAvg, u64),
        sum: i64,
        cpu_capacity: u32,
    ) {
        if sum == 0 {
            return;
        }
        let GroupEntity { se, weight, runnable_weight, on_rq } = entity;
        let divider = self.propagation_divider(parent);
        let runnable_sum = runnable_time(se, group, sum, divider).max(clock.running_time(se.util_sum, cpu_capacity));
        let load_sum = weight * runnable_sum;
        let load_avg = load_sum / divider;
        let delta_avg = load_avg as i64 - se.load_avg as i64;
        // The stable kernel 5.10 makes the sums anew also if the average stays.
        if matches!(self, PeltFamily::D | PeltFamily::DWhole) && delta_avg == 0 {
            return;
        }
        let delta_sum = load_sum as i64 - (weight * se.load_sum) as i64;
        (se.load_avg, se.load_sum) = (load_avg, runnable_sum);
        parent.load_avg = add_positive(parent.load_avg, delta_avg);
        parent.load_sum = match self {
            PeltFamily::DSynced => parent.load_avg.wrapping_mul(divider),
            _ => self.left(add_positive(parent.load_sum, delta_sum), parent.load_avg),
        };
        if self.counts_tasks() {
            return;
        }
        // The sum that is taken off has the load weight in it, not the runnable weight, as in the kernel.
        let runnable_load_sum = runnable_weight * runnable_sum;
        let runnable_load_avg = runnable_load_sum / divider;
        let delta_avg = runnable_load_avg as i64 - se.runnable_avg as i64;
        let delta_sum = runnable_load_sum as i64 - (weight * se.runnable_sum) as i64;
        (se.runnable_avg, se.runnable_sum) = (runnable_load_avg, runnable_sum);
        if on_rq {
            parent.runnable_avg = add_positive(parent.runnable_avg, delta_avg);
            parent.runnable_sum = add_positive(parent.runnable_sum, delta_sum);
        }
    }

    /// Up to family C sums are rebuilt for a whole period, wherever the queue is in it.
    const fn propagation_divider(self, parent: &SchedAvg) -> u64 {
        match self {
            PeltFamily::A | PeltFamily::B | PeltFamily::C => LOAD_AVG_MAX,
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => self.divider(parent),
        }
    }
}

/// How long the group entity counts as runnable after `sum` joined or left its queue.
fn runnable_time(se: &SchedAvg, group: (&SchedAvg, u64), sum: i64, divider: u64) -> u64 {
    if sum >= 0 {
        return (sum.unsigned_abs() + se.load_sum).min(divider);
    }
    let (group, group_weight) = group;
    se.load_sum.min(group.load_sum.checked_div(group_weight).unwrap_or(0))
}

/// Adds a signed difference, but not below 0. Beyond 64 bits it wraps.
///
/// Kernel: fair.c add_positive(), v4.12–
fn add_positive(value: u64, difference: i64) -> u64 {
    match difference < 0 {
        true => value.saturating_sub(difference.unsigned_abs()),
        false => value.wrapping_add(difference.unsigned_abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_a_gives_the_entity_its_share() {
        let share = GroupShare { tg_load_avg: 3000, tg_load_avg_contrib: 1500, shares: 1024 };
        let (mut parent, mut se) = (SchedAvg { load_avg: 100, ..SchedAvg::default() }, SchedAvg::default());
        let load = share.of(2000);
        assert_eq!(load, 2000 * 1024 / 3501);
        let delta = PeltFamily::take_load(&mut parent, &mut se, load);
        PeltFamily::add_runnable_load(&mut parent, delta);
        assert_eq!((se.load_avg, se.load_sum), (load, load * LOAD_AVG_MAX));
        assert_eq!((parent.load_avg, parent.load_sum), (100 + load, (100 + load) * LOAD_AVG_MAX));
        assert_eq!((parent.runnable_avg, parent.runnable_sum), (load, load * LOAD_AVG_MAX));

        assert_eq!(PeltFamily::take_load(&mut parent, &mut se, share.of(0)), -(load as i64));
        assert_eq!((se.load_avg, parent.load_avg, parent.runnable_avg), (0, 100, load), "blocked load is not runnable load");
        assert_eq!(GroupShare { shares: 4000, ..share }.of(2000), 2000, "a small group's load is not cut");
    }

    #[test]
    fn older_families_rebuild_the_sum_above() {
        let mut parent = SchedAvg { util_avg: 300, util_sum: 5, ..SchedAvg::default() };
        let mut se = SchedAvg { util_avg: 400, util_sum: 1, ..SchedAvg::default() };
        PeltFamily::B.propagate_util(&mut parent, &mut se, &SchedAvg { util_avg: 50, ..SchedAvg::default() });
        assert_eq!((se.util_avg, se.util_sum), (50, 50 * 47_742));
        assert_eq!((parent.util_avg, parent.util_sum), (0, 0));
    }

    #[test]
    fn runnable_moves_with_its_sum() {
        let mut parent = SchedAvg { period_contrib: 200, runnable_avg: 400, runnable_sum: 20_000_000, ..SchedAvg::default() };
        let mut se = SchedAvg { runnable_avg: 100, runnable_sum: 4_691_800, ..SchedAvg::default() };
        let group = SchedAvg { runnable_avg: 250, ..SchedAvg::default() };
        PeltFamily::D.propagate_runnable(&mut parent, &mut se, &group);
        assert_eq!((se.runnable_sum, parent.runnable_avg, parent.runnable_sum), (11_729_500, 550, 27_037_700));
        let before = (parent, se);
        PeltFamily::C.propagate_runnable(&mut parent, &mut se, &SchedAvg::default());
        assert_eq!((parent, se), before);
    }

    /// The average does not move, as 1 more of 47,742 is less than 1. The stable kernel 5.10 makes the queue's sum anew all the same.
    #[test]
    fn sums_are_made_anew_in_v5_10_although_the_average_stays() {
        for (family, sum) in [(PeltFamily::DSynced, 100 * (47_742 - 1024)), (PeltFamily::D, 5)] {
            let mut parent = SchedAvg { load_avg: 100, load_sum: 5, ..SchedAvg::default() };
            let mut se = SchedAvg { load_sum: 1000, ..SchedAvg::default() };
            let entity = GroupEntity { se: &mut se, weight: 1, runnable_weight: 1, on_rq: true };
            let group = SchedAvg::default();
            family.propagate_load(PeltClockRule::RqClockPelt, &mut parent, entity, (&group, 1), 1, 1024);
            assert_eq!((parent.load_avg, parent.load_sum), (100, sum), "{family:?}");
        }
    }

    #[test]
    fn the_patch_as_mailed_divides_by_capacity() {
        assert_eq!(PeltClockRule::ClockPeltAsMailed.running_time(512_000, 512), 1000);
        assert_eq!(PeltClockRule::RqClockPelt.running_time(512_000, 512), 500);
    }
}
