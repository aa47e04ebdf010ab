//! What the targets share: a sink that holds readers to their promises.

use fairground_model::{Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, CpuMask, Instant, TaskId};
use std::collections::BTreeSet;

/// Checks that times never go back, that CPUs can be held, and that tasks are introduced first.
#[derive(Default)]
pub struct Checker {
    last: Instant,
    tasks: BTreeSet<TaskId>,
}

impl Checker {
    fn known(&self, task: Option<TaskId>) {
        assert!(task.is_none_or(|task| self.tasks.contains(&task)), "{task:?} was not introduced");
    }
}

impl Sink for Checker {
    fn task(&mut self, task: TaskId, _info: &TaskInfo) {
        self.tasks.insert(task);
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        assert!(at >= self.last && at <= Instant::MAX);
        self.last = at;
        assert!((cpu.get() as usize) < CpuMask::CAPACITY);
        match *event {
            TraceEvent::SchedSwitch { prev, next, .. } => [prev, next].map(|task| self.known(task)),
            TraceEvent::SchedWaking { task, waker, .. } => [Some(task), waker].map(|task| self.known(task)),
            TraceEvent::SchedProcessFork { parent, child } => [parent, Some(child)].map(|task| self.known(task)),
            TraceEvent::SchedWakeup { task, .. } | TraceEvent::SchedProcessExit { task } => [self.known(Some(task)), ()],
            _ => [(), ()],
        };
    }
    fn wants_samples(&self) -> bool {
        true
    }
}
