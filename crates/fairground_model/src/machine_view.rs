//! The machine as the scheduler sees it: numbers only, no prices.

use fairground_stdx::{CpuId, CpuMask, IndexVec, Ns};

/// One CPU as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuView {
    /// Full capacity of the CPU, 1..=1024, 1024 = the machine's biggest (arch_scale_cpu_capacity).
    pub capacity: u32,
    /// Current frequency over highest frequency, 1..=1024 (arch_scale_freq_capacity).
    pub freq_capacity: u32,
    /// CPUs of the same core, this one included.
    pub smt: CpuMask,
    /// CPUs that share the last-level cache, this one included.
    pub llc: CpuMask,
}

/// Read-only facts that the scheduler may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineView {
    /// The CPUs in the order in which Linux numbers them.
    pub cpus: IndexVec<CpuId, CpuView>,
    /// All CPUs.
    pub online: CpuMask,
    /// One tick: 1/HZ (or what the scenario sets).
    pub tick: Ns,
    /// Whether interrupt time is taken out of the task clock (CONFIG_IRQ_TIME_ACCOUNTING).
    pub irq_time_accounting: bool,
}
