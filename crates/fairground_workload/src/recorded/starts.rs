//! When the tasks of a recorded workload began. A `wl` computes that instant from the clock once it is loaded, and
//! how long loading takes does not follow from `workload.txt`.

use super::options::Command;
use fairground_model::{TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, IndexVec, Instant, TaskId};
use std::collections::BTreeMap;

/// The beginnings in one record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Starts {
    /// The beginning of the record's window: the first of them.
    pub window: Instant,
    /// The first waking of each task from then on: that from its sleep until the common start.
    wakings: BTreeMap<String, Instant>,
}

impl Starts {
    /// Reads them from a record: `events` in order of time.
    pub fn new(events: &[(Instant, CpuId, TraceEvent)], tasks: &IndexVec<TaskId, TaskInfo>, window: Instant) -> Starts {
        let mut wakings = BTreeMap::new();
        for (at, _, event) in events.iter().filter(|row| row.0 >= window) {
            if let TraceEvent::SchedWaking { task, .. } = *event
                && let Some(info) = tasks.get(task)
            {
                wakings.entry(info.name.clone()).or_insert(*at);
            }
        }
        Starts { window, wakings }
    }
    /// When the tasks of one `wl` began: they begin together, so the first waking of any of them tells it.
    pub(super) fn of(&self, command: &Command) -> Instant {
        let names: Vec<&str> = match command {
            Command::Hog { tasks, .. } => tasks.iter().map(|task| task.name.as_str()).collect(),
            Command::Periodic { tasks, .. } => tasks.iter().map(|task| task.hog.name.as_str()).collect(),
            Command::Ramp { name, .. } => vec![name],
            Command::Press { .. } => Vec::new(),
        };
        names.into_iter().filter_map(|name| self.wakings.get(name)).min().copied().unwrap_or(self.window)
    }
}
