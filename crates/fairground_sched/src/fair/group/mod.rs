//! Task groups: the CPU cgroups, each with a queue and an entity on every CPU that it was used on.

use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::TaskGroupSpec;
use fairground_stdx::{TaskId, TgId};

/// A CPU cgroup.
#[derive(Clone, Debug)]
pub struct TaskGroup {
    /// Its path from the root.
    pub name: String,
    /// The group in which it lies; `None` is the root group.
    pub parent: Option<TgId>,
    /// Its weight among its siblings, times 1024.
    pub shares: u64,
    /// Whether it is idle (cpu.idle).
    pub idle: bool,
    /// It was removed.
    pub removed: bool,
}

/// Who keeps a group from being removed (EBUSY).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Busy {
    /// This task is in it.
    Task(TaskId),
    /// This group is in it.
    Group(TgId),
}

impl Sched {
    /// Adds a group of that description; its parent was added before.
    pub fn add_group(&mut self, spec: &TaskGroupSpec) -> TgId {
        let TaskGroupSpec { name, parent, shares, idle } = spec.clone();
        self.groups.push(TaskGroup { name, parent, shares: shares << 10, idle, removed: false })
    }

    /// A group.
    pub fn group(&self, group: TgId) -> &TaskGroup {
        &self.groups[group]
    }

    /// A task goes to another group; `None` is the root group.
    pub fn sched_move_task(&mut self, _cx: &mut Ctx<'_, '_>, _task: TaskId, _group: Option<TgId>) {}

    /// Sets the weight of a group.
    pub fn sched_group_set_shares(&mut self, _cx: &mut Ctx<'_, '_>, _group: TgId, _shares: u64) {}

    /// Makes a group idle, or not.
    pub fn sched_group_set_idle(&mut self, _cx: &mut Ctx<'_, '_>, _group: TgId, _idle: bool) {}

    /// Removes a group in which nobody is.
    pub fn remove_group(&mut self, _group: TgId) -> Result<(), Busy> {
        Ok(())
    }
}
