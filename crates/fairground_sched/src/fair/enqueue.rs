//! An entity comes onto a queue, or leaves it.

use super::level::Level;
use super::steps::step;
use super::{DequeueFlags, EnqueueFlags};
use crate::Sched;
use crate::cpufreq::FreqCause;
use crate::ctx::Ctx;
use crate::fair::SchedEntity;
use crate::fair::balance::End;
use crate::pelt::UtilEstSample;
use crate::seam::SchedIdleCpu;
use crate::seam::UtilEstDequeue;
use fairground_model::{Op, Policy};
use fairground_stdx::{SeId, TaskId};

impl Sched {
    /// Whether the entity is idle: of policy SCHED_IDLE, or a group with cpu.idle.
    ///
    /// Kernel: fair.c se_is_idle(), v5.15– (task_has_idle_policy() before)
    #[inline]
    pub(crate) fn se_is_idle(&self, se: &SchedEntity) -> bool {
        match se.my_q {
            None => se.task.is_some_and(|task| self.tasks[task].policy == Policy::Idle),
            Some(queue) => self.cfs_rq_is_idle(queue),
        }
    }

    /// Queues a task and every group above it that is not queued yet. A task in delayed dequeue that
    /// moves to another queue goes on sleeping there.
    ///
    /// Kernel: fair.c enqueue_task_fair(), v4.12–
    pub(crate) fn enqueue_task_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, mut flags: EnqueueFlags) {
        if self.tasks[task].throttled && self.enqueue_throttled_task(task) {
            return;
        }
        cx.meter.count(Op::Enqueue);
        let se = self.tasks[task].se;
        let delayed = self.ses[se].sched_delayed;
        let wakes = flags.has(EnqueueFlags::WAKEUP);
        if !delayed {
            self.util_est_enqueue(task);
        }
        if std::mem::take(&mut self.tasks[task].in_iowait) {
            self.cpufreq_update_util(cx, self.tasks[task].cpu, FreqCause::Iowait);
        }
        let mut counted = Counted { tasks: 1, runnable: u32::from(!delayed), idle: u32::from(self.se_is_idle(&self.ses[se])) };
        let (mut level, mut slice, mut stops) = (Some(se), None, false);
        while let Some(se) = level.filter(|&se| !self.ses[se].on_rq) {
            self.set_group_slice(se, slice);
            self.enqueue_entity(cx, se, flags);
            slice = self.group_slice(self.ses[se].cfs_rq);
            self.count_in(se, &mut counted);
            flags = EnqueueFlags::WAKEUP;
            stops = self.counts_end_at(self.ses[se].cfs_rq);
            level = self.next_level(cx, se);
            if stops {
                break;
            }
        }
        if let Some(group) = level.filter(|&se| !stops && self.ses[se].sched_delayed) {
            self.requeue_delayed_entity(cx, group);
        }
        while let Some(se) = level.filter(|_| !stops) {
            self.update_group_entity(cx, se);
            self.set_group_slice(se, slice);
            slice = self.group_slice(self.ses[se].cfs_rq);
            self.count_in(se, &mut counted);
            stops = self.counts_end_at(self.ses[se].cfs_rq);
            level = self.next_level(cx, se);
        }
        if !stops {
            self.fair_task_comes(cx, self.tasks[task].cpu);
            self.add_nr_running(self.tasks[task].cpu, 1);
            if wakes {
                self.update_overutilized_status(self.tasks[task].cpu);
            }
        }
        self.cfs_tasks_add(self.tasks[task].cpu, task, End::Head);
        self.mark_if_throttled(cx, task);
        self.hrtick_update(cx, self.tasks[task].cpu, true);
    }

    /// Takes a task off its queue, and every group above it that is left empty. False: the task stays
    /// queued although it sleeps.
    ///
    /// Kernel: fair.c dequeue_task_fair(), v4.12–
    pub(crate) fn dequeue_task_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: DequeueFlags) -> bool {
        if self.tasks[task].throttled {
            self.dequeue_throttled_task(task, flags);
            return true;
        }
        cx.meter.count(Op::Dequeue);
        let se = self.tasks[task].se;
        let (sleep, delayed) = (flags.has(DequeueFlags::SLEEP), self.ses[se].sched_delayed);
        let sample = self.profile.util_est_sample;
        let leaves_before = self.profile.util_est_dequeue == UtilEstDequeue::Before;
        if leaves_before && !delayed {
            self.util_est_dequeue(task);
            if sleep && sample == UtilEstSample::BeforeDequeue {
                self.util_est_update(cx, task);
            }
        }
        // Who leaves at last is made runnable before it is counted out.
        let runnable = u32::from(sleep || flags.has(DequeueFlags::DELAYED) || !delayed);
        let counted = Counted { tasks: 1, runnable, idle: u32::from(self.se_is_idle(&self.ses[se])) };
        if !self.dequeue_entities(cx, se, flags, counted) {
            return false;
        }
        self.cfs_tasks_remove(self.tasks[task].cpu, task);
        if !leaves_before {
            self.util_est_dequeue(task);
        }
        if sleep && sample == UtilEstSample::AfterDequeue {
            self.util_est_update(cx, task);
        }
        self.hrtick_update(cx, self.tasks[task].cpu, false);
        true
    }

    /// Takes an entity off its queue, and every group above it that is left empty; all above count `counted` less. False:
    /// the entity itself stays. A group above that stays in delayed dequeue counts as left.
    ///
    /// Kernel: fair.c dequeue_entities(), v6.12– (dequeue_task_fair() before)
    pub(crate) fn dequeue_entities(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        first: SeId,
        mut flags: DequeueFlags,
        mut counted: Counted,
    ) -> bool {
        let (sleeps, left) = (flags.has(DequeueFlags::SLEEP), counted.tasks);
        let (mut level, mut slice) = (Some(first), None);
        let cpu = self.cfs_rqs[self.ses[first].cfs_rq].cpu;
        let was_sched_idle = self.sched_idle_cpu(cpu);
        while let Some(se) = level {
            let cfs_rq = self.ses[se].cfs_rq;
            if !self.dequeue_entity(cx, se, flags) {
                if se == first {
                    return false;
                }
                slice = self.group_slice(cfs_rq);
                break;
            }
            self.count_out(se, &mut counted);
            if self.counts_end_at(cfs_rq) {
                return true;
            }
            level = self.next_level(cx, se);
            if self.cfs_rqs[cfs_rq].nr_running > 0 {
                slice = self.group_slice(cfs_rq);
                if let Some(parent) = level.filter(|_| sleeps && !self.is_held_back(cfs_rq)) {
                    // The group goes on with another of its tasks rather than lose its turn.
                    self.set_next_buddy(parent);
                }
                break;
            }
            flags = flags.with(DequeueFlags::SLEEP).without(DequeueFlags::DELAYED).without(DequeueFlags::SPECIAL);
        }
        while let Some(se) = level {
            self.update_group_entity(cx, se);
            self.set_group_slice(se, slice);
            slice = self.group_slice(self.ses[se].cfs_rq);
            self.count_out(se, &mut counted);
            if self.counts_end_at(self.ses[se].cfs_rq) {
                return true;
            }
            level = self.next_level(cx, se);
        }
        self.rqs[cpu].nr_running -= left;
        if !was_sched_idle && self.sched_idle_cpu(cpu) && self.profile.sched_idle_cpu != SchedIdleCpu::Busy {
            // Only idle tasks are left: who is more important elsewhere is pulled at the next tick.
            self.rqs[cpu].lb.next_balance = cx.jiffies;
        }
        self.note_idleness(cpu);
        self.fair_server_follows(cx, cpu);
        true
    }

    fn next_level(&self, cx: &mut Ctx<'_, '_>, se: SeId) -> Option<SeId> {
        let parent = self.ses[se].parent;
        if parent.is_some() {
            cx.meter.count(Op::CgroupLevel);
        }
        parent
    }

    /// The queue of `se` counts tasks more. Above an idle group all of them are idle.
    #[inline]
    pub(super) fn count_in(&mut self, se: SeId, counted: &mut Counted) {
        let cfs_rq = self.ses[se].cfs_rq;
        let queue = &mut self.cfs_rqs[cfs_rq];
        queue.h_nr_running += counted.tasks;
        queue.h_nr_runnable += counted.runnable;
        queue.idle_h_nr_running += counted.idle;
        if self.cfs_rq_is_idle(cfs_rq) {
            counted.idle = counted.tasks;
        }
    }

    /// The queue of `se` counts tasks less.
    #[inline]
    pub(super) fn count_out(&mut self, se: SeId, counted: &mut Counted) {
        let cfs_rq = self.ses[se].cfs_rq;
        let queue = &mut self.cfs_rqs[cfs_rq];
        queue.h_nr_running -= counted.tasks;
        queue.h_nr_runnable -= counted.runnable;
        queue.idle_h_nr_running -= counted.idle;
        if self.cfs_rq_is_idle(cfs_rq) {
            counted.idle = counted.tasks;
        }
    }
}

/// What a walk up the groups adds to the counts of each queue, or takes off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counted {
    /// Tasks.
    pub(crate) tasks: u32,
    /// How many of these want to run.
    pub(crate) runnable: u32,
    /// How many of these are idle.
    pub(crate) idle: u32,
}

impl Level<'_> {
    /// Kernel: fair.c account_entity_enqueue(), v4.12–
    pub(super) fn account_entity_enqueue(&mut self, idle: bool) {
        step("account_entity_enqueue");
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
