//! The rule of all CFS kernels.
//!
//! ```text
//! ran > slice                              -> reschedule
//! ran < min_granularity                    -> keep
//! curr.vruntime - leftmost.vruntime > slice -> reschedule (wall ns compared with weighted ns, as the kernel does)
//! ```

use crate::fair::{CfsRq, SchedEntity};
use fairground_model::Reason;
use fairground_stdx::SeId;

/// What the tick finds, and the entity that waits first if that was asked.
///
/// Kernel: fair.c check_preempt_tick(), v4.12–v6.5
#[inline]
pub(super) fn tick_preempt_reason(queue: &CfsRq, curr: &SchedEntity, ideal: u64, min_granularity: u64) -> (Reason, Option<SeId>) {
    let ran = curr.sum_exec_runtime - curr.prev_sum_exec_runtime;
    if ran > ideal {
        return (Reason::TickSliceExpired, None);
    }
    if ran < min_granularity {
        return (Reason::TickMinGranularity, None);
    }
    let Some((leftmost, first)) = queue.timeline.first() else {
        return (Reason::TickAlone, None);
    };
    let ahead = curr.vruntime.since(leftmost);
    if ahead < 0 {
        (Reason::TickNotAhead, Some(first))
    } else if ahead as u64 > ideal {
        (Reason::TickAhead, Some(first))
    } else {
        (Reason::TickWithinSlice, Some(first))
    }
}
