//! When the tasks of a recorded workload began. A `wl` computes that instant from the clock once it is loaded, and
//! how long loading takes does not follow from `workload.txt`; nor does the CPU on which it was loaded, since that was
//! chosen by what the machine did before the record.

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
    /// The CPU on which each task was forked: that of its parent.
    forked_on: BTreeMap<String, CpuId>,
}

impl Starts {
    /// Reads them from a record: `events` in order of time.
    pub fn new(events: &[(Instant, CpuId, TraceEvent)], tasks: &IndexVec<TaskId, TaskInfo>, window: Instant) -> Starts {
        let mut wakings = BTreeMap::new();
        let mut forked_on = BTreeMap::new();
        for (_, cpu, event) in events {
            if let TraceEvent::SchedProcessFork { child, .. } = *event
                && let Some(info) = tasks.get(child)
            {
                forked_on.entry(info.name.clone()).or_insert(*cpu);
            }
        }
        for (at, _, event) in events.iter().filter(|row| row.0 >= window) {
            if let TraceEvent::SchedWaking { task, .. } = *event
                && let Some(info) = tasks.get(task)
            {
                wakings.entry(info.name.clone()).or_insert(*at);
            }
        }
        Starts { window, wakings, forked_on }
    }
    /// When the tasks of one `wl` began: they begin together, so the first waking of any of them tells it.
    pub(super) fn of(&self, command: &Command) -> Instant {
        let names = match command {
            // Its parent wakes them one after the other.
            Command::Press { .. } => Vec::new(),
            Command::Ramp { name, .. } => vec![name.clone()],
            Command::Hog { .. } | Command::Periodic { .. } | Command::Msg(_) => children(command),
        };
        names.iter().filter_map(|name| self.wakings.get(name)).min().copied().unwrap_or(self.window)
    }
    /// The CPU on which one `wl` forked the first of its tasks, if the record shows it.
    pub(super) fn cpu_of(&self, command: &Command) -> Option<CpuId> {
        self.forked_on.get(children(command).first()?).copied()
    }
}

/// The names of the tasks that a `wl` forks, in that order; of a press only the first.
fn children(command: &Command) -> Vec<String> {
    match command {
        Command::Hog { tasks, .. } => tasks.iter().map(|task| task.name.clone()).collect(),
        Command::Periodic { tasks, .. } => tasks.iter().map(|task| task.hog.name.clone()).collect(),
        Command::Msg(msg) => msg.names().collect(),
        Command::Press { .. } => vec!["press00".to_string()],
        Command::Ramp { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::HogTask;
    use super::*;
    use fairground_model::WakeContext;
    use fairground_stdx::Ns;

    #[test]
    fn a_workload_begins_at_its_first_waking_where_its_first_task_was_forked() {
        let names = ["wl", "a", "b"];
        let tasks: IndexVec<TaskId, TaskInfo> =
            names.iter().map(|name| TaskInfo { name: name.to_string(), pid: 9, prio: 120 }).collect();
        let waking = |task| TraceEvent::SchedWaking {
            task: TaskId::new(task),
            target_cpu: CpuId::new(0),
            waker: None,
            context: WakeContext::Hardirq,
        };
        let fork = |child| TraceEvent::SchedProcessFork { parent: Some(TaskId::new(0)), child: TaskId::new(child) };
        let at = |ms: u64, cpu, event| (Instant::ZERO + Ns::from_ms(ms), CpuId::new(cpu), event);
        let events = [at(1, 3, fork(1)), at(2, 2, fork(2)), at(3, 0, waking(1)), at(50, 0, waking(2)), at(51, 0, waking(1))];
        let starts = Starts::new(&events, &tasks, Instant::ZERO + Ns::from_ms(50));
        let hog = |name: &str| HogTask { name: name.to_string(), nice: 0, cpus: None, group: None };
        let both = Command::Hog { tasks: vec![hog("a"), hog("b")], dur: Ns::from_ms(10) };
        assert_eq!((starts.of(&both), starts.cpu_of(&both)), (Instant::ZERO + Ns::from_ms(50), Some(CpuId::new(3))));
        let other = Command::Hog { tasks: vec![hog("c")], dur: Ns::from_ms(10) };
        assert_eq!((starts.of(&other), starts.cpu_of(&other)), (starts.window, None));
    }
}
