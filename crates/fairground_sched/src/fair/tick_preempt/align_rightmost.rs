//! `align-vruntime` (RFC of 2018, never merged): an entity whose slice is over goes behind everybody.
//!
//! The mailed code looked for the last entity by walking the tree from the running one, whose links are
//! stale while it runs; this is its stated intent.

use crate::Sched;
use fairground_stdx::{CfsRqId, SeId};

impl Sched {
    /// Sets `curr.vruntime` to one more than the largest virtual time of the queue; returns who held it.
    ///
    /// Kernel: fair.c check_preempt_tick() with the RFC applied, v4.20–v4.20
    pub(super) fn align_vruntime_to_last(&mut self, cfs_rq: CfsRqId, curr: SeId) -> Option<SeId> {
        let (rightmost, last) = self.cfs_rqs[cfs_rq].timeline.last()?;
        let entity = &mut self.ses[curr];
        entity.vruntime = entity.vruntime.max(rightmost).plus(1);
        Some(last)
    }
}
