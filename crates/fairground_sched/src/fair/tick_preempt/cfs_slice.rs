//! The rule of all CFS kernels.
//!
//! ```text
//! ran > slice                              -> reschedule
//! ran < min_granularity                    -> keep
//! curr.vruntime - leftmost.vruntime > slice -> reschedule (wall ns compared with weighted ns, as the kernel does)
//! ```

use crate::Sched;
use fairground_model::Reason;
use fairground_stdx::{CfsRqId, SeId};

impl Sched {
    /// Kernel: fair.c check_preempt_tick(), v4.12–v6.5
    pub(super) fn tick_preempt_reason(&self, cfs_rq: CfsRqId, curr: SeId, ideal: u64) -> (Reason, Option<SeId>) {
        let entity = &self.ses[curr];
        let ran = entity.sum_exec_runtime - entity.prev_sum_exec_runtime;
        if ran > ideal {
            return (Reason::TickSliceExpired, None);
        }
        if ran < self.tunables.min_granularity_ns {
            return (Reason::TickMinGranularity, None);
        }
        let Some((leftmost, first)) = self.cfs_rqs[cfs_rq].timeline.first() else {
            return (Reason::TickAlone, None);
        };
        let ahead = entity.vruntime.since(leftmost);
        if ahead < 0 {
            (Reason::TickNotAhead, Some(first))
        } else if ahead as u64 > ideal {
            (Reason::TickAhead, Some(first))
        } else {
            (Reason::TickWithinSlice, Some(first))
        }
    }
}
