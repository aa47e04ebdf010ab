//! CFS: a sleeper gets a credit of up to half a latency, a new task a debit of a slice.
//!
//! ```text
//! new      v = min_vruntime + vslice            (START_DEBIT)
//! wake-up  v = min_vruntime - latency           GENTLE_FAIR_SLEEPERS: - latency / 2
//! vruntime = max(vruntime, v)                   never backwards
//! ```

use super::Placement;
use crate::Sched;
use crate::ctx::Ctx;
use crate::features::Feat;
use crate::seam::{IdleEntity, LongSleeper};
use fairground_model::Reason;
use fairground_stdx::{CfsRqId, SeId};

/// Sleepers of more than 2^63 weighted ns at the smallest weight compare wrongly: about 104 days.
const LONG_SLEEP_NS: u64 = (1 << 63) / 1024;

impl Sched {
    /// Kernel: fair.c place_entity(), v4.12–v6.5
    pub(crate) fn place_entity(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId, se: SeId, why: Placement) {
        let mut place = self.cfs_rqs[cfs_rq].min_vruntime;
        let mut reason = Reason::PlaceStart;
        match why {
            Placement::Initial => {
                if self.profile.feats.has(Feat::START_DEBIT) {
                    place = place.plus(self.sched_vslice(se));
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
        let task = entity.task;
        cx.decide(reason, task, 0);
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
