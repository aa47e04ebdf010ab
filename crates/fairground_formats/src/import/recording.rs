//! A whole recording in memory.

use crate::import::ImportStats;
use crate::import::tasks::{DEFAULT_PRIO, UNKNOWN_NAME};
use fairground_model::{Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, TaskId};

/// A trace that was read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedTrace {
    /// The tasks in order of first sight, with the name and priority that they had last.
    pub tasks: IndexVec<TaskId, TaskInfo>,
    /// The events in order of time.
    pub events: Vec<(Instant, CpuId, TraceEvent)>,
    /// What was counted and noted.
    pub stats: ImportStats,
}

/// The sink that collects a recording.
#[derive(Default)]
pub(crate) struct Recording {
    tasks: IndexVec<TaskId, TaskInfo>,
    events: Vec<(Instant, CpuId, TraceEvent)>,
}

impl Recording {
    pub(crate) fn into_trace(self, stats: ImportStats) -> RecordedTrace {
        RecordedTrace { tasks: self.tasks, events: self.events, stats }
    }
}

impl Sink for Recording {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        while self.tasks.len() <= task.index() {
            self.tasks.push(TaskInfo { name: UNKNOWN_NAME.to_string(), pid: 0, prio: DEFAULT_PRIO });
        }
        self.tasks[task] = info.clone();
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.events.push((at, cpu, *event));
    }
    fn wants_samples(&self) -> bool {
        true
    }
}
