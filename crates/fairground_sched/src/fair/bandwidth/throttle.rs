//! A queue is throttled, and released.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{Throttle, ThrottledTime, UnthrottledLeaf};
use fairground_model::{Decision, QueueAct, Reason};
use fairground_stdx::{CfsRqId, CpuId, Ns, SeId, TgId};

impl Sched {
    /// Throttles a queue whose runtime_remaining is 0 or less, unless the pool can pay after all. True: it is throttled.
    ///
    /// Kernel: fair.c throttle_cfs_rq(), v4.12–
    pub(super) fn throttle_cfs_rq(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) -> bool {
        self.throttle_unless_given(cx, queue, 1)
    }

    /// As [`Sched::throttle_cfs_rq`], but the account asks the pool for `target`.
    pub(super) fn throttle_unless_given(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, target: u64) -> bool {
        if self.assign_cfs_rq_runtime(cx, queue, target) {
            return false;
        }
        self.throttle_queue(cx, queue);
        true
    }

    /// The account of a queue is used up, and the pool has nothing.
    pub(crate) fn throttle_queue(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        let (cpu, group, se) = self.group_queue_names(queue);
        if cx.trace.wants_samples() {
            self.tell(cx, cpu, QueueAct::Throttle, (Some(group), None));
        }
        self.pool(group).expect("invariant: an account has a pool").line_up(cpu);
        self.throttle_below(cx, group, cpu);
        if self.profile.throttle == Throttle::CfsRqDequeue {
            self.dequeue_throttled(cx, queue, se);
        }
        let starts_clock = match self.profile.throttled_time {
            ThrottledTime::Throttle => true,
            ThrottledTime::FirstTask => self.cfs_rqs[queue].nr_running > 0,
            ThrottledTime::FirstStop => false,
        };
        let clock = self.rqs[cpu].clocks.clock;
        let account = &mut self.pool(group).expect("invariant: an account has a pool").accounts[cpu];
        account.throttled = true;
        account.throttled_clock = if starts_clock { clock } else { 0 };
        let debt = u32::try_from(-account.remaining).unwrap_or(u32::MAX);
        self.note_idleness(cpu);
        self.fair_server_follows(cx, cpu);
        self.lines.write(cx, cpu);
        cx.decide_who(Reason::Throttle, Decision::group(group), debt);
    }

    /// Releases a throttled queue; it goes on unless one above it is throttled. Where tasks stop by themselves, a queue that has
    /// used up its payment meanwhile stays throttled.
    ///
    /// Kernel: fair.c unthrottle_cfs_rq(), v4.12–
    pub(crate) fn unthrottle_cfs_rq(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        let (cpu, group, se) = self.group_queue_names(queue);
        let rule = self.profile.throttle;
        self.charge_up_to_now(cx, queue);
        let account = &self.pool(group).expect("invariant: an account has a pool").accounts[cpu];
        if account.enabled && rule.keeps_throttled(account.remaining) {
            return;
        }
        self.update_rq_clock(cx, cpu);
        if cx.trace.wants_samples() {
            self.tell(cx, cpu, QueueAct::Release, (Some(group), None));
        }
        let clock = self.rqs[cpu].clocks.clock;
        let pool = self.pool(group).expect("invariant: an account has a pool");
        let account = &mut pool.accounts[cpu];
        account.throttled = false;
        let since = std::mem::take(&mut account.throttled_clock);
        if since != 0 {
            pool.stats.unthrottled(Ns(clock - since));
        }
        pool.leave_line(cpu);
        self.unthrottle_below(cx, group, cpu);
        cx.decide_who(Reason::Unthrottle, Decision::group(group), cpu.get());
        if rule == Throttle::CfsRqDequeue {
            self.enqueue_unthrottled(cx, queue, se);
        }
        self.lines.write(cx, cpu);
        if self.release_brings_nothing(queue, se) {
            return;
        }
        self.fair_server_follows(cx, cpu);
        if self.rqs[cpu].curr.is_none() && self.cfs_rqs[self.rqs[cpu].cfs].nr_running > 0 {
            self.resched_curr(cx, cpu);
        }
    }

    /// A queue that was released has no task and nothing to age: that ends the release, and nobody is asked to choose. One that has
    /// something to age brings those above it onto the list.
    ///
    /// Kernel: fair.c unthrottle_cfs_rq(), v4.12–; the list from v5.13 on
    fn release_brings_nothing(&mut self, queue: CfsRqId, se: SeId) -> bool {
        if self.cfs_rqs[queue].nr_running > 0 {
            return false;
        }
        let listed = self.profile.unthrottled_leaf == UnthrottledLeaf::Loaded && self.cfs_rqs[queue].on_list;
        if listed {
            self.list_add_branch(self.ses[se].cfs_rq);
        }
        !listed
    }

    pub(super) fn group_queue_names(&self, queue: CfsRqId) -> (CpuId, TgId, SeId) {
        let row = &self.cfs_rqs[queue];
        let group = row.tg.expect("invariant: the root group has no quota");
        (row.cpu, group, row.se.expect("invariant: a group's queue has an entity"))
    }

    /// Whether task counts stop at a queue: what is in it does not count in the queues above.
    ///
    /// Kernel: fair.c enqueue_task_fair(), dequeue_entities() at a throttled queue, v4.12–v6.17
    #[inline]
    pub(crate) fn counts_end_at(&self, queue: CfsRqId) -> bool {
        self.profile.throttle == Throttle::CfsRqDequeue && self.cfs_rq_throttled(queue)
    }

    /// Whether what lies in a queue is left out where others are weighed against it: preemption, buddies, weights of groups.
    ///
    /// Kernel: fair.c check_preempt_wakeup(), update_cfs_group() with throttled_hierarchy(), v4.12–v6.17
    #[inline]
    pub(crate) fn is_held_back(&self, queue: CfsRqId) -> bool {
        self.profile.throttle != Throttle::OnUserReturn && self.throttled_hierarchy(queue)
    }

    /// Whether load that comes to or leaves a queue is not propagated to the queues above, by seam `load_end`.
    ///
    /// Kernel: fair.c propagate_entity_cfs_rq() at a throttled queue, v4.12–v6.17
    #[inline]
    pub(in crate::fair) fn load_ends_at(&self, queue: CfsRqId) -> bool {
        self.profile.throttle != Throttle::OnUserReturn && self.cfs_rq_throttled(queue)
    }
}
