//! The tasks as files show them.

use fairground_model::TaskInfo;
use fairground_stdx::outside::shown;
use fairground_stdx::{Id, IndexVec, TaskId};

/// Process ids given to tasks that have none begin here: above the kernel's usual pid_max of 2^22.
const PID_FOR_NONE: u32 = 1 << 23;
/// Priority of a fair task at nice 0.
const DEFAULT_PRIO: i32 = 120;

/// What is known of the tasks.
#[derive(Default)]
pub(crate) struct TaskTable {
    rows: IndexVec<TaskId, Option<TaskInfo>>,
}

/// A task as it is shown. `None` instead of a task is the idle task.
pub(crate) struct Shown<'a> {
    pub(crate) name: &'a str,
    pub(crate) pid: u32,
    pub(crate) prio: i32,
}

impl TaskTable {
    pub(crate) fn set(&mut self, task: TaskId, info: &TaskInfo) {
        while self.rows.len() <= task.index() {
            self.rows.push(None);
        }
        // Names come from users and from traces: a line break in one must not break the file.
        let name = shown(&info.name).into_owned();
        self.rows[task] = Some(TaskInfo { name, ..info.clone() });
    }
    pub(crate) fn get(&self, task: TaskId) -> Shown<'_> {
        let info = self.rows.get(task).and_then(Option::as_ref);
        let pid = info.map_or(0, |info| info.pid);
        Shown {
            name: info.map_or("<...>", |info| info.name.as_str()),
            pid: if pid == 0 { PID_FOR_NONE + task.get() } else { pid },
            prio: info.map_or(DEFAULT_PRIO, |info| info.prio),
        }
    }
}
