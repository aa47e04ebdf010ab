//! EEVDF's delayed dequeue: who sleeps with negative lag stays queued and competes until its lag is used up.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::enqueue::Counted;
use crate::fair::group::Tell;
use crate::fair::{CfsRq, DequeueFlags};
use crate::seam::{DelayedLag, DelayedRequeue};
use crate::task::TaskState;
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{CfsRqId, SeId, TaskId};

impl Sched {
    /// Whether `se`, which is to leave its queue, stays for now.
    ///
    /// Kernel: fair.c dequeue_entity(), v6.12–
    pub(super) fn delays_dequeue(&self, cfs_rq: CfsRqId, se: SeId, flags: DequeueFlags) -> bool {
        let now = [DequeueFlags::SPECIAL, DequeueFlags::DELAYED, DequeueFlags::THROTTLE];
        let goes_now = !flags.has(DequeueFlags::SLEEP) || now.into_iter().any(|flag| flags.has(flag));
        !goes_now && self.profile.feats.has(Feat::DELAY_DEQUEUE) && !self.averages(cfs_rq).eligible(self.ses[se].vruntime)
    }

    /// Kernel: fair.c set_delayed(), v6.12–
    pub(super) fn set_delayed(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        self.ses[se].sched_delayed = true;
        if let Some(task) = self.ses[se].task {
            self.for_each_queue_above(se, |queue| queue.h_nr_runnable -= 1);
            cx.decide(Reason::DelayDequeue, Some(task), 0);
        }
    }

    /// Kernel: fair.c clear_delayed(), v6.12–
    fn clear_delayed(&mut self, se: SeId) {
        self.ses[se].sched_delayed = false;
        if self.ses[se].task.is_some() {
            self.for_each_queue_above(se, |queue| queue.h_nr_runnable += 1);
        }
    }

    /// Up to the first whose counts end there.
    fn for_each_queue_above(&mut self, se: SeId, mut act: impl FnMut(&mut CfsRq)) {
        let mut level = Some(se);
        while let Some(id) = level {
            let cfs_rq = self.ses[id].cfs_rq;
            let queue = &mut self.cfs_rqs[cfs_rq];
            self.group_stats.cpu_changes(queue.cpu);
            act(queue);
            level = self.ses[id].parent.filter(|_| !self.counts_end_at(cfs_rq));
        }
    }

    /// `se` has left its queue at last. A task counts as runnable again on all levels, and whoever takes it off counts it out level by
    /// level: the queues above, which are aged in between, take it for runnable since they were aged last.
    ///
    /// Kernel: fair.c finish_delayed_dequeue_entity(), v6.12–
    pub(super) fn finish_delayed_dequeue_entity(&mut self, se: SeId) {
        self.clear_delayed(se);
        let entity = &mut self.ses[se];
        if self.profile.feats.has(Feat::DELAY_ZERO) {
            entity.set_vlag(self.profile.protection, entity.vlag.min(0));
        }
    }

    /// `task`, which sleeps on its queue, would run next: now it leaves.
    ///
    /// Kernel: fair.c pick_next_entity() with __block_task(), v6.12–
    pub(crate) fn complete_delayed_dequeue(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        cx.decide(Reason::PickDelayed, Some(task), 0);
        self.leave_after_delay(cx, task);
    }

    /// `task`, which sleeps on its queue, leaves it.
    ///
    /// Kernel: core.c __sched_setscheduler() with a delayed task that leaves its class, v6.12–
    pub(crate) fn leave_after_delay(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        self.deactivate_task(cx, task, DequeueFlags::SLEEP.with(DequeueFlags::DELAYED));
        let switching = self.rqs[self.tasks[task].cpu].curr == Some(task);
        self.tasks[task].state = if switching { TaskState::OffCpuPending } else { TaskState::Asleep };
    }

    /// The entity of a group whose last task has left stands on its queue still, and would run next: now it leaves.
    ///
    /// Kernel: fair.c pick_next_entity() with dequeue_entities(), v6.12–
    pub(crate) fn complete_delayed_group(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        cx.decide_who(Reason::PickDelayed, self.ses[se].who(), 0);
        let nobody = Counted { tasks: 0, runnable: 0, idle: 0 };
        self.dequeue_entities(cx, se, DequeueFlags::SLEEP.with(DequeueFlags::DELAYED), nobody);
    }

    /// `task` is woken before it has left its queue: it is runnable again where it stands.
    ///
    /// Kernel: fair.c enqueue_task_fair() with ENQUEUE_DELAYED, v6.12–
    pub(crate) fn requeue_delayed_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        self.tasks[task].in_iowait = false;
        self.util_est_enqueue(task);
        self.sched_info_enqueue(task);
        self.requeue_delayed_entity(cx, self.tasks[task].se);
        self.tasks[task].state = TaskState::Queued;
        self.uclamp_rq_inc(task);
    }

    /// An entity in delayed dequeue is runnable again where it stands, or at the average if it has gained lag since
    /// (DELAY_ZERO).
    ///
    /// Kernel: fair.c requeue_delayed_entity(), v6.12–
    pub(crate) fn requeue_delayed_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        let cfs_rq = self.ses[se].cfs_rq;
        if self.profile.delayed_requeue == DelayedRequeue::Now {
            self.update_curr(cx, cfs_rq);
        }
        let mut reason = Reason::DelayRequeue;
        if self.gained_while_delayed(cx, cfs_rq, se) {
            self.place_anew(cx, cfs_rq, se);
            reason = Reason::DelayZero;
        }
        self.update_load_avg(cx, se, Tell::Nobody);
        self.clear_delayed(se);
        cx.decide_who(reason, self.ses[se].who(), 0);
    }

    /// Whether `se`, whose lag is told anew, has another one than by its place.
    ///
    /// Kernel: fair.c requeue_delayed_entity(), v6.12–
    fn gained_while_delayed(&mut self, cx: &Ctx<'_, '_>, cfs_rq: CfsRqId, se: SeId) -> bool {
        let cut = self.profile.feats.has(Feat::DELAY_ZERO);
        if self.profile.delayed_lag == DelayedLag::Bounded {
            return self.update_entity_lag(cx, cfs_rq, se);
        }
        if cut {
            self.update_entity_lag(cx, cfs_rq, se);
        }
        let gained = cut && self.ses[se].vlag > 0;
        if gained {
            self.ses[se].set_vlag(self.profile.protection, 0);
        }
        gained
    }

    fn place_anew(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId, se: SeId) {
        let is_curr = self.cfs_rqs[cfs_rq].curr == Some(se);
        if !is_curr {
            self.level(se).dequeue_from_order();
            self.waiting_changed(cfs_rq);
        }
        self.place_entity_by_lag(cx, cfs_rq, se, false);
        if !is_curr {
            self.level(se).enqueue_in_order();
            self.waiting_changed(cfs_rq);
        }
    }
}
