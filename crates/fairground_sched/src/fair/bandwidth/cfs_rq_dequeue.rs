//! Seam `throttle`, `cfs-rq-dequeue`: a throttled queue's entity leaves the queue above, whatever its tasks are doing.
//!
//! Contract: a throttled queue's group has no entity on the queue above, and none of its tasks counts there.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::enqueue::Counted;
use crate::fair::group::Tell;
use crate::fair::{DequeueFlags, EnqueueFlags};
use fairground_model::{Decision, Op, Reason};
use fairground_stdx::{CfsRqId, CpuId, Ns, SeId, TgId};

impl Sched {
    /// The queue is out of quota: it stops, unless the pool has got something meanwhile. True: it is throttled.
    ///
    /// Kernel: fair.c throttle_cfs_rq(), v4.12–v6.17
    pub(super) fn throttle_cfs_rq(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) -> bool {
        if self.assign_cfs_rq_runtime(cx, queue, 1) {
            return false;
        }
        let (cpu, group, se) = self.group_queue_names(queue);
        self.pool(group).expect("invariant: an account has a pool").line_up(cpu);
        self.throttle_below(cx, group, cpu);
        let counted = self.counted_below(queue);
        if self.take_group_off(cx, se, counted) {
            self.rqs[cpu].nr_running -= counted.tasks;
        }
        let clock = self.rqs[cpu].clocks.clock;
        let account = &mut self.pool(group).expect("invariant: an account has a pool").accounts[cpu];
        account.throttled = true;
        account.throttled_clock = clock;
        let debt = u32::try_from(-account.remaining).unwrap_or(u32::MAX);
        self.note_idleness(cpu);
        self.lines.write(cx, cpu);
        cx.decide_who(Reason::Throttle, Decision::group(group), debt);
        true
    }

    /// The queue has quota again: it goes on, unless one above it is throttled.
    ///
    /// Kernel: fair.c unthrottle_cfs_rq(), v4.12–v6.17
    pub(super) fn unthrottle_cfs_rq(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        let (cpu, group, se) = self.group_queue_names(queue);
        self.update_rq_clock(cx, cpu);
        let clock = self.rqs[cpu].clocks.clock;
        let pool = self.pool(group).expect("invariant: an account has a pool");
        let account = &mut pool.accounts[cpu];
        account.throttled = false;
        pool.stats.throttled_time += Ns(clock - account.throttled_clock);
        account.throttled_clock = 0;
        pool.leave_line(cpu);
        self.unthrottle_below(cx, group, cpu);
        cx.decide_who(Reason::Unthrottle, Decision::group(group), cpu.get());
        if self.cfs_rqs[queue].nr_running > 0 {
            let counted = self.counted_below(queue);
            if self.put_group_back(cx, se, counted) {
                self.add_nr_running(cpu, counted.tasks);
            }
        }
        self.lines.write(cx, cpu);
        if self.rqs[cpu].curr.is_none() && self.cfs_rqs[self.rqs[cpu].cfs].nr_running > 0 {
            self.resched_curr(cx, cpu);
        }
    }

    pub(super) fn group_queue_names(&self, queue: CfsRqId) -> (CpuId, TgId, SeId) {
        let row = &self.cfs_rqs[queue];
        let group = row.tg.expect("invariant: the root group has no quota");
        (row.cpu, group, row.se.expect("invariant: a group's queue has an entity"))
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
                false => self.update_throttled_path(cx, se),
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
                false => self.update_throttled_path(cx, se),
            }
            self.count_in(se, &mut counted);
            if self.cfs_rq_throttled(self.ses[se].cfs_rq) {
                return false;
            }
            level = self.ses[se].parent;
        }
        true
    }

    /// What a change further down makes of a group's entity that stays on its queue.
    fn update_throttled_path(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        self.update_load_avg(cx, se, Tell::Nobody);
        self.se_update_runnable(se);
    }
}
