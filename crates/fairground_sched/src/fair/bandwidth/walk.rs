//! What stands still below a throttled queue: its groups on that CPU, with the clocks of their load tracking.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{Throttle, ThrottleStamp, ThrottledLeaf, UnthrottledLeaf};
use fairground_model::{KernelWarn, Op};
use fairground_stdx::{CfsRqId, CpuId, Id, TaskId, TgId};

/// A queue at or below a throttled one; it is one cache line.
///
/// Kernel: sched.h struct cfs_rq, its fields of CONFIG_CFS_BANDWIDTH, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(align(64))]
pub(crate) struct ThrottledQueue {
    /// How many of it and the queues above it are throttled.
    pub(super) count: u32,
    /// Its load tracking stands still.
    pelt_stopped: bool,
    /// The task that came into its limbo last.
    pub(super) limbo: Option<TaskId>,
    /// Since when its load tracking stands still, by the clock of that.
    clock_pelt: u64,
    /// For how long it has stood still before.
    clock_pelt_time: u64,
    /// Since when anything of that is throttled, and for how long it was before, by the same clock: so would load tracking have stood
    /// still of a queue below it that nobody has used.
    since: u64,
    time: u64,
}

impl Sched {
    /// Whether a queue or one above it is throttled.
    ///
    /// Kernel: fair.c throttled_hierarchy(), v4.12–
    #[inline]
    pub(crate) fn throttled_hierarchy(&self, queue: CfsRqId) -> bool {
        self.cfs_bandwidth_used() && self.bandwidth.queues.get(queue).is_some_and(|row| row.count > 0)
    }

    /// Whether a task cannot run because its group or one above it is throttled.
    pub fn waits_for_quota(&self, task: TaskId) -> bool {
        let row = &self.tasks[task];
        match self.profile.throttle {
            Throttle::CfsRqDequeue => self.throttled_hierarchy(self.ses[row.se].cfs_rq),
            Throttle::OnUserReturnV1 | Throttle::OnUserReturn => row.throttled,
        }
    }

    /// How many of a queue and those above it are throttled.
    pub(crate) fn throttle_count(&self, queue: CfsRqId) -> u32 {
        self.bandwidth.queues.get(queue).map_or(0, |row| row.count)
    }

    /// The clock of load tracking of a queue: that of its CPU without the time for which the queue stood still.
    ///
    /// Kernel: pelt.h cfs_rq_clock_pelt(), v5.1– (cfs_rq_clock_task() before)
    #[inline]
    pub fn cfs_rq_clock_pelt(&self, queue: CfsRqId) -> u64 {
        let now = self.rqs[self.cfs_rqs[queue].cpu].clocks.pelt(self.profile.pelt_clock);
        self.bandwidth.clock_pelt(queue, now)
    }

    /// Whether the group of a task is throttled on `dst`, or also on the task's CPU.
    ///
    /// Kernel: fair.c throttled_lb_pair(), v4.12–v6.17 (can_migrate_task() from v6.18)
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
        let asks_source = self.profile.throttle != Throttle::OnUserReturn;
        (asks_source && stands_still(self.tasks[task].cpu)) || stands_still(dst)
    }

    /// A queue with load goes on the list of its CPU; one whose load tracking stands still does so when that goes on.
    #[inline]
    pub(in crate::fair) fn add_leaf_unless_stopped(&mut self, queue: CfsRqId) {
        if self.lists_throttled() {
            self.list_add_branch(queue);
        } else if !self.pelt_stopped(queue) {
            self.list_add_leaf_cfs_rq(queue);
        }
    }

    /// Whether queues go on that list though their load tracking stands still.
    #[inline]
    pub(crate) fn lists_throttled(&self) -> bool {
        self.profile.throttled_leaf == ThrottledLeaf::Listed && self.cfs_bandwidth_used()
    }

    /// A queue goes on the list, and so do those above it up to one that is on it.
    ///
    /// Kernel: fair.c enqueue_task_fair(), unthrottle_cfs_rq(), their last loops, v5.10–v5.19
    pub(super) fn list_add_branch(&mut self, queue: CfsRqId) {
        let mut level = Some(queue);
        while let Some(queue) = level.filter(|&queue| !self.cfs_rqs[queue].on_list) {
            self.list_add_leaf_cfs_rq(queue);
            level = self.queue_above(queue);
        }
    }

    /// The queue on which the entity of a group's queue stands.
    fn queue_above(&self, queue: CfsRqId) -> Option<CfsRqId> {
        self.cfs_rqs[queue].se.map(|se| self.ses[se].cfs_rq)
    }

    /// Whether the load tracking of a queue stands still.
    ///
    /// Kernel: pelt.h cfs_rq_pelt_clock_throttled(), v6.18– (throttled_hierarchy() before)
    #[inline]
    pub(crate) fn pelt_stopped(&self, queue: CfsRqId) -> bool {
        self.cfs_bandwidth_used() && self.bandwidth.queues.get(queue).is_some_and(|row| row.pelt_stopped)
    }

    /// The row of a queue, with those of all queues before it.
    pub(super) fn throttled_queue(&mut self, queue: CfsRqId) -> &mut ThrottledQueue {
        if self.bandwidth.queues.len() <= queue.index() {
            let (len, more) = (self.cfs_rqs.len(), self.cfs_rqs.capacity() - self.bandwidth.queues.len());
            self.bandwidth.queues.reserve(more);
            self.bandwidth.queues.extend_to(len, ThrottledQueue::default());
        }
        &mut self.bandwidth.queues[queue]
    }

    /// A queue is throttled: it and all below it on that CPU stand still from now on, those above first.
    ///
    /// Kernel: fair.c tg_throttle_down(), v4.12–
    pub(crate) fn throttle_below(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, cpu: CpuId) {
        let (rule, clock) = (self.profile.throttle, self.throttle_stamp(cpu));
        let (subtree, groups) = self.take_subtree(group, cpu);
        cx.meter.count_n(Op::BwGroup, groups as u64);
        self.touch_queues(&subtree);
        for &queue in &subtree {
            let row = self.throttled_queue(queue);
            row.count += 1;
            if row.count > 1 {
                continue;
            }
            row.since = clock;
            // Where tasks stop by themselves it is tracked until the last one has.
            if rule != Throttle::OnUserReturn || self.cfs_rqs[queue].nr_running == 0 {
                self.stop_pelt_clock(queue);
                self.cfs_rqs[queue].on_list = false;
            }
            if rule == Throttle::OnUserReturnV1 {
                self.mark_all(cx, queue);
            }
            // Who is released onto it may have used up what it was given: the rest is released onto a throttled queue.
            if rule == Throttle::OnUserReturn && self.limbo(queue).next().is_some() {
                self.warn_on_once(cx, KernelWarn::ThrottledLimboList);
            }
        }
        self.keep_subtree(group, cpu, subtree);
        self.tidy_leaf_list(cpu);
    }

    /// A queue is throttled no more: those below it first.
    ///
    /// Kernel: fair.c tg_unthrottle_up(), v4.12–
    pub(crate) fn unthrottle_below(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, cpu: CpuId) {
        let clock = self.throttle_stamp(cpu);
        let (subtree, groups) = self.take_subtree(group, cpu);
        cx.meter.count_n(Op::BwGroup, groups as u64);
        self.touch_queues(&subtree);
        self.touch_tasks(subtree.iter().filter_map(|&queue| self.bandwidth.queues.get(queue)?.limbo));
        for &queue in subtree.iter().rev() {
            // What runs there is charged also if the queue stays throttled by another one above it.
            self.charge_up_to_now(cx, queue);
            let row = self.throttled_queue(queue);
            row.count -= 1;
            if row.count > 0 {
                continue;
            }
            row.time += clock - row.since;
            self.resume_pelt(queue);
            self.release_limbo(cx, queue);
            let has_load = match self.profile.unthrottled_leaf {
                UnthrottledLeaf::Loaded => !self.cfs_rq_is_decayed(queue),
                UnthrottledLeaf::Queued => self.cfs_rqs[queue].nr_running > 0,
            };
            if has_load {
                self.add_leaf_unless_stopped(queue);
            }
        }
        self.keep_subtree(group, cpu, subtree);
    }

    /// The clock by which it is told since when, and for how long, load tracking stands still.
    fn throttle_stamp(&self, cpu: CpuId) -> u64 {
        let clocks = &self.rqs[cpu].clocks;
        match self.profile.throttle_stamp {
            ThrottleStamp::ClockTask => clocks.clock_task,
            ThrottleStamp::ClockPelt => clocks.pelt(self.profile.pelt_clock),
        }
    }

    /// The load tracking of a queue stands still from now on.
    fn stop_pelt(&mut self, queue: CfsRqId) {
        self.stop_pelt_clock(queue);
        self.list_del_leaf_cfs_rq(queue);
    }

    fn stop_pelt_clock(&mut self, queue: CfsRqId) {
        let clock = self.throttle_stamp(self.cfs_rqs[queue].cpu);
        let row = self.throttled_queue(queue);
        (row.pelt_stopped, row.clock_pelt) = (true, clock);
    }

    /// It goes on, if it stood still.
    fn resume_pelt(&mut self, queue: CfsRqId) {
        let clock = self.throttle_stamp(self.cfs_rqs[queue].cpu);
        let row = &mut self.bandwidth.queues[queue];
        if std::mem::take(&mut row.pelt_stopped) {
            row.clock_pelt_time += clock - row.clock_pelt;
        }
    }

    /// The first entity comes to a queue. Where tasks stop by themselves it is tracked from now on, throttled or not.
    ///
    /// Kernel: fair.c enqueue_entity(), v6.18–
    pub(in crate::fair) fn resume_pelt_of_first(&mut self, queue: CfsRqId) {
        if self.profile.throttle == Throttle::OnUserReturn && self.pelt_stopped(queue) {
            self.resume_pelt(queue);
        }
    }

    /// An entity has left a queue: if it was the last, and the queue is throttled, its load tracking stands still from now on.
    ///
    /// Kernel: fair.c dequeue_entity(), v6.18–
    pub(in crate::fair) fn stop_pelt_after_last(&mut self, queue: CfsRqId) {
        let empty = self.profile.throttle == Throttle::OnUserReturn && self.cfs_rqs[queue].nr_running == 0;
        if empty && self.throttled_hierarchy(queue) {
            self.stop_pelt(queue);
        }
    }

    /// A queue is used for the first time. Its load tracking has stood still whenever that above it was throttled, and does if
    /// that is.
    ///
    /// Kernel: fair.c sync_throttle(), v4.12–
    pub(crate) fn sync_throttle(&mut self, queue: CfsRqId, above: CfsRqId) {
        let Some(&ThrottledQueue { count, since, time, .. }) = self.bandwidth.queues.get(above) else { return };
        if count > 0 || time > 0 {
            let (pelt_stopped, clock_pelt, clock_pelt_time) = (count > 0, since, time);
            *self.throttled_queue(queue) =
                ThrottledQueue { count, pelt_stopped, limbo: None, clock_pelt, clock_pelt_time, since, time };
        }
    }
}

impl super::Bandwidth {
    /// What the clock of a queue shows when that of its CPU shows `now`.
    #[inline]
    pub(crate) fn clock_pelt(&self, queue: CfsRqId, now: u64) -> u64 {
        match self.queues.get(queue) {
            None => now,
            // Where two clocks are mixed what is shown may be before the beginning of time.
            Some(row) if row.pelt_stopped => row.clock_pelt.wrapping_sub(row.clock_pelt_time),
            Some(row) => now.wrapping_sub(row.clock_pelt_time),
        }
    }

    /// A word of the row of a queue: see `fair/touch.rs`.
    #[inline]
    pub(crate) fn touch(&self, queue: CfsRqId) -> u64 {
        self.queues.get(queue).map_or(0, |row| row.clock_pelt)
    }

    /// For how long in all a queue that stands still no more has done so.
    pub(crate) fn stood_still(&self, queue: CfsRqId) -> u64 {
        self.queues.get(queue).map_or(0, |row| if row.pelt_stopped { u64::MAX } else { row.clock_pelt_time })
    }
}
