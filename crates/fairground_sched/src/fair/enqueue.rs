//! An entity comes onto a queue, or leaves it.

use super::level::Level;
use super::{DequeueFlags, EnqueueFlags};
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::SchedEntity;
use crate::fair::balance::End;
use crate::pelt::UtilEstSample;
use fairground_model::{Op, Policy};
use fairground_stdx::{SeId, TaskId};

impl Sched {
    /// Whether the entity is of policy SCHED_IDLE.
    ///
    /// Kernel: fair.c se_is_idle(), v5.15– (task_has_idle_policy() before)
    #[inline]
    pub(crate) fn se_is_idle(&self, se: &SchedEntity) -> bool {
        se.task.is_some_and(|task| self.tasks[task].policy == Policy::Idle)
    }

    /// Queues a task and every group above it that is not queued yet. A task in delayed dequeue that
    /// moves to another queue goes on sleeping there.
    ///
    /// Kernel: fair.c enqueue_task_fair(), v4.12–
    pub(crate) fn enqueue_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: EnqueueFlags) {
        cx.meter.count(Op::Enqueue);
        if !flags.has(EnqueueFlags::RESTORE) {
            self.sched_info_enqueue(task);
        }
        let se = self.tasks[task].se;
        let delayed = self.ses[se].sched_delayed;
        if !delayed {
            self.util_est_enqueue(task);
        }
        let (mut flags, mut level) = (flags, Some(se));
        while let Some(se) = level {
            let cfs_rq = self.ses[se].cfs_rq;
            if self.ses[se].on_rq {
                self.level(se).update_load_avg(cx);
            } else {
                self.enqueue_entity(cx, se, flags);
                flags = EnqueueFlags::WAKEUP;
            }
            let queue = &mut self.cfs_rqs[cfs_rq];
            queue.h_nr_running += 1;
            queue.h_nr_runnable += u32::from(!delayed);
            level = self.next_level(cx, se);
        }
        self.cfs_tasks_add(self.tasks[task].cpu, task, End::Head);
    }

    /// Takes a task off its queue, and every group above it that is left empty. False: the task stays
    /// queued although it sleeps.
    ///
    /// Kernel: fair.c dequeue_task_fair(), dequeue_entities() from v6.12, v4.12–
    pub(crate) fn dequeue_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: DequeueFlags) -> bool {
        cx.meter.count(Op::Dequeue);
        if !flags.has(DequeueFlags::SAVE) && !flags.has(DequeueFlags::DELAYED) {
            self.sched_info_dequeue(task);
        }
        let se = self.tasks[task].se;
        let (sleep, delayed) = (flags.has(DequeueFlags::SLEEP), self.ses[se].sched_delayed);
        let sample_first = self.profile.util_est_sample == UtilEstSample::BeforeDequeue;
        if sample_first && !delayed {
            self.util_est_dequeue(cx, task, sleep);
        }
        let (mut flags, mut emptied, mut level) = (flags, true, Some(se));
        while let Some(se) = level {
            let cfs_rq = self.ses[se].cfs_rq;
            if emptied {
                if !self.dequeue_entity(cx, se, flags) {
                    return false;
                }
                if self.ses[se].task.is_some() {
                    self.cfs_tasks_remove(self.tasks[task].cpu, task);
                }
                emptied = self.cfs_rqs[cfs_rq].nr_running == 0;
                if !emptied
                    && flags.has(DequeueFlags::SLEEP)
                    && let Some(parent) = self.ses[se].parent
                {
                    // The group goes on with another of its tasks rather than lose its turn.
                    self.set_next_buddy(parent);
                }
                flags = flags.with(DequeueFlags::SLEEP);
            } else {
                self.level(se).update_load_avg(cx);
            }
            let queue = &mut self.cfs_rqs[cfs_rq];
            queue.h_nr_running -= 1;
            queue.h_nr_runnable -= u32::from(!delayed);
            level = self.next_level(cx, se);
        }
        if !sample_first {
            self.util_est_dequeue(cx, task, sleep);
        }
        true
    }

    fn next_level(&self, cx: &mut Ctx<'_, '_>, se: SeId) -> Option<SeId> {
        let parent = self.ses[se].parent;
        if parent.is_some() {
            cx.meter.count(Op::CgroupLevel);
        }
        parent
    }
}

impl Level<'_> {
    /// Kernel: fair.c account_entity_enqueue(), v4.12–
    pub(super) fn account_entity_enqueue(&mut self, idle: bool) {
        self.cfs_rq.load.add(self.se.load.weight());
        self.cfs_rq.nr_running += 1;
        self.cfs_rq.idle_nr_running += u32::from(idle);
    }

    /// Kernel: fair.c account_entity_dequeue(), v4.12–
    pub(super) fn account_entity_dequeue(&mut self, idle: bool) {
        self.cfs_rq.load.sub(self.se.load.weight());
        self.cfs_rq.nr_running -= 1;
        self.cfs_rq.idle_nr_running -= u32::from(idle);
    }
}
