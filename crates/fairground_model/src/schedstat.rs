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

impl RqStats {
    /// The names of the counters, in the kernel's order.
    pub const NAMES: [&str; 8] =
        ["yld_count", "sched_count", "sched_goidle", "ttwu_count", "ttwu_local", "rq_cpu_time", "run_delay", "pcount"];

    /// The counters in the order of [`RqStats::NAMES`].
    pub fn numbers(&self) -> [u64; 8] {
        [
            self.yld_count,
            self.sched_count,
            self.sched_goidle,
            self.ttwu_count,
            self.ttwu_local,
            self.rq_cpu_time,
            self.run_delay,
            self.pcount,
        ]
    }

    /// Counters in the order of [`RqStats::NAMES`].
    pub fn from_numbers(numbers: [u64; 8]) -> RqStats {
        let [yld_count, sched_count, sched_goidle, ttwu_count, ttwu_local, rq_cpu_time, run_delay, pcount] = numbers;
        RqStats { yld_count, sched_count, sched_goidle, ttwu_count, ttwu_local, rq_cpu_time, run_delay, pcount }
    }
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

impl LbStats {
    /// The names of the counters, in the order of version 17.
    pub const NAMES: [&str; 11] = [
        "lb_count",
        "lb_balanced",
        "lb_failed",
        "lb_imbalance_load",
        "lb_imbalance_util",
        "lb_imbalance_task",
        "lb_imbalance_misfit",
        "lb_gained",
        "lb_hot_gained",
        "lb_nobusyq",
        "lb_nobusyg",
    ];
    /// Where in [`LbStats::NAMES`] the sums of imbalances stand: sums of loads may wrap around, counts do not.
    pub const IMBALANCE: std::ops::Range<usize> = 3..7;

    /// The counters in the order of [`LbStats::NAMES`].
    pub fn numbers(&self) -> [u64; 11] {
        let [load, util, task, misfit] = self.imbalance;
        let (count, balanced, failed) = (self.count, self.balanced, self.failed);
        let (gained, hot_gained, nobusyq, nobusyg) = (self.gained, self.hot_gained, self.nobusyq, self.nobusyg);
        [count, balanced, failed, load, util, task, misfit, gained, hot_gained, nobusyq, nobusyg]
    }

    /// Counters in the order of [`LbStats::NAMES`].
    pub fn from_numbers(numbers: [u64; 11]) -> LbStats {
        let [count, balanced, failed, load, util, task, misfit, gained, hot_gained, nobusyq, nobusyg] = numbers;
        LbStats { count, balanced, failed, imbalance: [load, util, task, misfit], gained, hot_gained, nobusyq, nobusyg }
    }
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

impl SdStats {
    /// The names of the counters behind the blocks of `lb`.
    pub const TAIL_NAMES: [&str; 6] =
        ["alb_count", "alb_failed", "alb_pushed", "ttwu_wake_remote", "ttwu_move_affine", "ttwu_move_balance"];

    /// The counters in the order of [`SdStats::TAIL_NAMES`].
    pub fn tail(&self) -> [u64; 6] {
        let (alb_count, alb_failed, alb_pushed) = (self.alb_count, self.alb_failed, self.alb_pushed);
        [alb_count, alb_failed, alb_pushed, self.ttwu_wake_remote, self.ttwu_move_affine, self.ttwu_move_balance]
    }

    /// Counters of the blocks, then those in the order of [`SdStats::TAIL_NAMES`].
    pub fn from_numbers(lb: [LbStats; 3], tail: [u64; 6]) -> SdStats {
        let [alb_count, alb_failed, alb_pushed, ttwu_wake_remote, ttwu_move_affine, ttwu_move_balance] = tail;
        SdStats { lb, alb_count, alb_failed, alb_pushed, ttwu_wake_remote, ttwu_move_affine, ttwu_move_balance }
    }
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

/// In what state a CPU balanced, in the order of [`SdStats::lb`].
pub const BALANCING_AS: [&str; 3] = ["busy", "idle", "newidle"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_fields_are_the_same() {
        let rq: [u64; 8] = std::array::from_fn(|n| n as u64 + 1);
        assert_eq!(RqStats::from_numbers(rq).numbers(), rq);
        assert_eq!(RqStats::from_numbers(rq).pcount, 8);
        let lb: [u64; 11] = std::array::from_fn(|n| n as u64 + 1);
        assert_eq!(LbStats::from_numbers(lb).numbers(), lb);
        assert_eq!(LbStats::from_numbers(lb).imbalance, [4, 5, 6, 7]);
        let tail = [1, 2, 3, 4, 5, 6];
        let sd = SdStats::from_numbers([LbStats::from_numbers(lb); 3], tail);
        assert_eq!((sd.tail(), sd.lb[2].nobusyg), (tail, 11));
    }
}
