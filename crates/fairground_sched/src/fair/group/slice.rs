//! Seam `group_slice`: the request of a group's entity. The group serves its most urgent entity in time if its own request
//! is no longer than that one's.

use crate::Sched;
use crate::seam::GroupSlice;
use fairground_stdx::{CfsRqId, SeId};

impl Sched {
    /// The smallest request on a queue, for the entity above; `None` where groups have the base slice.
    ///
    /// Kernel: fair.c cfs_rq_min_slice(), v6.12–
    #[inline]
    pub(crate) fn group_slice(&self, queue: CfsRqId) -> Option<u64> {
        if self.profile.group_slice == GroupSlice::Base {
            return None;
        }
        let cfs_rq = &self.cfs_rqs[queue];
        cfs_rq.se?;
        let running = cfs_rq.curr.map(|se| &self.ses[se]).filter(|se| se.on_rq).map(|se| se.slice);
        running.into_iter().chain(cfs_rq.deadlines.min_slice()).min()
    }

    /// The entity of a group takes the smallest request below it.
    pub(crate) fn set_group_slice(&mut self, se: SeId, slice: Option<u64>) {
        let Some(slice) = slice.filter(|&slice| self.ses[se].my_q.is_some() && self.ses[se].slice != slice) else { return };
        let level = self.level(se);
        if level.se.on_rq && level.cfs_rq.curr != Some(se) {
            level.cfs_rq.deadlines.set_slice(level.se.deadline, se, slice);
        }
        (level.se.slice, level.se.custom_slice) = (slice, true);
    }
}
