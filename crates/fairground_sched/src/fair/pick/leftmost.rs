//! CFS: the smallest virtual time, with buddies.

use super::Picked;
use crate::Sched;
use crate::fair::Lead;
use crate::seam::BuddyClearing;
use fairground_model::Reason;
use fairground_stdx::{CfsRqId, SeId, Vruntime};

impl Sched {
    /// Kernel: fair.c pick_next_entity(), v4.12–v6.5
    pub(super) fn pick_leftmost(&mut self, cfs_rq: CfsRqId, curr: Option<SeId>) -> Option<Picked> {
        let queue = &self.cfs_rqs[cfs_rq];
        let first = queue.timeline.first();
        let curr_row = curr.map(|se| (self.ses[se].vruntime, se));
        let (left, mut reason, mut against) = match (first, curr_row) {
            (Some((_, se)), None) if queue.nr_running == 1 => (se, Reason::PickOnly, None),
            (None, Some((_, se))) => (se, Reason::PickOnly, None),
            (Some(waiting), Some(running)) if running.0.since(waiting.0) < 0 => {
                (running.1, Reason::PickCurrEarlier, Some(waiting.1))
            }
            (Some((_, se)), _) => (se, Reason::PickLeftmost, None),
            (None, None) => return None,
        };
        let (mut se, skip, last, next) = (left, queue.skip, queue.last, queue.next);
        if skip == Some(left)
            && let Some(second) = self.second_choice(cfs_rq, left, first, curr_row)
            && self.wakeup_preempt_entity(second, left) != Lead::Enough
        {
            (se, reason, against) = (second, Reason::PickSkipped, Some(left));
        }
        // Last is asked first and next second, so that next wins.
        for (buddy, why) in [(last, Reason::PickLastBuddy), (next, Reason::PickNextBuddy)] {
            if let Some(buddy) = buddy
                && self.wakeup_preempt_entity(buddy, left) != Lead::Enough
            {
                if buddy != se {
                    (reason, against) = (why, Some(left));
                }
                se = buddy;
            }
        }
        if self.profile.buddy_clearing == BuddyClearing::AtPick {
            self.clear_buddies(cfs_rq, se);
        }
        Some(Picked { se, reason, against })
    }

    /// The one to take instead of `left`, which yielded.
    fn second_choice(
        &self,
        cfs_rq: CfsRqId,
        left: SeId,
        first: Option<(Vruntime, SeId)>,
        curr: Option<(Vruntime, SeId)>,
    ) -> Option<SeId> {
        if curr.is_some_and(|running| running.1 == left) {
            return first.map(|row| row.1);
        }
        match (self.cfs_rqs[cfs_rq].timeline.second(), curr) {
            (Some(next), Some(running)) if running.0.since(next.0) < 0 => Some(running.1),
            (None, Some(running)) => Some(running.1),
            (next, _) => next.map(|row| row.1),
        }
    }
}
