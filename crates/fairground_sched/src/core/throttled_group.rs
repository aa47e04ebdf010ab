//! Which group throttles a task, for those who wait for that task.

use crate::Sched;
use fairground_stdx::{TaskId, TgId};

impl Sched {
    /// The topmost of the groups of `task` that are throttled on its CPU.
    pub fn throttled_group(&self, task: TaskId) -> Option<TgId> {
        let row = &self.tasks[task];
        let mut found = None;
        let mut level = row.group;
        while let Some(group) = level {
            if self.groups[group].queues[row.cpu].is_some_and(|queue| self.cfs_rq_throttled(queue)) {
                found = Some(group);
            }
            level = self.groups[group].parent;
        }
        found
    }
}
