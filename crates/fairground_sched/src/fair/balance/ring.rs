//! The fair tasks of a CPU in the order in which balance tries them.

use fairground_stdx::TaskId;

/// A list whose links lie in the tasks.
///
/// Kernel: sched.h rq::cfs_tasks, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TaskRing {
    pub(crate) head: Option<TaskId>,
    pub(crate) tail: Option<TaskId>,
}
