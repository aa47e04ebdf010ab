//! Tasks of the classes above the fair one.

use fairground_model::{Decision, Policy, Reason, RtPriority, Sink, TaskSet, TraceEvent};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{CpuId, Instant, TaskId};

pub(crate) fn fifo(priority: i64) -> Policy {
    Policy::Fifo(RtPriority::new(priority).unwrap())
}

pub(crate) fn with(set: &mut TaskSet, task: TaskId, policy: Policy) -> TaskId {
    set.tasks[task].policy = policy;
    task
}

/// Who gets a CPU, when (us), and decisions.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) switches: Vec<(u64, u32, Option<u32>)>,
    pub(crate) decided: Vec<(u64, Reason, u32, u32)>,
}

impl Sink for Log {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let at = at.ns() / 1_000;
        match *event {
            TraceEvent::SchedSwitch { next, .. } => self.switches.push((at, cpu.get(), next.map(TaskId::get))),
            TraceEvent::Decision(Decision { reason, a, b }) => self.decided.push((at, reason, a, b)),
            _ => {}
        }
    }
}

impl Log {
    pub(crate) fn of(simulation: &mut Simulation) -> Log {
        let mut log = Log::default();
        while simulation.run_until(Instant::MAX, &mut log).unwrap() == Flow::More {}
        log
    }
    /// Who runs on CPU 0 from when on, ms.
    pub(crate) fn turns(&self) -> Vec<(u64, Option<u32>)> {
        self.switches.iter().filter(|row| row.1 == 0).map(|row| (row.0 / 1_000, row.2)).collect()
    }
    pub(crate) fn count(&self, reason: Reason) -> usize {
        self.decided.iter().filter(|row| row.1 == reason).count()
    }
}
