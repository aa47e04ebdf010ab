//! Changes from outside: a task goes to another group, a group gets another weight, becomes idle, is removed.

use super::Tell;
use crate::Sched;
use crate::core::Arrival;
use crate::ctx::Ctx;
use crate::fair::place::Placement;
use crate::fair::weight::{SCHED_FIXEDPOINT_SHIFT, WEIGHT_IDLEPRIO};
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::pelt::PeltFamily;
use crate::seam::MoveRunning;
use crate::task::TaskState;
use fairground_model::{CpuMax, DEFAULT_SHARES, QueueAct};
use fairground_stdx::{CfsRqId, CpuId, SeId, TaskId, TgId};

/// Most that cpu.shares may be.
///
/// Kernel: sched.h MAX_SHARES, v4.12–
const MAX_SHARES: u64 = 1 << 18;

/// The shares of a group as they are stored: 2 to 262144, times 1024. An idle group has those of an idle task.
///
/// Kernel: fair.c __sched_group_set_shares(), v4.12–
pub(super) fn stored_shares(shares: u64, idle: bool) -> u64 {
    let shares = if idle { u64::from(WEIGHT_IDLEPRIO) } else { shares.clamp(super::shares::MIN_SHARES, MAX_SHARES) };
    shares << SCHED_FIXEDPOINT_SHIFT
}

/// Who keeps a group from being removed (EBUSY).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Busy {
    /// This task is in it, or will start in it.
    Task(TaskId),
    /// This group is in it.
    Group(TgId),
}

impl Sched {
    /// A task goes to another group; `None` is the root group. It stays on its CPU.
    ///
    /// Kernel: core.c sched_move_task(), v4.12–
    pub fn sched_move_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, group: Option<TgId>) {
        self.end_migration(cx, task);
        let cpu = self.tasks[task].cpu;
        if self.tasks[task].group == group {
            return;
        }
        let state = self.tasks[task].state;
        if state == TaskState::Dead {
            return;
        }
        if state != TaskState::New {
            self.count_rq_lock(cx, cpu);
            self.update_rq_clock(cx, cpu);
        }
        if cx.trace.wants_samples() {
            self.tell(cx, cpu, QueueAct::Join, (group, Some(task)));
        }
        if state == TaskState::New {
            self.tasks[task].group = group;
            return self.set_task_rq(task, cpu);
        }
        let queued = self.tasks[task].state.is_on_rq();
        self.joins_group(task);
        self.sched_change(cx, task, DequeueFlags::SAVE.with(DequeueFlags::MOVE), |sched, cx| {
            match sched.is_fair(task) {
                true => sched.task_change_group_fair(cx, task, group, queued),
                false => {
                    sched.tasks[task].group = group;
                    sched.set_task_rq_detached(cx, task, cpu);
                }
            }
            EnqueueFlags::empty()
        });
        match self.profile.move_running {
            MoveRunning::GoesOn => {}
            MoveRunning::Resched | MoveRunning::ReschedOrPreempt if self.rqs[cpu].curr == Some(task) => {
                self.resched_curr(cx, cpu)
            }
            MoveRunning::ReschedOrPreempt if queued => self.check_preempt_curr(cx, cpu, task, Arrival::Plain),
            MoveRunning::Resched | MoveRunning::ReschedOrPreempt => {}
        }
    }

    /// Takes what a task, which is on no queue, has on the queue of its old group, over to that of its new one.
    ///
    /// Kernel: fair.c task_change_group_fair(), task_move_group_fair() before v6.0, v4.12–
    fn task_change_group_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, group: Option<TgId>, queued: bool) {
        let (se, cpu) = (self.tasks[task].se, self.tasks[task].cpu);
        // A task that is being woken and has left its CPU: its load and its place in virtual time belong to no queue.
        let belongs_nowhere = self.pelt_se[se].last_update_time == 0;
        let absolute = !belongs_nowhere && !self.vruntime_normalized(task, queued);
        let old = self.ses[se].cfs_rq;
        if absolute {
            // A sleeper must not carry a long past, or a far future, to a queue with another virtual time.
            self.place_entity(cx, old, se, Placement::WakeUp);
            let floor = self.cfs_rqs[old].min_vruntime.0;
            self.ses[se].vruntime = self.ses[se].vruntime.minus(floor);
        }
        self.detach_entity_cfs_rq(cx, se);
        self.tasks[task].group = group;
        self.set_task_rq(task, cpu);
        if belongs_nowhere {
            return;
        }
        self.pelt_se[se].last_update_time = 0;
        self.attach_entity_cfs_rq(cx, se);
        if absolute {
            let floor = self.cfs_rqs[self.ses[se].cfs_rq].min_vruntime.0;
            self.ses[se].vruntime = self.ses[se].vruntime.plus(floor);
        }
    }

    /// Sets the weight of a group, as cpu.shares tells it: 2 to 262144, beyond that the nearest. An idle group keeps its own.
    ///
    /// Kernel: fair.c sched_group_set_shares(), v4.12–
    pub fn sched_group_set_shares(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, shares: u64) {
        if !self.groups[group].idle {
            self.set_stored_shares(cx, group, stored_shares(shares, false));
        }
    }

    /// Kernel: fair.c __sched_group_set_shares(), v4.12–
    fn set_stored_shares(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, shares: u64) {
        if std::mem::replace(&mut self.groups[group].shares, shares) == shares {
            return;
        }
        for cpu in self.rqs.ids() {
            // Also where the group was never used: what is above it there is aged.
            let queue = self.group_queue(Some(group), cpu);
            let se = self.cfs_rqs[queue].se;
            self.count_rq_lock(cx, cpu);
            self.update_rq_clock(cx, cpu);
            let mut level = se;
            while let Some(se) = level {
                self.update_load_avg(cx, se, Tell::Group);
                self.update_cfs_group(cx, se);
                level = self.ses[se].parent;
            }
        }
    }

    /// Makes a group idle (cpu.idle), or of the default weight again.
    ///
    /// Kernel: fair.c sched_group_set_idle(), v5.15–
    pub fn sched_group_set_idle(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, idle: bool) {
        if self.groups[group].idle == idle {
            return;
        }
        for cpu in self.rqs.ids() {
            if let Some((queue, se)) = self.group_on(group, cpu) {
                self.count_rq_lock(cx, cpu);
                self.count_idleness(queue, se, idle);
            }
        }
        self.groups[group].idle = idle;
        self.has_idle_policy |= idle;
        self.set_stored_shares(cx, group, stored_shares(DEFAULT_SHARES, idle));
    }

    /// The queues above a group that becomes idle, or stops being so, count its tasks anew, up to the first that is idle
    /// itself: above that they count as idle anyway.
    fn count_idleness(&mut self, queue: CfsRqId, se: SeId, idle: bool) {
        let tasks = self.cfs_rqs[queue].h_nr_running - self.cfs_rqs[queue].idle_h_nr_running;
        let shift = |count: u32, by: u32| if idle { count + by } else { count - by };
        let mut level = Some(se).filter(|&se| self.ses[se].on_rq);
        if level.is_some() {
            let above = &mut self.cfs_rqs[self.ses[se].cfs_rq];
            above.idle_nr_running = shift(above.idle_nr_running, 1);
        }
        while let Some(se) = level {
            let above = self.ses[se].cfs_rq;
            let count = &mut self.cfs_rqs[above].idle_h_nr_running;
            *count = shift(*count, tasks);
            level = self.ses[se].parent.filter(|&se| self.ses[se].on_rq && !self.cfs_rq_is_idle(above));
        }
    }

    /// Removes a group in which nobody is; a task that has ended is in no group.
    ///
    /// Kernel: cgroup.c cgroup_destroy_locked(), fair.c unregister_fair_sched_group(), v4.12–
    pub fn remove_group(&mut self, cx: &mut Ctx<'_, '_>, group: TgId) -> Result<(), Busy> {
        let inside = |task: &TaskId| self.tasks[*task].group == Some(group) && self.tasks[*task].state != TaskState::Dead;
        if let Some(task) = self.tasks.ids().find(inside) {
            return Err(Busy::Task(task));
        }
        let below = |tg: &TgId| self.groups[*tg].parent == Some(group) && !self.groups[*tg].removed;
        if let Some(tg) = self.groups.ids().find(below) {
            return Err(Busy::Group(tg));
        }
        self.tg_set_cfs_bandwidth(cx, group, CpuMax::UNLIMITED);
        self.groups[group].removed = true;
        self.forget_subtrees();
        for cpu in self.rqs.ids() {
            self.offline_group_queue(cx, group, cpu);
        }
        Ok(())
    }

    /// What a removed group has left on a CPU goes with it.
    fn offline_group_queue(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, cpu: CpuId) {
        let Some((queue, se)) = self.group_on(group, cpu) else {
            // It was never used here, and has left nothing. The queue above is told so all the same, and gives its entity anew what it
            // has; but the first family looks at how much it was.
            if self.profile.pelt == PeltFamily::A {
                return;
            }
            let above = match self.groups[group].parent {
                Some(above) => self.group_on(above, cpu).map(|row| row.0),
                None => Some(self.rqs[cpu].cfs),
            };
            if let Some(above) = above {
                self.cfs_rqs[above].removed.nr += 1;
            }
            return;
        };
        if self.ses[se].sched_delayed {
            self.update_rq_clock(cx, cpu);
            self.complete_delayed_group(cx, se);
        }
        if self.profile.pelt != PeltFamily::A || self.pelt_se[se].last_update_time != 0 {
            self.remove_entity_load_avg(cx, se);
        }
        self.list_del_leaf_cfs_rq(queue);
    }
}
