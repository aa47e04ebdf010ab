//! Seam `place`: where in virtual time an entity starts when it comes onto a queue.
//!
//! Contract: a dequeue returns false if the entity stays queued although it sleeps; otherwise both keep
//! what the entity needs to be placed again, on this or on another queue.

mod lag;
mod sleeper_credit;

use super::{DequeueFlags, EnqueueFlags};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::Place;
use fairground_stdx::{CfsRqId, SeId};

/// Why an entity is placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// It is new.
    Initial,
    /// It woke up.
    WakeUp,
}

impl Sched {
    /// Kernel: fair.c enqueue_entity(), v4.12–
    #[inline]
    pub(super) fn enqueue_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, flags: EnqueueFlags) {
        match self.profile.place {
            Place::SleeperCredit => self.enqueue_entity_with_credit(cx, se, flags),
            Place::Lag => self.enqueue_entity_with_lag(cx, se, flags),
        }
    }

    /// A queue got its first entity: it has load from now on, and a group with a quota must have some of that.
    #[inline]
    fn first_on_queue(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId) {
        if self.cfs_bandwidth_used() {
            self.check_enqueue_throttle(cx, cfs_rq);
            self.start_throttled_clock(cfs_rq);
            self.resume_pelt_of_first(cfs_rq);
        }
        self.add_leaf_unless_stopped(cfs_rq);
    }

    /// Kernel: fair.c dequeue_entity(), v4.12–
    #[inline]
    pub(super) fn dequeue_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, flags: DequeueFlags) -> bool {
        let left = match self.profile.place {
            Place::SleeperCredit => {
                self.dequeue_entity_with_credit(cx, se, flags);
                true
            }
            Place::Lag => self.dequeue_entity_with_lag(cx, se, flags),
        };
        if self.cfs_bandwidth_used() {
            self.stop_pelt_after_last(self.ses[se].cfs_rq);
        }
        left
    }
}
