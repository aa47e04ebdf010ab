//! Seam `pick`: who of a queue runs next.
//!
//! Contract: `curr` is the running entity if it is still queued (it is not in the timeline then), else
//! `None`. The queue holds at least one candidate. The answer carries its reason.

mod leftmost;

use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::{Op, Reason};
use fairground_stdx::{SeId, TaskId};

/// A pick with its reason and the entity that it was measured against.
pub(crate) struct Picked {
    pub(crate) se: SeId,
    pub(crate) reason: Reason,
    pub(crate) against: Option<SeId>,
}

impl Sched {
    /// The next task of the calling CPU, which nothing is done with yet.
    ///
    /// Kernel: fair.c pick_task_fair(), v5.11– (pick_next_task_fair() before)
    pub(crate) fn pick_task_fair(&mut self, cx: &mut Ctx<'_, '_>) -> Option<TaskId> {
        let mut cfs_rq = self.rqs[cx.cpu].cfs;
        if self.cfs_rqs[cfs_rq].nr_running == 0 {
            return None;
        }
        loop {
            let curr = self.cfs_rqs[cfs_rq].curr.filter(|&se| self.ses[se].on_rq);
            if curr.is_some() {
                self.update_curr(cx, cfs_rq);
            }
            let picked = self.pick_next_entity(cfs_rq, curr).expect("invariant: a queue with entities has a candidate");
            let shown = self.ses[picked.se].task;
            cx.decide2(picked.reason, shown, picked.against.and_then(|se| self.ses[se].task));
            match self.ses[picked.se].my_q {
                Some(below) => {
                    cx.meter.count(Op::CgroupLevel);
                    cfs_rq = below;
                }
                None => return Some(shown.expect("invariant: an entity without a queue of its own is a task")),
            }
        }
    }
}
