//! Seam `throttle`, `cfs-rq-dequeue`: a throttled queue's entity leaves the queue above, whatever its tasks are doing.
//!
//! Contract: a throttled queue's group has no entity on the queue above, and none of its tasks counts there.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::enqueue::Counted;
use crate::fair::group::Tell;
use crate::fair::{DequeueFlags, EnqueueFlags};
use fairground_model::Op;
use fairground_stdx::{CfsRqId, SeId};

impl Sched {
    /// Takes a throttled queue, with all that is in it, off the queue above.
    ///
    /// Kernel: fair.c throttle_cfs_rq(), v4.12–v6.17
    pub(super) fn dequeue_throttled(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, se: SeId) {
        let counted = self.counted_below(queue);
        if self.take_group_off(cx, se, counted) {
            self.rqs[self.cfs_rqs[queue].cpu].nr_running -= counted.tasks;
        }
    }

    /// Puts a released queue back onto the queue above, if anything is in it.
    ///
    /// Kernel: fair.c unthrottle_cfs_rq(), v4.12–v6.17
    pub(super) fn enqueue_unthrottled(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, se: SeId) {
        let counted = self.counted_below(queue);
        if self.cfs_rqs[queue].nr_running > 0 && self.put_group_back(cx, se, counted) {
            self.add_nr_running(self.cfs_rqs[queue].cpu, counted.tasks);
        }
    }

    /// What a queue's entity stands for on the queues above.
    fn counted_below(&self, queue: CfsRqId) -> Counted {
        let row = &self.cfs_rqs[queue];
        let idle = if self.cfs_rq_is_idle(queue) { row.h_nr_running } else { row.idle_h_nr_running };
        Counted { tasks: row.h_nr_running, runnable: row.h_nr_runnable, idle }
    }

    /// The entity of a group leaves its queue, and every group above it that is left empty; all above count its tasks less.
    /// True: up to the root queue. False: something on the way is off its queue already.
    fn take_group_off(&mut self, cx: &mut Ctx<'_, '_>, first: SeId, mut counted: Counted) -> bool {
        let mut level = Some(first);
        let mut dequeues = true;
        while let Some(se) = level {
            if !self.ses[se].on_rq {
                return false;
            }
            cx.meter.count(Op::CgroupLevel);
            match dequeues {
                true => self.dequeue_group_now(cx, se),
                false => self.update_throttled_path(cx, se, Tell::Nobody),
            }
            self.count_out(se, &mut counted);
            dequeues &= self.cfs_rqs[self.ses[se].cfs_rq].nr_running == 0;
            level = self.ses[se].parent;
        }
        true
    }

    /// The entity of a group leaves its queue, without delay, or at last.
    fn dequeue_group_now(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        let flags = DequeueFlags::SLEEP.with(DequeueFlags::SPECIAL);
        let flags = if self.ses[se].sched_delayed { flags.with(DequeueFlags::DELAYED) } else { flags };
        self.dequeue_entity(cx, se, flags);
    }

    /// The entity of a group comes back to its queue, and those above it that are off theirs. True: up to the root queue.
    /// False: a queue on the way is throttled itself.
    fn put_group_back(&mut self, cx: &mut Ctx<'_, '_>, first: SeId, mut counted: Counted) -> bool {
        let mut level = Some(first);
        let mut enqueues = true;
        while let Some(se) = level {
            cx.meter.count(Op::CgroupLevel);
            if self.ses[se].sched_delayed {
                self.dequeue_group_now(cx, se);
            }
            enqueues &= !self.ses[se].on_rq;
            match enqueues {
                true => self.enqueue_entity(cx, se, EnqueueFlags::WAKEUP),
                false => self.update_throttled_path(cx, se, Tell::Group),
            }
            self.count_in(se, &mut counted);
            if self.cfs_rq_throttled(self.ses[se].cfs_rq) {
                return false;
            }
            level = self.ses[se].parent;
        }
        true
    }

    /// What a change further down makes of a group's entity that stays on its queue. A release tells the group of that queue its load.
    fn update_throttled_path(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, tell: Tell) {
        self.update_load_avg(cx, se, tell);
        self.se_update_runnable(se);
    }
}
