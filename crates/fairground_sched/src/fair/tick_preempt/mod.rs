//! Seam `tick_preempt`: what the tick does when the running entity has used its slice.

mod align_rightmost;
mod cfs_slice;

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::TickPreempt;
use fairground_model::Reason;
use fairground_stdx::{CfsRqId, SeId, TaskId};

impl Sched {
    /// The tick of the fair class, for the running task and every group above it.
    ///
    /// Kernel: fair.c task_tick_fair(), entity_tick(), v4.12–v6.5
    #[inline]
    pub(crate) fn task_tick_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let mut level = Some(self.tasks[task].se);
        while let Some(se) = level {
            let cfs_rq = self.ses[se].cfs_rq;
            self.update_curr(cx, cfs_rq);
            self.update_load_avg(cx, cfs_rq, se);
            if self.cfs_rqs[cfs_rq].nr_running > 1 {
                self.check_preempt_tick(cx, cfs_rq, se);
            } else {
                cx.decide(Reason::TickAlone, self.ses[se].task, 0);
            }
            level = self.ses[se].parent;
        }
    }

    /// Asks whether `curr` has run long enough, and if so marks its CPU for a reschedule.
    ///
    /// Kernel: fair.c check_preempt_tick(), v4.12–v6.5
    fn check_preempt_tick(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId, curr: SeId) {
        let ideal = self.sched_slice(cfs_rq, curr);
        let (mut reason, first) = self.tick_preempt_reason(cfs_rq, curr, ideal);
        let mut against = first;
        if matches!(reason, Reason::TickSliceExpired | Reason::TickAhead) {
            self.resched_curr(cx, self.cfs_rqs[cfs_rq].cpu);
        }
        if reason == Reason::TickSliceExpired {
            match self.profile.tick_preempt {
                TickPreempt::CfsSlice => {}
                TickPreempt::AlignRightmost => {
                    against = self.align_vruntime_to_last(cfs_rq, curr);
                    reason = Reason::TickAlignRightmost;
                }
            }
            self.clear_buddies(cfs_rq, curr);
        }
        cx.decide2(reason, self.ses[curr].task, against.and_then(|se| self.ses[se].task));
    }
}
