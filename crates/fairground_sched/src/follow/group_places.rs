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
    /// A record shows that `task` runs next, where the core would run another: if they are in different groups where the two part, the
    /// entity above `task` moves forward by the least that makes the record right. False: that would not make it right.
    pub(super) fn learn_group_place(&mut self, task: TaskId) -> bool {
        let path = std::iter::successors(Some(self.tasks[task].se), |&se| self.ses[se].parent);
        let path: Vec<SeId> = path.collect();
        for se in path.into_iter().rev() {
            let Some(picked) = self.pick_of_level(se) else { return false };
            if picked != se {
                // Beside a task it may be the task whose past is not known.
                let between_groups = [se, picked].iter().all(|&se| self.ses[se].my_q.is_some());
                return between_groups && self.move_until_picked(se);
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

    /// Moves `se` forward until it is picked.
    fn move_until_picked(&mut self, se: SeId) -> bool {
        if !self.ses[se].on_rq || self.ses[se].sched_delayed {
            return false;
        }
        let (mut near, mut far) = (0, UNIT_NS);
        self.shift(se, -far);
        while self.pick_of_level(se) != Some(se) {
            self.shift(se, -far);
            (near, far) = (far, far * 2);
            if far > FARTHEST_NS {
                self.shift(se, far);
                return false;
            }
        }
        while far - near > UNIT_NS {
            let middle = near + (far - near) / 2;
            self.shift(se, far - middle);
            if self.pick_of_level(se) == Some(se) {
                far = middle;
            } else {
                self.shift(se, middle - far);
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
