//! Seam `pick`: who of a queue runs next.
//!
//! Contract: `curr` is the running entity if it is still queued (it is not in the timeline then), else
//! `None`. The queue holds at least one candidate. The answer carries its reason.

mod eevdf;
mod leftmost;

pub(super) use eevdf::Respect;

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{Pick, ThrottledPick};
use fairground_model::{Op, Reason};
use fairground_stdx::{CfsRqId, SeId, TaskId};

/// A pick with its reason and the entity that it was measured against.
pub(crate) struct Picked {
    pub(crate) se: SeId,
    pub(crate) reason: Reason,
    pub(crate) against: Option<SeId>,
}

impl Picked {
    pub(super) fn alone(se: SeId, reason: Reason) -> Picked {
        Picked { se, reason, against: None }
    }
}

impl Sched {
    /// The next task of the calling CPU, which nothing is done with yet. Sleepers that would be next leave
    /// the queue.
    ///
    /// Kernel: fair.c pick_task_fair(), v5.11– (pick_next_task_fair() before)
    pub(crate) fn pick_task_fair(&mut self, cx: &mut Ctx<'_, '_>) -> Option<TaskId> {
        let root = self.rqs[cx.cpu].cfs;
        let (mut cfs_rq, mut throttled) = (root, false);
        self.rqs[cx.cpu].sets_all = false;
        loop {
            if self.cfs_rqs[root].nr_running == 0 {
                return None;
            }
            let curr = self.cfs_rqs[cfs_rq].curr.filter(|&se| self.ses[se].on_rq);
            if curr.is_some() {
                self.update_curr(cx, cfs_rq);
            }
            if self.check_cfs_rq_runtime(cx, cfs_rq) {
                if self.profile.throttle.dequeues_queues() {
                    // It has left the queue above, and so whoever counts there does.
                    self.rqs[cx.cpu].sets_all = self.profile.throttled_pick == ThrottledPick::SetsAll;
                    cfs_rq = root;
                    continue;
                }
                throttled = true;
            }
            let picked = self.pick_next_entity(cfs_rq, curr).expect("invariant: a queue with entities has a candidate");
            self.touch_picked(picked.se);
            let entity = &self.ses[picked.se];
            let (task, below) = (entity.task, entity.my_q);
            if entity.sched_delayed {
                match task {
                    Some(sleeper) => self.complete_delayed_dequeue(cx, sleeper),
                    None => self.complete_delayed_group(cx, picked.se),
                }
                (cfs_rq, throttled) = (root, false);
                continue;
            }
            cx.decide_who(picked.reason, entity.who(), picked.against.map_or(0, |se| self.ses[se].who()));
            match below {
                Some(below) => {
                    cx.meter.count(Op::CgroupLevel);
                    cfs_rq = below;
                }
                None => {
                    let task = task.expect("invariant: an entity without a queue of its own is a task");
                    if throttled && self.profile.throttle.stops_picked_task() {
                        self.task_throttle_setup_work(cx, task);
                    }
                    return Some(task);
                }
            }
        }
    }

    /// Kernel: fair.c pick_next_entity(), v4.12–
    #[inline]
    pub(crate) fn pick_next_entity(&mut self, cfs_rq: CfsRqId, curr: Option<SeId>) -> Option<Picked> {
        match self.profile.pick {
            Pick::Leftmost => self.pick_leftmost(cfs_rq, curr),
            Pick::EligibleByVruntime | Pick::EligibleByDeadline => self.pick_buddy_or_eevdf(cfs_rq),
        }
    }
}
