//! Seam `tick_preempt`: what the tick does when the running entity has used its slice.

mod align_rightmost;
mod cfs_slice;
mod deadline;
mod plain;

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::group::Tell;
use crate::seam::TickPreempt;
use cfs_slice::tick_preempt_reason;
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{CfsRqId, SeId, TaskId};

impl Sched {
    /// The tick of the fair class, for the running task and every group above it.
    ///
    /// Kernel: fair.c task_tick_fair(), entity_tick(), v4.12–
    #[inline]
    pub(crate) fn task_tick_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let mut next = Some(self.tasks[task].se);
        while let Some(se) = next {
            next = match self.profile.tick_preempt {
                TickPreempt::CfsSlice | TickPreempt::AlignRightmost => self.entity_tick_by_slice(cx, se),
                TickPreempt::Deadline => self.entity_tick_by_deadline(cx, se),
            };
        }
    }

    /// Returns the entity above.
    ///
    /// Kernel: fair.c entity_tick(), v4.12–v6.5
    #[inline]
    fn entity_tick_by_slice(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) -> Option<SeId> {
        let ran = self.level(se).account(cx);
        self.account_cfs_rq_runtime(cx, self.ses[se].cfs_rq, ran);
        self.update_load_avg(cx, se, Tell::Group);
        self.update_cfs_group(cx, se);
        let entity = &self.ses[se];
        let above = entity.parent;
        if self.hrtick_active(cx.cpu) && !self.profile.feats.has(Feat::DOUBLE_TICK) {
            cx.decide_who(Reason::TickLeftToHrtick, entity.who(), 0);
            return above;
        }
        if self.cfs_rqs[entity.cfs_rq].nr_running > 1 {
            self.check_preempt_tick(cx, se);
        } else {
            cx.decide_who(Reason::TickAlone, entity.who(), 0);
        }
        above
    }

    /// Asks whether `curr` has run long enough, and if so marks its CPU for a reschedule.
    ///
    /// Kernel: fair.c check_preempt_tick(), v4.12–v6.5
    #[inline]
    fn check_preempt_tick(&mut self, cx: &mut Ctx<'_, '_>, curr: SeId) {
        let ideal = self.sched_slice(curr);
        let se = &self.ses[curr];
        let (who, cfs_rq) = (se.who(), se.cfs_rq);
        let queue = &self.cfs_rqs[cfs_rq];
        let (mut reason, mut against) = tick_preempt_reason(queue, se, ideal, self.tunables.min_granularity_ns);
        if gives_way(reason) {
            (reason, against) = self.slice_is_over(cx, curr, cfs_rq, (reason, against));
        }
        cx.decide_who(reason, who, against.map_or(0, |se| self.ses[se].who()));
    }

    /// The running entity gives way, for this reason and perhaps to this one. Returns how that is told.
    ///
    /// Kernel: fair.c check_preempt_tick(), v4.12–v6.5
    fn slice_is_over(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        curr: SeId,
        cfs_rq: CfsRqId,
        (mut reason, mut against): (Reason, Option<SeId>),
    ) -> (Reason, Option<SeId>) {
        self.resched_curr(cx, self.cfs_rqs[cfs_rq].cpu);
        if reason == Reason::TickSliceExpired {
            if self.profile.tick_preempt == TickPreempt::AlignRightmost {
                against = self.align_vruntime_to_last(cfs_rq, curr);
                reason = Reason::TickAlignRightmost;
            }
            self.clear_buddies(cfs_rq, curr);
        }
        (reason, against)
    }
}

/// Whether the running entity gives way.
#[inline]
fn gives_way(reason: Reason) -> bool {
    matches!(reason, Reason::TickSliceExpired | Reason::TickAhead)
}
