//! CFS: a sleeper gets a credit of up to half a latency, a new task a debit of a slice.
//!
//! ```text
//! new      v = min_vruntime + vslice            (START_DEBIT)
//! wake-up  v = min_vruntime - latency           GENTLE_FAIR_SLEEPERS: - latency / 2
//! vruntime = max(vruntime, v)                   never backwards
//! ```

use super::super::level::Level;
use super::Placement;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::steps::step;
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::seam::{IdleEntity, LongSleeper, MinVruntimeAtDequeue};
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{CfsRqId, SeId};

/// Sleepers of more than 2^63 weighted ns at the smallest weight compare wrongly: about 104 days.
const LONG_SLEEP_NS: u64 = (1 << 63) / 1024;

impl Sched {
    /// Kernel: fair.c enqueue_entity(), v4.12–v6.5
    pub(super) fn enqueue_entity_with_credit(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, flags: EnqueueFlags) {
        // Off a queue, virtual time is relative to the queue's minimum unless the entity sleeps.
        let renormalise = !flags.has(EnqueueFlags::WAKEUP) || flags.has(EnqueueFlags::MIGRATED);
        let (cfs_rq, idle) = (self.ses[se].cfs_rq, self.se_is_idle(&self.ses[se]));
        let is_curr = self.cfs_rqs[cfs_rq].curr == Some(se);
        if renormalise && is_curr {
            self.level(se).add_min_vruntime();
        }
        self.update_curr(cx, cfs_rq);
        let mut level = self.level(se);
        if renormalise && !is_curr {
            level.add_min_vruntime();
        }
        self.update_group_entity(cx, se);
        let mut level = self.level(se);
        level.enqueue_runnable_load_avg();
        level.account_entity_enqueue(idle);
        if flags.has(EnqueueFlags::WAKEUP) {
            self.place_entity(cx, cfs_rq, se, Placement::WakeUp);
        }
        let mut level = self.level(se);
        if !is_curr {
            level.enqueue_in_order();
        }
        level.se.on_rq = true;
        if level.cfs_rq.nr_running == 1 {
            self.first_on_queue(cx, cfs_rq);
        } else if self.lists_throttled() {
            self.add_leaf_unless_stopped(cfs_rq);
        }
    }

    /// Kernel: fair.c dequeue_entity(), v4.12–v6.5
    pub(super) fn dequeue_entity_with_credit(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, flags: DequeueFlags) {
        let (cfs_rq, idle) = (self.ses[se].cfs_rq, self.se_is_idle(&self.ses[se]));
        self.update_curr(cx, cfs_rq);
        self.clear_buddies(cfs_rq, se);
        self.update_load_avg_at_dequeue(cx, se, flags);
        self.sample_within_dequeue(cx, se, flags);
        self.se_update_runnable(se);
        let mut level = self.level(se);
        level.dequeue_runnable_load_avg();
        if level.cfs_rq.curr != Some(se) {
            level.dequeue_from_order();
        }
        level.se.on_rq = false;
        level.account_entity_dequeue(idle);
        if !flags.has(DequeueFlags::SLEEP) {
            level.se.vruntime = level.se.vruntime.minus(level.cfs_rq.min_vruntime.0);
        }
        self.return_cfs_rq_runtime(cx, cfs_rq);
        self.update_cfs_group(cx, se);
        let saved = flags.has(DequeueFlags::SAVE) && !flags.has(DequeueFlags::MOVE);
        match self.profile.min_vruntime_at_dequeue {
            MinVruntimeAtDequeue::UnlessSaveRestore if saved => {}
            MinVruntimeAtDequeue::SaveRestoreOnly if !saved => {}
            _ => self.update_min_vruntime(cfs_rq),
        }
    }

    /// Kernel: fair.c place_entity(), v4.12–v6.5
    pub(crate) fn place_entity(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId, se: SeId, why: Placement) {
        step("place_entity");
        let mut place = self.cfs_rqs[cfs_rq].min_vruntime;
        let mut reason = Reason::PlaceStart;
        match why {
            Placement::Initial => {
                if self.profile.feats.has(Feat::START_DEBIT) {
                    place = place.plus(self.sched_vslice(cfs_rq, se));
                    reason = Reason::PlaceStartDebit;
                }
            }
            Placement::WakeUp => {
                let mut credit = self.sleeper_credit(se);
                if self.profile.feats.has(Feat::GENTLE_FAIR_SLEEPERS) {
                    credit >>= 1;
                }
                place = place.minus(credit);
                reason = Reason::PlaceSleeperCredit;
            }
        }
        let slept_long = why == Placement::WakeUp && self.slept_too_long_to_compare(cfs_rq, se);
        let entity = &mut self.ses[se];
        if slept_long || place.since(entity.vruntime) > 0 {
            entity.vruntime = place;
        } else if why == Placement::WakeUp {
            reason = Reason::PlaceKeeps;
        }
        let who = entity.who();
        cx.decide_who(reason, who, 0);
    }

    pub(crate) fn sleeper_credit(&self, se: SeId) -> u64 {
        if self.profile.idle_entity == IdleEntity::EntityAware && self.se_is_idle(&self.ses[se]) {
            self.tunables.min_granularity_ns
        } else {
            self.tunables.latency_ns
        }
    }

    /// Kernel: fair.c entity_is_long_sleeper(), v6.1 stable–v6.5
    fn slept_too_long_to_compare(&self, cfs_rq: CfsRqId, se: SeId) -> bool {
        let entity = &self.ses[se];
        if self.profile.long_sleeper == LongSleeper::KeepMax || entity.exec_start == 0 {
            return false;
        }
        let clock = self.rqs[self.cfs_rqs[cfs_rq].cpu].clocks.clock_task;
        clock.saturating_sub(entity.exec_start) > LONG_SLEEP_NS
    }
}

impl Level<'_> {
    fn add_min_vruntime(&mut self) {
        self.se.vruntime = self.se.vruntime.plus(self.cfs_rq.min_vruntime.0);
    }
}
