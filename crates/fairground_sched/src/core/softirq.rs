//! What soft interrupts ask of the scheduler.

use crate::Sched;
use crate::task::TaskState;
use fairground_stdx::TaskId;

impl Sched {
    /// Whether soft interrupts of a CPU are now left to its thread `ksoftirqd`.
    ///
    /// Kernel: softirq.c do_softirq(), invoke_softirq() with ksoftirqd_running(), v4.9–v6.4
    pub fn leaves_to_ksoftirqd(&self, ksoftirqd: TaskId) -> bool {
        self.profile.softirq_handover.leaves_to_thread(self.is_task_running(ksoftirqd))
    }

    /// Whether a task neither sleeps nor has said that it will (TASK_RUNNING).
    pub fn is_task_running(&self, task: TaskId) -> bool {
        let row = &self.tasks[task];
        let on_rq = matches!(row.state, TaskState::Running | TaskState::Queued | TaskState::Migrating);
        on_rq && row.sleep_state.is_none()
    }
}
