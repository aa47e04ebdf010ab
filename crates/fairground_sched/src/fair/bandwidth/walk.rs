//! What stands still below a throttled queue: its groups on that CPU, with the clocks of their load tracking.

use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::Op;
use fairground_stdx::{CfsRqId, CpuId, Id, TaskId, TgId};

/// A queue at or below a throttled one.
///
/// Kernel: sched.h struct cfs_rq, its fields of CONFIG_CFS_BANDWIDTH, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ThrottledQueue {
    /// How many of it and the queues above it are throttled.
    pub(super) count: u32,
    /// Since when its load tracking stands still, by the clock of that.
    clock_pelt: u64,
    /// For how long it has stood still before.
    clock_pelt_time: u64,
}

impl Sched {
    /// Whether a queue or one above it is throttled.
    ///
    /// Kernel: fair.c throttled_hierarchy(), v4.12–
    #[inline]
    pub(crate) fn throttled_hierarchy(&self, queue: CfsRqId) -> bool {
        self.cfs_bandwidth_used() && self.bandwidth.queues.get(queue).is_some_and(|row| row.count > 0)
    }

    /// Whether a task waits for quota of its group or of one above it.
    pub fn waits_for_quota(&self, task: TaskId) -> bool {
        self.throttled_hierarchy(self.ses[self.tasks[task].se].cfs_rq)
    }

    /// How many of a queue and those above it are throttled.
    pub(crate) fn throttle_count(&self, queue: CfsRqId) -> u32 {
        self.bandwidth.queues.get(queue).map_or(0, |row| row.count)
    }

    /// The clock of load tracking of a queue: that of its CPU without the time for which the queue stood still.
    ///
    /// Kernel: pelt.h cfs_rq_clock_pelt(), v5.1– (cfs_rq_clock_task() before)
    #[inline]
    pub(crate) fn cfs_rq_clock_pelt(&self, queue: CfsRqId) -> u64 {
        let now = self.rqs[self.cfs_rqs[queue].cpu].clocks.pelt(self.profile.pelt_clock);
        self.bandwidth.clock_pelt(queue, now)
    }

    /// Whether the group of a task stands still on the task's CPU or on `dst`.
    ///
    /// Kernel: fair.c throttled_lb_pair(), v4.12–v6.17
    pub(in crate::fair) fn throttled_lb_pair(&self, task: TaskId, dst: CpuId) -> bool {
        let Some(group) = self.tasks[task].group.filter(|_| self.cfs_bandwidth_used()) else { return false };
        // Where the group was never used the first group above it that was tells.
        let stands_still = |cpu: CpuId| {
            let mut level = Some(group);
            while let Some(group) = level {
                if let Some(queue) = self.groups[group].queues[cpu] {
                    return self.throttled_hierarchy(queue);
                }
                level = self.groups[group].parent;
            }
            false
        };
        stands_still(self.tasks[task].cpu) || stands_still(dst)
    }

    /// A queue with load goes on the list of its CPU; below a throttled one it does so when that is released.
    pub(in crate::fair) fn add_leaf_unless_throttled(&mut self, queue: CfsRqId) {
        if !self.throttled_hierarchy(queue) {
            self.list_add_leaf_cfs_rq(queue);
        }
    }

    /// The row of a queue, with those of all queues before it.
    fn throttled_queue(&mut self, queue: CfsRqId) -> &mut ThrottledQueue {
        while self.bandwidth.queues.len() <= queue.index() {
            self.bandwidth.queues.push(ThrottledQueue::default());
        }
        &mut self.bandwidth.queues[queue]
    }

    /// A queue is throttled: it and all below it on that CPU stand still from now on, those above first.
    ///
    /// Kernel: fair.c tg_throttle_down(), v4.12–
    pub(super) fn throttle_below(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, cpu: CpuId) {
        let clock = self.rqs[cpu].clocks.pelt(self.profile.pelt_clock);
        let subtree = self.subtree(cx, group);
        for &group in &subtree {
            let Some(queue) = self.groups[group].queues[cpu] else { continue };
            let row = self.throttled_queue(queue);
            row.count += 1;
            if row.count == 1 {
                row.clock_pelt = clock;
                self.list_del_leaf_cfs_rq(queue);
            }
        }
        self.bandwidth.subtree = subtree;
    }

    /// A queue is throttled no more: those below it first.
    ///
    /// Kernel: fair.c tg_unthrottle_up(), v4.12–
    pub(super) fn unthrottle_below(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, cpu: CpuId) {
        let clock = self.rqs[cpu].clocks.pelt(self.profile.pelt_clock);
        let subtree = self.subtree(cx, group);
        for &group in subtree.iter().rev() {
            let Some(queue) = self.groups[group].queues[cpu] else { continue };
            let row = self.throttled_queue(queue);
            row.count -= 1;
            if row.count == 0 {
                row.clock_pelt_time += clock - row.clock_pelt;
                if !self.cfs_rq_is_decayed(queue) {
                    self.list_add_leaf_cfs_rq(queue);
                }
            }
        }
        self.bandwidth.subtree = subtree;
    }

    /// A group and all below it, each before those in it, in the room that is kept for them. The kernel visits them all, whether
    /// they were used on a CPU or not.
    fn subtree(&mut self, cx: &mut Ctx<'_, '_>, top: TgId) -> Vec<TgId> {
        let mut found = std::mem::take(&mut self.bandwidth.subtree);
        found.clear();
        found.push(top);
        let mut next = 0;
        while let Some(&group) = found.get(next) {
            found.extend(self.groups[group].children.iter().filter(|&&child| !self.groups[child].removed));
            next += 1;
        }
        cx.meter.count_n(Op::BwGroup, found.len() as u64);
        found
    }

    /// A queue is used for the first time: below a throttled one it stands still from the beginning.
    ///
    /// Kernel: fair.c sync_throttle(), v4.12–
    pub(crate) fn sync_throttle(&mut self, queue: CfsRqId, above: CfsRqId) {
        let Some(count) = self.bandwidth.queues.get(above).map(|row| row.count).filter(|&count| count > 0) else { return };
        let clock_pelt = self.rqs[self.cfs_rqs[queue].cpu].clocks.pelt(self.profile.pelt_clock);
        *self.throttled_queue(queue) = ThrottledQueue { count, clock_pelt, clock_pelt_time: 0 };
    }
}

impl super::Bandwidth {
    /// What the clock of a queue shows when that of its CPU shows `now`.
    #[inline]
    pub(crate) fn clock_pelt(&self, queue: CfsRqId, now: u64) -> u64 {
        match self.queues.get(queue) {
            None => now,
            Some(row) if row.count > 0 => row.clock_pelt - row.clock_pelt_time,
            Some(row) => now - row.clock_pelt_time,
        }
    }

    /// For how long in all a queue that stands still no more has done so.
    pub(crate) fn stood_still(&self, queue: CfsRqId) -> u64 {
        self.queues.get(queue).map_or(0, |row| if row.count > 0 { u64::MAX } else { row.clock_pelt_time })
    }
}
