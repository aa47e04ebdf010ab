//! The threads of each core.

use fairground_model::MachineView;
use fairground_stdx::{CpuId, CpuMask, IndexVec};
use std::ops::Range;

/// The threads of each CPU's core that are up, in number order. One that is leaving is up until its stopper has taken it down.
///
/// Kernel: topology.h cpu_smt_mask(), v4.12–
#[derive(Clone, Debug)]
pub struct Threads {
    up: CpuMask,
    list: Vec<CpuId>,
    of: IndexVec<CpuId, Range<u32>>,
}

impl Default for Threads {
    fn default() -> Threads {
        Threads { up: CpuMask::EMPTY, list: Vec::new(), of: IndexVec::default() }
    }
}

impl Threads {
    pub(super) fn new(machine: &MachineView, up: CpuMask) -> Threads {
        let mut threads = Threads { up, ..Threads::default() };
        for view in machine.cpus.iter() {
            let from = threads.list.len() as u32;
            threads.list.extend(view.smt.and(&up).iter());
            threads.of.push(from..threads.list.len() as u32);
        }
        threads
    }

    /// A CPU is no sibling of anybody any more, or is one again.
    ///
    /// Kernel: smpboot.c remove_siblinginfo(), set_cpu_sibling_map(), v4.12–
    pub(crate) fn set_up(&mut self, machine: &MachineView, cpu: CpuId, up: bool) {
        let mut mask = self.up;
        match up {
            true => mask.insert(cpu),
            false => mask.remove(cpu),
        };
        *self = Threads::new(machine, mask);
    }

    /// Those of the core of `cpu`.
    #[inline]
    pub fn of(&self, cpu: CpuId) -> &[CpuId] {
        let Range { start, end } = self.of[cpu];
        &self.list[start as usize..end as usize]
    }
}
