//! Since when a task is ready, and why it waited.

use fairground_model::{PrevState, TraceEvent};
use fairground_stdx::{Ns, TaskId};

/// Which record of a wake-up counts as its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadyMark {
    /// `sched_waking`: the waker begins. Where a trace has no such records, `sched_wakeup`. perf does so.
    #[default]
    Waking,
    /// `sched_wakeup`: the task is queued.
    Wakeup,
}

/// Finds the wake-ups among records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WakeFilter {
    mark: ReadyMark,
    has_waking: bool,
}

impl WakeFilter {
    pub(super) fn new(mark: ReadyMark) -> WakeFilter {
        WakeFilter { mark, has_waking: false }
    }
    /// The task that becomes ready by this record. A new task has but one kind.
    pub(super) fn woken(&mut self, event: &TraceEvent) -> Option<TaskId> {
        match *event {
            TraceEvent::SchedWaking { task, .. } => {
                self.has_waking = true;
                (self.mark == ReadyMark::Waking).then_some(task)
            }
            TraceEvent::SchedWakeup { task, .. } => (self.mark == ReadyMark::Wakeup || !self.has_waking).then_some(task),
            TraceEvent::SchedWakeupNew { task, .. } => Some(task),
            _ => None,
        }
    }
}

/// Why a task was off the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitClass {
    /// It was preempted or gave way: it could have gone on.
    Preempt,
    /// It slept without interruption, as for I/O.
    Iowait,
    /// It slept.
    Sleep,
}

impl WaitClass {
    /// All classes.
    pub const ALL: [WaitClass; 3] = [WaitClass::Preempt, WaitClass::Iowait, WaitClass::Sleep];

    /// The class of a wait that begins in that state.
    pub fn of(state: PrevState) -> WaitClass {
        match state {
            PrevState::Running => WaitClass::Preempt,
            PrevState::DiskSleep => WaitClass::Iowait,
            PrevState::Sleeping | PrevState::Dead | PrevState::IdleWait => WaitClass::Sleep,
        }
    }
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            WaitClass::Preempt => "preempt",
            WaitClass::Iowait => "iowait",
            WaitClass::Sleep => "sleep",
        }
    }
}

/// A time off the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Why.
    pub class: WaitClass,
    /// How long.
    pub length: Ns,
}
