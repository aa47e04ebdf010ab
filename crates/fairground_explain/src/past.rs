//! What must be known of the time before a delay: how each task was last placed, by which rules each CPU's task and the
//! groups above it run, and which part of the kernel is at work there.

use fairground_model::event::Who;
use fairground_model::reason::Question;
use fairground_model::{Decision, Reason, Section, Sink, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant};

/// A decision by which a task or a group runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rule {
    pub(super) reason: Reason,
    pub(super) decided: Instant,
}

/// The last word on each task, group and CPU.
#[derive(Clone)]
pub(super) struct Past {
    placed: Vec<Option<Reason>>,
    /// The last pick or tick that was about a task.
    tasks: Vec<Option<Rule>>,
    /// The same for groups, on each CPU.
    groups: Vec<Vec<Option<Rule>>>,
    /// What was decided since then about a wake-up that concerns the task of a CPU.
    wakeups: Vec<Option<Rule>>,
    kernel: Vec<Option<(Section, Instant)>>,
}

impl Past {
    /// Nothing has happened yet.
    pub(super) fn new(tasks: usize, groups: usize, cpus: usize) -> Past {
        Past {
            placed: vec![None; tasks],
            tasks: vec![None; tasks],
            groups: vec![vec![None; groups]; cpus],
            wakeups: vec![None; cpus],
            kernel: vec![None; cpus],
        }
    }
    /// How a task was placed on a queue when it last came there. Of groups that is not known: it is not recorded on which CPU.
    pub(super) fn placed(&self, who: Who) -> Option<Reason> {
        match who {
            Who::Task(task) => self.placed[task.index()],
            Who::Group(_) => None,
        }
    }
    /// The decision by which somebody who runs on a CPU, or in whom the task lies that does, got it or kept it.
    pub(super) fn rule(&self, cpu: CpuId, who: Who) -> Option<Rule> {
        self.wakeups[cpu.index()].or(match who {
            Who::Task(task) => self.tasks[task.index()],
            Who::Group(group) => self.groups[cpu.index()][group.index()],
        })
    }
    /// A decision about a wake-up that concerns the task of `cpu`.
    pub(super) fn wakes(&mut self, cpu: CpuId, reason: Reason, decided: Instant) {
        self.wakeups[cpu.index()] = Some(Rule { reason, decided });
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
                if let Who::Task(task) = Decision::who(a) {
                    self.placed[task.index()] = Some(reason);
                }
            }
            // A pick and a tick ask at each level of the tree. With nobody to pick there is nobody whose rule it is.
            TraceEvent::Decision(Decision { reason, a, .. })
                if matches!(reason.question(), Question::Pick | Question::TickPreempt) && reason != Reason::PickIdle =>
            {
                self.wakeups[cpu.index()] = None;
                let rule = Some(Rule { reason, decided: at });
                match Decision::who(a) {
                    Who::Task(task) => self.tasks[task.index()] = rule,
                    Who::Group(group) => self.groups[cpu.index()][group.index()] = rule,
                }
            }
            TraceEvent::KernelSection { section, took } => self.kernel[cpu.index()] = Some((section, at + took)),
            _ => {}
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
}
