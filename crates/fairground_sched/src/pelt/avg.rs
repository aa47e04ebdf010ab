//! The tracked state of one entity, run queue or class.

/// Load-tracking state; it is one cache line.
///
/// Sums of load and what they are multiplied with are 64 bits that wrap. They do so in earnest: while a task is of another class its
/// load stays what it was when its weight changes, and `load_sum` is made of that by the new weight. Each turn from SCHED_FIFO to
/// SCHED_IDLE and back makes `load_avg` 1024 / 3 times as large, so that with five or six of them, at one instant, a product is beyond
/// 64 bits.
///
/// Kernel: sched.h struct sched_avg, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(align(64))]
pub struct SchedAvg {
    /// Clock of the last update, in ns; 0 for an entity that is attached nowhere.
    pub last_update_time: u64,
    /// Weighted (families B to D, entities: unweighted) time runnable.
    pub load_sum: u64,
    /// Families A to C: `runnable_load_sum`. Family D: number of runnable tasks over time, times 1024.
    pub runnable_sum: u64,
    /// Load: weight times the share of time runnable.
    pub load_avg: u64,
    /// Families A to C: `runnable_load_avg`. Family D: runnable tasks, times 1024.
    pub runnable_avg: u64,
    /// Time running, times capacity.
    pub util_sum: u32,
    /// Units of 1024 ns of the period that is open.
    pub period_contrib: u32,
    /// Share of capacity used, 0 to 1024.
    pub util_avg: u32,
    /// Estimated utilisation of the next activation.
    pub util_est: UtilEst,
}

/// Samples of `util_avg` at the ends of activations.
///
/// Kernel: sched.h struct util_est, v4.17–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UtilEst {
    /// Task: the last sample. Run queue: sum of the estimates of its tasks.
    pub enqueued: u32,
    /// Moving average of the samples; the only value of a task from v6.8 on.
    pub ewma: u32,
    /// Flag UTIL_AVG_UNCHANGED: `util_avg` was not updated since the sample was stored.
    pub unchanged: bool,
}

/// What a CPU can do now, in 1/1024.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Frequency, relative to the highest of this CPU: 1 to 1024.
    pub freq: u32,
    /// Capacity at the highest frequency, relative to the biggest CPU: 1 to 1024.
    pub cpu: u32,
}

impl Scale {
    /// A biggest CPU at its highest frequency.
    pub const FULL: Scale = Scale { freq: 1024, cpu: 1024 };
}

impl Default for Scale {
    fn default() -> Scale {
        Scale::FULL
    }
}
