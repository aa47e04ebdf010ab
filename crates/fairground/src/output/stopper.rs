//! Stoppers. A CPU whose stopper runs has no task in a simulated run: it switches to none and back. A kernel's record has
//! `migration/N` there, of a priority above all others.

use fairground_model::reason::Question;
use fairground_model::{Decision, PrevState, Reason, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, TaskId};

/// What one CPU does, by its records.
#[derive(Clone, Copy, Default)]
struct Cpu {
    /// Whether the last answer to "who runs next?" was nobody.
    found_nobody: bool,
    /// Its stopper, once that has run.
    stopper: Option<TaskId>,
    /// Whether that runs.
    stopped: bool,
}

/// Knows when stoppers run.
#[derive(Default)]
pub(super) struct Stoppers {
    cpus: Vec<Cpu>,
    /// The first number that no task has.
    next: u32,
}

/// What stands in a file for one record of a run.
pub(super) struct Told {
    /// A stopper that runs for the first time.
    pub(super) begins: Option<(TaskId, TaskInfo)>,
    /// The end of a stopper that our run does not record.
    pub(super) before: Option<TraceEvent>,
    /// The record.
    pub(super) event: TraceEvent,
}

impl Stoppers {
    pub(super) fn see(&mut self, task: TaskId) {
        self.next = self.next.max(task.get() + 1);
    }

    pub(super) fn tell(&mut self, cpu: CpuId, event: &TraceEvent) -> Told {
        let mut told = Told { begins: None, before: None, event: *event };
        if self.cpus.len() <= cpu.index() {
            self.cpus.resize(cpu.index() + 1, Cpu::default());
        }
        let row = &mut self.cpus[cpu.index()];
        match *event {
            TraceEvent::Decision(Decision { reason, .. }) if reason.question() == Question::Pick => {
                row.found_nobody = reason == Reason::PickIdle;
                if row.found_nobody && std::mem::take(&mut row.stopped) {
                    told.before =
                        Some(TraceEvent::SchedSwitch { prev: row.stopper, prev_state: PrevState::Sleeping, next: None });
                }
            }
            TraceEvent::SchedSwitch { prev: None, next, .. } if std::mem::take(&mut row.stopped) => {
                told.event = TraceEvent::SchedSwitch { prev: row.stopper, prev_state: PrevState::Sleeping, next };
            }
            TraceEvent::SchedSwitch { prev: Some(prev), prev_state: PrevState::Running, next: None } if !row.found_nobody => {
                let stopper = *row.stopper.get_or_insert(TaskId::new(self.next));
                if stopper.get() == self.next {
                    self.next += 1;
                    told.begins = Some((stopper, TaskInfo { name: format!("migration/{cpu}"), pid: 0, prio: 0 }));
                }
                row.stopped = true;
                told.event = TraceEvent::SchedSwitch { prev: Some(prev), prev_state: PrevState::Running, next: Some(stopper) };
            }
            _ => {}
        }
        told
    }
}
