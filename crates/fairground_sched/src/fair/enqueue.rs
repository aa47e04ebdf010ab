//! An entity comes onto a queue, or leaves it.

use super::level::Level;
use super::place::Placement;
use super::{DequeueFlags, EnqueueFlags};
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::SchedEntity;
use crate::seam::MinVruntimeAtDequeue;
use fairground_model::{Op, Policy};
use fairground_stdx::{SeId, TaskId};

impl Sched {
    /// Kernel: fair.c enqueue_entity(), v4.12–v6.5
    fn enqueue_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, flags: EnqueueFlags) {
        // Off a queue, virtual time is relative to the queue's minimum unless the entity sleeps.
        let renormalise = !flags.has(EnqueueFlags::WAKEUP) || flags.has(EnqueueFlags::MIGRATED);
        let (cfs_rq, idle) = (self.ses[se].cfs_rq, self.se_is_idle(&self.ses[se]));
        let is_curr = self.cfs_rqs[cfs_rq].curr == Some(se);
        if renormalise && is_curr {
            self.level(se).add_min_vruntime();
        }
        self.update_curr(cx, cfs_rq);
        let mut level = self.level(se);
        if renormalise && !is_curr {
            level.add_min_vruntime();
        }
        level.update_load_avg(cx);
        level.enqueue_runnable_load_avg();
        level.account_entity_enqueue(idle);
        if flags.has(EnqueueFlags::WAKEUP) {
            self.place_entity(cx, cfs_rq, se, Placement::WakeUp);
        }
        let entity = &mut self.ses[se];
        if !is_curr {
            self.cfs_rqs[cfs_rq].timeline.insert(entity.vruntime, se);
        }
        entity.on_rq = true;
    }

    /// Kernel: fair.c dequeue_entity(), v4.12–v6.5
    fn dequeue_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, flags: DequeueFlags) {
        let (cfs_rq, idle) = (self.ses[se].cfs_rq, self.se_is_idle(&self.ses[se]));
        self.update_curr(cx, cfs_rq);
        self.clear_buddies(cfs_rq, se);
        let mut level = self.level(se);
        level.update_load_avg(cx);
        level.dequeue_runnable_load_avg();
        if level.cfs_rq.curr != Some(se) {
            let present = level.cfs_rq.timeline.remove(level.se.vruntime, se);
            assert!(present, "invariant: a queued entity that does not run is in its timeline");
        }
        level.se.on_rq = false;
        level.account_entity_dequeue(idle);
        if !flags.has(DequeueFlags::SLEEP) {
            level.se.vruntime = level.se.vruntime.minus(level.cfs_rq.min_vruntime.0);
        }
        let saved = flags.has(DequeueFlags::SAVE);
        match self.profile.min_vruntime_at_dequeue {
            MinVruntimeAtDequeue::UnlessSaveRestore if saved => {}
            MinVruntimeAtDequeue::SaveRestoreOnly if !saved => {}
            _ => self.update_min_vruntime(cfs_rq),
        }
    }

    /// Whether the entity is of policy SCHED_IDLE.
    ///
    /// Kernel: fair.c se_is_idle(), v5.15– (task_has_idle_policy() before)
    #[inline]
    pub(crate) fn se_is_idle(&self, se: &SchedEntity) -> bool {
        se.task.is_some_and(|task| self.tasks[task].policy == Policy::Idle)
    }

    /// Queues a task and every group above it that is not queued yet.
    ///
    /// Kernel: fair.c enqueue_task_fair(), v4.12–v6.5
    pub(crate) fn enqueue_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: EnqueueFlags) {
        cx.meter.count(Op::Enqueue);
        self.util_est_enqueue(task);
        let (mut flags, mut level) = (flags, Some(self.tasks[task].se));
        while let Some(se) = level {
            let cfs_rq = self.ses[se].cfs_rq;
            if self.ses[se].on_rq {
                self.level(se).update_load_avg(cx);
            } else {
                self.enqueue_entity(cx, se, flags);
                flags = EnqueueFlags::WAKEUP;
            }
            self.cfs_rqs[cfs_rq].h_nr_running += 1;
            level = self.next_level(cx, se);
        }
    }

    /// Takes a task off its queue, and every group above it that is left empty.
    ///
    /// Kernel: fair.c dequeue_task_fair(), v4.12–v6.5
    pub(crate) fn dequeue_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: DequeueFlags) {
        cx.meter.count(Op::Dequeue);
        let (mut flags, mut emptied, mut level) = (flags, true, Some(self.tasks[task].se));
        while let Some(se) = level {
            let cfs_rq = self.ses[se].cfs_rq;
            if emptied {
                self.dequeue_entity(cx, se, flags);
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
            self.cfs_rqs[cfs_rq].h_nr_running -= 1;
            level = self.next_level(cx, se);
        }
        self.util_est_dequeue(cx, task, flags.has(DequeueFlags::SLEEP));
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
    fn add_min_vruntime(&mut self) {
        self.se.vruntime = self.se.vruntime.plus(self.cfs_rq.min_vruntime.0);
    }

    /// Kernel: fair.c account_entity_enqueue(), v4.12–
    fn account_entity_enqueue(&mut self, idle: bool) {
        self.cfs_rq.load.add(self.se.load.weight());
        self.cfs_rq.nr_running += 1;
        self.cfs_rq.idle_nr_running += u32::from(idle);
    }

    /// Kernel: fair.c account_entity_dequeue(), v4.12–
    fn account_entity_dequeue(&mut self, idle: bool) {
        self.cfs_rq.load.sub(self.se.load.weight());
        self.cfs_rq.nr_running -= 1;
        self.cfs_rq.idle_nr_running -= u32::from(idle);
    }

    /// Kernel: fair.c enqueue_runnable_load_avg(), v4.12–v5.6
    fn enqueue_runnable_load_avg(&mut self) {
        let weight = self.profile.scale_load_down.apply(self.se.load.weight());
        self.profile.pelt.enqueue_runnable_load(self.cfs_avg, self.se_avg, weight);
    }

    /// Kernel: fair.c dequeue_runnable_load_avg(), v4.12–v5.6
    fn dequeue_runnable_load_avg(&mut self) {
        let weight = self.profile.scale_load_down.apply(self.se.load.weight());
        self.profile.pelt.dequeue_runnable_load(self.cfs_avg, self.se_avg, weight);
    }
}
