//! A whole recording in memory.

use crate::import::ImportStats;
use crate::import::tasks::{DEFAULT_PRIO, UNKNOWN_NAME};
use fairground_model::{InGroup, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, TaskId};

/// A trace that was read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedTrace {
    /// The tasks in order of first sight, with the name and priority that they had last.
    pub tasks: IndexVec<TaskId, TaskInfo>,
    /// The events in order of time.
    pub events: Vec<(Instant, CpuId, TraceEvent)>,
    /// The groups of tasks, where the recording tells them, in order of time.
    pub groups: Vec<GroupOf>,
    /// What was counted and noted.
    pub stats: ImportStats,
}

/// The control group that a task is in from a moment on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupOf {
    /// The place of the first event behind it.
    pub before: usize,
    /// When it was written.
    pub at: Instant,
    /// The CPU that wrote it.
    pub cpu: CpuId,
    /// The task.
    pub task: TaskId,
    /// The path of the group, from the root of the hierarchy.
    pub path: String,
    /// It comes there at this moment; else since when it is there is not told.
    pub comes: bool,
}

impl GroupOf {
    /// What a sink was told, before the first event.
    pub(crate) fn of(at: Instant, cpu: CpuId, task: TaskId, group: InGroup<'_>) -> GroupOf {
        let comes = matches!(group, InGroup::Comes(_));
        GroupOf { before: 0, at, cpu, task, path: group.path().to_string(), comes }
    }
    /// As a sink is told it.
    pub fn group(&self) -> InGroup<'_> {
        if self.comes { InGroup::Comes(&self.path) } else { InGroup::Is(&self.path) }
    }
}

/// The sink that collects a recording.
#[derive(Default)]
pub(crate) struct Recording {
    tasks: IndexVec<TaskId, TaskInfo>,
    events: Vec<(Instant, CpuId, TraceEvent)>,
    groups: Vec<GroupOf>,
}

impl Recording {
    pub(crate) fn into_trace(self, stats: ImportStats) -> RecordedTrace {
        RecordedTrace { tasks: self.tasks, events: self.events, groups: self.groups, stats }
    }
}

impl Sink for Recording {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        while self.tasks.len() <= task.index() {
            self.tasks.push(TaskInfo { name: UNKNOWN_NAME.to_string(), pid: 0, prio: DEFAULT_PRIO });
        }
        self.tasks[task] = info.clone();
    }
    fn group(&mut self, at: Instant, cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        self.groups.push(GroupOf { before: self.events.len(), ..GroupOf::of(at, cpu, task, group) });
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.events.push((at, cpu, *event));
    }
    fn wants_samples(&self) -> bool {
        true
    }
}
