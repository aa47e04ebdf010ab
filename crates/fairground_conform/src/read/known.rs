//! What is known beside the records.

use fairground_model::TaskInfo;
use fairground_sched::Profile;
use fairground_stdx::{IndexVec, Ns, TaskId};

/// Facts about the kernel and the machine that a trace does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// Length of a tick; `None` = to be found.
    pub tick: Option<Ns>,
    /// Whether this kernel accounts the parent's run time when it places a child, inside fork().
    pub fork_accounts: bool,
    /// Whether tasks below a throttled queue stop one by one, on their way back to user mode.
    pub stops_tasks: bool,
}

impl Known {
    /// What a kernel is known for; the tick, where the machine tells it.
    pub fn of(profile: &Profile, tick: Option<Ns>) -> Known {
        Known { tick, fork_accounts: profile.fork_accounts_parent(), stops_tasks: !profile.throttle.dequeues_queues() }
    }
}

/// Whether a task is of the fair class: priorities 100 to 139; smaller ones are real-time, deadline and stop.
pub fn is_fair(tasks: &IndexVec<TaskId, TaskInfo>, task: TaskId) -> bool {
    (100..140).contains(&tasks[task].prio)
}
