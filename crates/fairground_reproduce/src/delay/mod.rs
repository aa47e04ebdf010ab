//! The longest delay of a run, and what it consists of.
//!
//! A **delay** is what `perf sched latency` takes for one: from the moment at which a task can run (a wake-up, or a
//! preemption) to the switch to it. Moves between CPUs on the way belong to it.

mod split;

pub(crate) use split::{Part, Split, split};

use fairground_model::{PrevState, Sink, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};

/// One delay of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Delay {
    /// Who waited.
    pub(crate) task: TaskId,
    /// From when on it could run.
    pub(crate) since: Instant,
    /// When it ran.
    pub(crate) until: Instant,
    /// Whether it waited after a wake-up, and not after a preemption.
    pub(crate) woken: bool,
}

impl Delay {
    /// How long it was.
    pub(crate) fn length(&self) -> Ns {
        self.until.since(self.since)
    }
}

/// Finds the longest delay among some tasks, from an instant on. Of equal ones the first counts.
pub(crate) struct WorstDelay {
    watched: Vec<bool>,
    from: Instant,
    waits: Vec<Option<(Instant, bool)>>,
    worst: Option<Delay>,
}

impl WorstDelay {
    /// Watches the tasks for which `watched` says so, by row, for delays that begin at `from` or later.
    pub(crate) fn new(watched: Vec<bool>, from: Instant) -> WorstDelay {
        WorstDelay { waits: vec![None; watched.len()], watched, from, worst: None }
    }
    /// The longest delay so far that is over.
    pub(crate) fn worst(&self) -> Option<Delay> {
        self.worst
    }
    fn waits(&mut self, task: TaskId, at: Instant, woken: bool) {
        let wait = &mut self.waits[task.index()];
        if wait.is_none() && self.watched[task.index()] && at >= self.from {
            *wait = Some((at, woken));
        }
    }
    fn runs(&mut self, task: TaskId, at: Instant) {
        let Some((since, woken)) = self.waits[task.index()].take() else { return };
        let delay = Delay { task, since, until: at, woken };
        if self.worst.is_none_or(|worst| worst.length() < delay.length()) {
            self.worst = Some(delay);
        }
    }
}

impl Sink for WorstDelay {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWakeup { task, .. } | TraceEvent::SchedWakeupNew { task, .. } => self.waits(task, at, true),
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                if let Some(prev) = prev.filter(|_| prev_state == PrevState::Running) {
                    self.waits(prev, at, false);
                }
                if let Some(next) = next {
                    self.runs(next, at);
                }
            }
            _ => {}
        }
    }
}
