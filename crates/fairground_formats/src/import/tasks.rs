//! Which task row a process id means at this moment.

use crate::import::{NameTable, Who};
use fairground_model::{Sink, TaskInfo};
use fairground_stdx::{IndexVec, TaskId};
use std::collections::BTreeMap;

/// What recorders write for a name that they do not know.
pub(crate) const UNKNOWN_NAME: &str = "<...>";
/// Priority of a fair task at nice 0: MAX_RT_PRIO (100) + 20.
pub(crate) const DEFAULT_PRIO: i32 = 120;

/// Priorities of the kernel: -1 of a deadline task, up to 139 of nice 19. Some recorders count those of wake-ups otherwise than those of
/// switches, and write what none can be.
pub(crate) const PRIOS: std::ops::Range<i32> = -1..140;

/// How far a task has come. A process id may be used again once its task is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Life {
    Alive,
    /// Its exit was recorded; it still has to leave its CPU.
    Exiting,
    /// It left its CPU for the last time.
    Gone,
}

/// In which role a record names a task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// As anything that leaves open whether the task lives.
    Mentioned,
    /// As one that wakes up or gets a CPU: a task that is gone cannot.
    Runs,
    /// As one that is queued for the first time.
    WokenNew,
    /// As the child of a fork: always a new task.
    Child,
}

/// Rows in order of first sight.
#[derive(Default)]
pub(crate) struct TaskDirectory {
    by_pid: BTreeMap<u32, (TaskId, Life)>,
    infos: IndexVec<TaskId, TaskInfo>,
}

impl TaskDirectory {
    /// The row that `who` means; `None` is the idle task. Tells the sink of new rows, names and priorities.
    pub(crate) fn resolve(&mut self, who: Who, role: Role, names: &NameTable, sink: &mut dyn Sink) -> Option<TaskId> {
        if who.pid == 0 {
            return None;
        }
        let name = who.name.map(|id| names.get(id)).filter(|&name| name != UNKNOWN_NAME);
        let prio = who.prio.filter(|prio| PRIOS.contains(prio));
        let known = self.by_pid.get(&who.pid).copied().filter(|&(_, life)| match role {
            Role::Mentioned => true,
            Role::Runs => life < Life::Gone,
            Role::WokenNew => life == Life::Alive,
            Role::Child => false,
        });
        let Some((task, _)) = known else {
            let name = name.unwrap_or(UNKNOWN_NAME).to_string();
            let info = TaskInfo { name, pid: who.pid, prio: prio.unwrap_or(DEFAULT_PRIO) };
            let task = self.infos.push(info);
            self.by_pid.insert(who.pid, (task, Life::Alive));
            sink.task(task, &self.infos[task]);
            return Some(task);
        };
        let info = &mut self.infos[task];
        let name = name.filter(|_| !who.name_is_stale || info.name == UNKNOWN_NAME).filter(|&name| name != info.name);
        let prio = prio.filter(|&prio| prio != info.prio);
        if name.is_some() || prio.is_some() {
            name.into_iter().for_each(|name| info.name = name.to_string());
            prio.into_iter().for_each(|prio| info.prio = prio);
            sink.task(task, info);
        }
        Some(task)
    }
    /// Who runs where a record gives `pid` as the current task: `None` inside is the idle task. Of a task that nothing else
    /// named yet, and of one that left for good, it tells nothing.
    pub(crate) fn current(&self, pid: u32) -> Option<Option<TaskId>> {
        if pid == 0 {
            return Some(None);
        }
        self.by_pid.get(&pid).filter(|(_, life)| *life < Life::Gone).map(|&(task, _)| Some(task))
    }
    /// The exit of `pid`'s task was recorded.
    pub(crate) fn exiting(&mut self, pid: u32) {
        self.advance(pid, Life::Exiting);
    }
    /// `pid`'s task left its CPU for the last time.
    pub(crate) fn gone(&mut self, pid: u32) {
        self.advance(pid, Life::Gone);
    }
    fn advance(&mut self, pid: u32, life: Life) {
        if let Some(row) = self.by_pid.get_mut(&pid) {
            row.1 = row.1.max(life);
        }
    }
}
