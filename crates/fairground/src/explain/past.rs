//! What must be known of the time before a delay: how each task was last placed, by which rule each CPU's task runs, and
//! which part of the kernel is at work there.

use fairground_model::event::Who;
use fairground_model::reason::Question;
use fairground_model::{Decision, Reason, Section, Sink, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant, TaskId};

/// A decision by which a task runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rule {
    pub(super) reason: Reason,
    pub(super) decided: Instant,
}

/// The last word on each task and CPU.
#[derive(Clone)]
pub(super) struct Past {
    placed: Vec<Option<Reason>>,
    rules: Vec<Option<Rule>>,
    kernel: Vec<Option<(Section, Instant)>>,
}

impl Past {
    /// Nothing has happened yet.
    pub(super) fn new(tasks: usize, cpus: usize) -> Past {
        Past { placed: vec![None; tasks], rules: vec![None; cpus], kernel: vec![None; cpus] }
    }
    /// How a task was placed on a queue when it last came there.
    pub(super) fn placed(&self, task: TaskId) -> Option<Reason> {
        self.placed[task.index()]
    }
    /// The decision by which the running task of a CPU got it or kept it.
    pub(super) fn rule(&self, cpu: CpuId) -> Option<Rule> {
        self.rules[cpu.index()]
    }
    /// A decision about a wake-up that concerns the task of `cpu`.
    pub(super) fn set_rule(&mut self, cpu: CpuId, reason: Reason, decided: Instant) {
        self.rules[cpu.index()] = Some(Rule { reason, decided });
    }
    /// The part of the kernel that was last at work on a CPU, and until when.
    pub(super) fn kernel(&self, cpu: CpuId) -> Option<(Section, Instant)> {
        self.kernel[cpu.index()]
    }
}

/// Whether a decision says where in virtual time a task is placed.
const fn places(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::PlaceSleeperCredit
            | Reason::PlaceKeeps
            | Reason::PlaceStartDebit
            | Reason::PlaceStart
            | Reason::PlaceAverage
            | Reason::PlaceLag
            | Reason::DelayRequeue
            | Reason::DelayZero
    )
}

impl Sink for Past {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::Decision(Decision { reason, a, .. }) if places(reason) => {
                // A group is placed as well, but is nobody who waits.
                if let Who::Task(task) = Decision::who(a) {
                    self.placed[task.index()] = Some(reason);
                }
            }
            TraceEvent::Decision(Decision { reason, .. })
                if matches!(reason.question(), Question::Pick | Question::TickPreempt) =>
            {
                self.set_rule(cpu, reason, at);
            }
            TraceEvent::KernelSection { section, took } => self.kernel[cpu.index()] = Some((section, at + took)),
            _ => {}
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
}
