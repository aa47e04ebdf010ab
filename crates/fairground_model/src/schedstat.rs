//! What /proc/schedstat holds: counters of CPUs and of their scheduling domains.
//!
//! Nothing here knows in which order a kernel version prints them: that is the format's business.

use fairground_stdx::{CpuId, CpuMask};

/// Counters of a CPU.
///
/// Kernel: sched.h struct rq under CONFIG_SCHEDSTATS, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RqStats {
    /// Calls of sched_yield().
    pub yld_count: u64,
    /// Calls of schedule().
    pub sched_count: u64,
    /// Those that left the CPU idle.
    pub sched_goidle: u64,
    /// Wake-ups done by this CPU.
    pub ttwu_count: u64,
    /// Those onto itself.
    pub ttwu_local: u64,
    /// Time that tasks ran here, ns.
    pub rq_cpu_time: u64,
    /// Time that tasks waited here, ns.
    pub run_delay: u64,
    /// Times that a task was put on the CPU.
    pub pcount: u64,
}

/// Counters of one domain and one state of the balancing CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LbStats {
    /// Calls of load_balance().
    pub count: u64,
    /// Calls that found no imbalance.
    pub balanced: u64,
    /// Calls that found one and moved nothing.
    pub failed: u64,
    /// Sums of imbalances by what they count: load, util, task, misfit (one sum up to v6.13).
    pub imbalance: [u64; 4],
    /// Tasks moved.
    pub gained: u64,
    /// Tasks moved though they were cache hot.
    pub hot_gained: u64,
    /// A group was found, but no queue in it.
    pub nobusyq: u64,
    /// No group was found.
    pub nobusyg: u64,
}

/// Counters of a domain.
///
/// Kernel: sched/topology.h struct sched_domain under CONFIG_SCHEDSTATS, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SdStats {
    /// By the state of the balancing CPU: it runs a task, is idle, has just run out of tasks (enum cpu_idle_type).
    pub lb: [LbStats; 3],
    /// Active balances asked for.
    pub alb_count: u64,
    /// Those that moved nothing.
    pub alb_failed: u64,
    /// Those that moved a task.
    pub alb_pushed: u64,
    /// Wake-ups onto another CPU of the domain.
    pub ttwu_wake_remote: u64,
    /// Wake-ups that wake_affine() moved to the waker's CPU.
    pub ttwu_move_affine: u64,
    /// Wake-ups moved by the slow path.
    pub ttwu_move_balance: u64,
}

/// One domain of a CPU with its counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DomainStat {
    /// What it spans: `SMT`, `MC` …; not every version tells it.
    pub name: Option<String>,
    /// Its CPUs.
    pub span: CpuMask,
    /// Its counters.
    pub stats: SdStats,
    /// sbe_count, sbe_balanced, sbe_pushed and the same of sbf: printed by every kernel, counted by none.
    pub unused: [u64; 6],
}

/// One CPU with its counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuStat {
    /// The CPU.
    pub cpu: CpuId,
    /// Its counters.
    pub stats: RqStats,
    /// The second number of the line, counted by no kernel since v2.6.
    pub legacy: u64,
    /// Counters that kernels with a patch of their own add at the end of the line.
    pub added: Vec<u64>,
    /// Its domains, smallest first.
    pub domains: Vec<DomainStat>,
}

/// A snapshot of the counters of all CPUs that are on line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SchedStat {
    /// jiffies when it was taken.
    pub timestamp: u64,
    /// CPUs that a mask has room for (nr_cpu_ids).
    pub nr_cpu_ids: u32,
    /// The CPUs in order of their numbers.
    pub cpus: Vec<CpuStat>,
}
