//! What the entity of a group weighs on one CPU: the part of the group's shares that the load of the group on that CPU is
//! of its load on all.
//!
//! ```text
//! weight = shares * L / (tg.load_avg - what this queue has told of its load + L)      2 <= weight <= shares
//! L      = the weights on this CPU                                 v4.12–v4.14
//!          max(the weights on this CPU, load_avg of this queue)    v4.15–
//! ```
//!
//! The other queues' loads are as old as what they have told.

use super::Tell;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::steps::step;
use crate::seam::{GroupLoad, GroupWeight};
use fairground_stdx::{CfsRqId, SeId};

/// The least weight of an entity. Deliberately not times 1024: shares of 15 on eight CPUs are 1920 each, not 2048.
///
/// Kernel: sched.h MIN_SHARES, v4.12–
pub(super) const MIN_SHARES: u64 = 2;

/// weight * part / whole, but not below the least weight nor above `weight`. The product is a signed long, which wraps where loads do
/// ([`SchedAvg`](crate::pelt::SchedAvg)).
fn part_of(weight: u64, part: u64, whole: u64) -> u64 {
    let product = (weight as i64).wrapping_mul(part as i64);
    let share = product.checked_div(whole as i64).unwrap_or(product);
    (share.max(MIN_SHARES as i64) as u64).min(weight)
}

impl Sched {
    /// The part of its group's shares that belongs to a queue with load `load`.
    ///
    /// Kernel: fair.c calc_cfs_shares(), calc_group_shares() from v4.15, v4.12–
    pub(super) fn calc_group_shares(&self, queue: CfsRqId, load: u64) -> u64 {
        let cfs_rq = &self.cfs_rqs[queue];
        let tg = &self.groups[cfs_rq.tg.expect("invariant: the root queue has no shares")];
        let everywhere = (tg.load_avg + load).saturating_sub(cfs_rq.tg_load_avg_contrib);
        part_of(tg.shares, load, everywhere)
    }

    /// The second weight, by runnable load, of an entity of weight `weight`.
    ///
    /// max(runnable_load_avg, runnable weights) * weight / max(load_avg, weights)      2 <= it <= weight
    ///
    /// Kernel: fair.c calc_group_runnable(), v4.15–v5.6
    pub(super) fn calc_group_runnable(&self, queue: CfsRqId, weight: u64) -> u64 {
        let (cfs_rq, avg, down) = (&self.cfs_rqs[queue], &self.pelt_cfs[queue], self.profile.scale_load_down);
        let load = avg.load_avg.max(down.apply(cfs_rq.load.weight()));
        part_of(weight, avg.runnable_avg.max(down.apply(cfs_rq.runnable_weight)), load)
    }

    /// Gives the entity of a group the weight that it now has on its CPU. Nothing for a task.
    ///
    /// Kernel: fair.c update_cfs_shares(), update_cfs_group() from v4.15, v4.12–
    #[inline]
    pub(crate) fn update_cfs_group(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        if let Some(queue) = self.ses[se].my_q.filter(|&queue| !self.is_held_back(queue)) {
            step("update_cfs_group");
            self.update_group_weight(cx, se, queue);
        }
    }

    #[inline(never)]
    fn update_group_weight(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, queue: CfsRqId) {
        let weights = self.profile.scale_load_down.apply(self.cfs_rqs[queue].load.weight());
        if self.profile.group_weight == GroupWeight::IfChangedAndLoaded && weights == 0 {
            return;
        }
        let load = match self.profile.group_load {
            GroupLoad::ViaLoadAvg | GroupLoad::Independent => weights,
            GroupLoad::Reweighted | GroupLoad::RunnableAvg => weights.max(self.pelt_cfs[queue].load_avg),
        };
        let weight = self.calc_group_shares(queue, load);
        if self.profile.group_weight != GroupWeight::Always && weight == self.ses[se].load.weight() {
            return;
        }
        let runnable = match self.profile.group_load {
            GroupLoad::Reweighted => self.calc_group_runnable(queue, weight),
            GroupLoad::ViaLoadAvg | GroupLoad::Independent | GroupLoad::RunnableAvg => weight,
        };
        self.reweight_group(cx, se, weight, runnable);
    }

    /// What a change further down makes of a queued entity above it: its averages, its count of tasks, its weight.
    ///
    /// Kernel: fair.c enqueue_task_fair(), dequeue_task_fair(), v4.12–
    pub(crate) fn update_group_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        self.update_load_avg(cx, se, Tell::Group);
        self.se_update_runnable(se);
        self.update_cfs_group(cx, se);
    }

    /// The entity of a group remembers how many tasks below it want to run, for its averages.
    ///
    /// Kernel: fair.c se_update_runnable(), v5.7–
    #[inline]
    pub(crate) fn se_update_runnable(&mut self, se: SeId) {
        if let Some(queue) = self.ses[se].my_q
            && self.profile.group_load == GroupLoad::RunnableAvg
        {
            step("se_update_runnable");
            self.ses[se].runnable_weight = u64::from(self.cfs_rqs[queue].h_nr_runnable);
        }
    }
}
