//! The birth of a task.

use crate::Sched;
use crate::core::Arrival;
use crate::ctx::Ctx;
use crate::deadline::DlEntity;
use crate::fair::EnqueueFlags;
use crate::fair::select_task_rq::Wake;
use crate::seam::ForkPlace;
use crate::task::TaskState;
use fairground_model::{Op, Policy, TraceEvent};
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// The child of `parent` (or of somebody outside the run) gets its virtual time, as if on `cx.cpu`.
    ///
    /// Kernel: core.c sched_fork(), sched_cgroup_fork(), fair.c task_fork_fair(), v4.12–v6.11
    pub fn sched_fork(&mut self, cx: &mut Ctx<'_, '_>, parent: Option<TaskId>, child: TaskId) {
        let cpu = parent.map_or(cx.cpu, |parent| self.tasks[parent].cpu);
        self.inherit_group(parent, child);
        self.set_task_rq(child, cpu);
        self.inherit_slice(parent, child);
        self.inherit_clamps(parent, child);
        self.joins_group(child);
        self.inherit_rt_policy(parent, child);
        self.inherit_wakees(parent, child);
        // Who places a child on its parent's queue reads the clock there; nobody else has to do with that queue.
        if self.profile.fork_place == ForkPlace::AtFork && self.is_fair(child) {
            self.update_rq_clock(cx, cpu);
            self.task_fork_fair(cx, cpu, parent, child);
        }
        cx.meter.count(Op::Fork);
        cx.record(TraceEvent::SchedProcessFork { parent, child });
    }

    /// A child has its parent's own slice, unless it was given one: it sets that before it is queued.
    ///
    /// Kernel: fork.c dup_task_struct(), v6.12–
    fn inherit_slice(&mut self, parent: Option<TaskId>, child: TaskId) {
        let Some(parent) = parent.map(|parent| self.se(parent)).filter(|se| se.custom_slice) else { return };
        let (slice, child) = (parent.slice, self.se_of(child));
        if !self.ses[child].custom_slice {
            (self.ses[child].slice, self.ses[child].custom_slice) = (slice, true);
        }
    }

    /// A child of a real-time task is one, of the same priority, unless it was given a policy. A deadline task cannot have children
    /// of its policy (SCHED_FLAG_RESET_ON_FORK).
    ///
    /// Kernel: fork.c dup_task_struct(), v4.12–
    fn inherit_rt_policy(&mut self, parent: Option<TaskId>, child: TaskId) {
        let Some(policy) = parent.map(|parent| self.tasks[parent].policy).filter(|policy| policy.is_rt()) else { return };
        if self.tasks[child].policy == Policy::default() && self.tasks[child].asks_for.is_none() {
            self.tasks[child].policy = policy;
        }
    }

    /// A child lies in its parent's group, unless it was given one.
    ///
    /// Kernel: cgroup.c cgroup_can_fork(), core.c sched_cgroup_fork(), v4.12–
    fn inherit_group(&mut self, parent: Option<TaskId>, child: TaskId) {
        if let Some(parent) = parent {
            let group = self.tasks[child].group.or(self.tasks[parent].group);
            self.tasks[child].group = group;
        }
    }

    /// A child is a copy of its parent, its habits as a waker included.
    ///
    /// Kernel: fork.c dup_task_struct(), v4.12–
    fn inherit_wakees(&mut self, parent: Option<TaskId>, child: TaskId) {
        if let Some(parent) = parent {
            self.tasks[child].wakees = self.tasks[parent].wakees;
        }
    }

    /// The current task of `cx.cpu` becomes another program: it moves to the idlest CPU, if that is another one, as soon
    /// as it calls schedule(), which it must at once.
    ///
    /// Kernel: core.c sched_exec(), v4.12–
    pub fn sched_exec(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        let Some(task) = self.rqs[cpu].curr else { return };
        let target = self.select_task_rq_at_once(cx, task, Wake::Exec);
        if target != cpu {
            self.tasks[task].migration_pending = Some(target);
            self.stopper_comes_for_curr(cpu);
            self.stopper_preempts(cx, cpu);
        }
    }

    /// Marks a kernel thread as asleep since long before the run, so that its first wake-up is not that of a new task.
    pub fn begin_asleep(&mut self, task: TaskId) {
        assert!(self.tasks[task].state == TaskState::New, "invariant: a task is born once");
        self.tasks[task].state = TaskState::Asleep;
        if let Some(policy) = self.tasks[task].asks_for.take() {
            (self.tasks[task].policy, *self.tasks[task].dl) = (*policy, DlEntity::new(*policy));
        }
        if !self.is_fair(task) {
            self.begin_detached(task);
        }
    }

    /// A new task is queued for the first time; returns where. `wanted` fixes the CPU.
    ///
    /// Kernel: core.c wake_up_new_task(), v4.12–
    pub fn wake_up_new_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, wanted: Option<CpuId>) -> CpuId {
        let target = self.select_new_task(cx, task, wanted);
        self.activate_new_task(cx, task, target);
        target
    }

    /// First phase of [`Sched::wake_up_new_task`]: selects the CPU.
    ///
    /// Kernel: core.c wake_up_new_task() up to __task_rq_lock(), v4.12–
    pub fn select_new_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, wanted: Option<CpuId>) -> CpuId {
        self.tasks[task].recent_used_cpu = self.tasks[task].cpu;
        let target = wanted
            .filter(|&cpu| self.is_cpu_allowed(task, cpu))
            .unwrap_or_else(|| self.select_task_rq_at_once(cx, task, Wake::Fork));
        self.set_task_rq(task, target);
        target
    }

    /// Second phase of [`Sched::wake_up_new_task`]: queues the task on `target`.
    ///
    /// Kernel: core.c wake_up_new_task() from __task_rq_lock() on, v4.12–
    pub fn activate_new_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        self.count_rq_lock(cx, target);
        self.update_rq_clock(cx, target);
        self.post_init_entity_util_avg(cx, task);
        let flags = match self.profile.fork_place {
            ForkPlace::AtFork => EnqueueFlags::empty(),
            ForkPlace::AtEnqueue => EnqueueFlags::INITIAL,
        };
        self.activate_task(cx, task, flags);
        cx.record(TraceEvent::SchedWakeupNew { task, target_cpu: target });
        self.check_preempt_curr(cx, target, task, Arrival::Fork);
        self.task_woken(cx, task);
        self.leave_if_forbidden(cx, task);
        debug_assert_eq!(self.tasks[task].state, TaskState::Queued);
    }
}
