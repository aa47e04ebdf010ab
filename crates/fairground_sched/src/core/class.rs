//! Which class a task is of, and what the core has its class do.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::seam::RepeatedPick;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// Whether a task is of the real-time class; the fair class has all others.
    #[inline]
    pub(crate) fn is_rt(&self, task: TaskId) -> bool {
        self.tasks[task].policy.is_rt()
    }

    /// Queues a task on its CPU.
    ///
    /// Kernel: core.c enqueue_task(), v4.12–
    pub(crate) fn enqueue_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: EnqueueFlags) {
        if !flags.has(EnqueueFlags::RESTORE) {
            self.sched_info_enqueue(task);
        }
        self.uclamp_rq_inc(task);
        match self.is_rt(task) {
            false => self.enqueue_task_fair(cx, task, flags),
            true => self.enqueue_task_rt(cx, task, flags),
        }
    }

    /// Takes a task off its queue. False: it stays queued although it sleeps.
    ///
    /// Kernel: core.c dequeue_task(), v4.12–
    pub(crate) fn dequeue_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: DequeueFlags) -> bool {
        let still_waits = [DequeueFlags::SAVE, DequeueFlags::DELAYED, DequeueFlags::THROTTLE];
        if !still_waits.into_iter().any(|flag| flags.has(flag)) {
            self.sched_info_dequeue(task);
        }
        if !flags.has(DequeueFlags::THROTTLE) {
            self.uclamp_rq_dec(task);
        }
        if self.is_rt(task) {
            self.dequeue_task_rt(cx, task, flags);
            return true;
        }
        self.dequeue_task_fair(cx, task, flags)
    }

    /// The running task leaves the CPU.
    ///
    /// Kernel: sched.h put_prev_task(), v4.12–
    pub(crate) fn put_prev_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        match self.is_rt(task) {
            false => self.put_prev_task_fair(cx, task),
            true => self.put_prev_task_rt(cx, task),
        }
    }

    /// The running task, about which something has changed, goes on.
    ///
    /// Kernel: sched.h set_next_task(), set_curr_task() before v5.4, v4.12–
    pub(crate) fn set_next_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        match self.is_rt(task) {
            false => self.set_next_task_fair(cx, task),
            true => self.set_next_task_rt(cx, task, false, false),
        }
    }

    /// The next task of the calling CPU: that of the highest class that has one.
    ///
    /// Kernel: core.c __pick_next_task(), pick_next_task() before v5.11, v4.12–
    #[inline]
    pub(super) fn pick_task(&mut self, cx: &mut Ctx<'_, '_>) -> Option<TaskId> {
        if self.rqs[cx.cpu].rt.is_runnable() {
            return Some(self.pick_task_rt(cx));
        }
        self.pick_task_fair(cx)
    }

    /// `next` runs after `prev`, and one of them, or both, are real-time tasks.
    ///
    /// Kernel: core.c put_prev_set_next_task(), v6.12– (inside pick_next_task() before)
    #[cold]
    pub(super) fn switch_classes(&mut self, cx: &mut Ctx<'_, '_>, prev: Option<TaskId>, next: Option<TaskId>) {
        if prev == next && self.profile.repeated_pick == RepeatedPick::KeepsSlice {
            return;
        }
        let after_rt = prev.is_some_and(|prev| self.is_rt(prev));
        if let Some(prev) = prev {
            self.put_prev_task(cx, prev);
        }
        match next {
            Some(next) if self.is_rt(next) => self.set_next_task_rt(cx, next, true, after_rt),
            Some(next) => {
                self.cfs_tasks_picked(cx.cpu, next, prev != Some(next));
                self.set_next_task_fair(cx, next);
            }
            None => self.rqs[cx.cpu].stats.sched_goidle += u64::from(!self.rqs[cx.cpu].stop_running),
        }
    }

    /// Accounts what the running task of the calling CPU has run, with all groups above it.
    pub(super) fn update_curr_of_class(&mut self, cx: &mut Ctx<'_, '_>) {
        match self.rqs[cx.cpu].curr.is_some_and(|task| self.is_rt(task)) {
            false => self.update_curr_of_all_levels(cx),
            true => self.update_curr_rt(cx, cx.cpu),
        }
    }

    /// After a wake-up, when the wakee is queued on `cpu`.
    ///
    /// Kernel: sched.h struct sched_class task_woken(), v4.12–
    #[inline]
    pub(super) fn task_woken(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        if self.is_rt(task) {
            self.task_woken_rt(cx, task);
        }
    }

    /// A task that is on no queue belongs to another CPU from now on.
    ///
    /// Kernel: core.c set_task_cpu(), v4.12–
    pub(super) fn migrate_task_rq(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        match self.is_rt(task) {
            false => {
                self.migrate_task_rq_fair(cx, task);
                self.set_task_rq(task, target);
            }
            true => self.set_task_rq_detached(cx, task, target),
        }
    }
}
