//! The order in which waiting entities stand on a queue: what the pick looks through.

use super::level::Level;
use super::steps::step;
use fairground_stdx::DeadlineRow;

impl Level<'_> {
    /// The entity takes its place among those that wait.
    ///
    /// Kernel: fair.c __enqueue_entity(), v4.12–
    #[inline(always)]
    pub(crate) fn enqueue_in_order(&mut self) {
        step("__enqueue_entity");
        match self.profile.pick.is_eevdf() {
            false => self.cfs_rq.timeline.insert(self.se.vruntime, self.id),
            true => self.enqueue_by_deadline(),
        }
    }

    /// The entity leaves its place.
    ///
    /// Kernel: fair.c __dequeue_entity(), v4.12–
    #[inline(always)]
    pub(crate) fn dequeue_from_order(&mut self) {
        let present = match self.profile.pick.is_eevdf() {
            false => self.cfs_rq.timeline.remove(self.se.vruntime, self.id),
            true => self.dequeue_by_deadline(),
        };
        assert!(present, "invariant: a queued entity that does not run is in the order of its queue");
    }

    // The two of EEVDF are not inlined: CFS keeps its registers.
    #[inline(never)]
    fn enqueue_by_deadline(&mut self) {
        let weight = self.profile.avg_weight(self.se.load.weight());
        self.cfs_rq.avg_vruntime_add(self.se.vruntime, weight);
        let (deadline, vruntime, slice) = (self.se.deadline, self.se.vruntime, self.se.slice);
        self.cfs_rq.deadlines.insert(DeadlineRow { deadline, vruntime, slice, item: self.id });
    }

    #[inline(never)]
    fn dequeue_by_deadline(&mut self) -> bool {
        let weight = self.profile.avg_weight(self.se.load.weight());
        self.cfs_rq.avg_vruntime_sub(self.se.vruntime, weight);
        self.cfs_rq.deadlines.remove(self.se.deadline, self.id)
    }
}
