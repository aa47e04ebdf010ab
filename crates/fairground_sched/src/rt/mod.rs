//! The real-time class: SCHED_FIFO and SCHED_RR. Its tasks run before any fair one, the highest priority first; within one
//! priority first come, first served.
//!
//! ```text
//! queue     most urgent ── same priority: who came first ──► least urgent      the running one keeps its place
//! pushable  those of the queue that wait here and may run elsewhere
//! ```
//!
//! Start reading at `queue.rs`, then `class.rs`; `push_pull.rs`, `push_ipi.rs` and `lowest_rq.rs` spread the tasks over CPUs, `bandwidth.rs` leaves
//! a part of each period to others. There is one queue per CPU: groups have no real-time queues of their own (CONFIG_RT_GROUP_SCHED
//! is off).

mod bandwidth;
mod check;
mod class;
mod lowest_rq;
mod push_ipi;
mod push_pull;
mod queue;
mod state;
mod switched;

use fairground_stdx::{CpuMask, Instant, TaskId};

pub use state::RtState;

/// The priority number of a CPU on which no real-time task is queued.
///
/// Kernel: prio.h MAX_RT_PRIO, v4.12–
pub(crate) const MAX_RT_PRIO: u8 = 100;

/// The priority number of the idle task.
///
/// Kernel: prio.h MAX_PRIO, v4.12–
const MAX_PRIO: i32 = 140;

/// What the class keeps of a task.
///
/// Kernel: sched.h struct sched_rt_entity, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RtEntity {
    /// It stands on a queue.
    on_list: bool,
    /// Ticks that are left of its slice, of SCHED_RR; 0 = it has had none yet.
    time_slice: u32,
}

/// The queue of a CPU.
///
/// Kernel: sched.h struct rt_rq, v4.12–
#[derive(Clone, Debug, Default)]
pub(crate) struct RtRq {
    /// Priority number and task, the most urgent first.
    queue: Vec<(u8, TaskId)>,
    /// The same of those that wait and may run elsewhere, in the order in which they began to wait.
    pushable: Vec<(u8, TaskId)>,
    /// It counts in the number of tasks of its CPU, and is picked from: it is neither empty nor throttled.
    queued: bool,
    /// Its time is used up.
    throttled: bool,
    /// What ran in this period, ns.
    time: u64,
    /// What may run in a period less what the class may run, ns: what was borrowed (or lent, if negative).
    borrowed: i64,
    /// What was written of the CPU last is that a deadline entity is queued (CPUPRI_HIGHER), so no real-time task goes there.
    cpupri_higher: bool,
    /// It is asked to push, and the interrupt that says so is under way.
    push_asked: bool,
}

impl RtEntity {
    /// Whether it stands on a queue.
    pub(crate) fn is_on_list(&self) -> bool {
        self.on_list
    }
}

impl RtRq {
    /// Whether a task is to be picked.
    #[inline]
    pub(crate) fn is_runnable(&self) -> bool {
        self.queued
    }
    /// How many tasks count in the number of tasks of the CPU.
    pub(crate) fn nr_counted(&self) -> u32 {
        if self.queued { self.queue.len() as u32 } else { 0 }
    }
    /// The priority number of the first task (highest_prio.curr).
    fn highest_prio(&self) -> u8 {
        self.queue.first().map_or(MAX_RT_PRIO, |row| row.0)
    }
}

/// What all queues share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtRoot {
    /// CPUs on line with more tasks than they can run.
    ///
    /// Kernel: sched.h struct root_domain rto_mask, v4.12–
    overloaded: CpuMask,
    /// The period timer is armed, and when it fires.
    period_expires: Option<Instant>,
    /// When the last period that it knew of ends.
    period_ends: Instant,
    /// The round in which overloaded CPUs are asked to push.
    round: push_ipi::PushRound,
}

impl Default for RtRoot {
    fn default() -> RtRoot {
        RtRoot {
            overloaded: CpuMask::EMPTY,
            period_expires: None,
            period_ends: Instant::ZERO,
            round: push_ipi::PushRound::default(),
        }
    }
}
