//! Scheduling policies.

/// Scheduling policies of the fair class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// SCHED_OTHER.
    #[default]
    Normal,
    /// SCHED_BATCH: does not preempt on wake-up.
    Batch,
    /// SCHED_IDLE: weight 3, preempted by everybody else.
    Idle,
}
