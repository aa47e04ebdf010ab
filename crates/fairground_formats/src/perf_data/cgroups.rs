//! The control groups of tasks, as samples number them and records of their own name them.

use crate::import::{NameId, RawEvent};
use std::collections::BTreeMap;

/// Groups and tasks that are remembered.
const ROWS_MAX: usize = 1 << 20;

/// What is known of groups.
#[derive(Default)]
pub(super) struct Cgroups {
    /// The path of each group by its number.
    paths: BTreeMap<u64, NameId>,
    /// The number of the group in which a task was last, by its process id.
    of_task: BTreeMap<u32, u64>,
}

impl Cgroups {
    /// A group has this path.
    pub(super) fn learn(&mut self, number: u64, path: NameId) {
        if self.paths.len() < ROWS_MAX && self.paths.insert(number, path).is_some_and(|before| before != path) {
            // It has another name now: its tasks are told anew.
            self.of_task.retain(|_, of| *of != number);
        }
    }
    /// The path of the current task's group, if that is not known already. An event may say that a process id means another task
    /// from now on.
    pub(super) fn of_current(&mut self, pid: u32, number: u64, event: &RawEvent) -> Option<NameId> {
        if let RawEvent::Fork { child, .. } = event {
            self.of_task.remove(&child.pid);
        }
        let path = *self.paths.get(&number)?;
        let room = self.of_task.len() < ROWS_MAX || self.of_task.contains_key(&pid);
        (pid > 0 && room && self.of_task.insert(pid, number) != Some(number)).then_some(path)
    }
}
