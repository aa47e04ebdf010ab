//! Everything that one CPU needs to schedule.

use crate::pelt::{RqClocks, SchedAvg};
use fairground_stdx::{CfsRqId, Ns, TaskId};

/// Whether the next update of the clock is passed over (RQCF_REQ_SKIP, RQCF_ACT_SKIP).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ClockSkip {
    /// The next schedule() shall reuse the present reading.
    pub(crate) requested: bool,
    /// schedule() is reusing it.
    pub(crate) active: bool,
}

/// The run queue of a CPU.
#[derive(Clone, Debug)]
pub struct Rq {
    /// The running task; `None` is the idle task.
    pub curr: Option<TaskId>,
    /// The root queue of the fair class.
    pub cfs: CfsRqId,
    /// The clocks.
    pub clocks: RqClocks,
    pub(crate) clock_skip: ClockSkip,
    /// Interrupt time in all, and how much of it the clock has already taken out.
    pub(crate) irq_time: Ns,
    pub(crate) prev_irq_time: Ns,
    /// Queued tasks, the running one and those in delayed dequeue included.
    pub nr_running: u32,
    /// Whether schedule() is due.
    pub need_resched: bool,
    /// Whether schedule() is due when the running task returns to user mode, or else at the next tick.
    pub need_resched_lazy: bool,
    /// Load tracking of interrupts and of the other classes.
    pub(crate) avg_irq: SchedAvg,
    pub(crate) avg_rt: SchedAvg,
    pub(crate) avg_dl: SchedAvg,
}

/// How soon a reschedule is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Urgency {
    /// As soon as the preemption model allows.
    Full,
    /// On the way back to user mode, or at the next tick.
    Lazy,
}

impl Rq {
    /// Whether the running task gives way on its return to user mode.
    #[inline]
    pub fn resched_on_user_return(&self) -> bool {
        self.need_resched || self.need_resched_lazy
    }
}
