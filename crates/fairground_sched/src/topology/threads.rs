//! The threads of each core.

use fairground_model::MachineView;
use fairground_stdx::{CpuId, IndexVec};
use std::ops::Range;

/// The threads on line of each CPU's core, in number order.
///
/// Kernel: topology.h cpu_smt_mask(), v4.12–
#[derive(Clone, Debug, Default)]
pub struct Threads {
    list: Vec<CpuId>,
    of: IndexVec<CpuId, Range<u32>>,
}

impl Threads {
    pub(super) fn new(machine: &MachineView) -> Threads {
        let mut threads = Threads::default();
        for view in machine.cpus.iter() {
            let from = threads.list.len() as u32;
            threads.list.extend(view.smt.and(&machine.online).iter());
            threads.of.push(from..threads.list.len() as u32);
        }
        threads
    }

    /// Those of the core of `cpu`.
    #[inline]
    pub fn of(&self, cpu: CpuId) -> &[CpuId] {
        let Range { start, end } = self.of[cpu];
        &self.list[start as usize..end as usize]
    }
}
