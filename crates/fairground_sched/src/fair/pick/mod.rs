//! Seam `pick`: who of a queue runs next.
//!
//! Contract: `curr` is the running entity if it is still queued (it is not in the timeline then), else
//! `None`. The queue holds at least one candidate. The answer carries its reason.

mod leftmost;

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::RepeatedPick;
use fairground_model::{Op, Reason};
use fairground_stdx::{SeId, TaskId};

/// A pick with its reason and the entity that it was measured against.
pub(crate) struct Picked {
    pub(crate) se: SeId,
    pub(crate) reason: Reason,
    pub(crate) against: Option<SeId>,
}

impl Sched {
    /// Picks the next task of the calling CPU; `prev` is the task that runs now.
    ///
    /// Kernel: fair.c pick_next_task_fair(), v4.12–v6.11
    pub(crate) fn pick_next_task_fair(&mut self, cx: &mut Ctx<'_, '_>, prev: Option<TaskId>) -> Option<TaskId> {
        let cpu = cx.cpu;
        let root = self.rqs[cpu].cfs;
        if self.cfs_rqs[root].nr_running == 0 {
            if let Some(task) = prev {
                self.put_prev_task_fair(cx, task);
            }
            return None;
        }
        let mut cfs_rq = root;
        let task = loop {
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
                None => break shown.expect("invariant: an entity without a queue of its own is a task"),
            }
        };
        if prev != Some(task) || self.profile.repeated_pick == RepeatedPick::RenewsSlice {
            if let Some(task) = prev {
                self.put_prev_task_fair(cx, task);
            }
            self.set_next_task_fair(cx, task);
        }
        Some(task)
    }
}
