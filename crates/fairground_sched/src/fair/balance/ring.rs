//! The fair tasks of a CPU in the order in which balance tries them.
//!
//! ```text
//! head  who was queued (or ran) last ... who waits longest  tail
//! ```

use crate::Sched;
use crate::seam::TaskOrder;
use fairground_stdx::{CpuId, TaskId};

/// A list whose links lie in the tasks.
///
/// Kernel: sched.h rq::cfs_tasks, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TaskRing {
    pub(crate) head: Option<TaskId>,
    pub(crate) tail: Option<TaskId>,
}

/// The neighbours of a task on the list of its CPU.
///
/// Kernel: sched.h sched_entity::group_node, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct GroupNode {
    /// The one nearer to the head.
    prev: Option<TaskId>,
    next: Option<TaskId>,
}

/// An end of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Head,
    Tail,
}

impl Sched {
    /// Puts a task that is on no list at an end of that of `cpu`.
    #[inline]
    pub(crate) fn cfs_tasks_add(&mut self, cpu: CpuId, task: TaskId, end: End) {
        let ring = &mut self.rqs[cpu].lb.cfs_tasks;
        let node = match end {
            End::Head => GroupNode { prev: None, next: ring.head.replace(task) },
            End::Tail => GroupNode { prev: ring.tail.replace(task), next: None },
        };
        if node.next.is_none() {
            ring.tail = Some(task);
        }
        if node.prev.is_none() {
            ring.head = Some(task);
        }
        if let Some(next) = node.next {
            self.tasks[next].group_node.prev = Some(task);
        }
        if let Some(prev) = node.prev {
            self.tasks[prev].group_node.next = Some(task);
        }
        self.tasks[task].group_node = node;
    }

    /// Takes a task off the list of `cpu`.
    #[inline]
    pub(crate) fn cfs_tasks_remove(&mut self, cpu: CpuId, task: TaskId) {
        let GroupNode { prev, next } = std::mem::take(&mut self.tasks[task].group_node);
        match prev {
            Some(prev) => self.tasks[prev].group_node.next = next,
            None => self.rqs[cpu].lb.cfs_tasks.head = next,
        }
        match next {
            Some(next) => self.tasks[next].group_node.prev = prev,
            None => self.rqs[cpu].lb.cfs_tasks.tail = prev,
        }
    }

    /// Moves a task of the list of `cpu` to an end of it.
    #[inline]
    pub(super) fn cfs_tasks_move(&mut self, cpu: CpuId, task: TaskId, end: End) {
        self.cfs_tasks_remove(cpu, task);
        self.cfs_tasks_add(cpu, task, end);
    }

    /// The running task of `cpu` was picked; `switches` if another ran before.
    ///
    /// Kernel: fair.c pick_next_task_fair(), set_next_task_fair(), v4.15–
    #[inline]
    pub(crate) fn cfs_tasks_picked(&mut self, cpu: CpuId, task: TaskId, switches: bool) {
        let moves = match self.profile.lb_task_order {
            TaskOrder::NewestFirst => false,
            TaskOrder::LongestWaiting => true,
            TaskOrder::LongestOffCpu => switches,
        };
        if moves && self.rqs[cpu].lb.cfs_tasks.head != Some(task) {
            self.cfs_tasks_move(cpu, task, End::Head);
        }
    }

    /// The task of `cpu` that balance tries next.
    pub(super) fn cfs_tasks_candidate(&self, cpu: CpuId) -> Option<TaskId> {
        let ring = &self.rqs[cpu].lb.cfs_tasks;
        match self.profile.lb_task_order {
            TaskOrder::NewestFirst => ring.head,
            TaskOrder::LongestWaiting | TaskOrder::LongestOffCpu => ring.tail,
        }
    }

    /// The task of `cpu` that balance tries after `task`, if it goes through the list once.
    pub(super) fn cfs_tasks_after(&self, task: TaskId) -> Option<TaskId> {
        let node = &self.tasks[task].group_node;
        match self.profile.lb_task_order {
            TaskOrder::NewestFirst => node.next,
            TaskOrder::LongestWaiting | TaskOrder::LongestOffCpu => node.prev,
        }
    }

    /// The fair tasks of `cpu`, the running one included.
    pub(crate) fn cfs_tasks_of(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        std::iter::successors(self.rqs[cpu].lb.cfs_tasks.head, |&task| self.tasks[task].group_node.next)
    }

    /// Moves a task that was passed over to the end of the order in which balance tries tasks.
    pub(super) fn cfs_tasks_pass_over(&mut self, cpu: CpuId, task: TaskId) {
        let end = match self.profile.lb_task_order {
            TaskOrder::NewestFirst => End::Tail,
            TaskOrder::LongestWaiting | TaskOrder::LongestOffCpu => End::Head,
        };
        self.cfs_tasks_move(cpu, task, end);
    }
}
