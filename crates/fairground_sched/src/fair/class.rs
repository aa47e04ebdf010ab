//! What the core calls: a task becomes runnable, stops being so, gets the CPU, loses it, moves.

use super::{DequeueFlags, EnqueueFlags};
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::group::Tell;
use crate::sched::load_weight;
use crate::seam::{FirstSet, IdlePolicyLoad, MigrateDetach, ProtectionSet};
use crate::task::TaskState;
use fairground_model::Policy;
use fairground_stdx::{CpuId, SeId, TaskId};

/// Why an entity is set to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Set {
    /// It was picked.
    Picked,
    /// It ran before, and was put down for a change.
    Again,
}

impl Sched {
    /// Kernel: core.c activate_task(), v4.12–
    pub(crate) fn activate_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: EnqueueFlags) {
        self.enqueue_task(cx, task, flags);
        let row = &self.tasks[task];
        self.tasks[task].state = match self.ses[row.se].sched_delayed {
            _ if !row.policy.is_fair() => TaskState::Queued,
            _ if row.throttled => TaskState::Limbo,
            true => TaskState::Delayed,
            false => TaskState::Queued,
        };
        self.lines.write(cx, self.tasks[task].cpu);
    }

    /// Tasks more on `cpu`: with two, others may pull.
    ///
    /// Kernel: sched.h add_nr_running(), v4.12–
    pub(crate) fn add_nr_running(&mut self, cpu: CpuId, count: u32) {
        self.add_counted(cpu, |rq| rq.nr_running += count);
    }

    /// More on `cpu` of what counts as tasks. A CPU that is off line belongs to no domain of the others, who do not hear of it.
    ///
    /// Kernel: sched.h add_nr_running(), v4.12–
    pub(crate) fn add_counted(&mut self, cpu: CpuId, add: impl FnOnce(&mut crate::rq::Rq)) {
        let rq = &mut self.rqs[cpu];
        let before = rq.nr_counted();
        add(rq);
        self.topology.overload |= before < 2 && rq.nr_counted() >= 2 && rq.online;
        self.note_idleness(cpu);
    }

    /// False: the task stays queued although it sleeps.
    ///
    /// Kernel: core.c deactivate_task(), block_task() from v6.12, v4.12–
    pub(crate) fn deactivate_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: DequeueFlags) -> bool {
        let left = self.dequeue_task(cx, task, flags);
        let cpu = self.tasks[task].cpu;
        self.lines.write(cx, cpu);
        left
    }

    /// The running task leaves the CPU; if it is still queued it goes back into the order.
    ///
    /// Kernel: fair.c put_prev_task_fair(), v4.12–
    pub(crate) fn put_prev_task_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let mut level = Some(self.tasks[task].se);
        while let Some(se) = level {
            self.put_prev_entity(cx, se);
            level = self.ses[se].parent;
        }
    }

    /// A queued task gets the CPU: its slice and its accounting begin.
    ///
    /// Kernel: fair.c set_next_task_fair(), v4.12–
    pub(crate) fn set_next_task_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, how: Set) {
        let mut level = Some(self.tasks[task].se);
        while let Some(se) = level {
            self.set_next_entity(cx, se, how);
            self.ask_at_set_next(cx, self.ses[se].cfs_rq);
            level = self.ses[se].parent;
        }
        self.charge_at_set_next(cx, task, self.rqs[self.tasks[task].cpu].cfs);
    }

    /// A task gets a CPU that is idle, or leaves another class. What is below a group is aged after the group's own entity where kernels
    /// pick and set level by level: what a queue there has to tell goes up the next time only.
    ///
    /// Kernel: fair.c pick_next_task_fair() at `simple:`, set_next_task_fair() from v6.12, v4.12–
    pub(crate) fn set_first_task_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        match self.profile.first_set {
            FirstSet::BottomUp => self.set_next_task_fair(cx, task, Set::Picked),
            FirstSet::TopDown => {
                self.set_next_from_top(cx, self.tasks[task].se);
                self.charge_at_set_next(cx, task, self.rqs[self.tasks[task].cpu].cfs);
            }
        }
    }

    fn set_next_from_top(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        if let Some(parent) = self.ses[se].parent {
            self.set_next_from_top(cx, parent);
        }
        self.set_next_entity(cx, se, Set::Picked);
    }

    /// One task follows another: the groups that both lie in go on.
    ///
    /// Kernel: fair.c pick_next_task_fair(), v4.12–
    pub(crate) fn switch_fair(&mut self, cx: &mut Ctx<'_, '_>, prev: TaskId, next: TaskId) {
        let (mut se, mut pse) = (self.tasks[next].se, self.tasks[prev].se);
        while self.ses[se].cfs_rq != self.ses[pse].cfs_rq {
            let (depth, other) = (self.se_depth(se), self.se_depth(pse));
            if depth <= other {
                self.put_prev_entity(cx, pse);
                pse = self.above(pse);
            }
            if depth >= other {
                self.set_next_entity(cx, se, Set::Picked);
                se = self.above(se);
            }
        }
        self.put_prev_entity(cx, pse);
        self.set_next_entity(cx, se, Set::Picked);
        self.charge_at_set_next(cx, next, self.ses[se].cfs_rq);
    }

    /// Kernel: fair.c put_prev_entity(), v4.12–
    fn put_prev_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        let cfs_rq = self.ses[se].cfs_rq;
        if self.ses[se].on_rq {
            self.update_curr(cx, cfs_rq);
        }
        self.check_cfs_rq_runtime(cx, cfs_rq);
        if self.ses[se].on_rq {
            self.level(se).enqueue_in_order();
            self.waiting_changed(cfs_rq);
            self.update_load_avg(cx, se, Tell::Nobody);
        }
        self.cfs_rqs[cfs_rq].curr = None;
    }

    /// Kernel: fair.c set_next_entity(), v4.12–
    fn set_next_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, how: Set) {
        self.clear_buddies(self.ses[se].cfs_rq, se);
        let mut level = self.level(se);
        if level.se.on_rq {
            level.dequeue_from_order();
            self.waiting_changed(self.ses[se].cfs_rq);
            self.update_load_avg(cx, se, Tell::Group);
            level = self.level(se);
            let sets = how == Set::Picked || level.profile.protection_set == ProtectionSet::EachSet;
            if sets && level.profile.pick.is_eevdf() {
                level.set_protection();
            }
        }
        level.se.exec_start = level.rq.clocks.clock_task;
        level.se.prev_sum_exec_runtime = level.se.sum_exec_runtime;
        level.cfs_rq.curr = Some(se);
    }

    /// Binds a task to the queues of `cpu`.
    ///
    /// Kernel: sched.h set_task_rq(), v4.12–
    pub(crate) fn set_task_rq(&mut self, task: TaskId, cpu: CpuId) {
        let (se, group) = (self.tasks[task].se, self.tasks[task].group);
        let queue = self.group_queue(group, cpu);
        self.tasks[task].cpu = cpu;
        (self.ses[se].cfs_rq, self.ses[se].parent) = (queue, self.cfs_rqs[queue].se);
    }

    /// A task leaves its CPU for another: what is relative to the old queue is taken off.
    ///
    /// Lag and relative deadlines belong to no queue and go with the task.
    ///
    /// Kernel: fair.c migrate_task_rq_fair(), v4.12–
    pub(crate) fn migrate_task_rq_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let (state, se) = (self.tasks[task].state, self.tasks[task].se);
        let cfs_rq = self.ses[se].cfs_rq;
        if state == TaskState::Waking {
            if !self.profile.place.keeps_lag() {
                let floor = self.cfs_rqs[cfs_rq].min_vruntime.0;
                self.ses[se].vruntime = self.ses[se].vruntime.minus(floor);
            }
            self.remove_entity_load_avg(cx, se);
            self.migrate_se_pelt_lag(cx, se);
        } else {
            match self.profile.migrate_detach {
                // What it has on the old queue stays there: nobody thought of that.
                _ if self.tasks[task].throttled && self.profile.throttle.forgets_load_of_movers() => {}
                MigrateDetach::AtNextUpdate => self.remove_entity_load_avg(cx, se),
                // With the latter only a task that was not queued has anything to leave here.
                MigrateDetach::AfterDequeue | MigrateDetach::WithDequeue => self.detach_entity_cfs_rq(cx, se),
            }
        }
        self.pelt_se[se].last_update_time = 0;
        self.ses[se].exec_start = 0;
    }

    /// A task has ended: what it has in the averages of its queue goes with it.
    ///
    /// Kernel: fair.c task_dead_fair(), v4.12–
    pub(crate) fn task_dead_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        self.remove_entity_load_avg(cx, self.tasks[task].se);
    }

    /// The weight of a task follows its nice value and policy. What has not started is made with that weight.
    ///
    /// Kernel: core.c set_load_weight(), fair.c reweight_task(), v4.12–
    pub(crate) fn reweight_task(&mut self, task: TaskId) {
        let row = &self.tasks[task];
        let (se, load) = (row.se, load_weight(row.policy, row.nice));
        let stays = self.profile.idle_policy_load == IdlePolicyLoad::Stays;
        match stays && row.policy == Policy::Idle && row.state != TaskState::New {
            true => self.ses[se].load = load,
            false => self.reweight_entity(se, load),
        }
    }

    /// The entity of a task.
    pub(crate) fn se_of(&self, task: TaskId) -> SeId {
        self.tasks[task].se
    }
}
