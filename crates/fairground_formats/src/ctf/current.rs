//! Who runs on each CPU, and whether an interrupt does, as the events told so far.

use crate::import::Who;
use fairground_model::WakeContext;
use std::collections::BTreeMap;

/// One CPU.
#[derive(Clone, Copy, Default)]
struct Cpu {
    /// The task of its last switch.
    task: Option<Who>,
    hard: u32,
    soft: u32,
}

/// All CPUs.
#[derive(Default)]
pub(super) struct CurrentTasks {
    cpus: BTreeMap<u32, Cpu>,
}

impl CurrentTasks {
    /// A CPU switched to a task.
    pub(super) fn switched(&mut self, cpu: u32, next: Who) {
        self.cpus.insert(cpu, Cpu { task: Some(next), ..Cpu::default() });
    }
    /// An interrupt begins or ends on a CPU.
    pub(super) fn interrupt(&mut self, cpu: u32, context: WakeContext, begins: bool) {
        let cpu = self.cpus.entry(cpu).or_default();
        let depth = if context == WakeContext::Hardirq { &mut cpu.hard } else { &mut cpu.soft };
        *depth = if begins { depth.saturating_add(1) } else { depth.saturating_sub(1) };
    }
    /// The task of a CPU, where that is known.
    pub(super) fn task(&self, cpu: u32) -> Option<Who> {
        self.cpus.get(&cpu).and_then(|cpu| cpu.task)
    }
    /// What runs on a CPU if it is no task.
    pub(super) fn context(&self, cpu: u32) -> Option<WakeContext> {
        match self.cpus.get(&cpu)? {
            Cpu { hard: 1.., .. } => Some(WakeContext::Hardirq),
            Cpu { soft: 1.., .. } => Some(WakeContext::Softirq),
            _ => None,
        }
    }
}
