//! Seam `yield`: what the fair class does for a task that gives its CPU away.
//!
//! Contract: the task runs and is not alone; the clock is read here, and the schedule() that follows
//! reuses the reading.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{AvgVruntime, Yield};
use fairground_model::{Policy, Reason};
use fairground_stdx::{SeId, TaskId};

impl Sched {
    /// Kernel: fair.c yield_task_fair(), v4.12–
    pub(crate) fn yield_task_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> Reason {
        let se = self.tasks[task].se;
        self.clear_buddies(self.ses[se].cfs_rq, se);
        match self.profile.yields {
            Yield::SkipBuddy => {
                if self.tasks[task].policy != Policy::Batch {
                    self.account_before_yield(cx, se);
                }
                self.set_skip_buddy(se);
                Reason::YieldSkip
            }
            Yield::PushDeadline => {
                self.account_before_yield(cx, se);
                self.push_deadline(se);
                Reason::YieldDeadline
            }
            Yield::ForfeitRequest => {
                self.account_before_yield(cx, se);
                self.forfeit_request(se)
            }
        }
    }

    fn account_before_yield(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        self.update_rq_clock(cx, cx.cpu);
        self.update_curr(cx, self.ses[se].cfs_rq);
        self.rq_clock_skip_update(cx.cpu);
    }

    fn push_deadline(&mut self, se: SeId) {
        let entity = &mut self.ses[se];
        let request = entity.virtual_request(self.profile.division());
        entity.deadline = entity.deadline.plus(request);
    }

    fn forfeit_request(&mut self, se: SeId) -> Reason {
        let cfs_rq = self.ses[se].cfs_rq;
        if !self.averages(cfs_rq).eligible(self.ses[se].vruntime) {
            return Reason::YieldNotEligible;
        }
        self.ses[se].vruntime = self.ses[se].deadline;
        match self.profile.avg_vruntime {
            AvgVruntime::MinVruntime => {
                self.push_deadline(se);
                self.update_min_vruntime(cfs_rq);
            }
            // The new request is as long as the base slice is now: that follows the number of CPUs on line.
            AvgVruntime::ZeroShifted | AvgVruntime::Zero => {
                self.level(se).update_deadline();
                self.settled_average(cfs_rq);
            }
            AvgVruntime::ZeroQueued => self.push_deadline(se),
        }
        Reason::YieldForfeit
    }
}
