//! A task on its way from one queue to another.
//!
//! Between the two it is on none. Who needs it meanwhile would wait for the end of the move in the kernel
//! (task_rq_lock() with TASK_ON_RQ_MIGRATING); here the end is brought forward.

use super::LbEnv;
use crate::Sched;
use crate::core::Arrival;
use crate::ctx::Ctx;
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::task::TaskState;
use fairground_model::Op;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// Takes a queued task off its queue and binds it to `target`.
    ///
    /// Kernel: fair.c detach_task(), core.c move_queued_task(), v4.12–
    pub(crate) fn detach_queued_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        self.deactivate_task(cx, task, DequeueFlags::MIGRATING);
        self.set_task_cpu(cx, task, target);
        self.tasks[task].state = TaskState::Migrating;
    }

    /// Queues a detached task on the CPU that it is bound to; it may preempt what runs there.
    ///
    /// Kernel: fair.c attach_task(), core.c move_queued_task(), v4.12–
    pub(crate) fn attach_detached_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        self.activate_task(cx, task, EnqueueFlags::empty());
        self.check_preempt_curr(cx, cpu, task, Arrival::Plain);
    }

    /// Queues what was detached on the destination, under its lock, who was detached last first.
    ///
    /// Kernel: fair.c attach_tasks(), v4.12–
    pub(super) fn attach_tasks(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv) {
        self.count_rq_lock(cx, env.dst_cpu);
        self.update_rq_clock(cx, env.dst_cpu);
        while let Some(task) = env.tasks.pop() {
            cx.meter.count(Op::LbAttach);
            self.attach_if_on_its_way(cx, task);
        }
    }

    /// Queues a task that is being moved, unless that was done already for somebody who needed it.
    pub(super) fn attach_if_on_its_way(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        if self.tasks[task].state == TaskState::Migrating {
            self.attach_detached_task(cx, task);
        }
    }

    /// Queues all tasks that are being moved to `cpu`, which is about to go off line, so that they leave with the others.
    pub(crate) fn end_migrations_to(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        for task in self.tasks.ids() {
            if self.tasks[task].cpu == cpu {
                self.end_migration(cx, task);
            }
        }
    }

    /// Ends the move of a task early, because somebody needs it.
    ///
    /// Kernel: core.c task_rq_lock(), v4.12–
    pub(crate) fn end_migration(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        if self.tasks[task].state == TaskState::Migrating {
            self.count_rq_lock(cx, self.tasks[task].cpu);
            self.update_rq_clock(cx, self.tasks[task].cpu);
            self.attach_detached_task(cx, task);
        }
    }
}
