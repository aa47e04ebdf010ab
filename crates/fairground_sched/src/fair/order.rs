//! The order in which waiting entities stand on a queue: what the pick looks through.

use super::level::Level;
use fairground_stdx::DeadlineRow;

impl Level<'_> {
    /// The entity takes its place among those that wait.
    ///
    /// Kernel: fair.c __enqueue_entity(), v4.12–
    #[inline]
    pub(super) fn enqueue_in_order(&mut self) {
        if !self.profile.pick.is_eevdf() {
            self.cfs_rq.timeline.insert(self.se.vruntime, self.id);
            return;
        }
        let weight = self.profile.scale_load_down.apply(self.se.load.weight());
        self.cfs_rq.avg_vruntime_add(self.se.vruntime, weight);
        let (deadline, vruntime, slice) = (self.se.deadline, self.se.vruntime, self.se.slice);
        self.cfs_rq.deadlines.insert(DeadlineRow { deadline, vruntime, slice, item: self.id });
    }

    /// The entity leaves its place.
    ///
    /// Kernel: fair.c __dequeue_entity(), v4.12–
    #[inline]
    pub(super) fn dequeue_from_order(&mut self) {
        let present = if self.profile.pick.is_eevdf() {
            let weight = self.profile.scale_load_down.apply(self.se.load.weight());
            self.cfs_rq.avg_vruntime_sub(self.se.vruntime, weight);
            self.cfs_rq.deadlines.remove(self.se.deadline, self.id)
        } else {
            self.cfs_rq.timeline.remove(self.se.vruntime, self.id)
        };
        assert!(present, "invariant: a queued entity that does not run is in the order of its queue");
    }
}
