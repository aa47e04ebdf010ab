//! Where the entities of groups stand in virtual time is in no record: only the picks between them tell.
//!
//! What moves them, their weights, follows from loads on all CPUs, of which a part lies before the record and a part is aged at moments
//! that no record has. A difference of a few percent over a tenth of a second moves a group by milliseconds, for good. So a pick that
//! differs, and was counted, tells where the group must have stood.

use crate::Sched;
use fairground_stdx::{SeId, TaskId, Vruntime};

/// How exactly a place is found, and how far from the old one at most; virtual ns.
const UNIT_NS: i64 = 1 << 10;
const FARTHEST_NS: i64 = 1 << 32;

impl Sched {
    /// A record shows that `task` runs next, where the core would run another: if a group stands where the two part, its entity is
    /// moved by the least that makes the record right. False: no move of a group would.
    pub(super) fn learn_group_place(&mut self, task: TaskId) -> bool {
        let path = std::iter::successors(Some(self.tasks[task].se), |&se| self.ses[se].parent);
        let path: Vec<SeId> = path.collect();
        for se in path.into_iter().rev() {
            let Some(picked) = self.pick_of_level(se) else { return false };
            if picked != se {
                let is_group = |se: SeId| self.ses[se].my_q.is_some();
                return match (is_group(se), is_group(picked)) {
                    (true, _) => self.move_until_picked(se, se, -1),
                    (false, true) => self.move_until_picked(se, picked, 1),
                    (false, false) => false,
                };
            }
        }
        false
    }

    /// Whom the core picks on the queue of `se`.
    fn pick_of_level(&mut self, se: SeId) -> Option<SeId> {
        let queue = self.ses[se].cfs_rq;
        let curr = self.cfs_rqs[queue].curr.filter(|&curr| self.ses[curr].on_rq);
        self.pick_next_entity(queue, curr).map(|picked| picked.se)
    }

    /// Moves `moved` in the direction `sign` until `wanted`, on the same queue, is picked there.
    fn move_until_picked(&mut self, wanted: SeId, moved: SeId, sign: i64) -> bool {
        if !self.ses[moved].on_rq || self.ses[moved].sched_delayed {
            return false;
        }
        let (mut near, mut far) = (0, UNIT_NS);
        self.shift(moved, sign * far);
        while self.pick_of_level(wanted) != Some(wanted) {
            self.shift(moved, sign * far);
            (near, far) = (far, far * 2);
            if far > FARTHEST_NS {
                self.shift(moved, -sign * far);
                return false;
            }
        }
        while far - near > UNIT_NS {
            let middle = near + (far - near) / 2;
            self.shift(moved, -sign * (far - middle));
            if self.pick_of_level(wanted) == Some(wanted) {
                far = middle;
            } else {
                self.shift(moved, sign * (far - middle));
                near = middle;
            }
        }
        true
    }

    /// Moves a queued entity in virtual time, with its request.
    fn shift(&mut self, se: SeId, by: i64) {
        let waits = self.cfs_rqs[self.ses[se].cfs_rq].curr != Some(se);
        let mut level = self.level(se);
        if waits {
            level.dequeue_from_order();
        }
        for place in [&mut level.se.vruntime, &mut level.se.deadline, &mut level.se.vprot] {
            *place = Vruntime(place.0.wrapping_add_signed(by));
        }
        if waits {
            level.enqueue_in_order();
        }
    }
}
