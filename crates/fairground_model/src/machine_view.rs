//! The machine as the scheduler sees it: numbers only, no prices.

use crate::freq::FreqPolicy;
use fairground_stdx::{CpuId, CpuMask, IndexVec, Ns};

/// One CPU as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuView {
    /// Full capacity of the CPU, 1..=1024, 1024 = the machine's biggest (arch_scale_cpu_capacity).
    pub capacity: u32,
    /// Current frequency over highest frequency, 1..=1024 (arch_scale_freq_capacity). 1024 where the kernel does not know it.
    pub freq_capacity: u32,
    /// Its row in the list of policies; none = its frequency cannot be changed by a governor.
    pub policy: Option<usize>,
    /// CPUs of the same core, this one included.
    pub smt: CpuMask,
    /// CPUs of the same cluster, this one included, if the machine has clusters (topology_cluster_cpumask).
    pub cluster: Option<CpuMask>,
    /// CPUs that share the last-level cache, this one included.
    pub llc: CpuMask,
    /// The package (socket).
    pub package: u32,
    /// The NUMA node: a row of the distance matrix.
    pub node: u32,
    /// How far its scheduler clock (sched_clock_cpu) is ahead of the clock by which timers go.
    pub clock_ahead: Ns,
}

/// Which levels of scheduling domains the kernel was built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainLevels {
    /// Threads of a core (CONFIG_SCHED_SMT).
    pub smt: bool,
    /// Cores of a cluster (CONFIG_SCHED_CLUSTER), where the kernel knows that level.
    pub cluster: bool,
    /// CPUs of a cache (CONFIG_SCHED_MC).
    pub mc: bool,
    /// Nodes and their distances (CONFIG_NUMA).
    pub numa: bool,
}

impl Default for DomainLevels {
    fn default() -> DomainLevels {
        DomainLevels { smt: true, cluster: true, mc: true, numa: true }
    }
}

/// Read-only facts that the scheduler may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineView {
    /// The CPUs in the order in which Linux numbers them.
    pub cpus: IndexVec<CpuId, CpuView>,
    /// The CPUs that are on line (cpu_active_mask: here the same).
    pub online: CpuMask,
    /// Distance of each NUMA node to each, 10 on the diagonal.
    pub distances: Vec<Vec<u32>>,
    /// Nodes farther apart than this do not share wake-ups, forks and execs (node_reclaim_distance; 32 on AMD Zen).
    pub reclaim_distance: u32,
    /// The levels of domains that the kernel was built with.
    pub levels: DomainLevels,
    /// One tick: 1/HZ (or what the scenario sets).
    pub tick: Ns,
    /// Whether interrupt time is taken out of the task clock (CONFIG_IRQ_TIME_ACCOUNTING).
    pub irq_time_accounting: bool,
    /// CPUs that change frequency together, with their operating points; none = frequencies are as they are.
    pub policies: Vec<FreqPolicy>,
    /// Whether the kernel knows how fast each CPU is at the moment (frequency invariance).
    pub freq_invariant: bool,
}

/// The distance of nodes up to which everything is balanced alike, unless the platform says otherwise.
///
/// Kernel: topology.h RECLAIM_DISTANCE, v4.12–
pub const RECLAIM_DISTANCE: u32 = 30;

impl MachineView {
    /// `nr_cpus` equal CPUs at full speed without siblings, under one cache, on one node.
    pub fn flat(nr_cpus: usize, tick: Ns) -> MachineView {
        let all = CpuMask::first_n(nr_cpus);
        let cpu = |cpu: CpuId| CpuView {
            capacity: 1024,
            freq_capacity: 1024,
            policy: None,
            smt: CpuMask::only(cpu),
            cluster: None,
            llc: all,
            package: 0,
            node: 0,
            clock_ahead: Ns::ZERO,
        };
        MachineView {
            cpus: all.iter().map(cpu).collect(),
            online: all,
            distances: vec![vec![10]],
            reclaim_distance: RECLAIM_DISTANCE,
            levels: DomainLevels::default(),
            tick,
            irq_time_accounting: false,
            policies: Vec::new(),
            freq_invariant: true,
        }
    }

    /// Ticks in a second (HZ), to the nearest.
    pub fn hz(&self) -> u64 {
        (1_000_000_000 + self.tick.ns() / 2) / self.tick.ns().max(1)
    }
}
