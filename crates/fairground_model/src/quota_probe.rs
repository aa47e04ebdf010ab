//! What a recording's probes tell of CPU quota. They are no trace events: no tool but the recorder of kernels writes them.

use fairground_stdx::{CpuId, Instant};

/// One hit of a probe in a kernel function of CPU quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuotaProbe {
    /// When.
    pub at: Instant,
    /// The CPU that ran the function.
    pub cpu: CpuId,
    /// Which function, and what it was about to do.
    pub call: QuotaCall,
}

/// A kernel function of CPU quota as it is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuotaCall {
    /// A queue has used up what it had.
    ///
    /// Kernel: fair.c throttle_cfs_rq(), v4.12–
    Throttle {
        /// The recorder's number of the queue.
        queue: u32,
        /// What its account has left, ns; less than 0 is a debt.
        remaining: i64,
        /// The process that runs on the calling CPU, 0 if none does.
        current: u32,
    },
    /// A queue goes on.
    ///
    /// Kernel: fair.c unthrottle_cfs_rq(), v4.12–
    Unthrottle {
        /// The recorder's number of the queue.
        queue: u32,
        /// What its account has to start with, ns.
        remaining: i64,
    },
    /// A period timer has fired. Of which pool is not recorded.
    ///
    /// Kernel: fair.c sched_cfs_period_timer(), v4.12–
    PeriodTimer,
    /// distribute_cfs_runtime() begins to pay throttled queues.
    ///
    /// Kernel: fair.c distribute_cfs_runtime(), v4.12–
    DistributeBegins,
    /// The same function returns.
    DistributeEnds,
    /// A task below a throttled queue stops on its way back to user mode.
    ///
    /// Kernel: fair.c throttle_cfs_rq_work(), v6.18–
    ThrottleWork {
        /// Its process.
        task: u32,
    },
}
