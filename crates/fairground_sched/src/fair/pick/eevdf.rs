//! EEVDF: of all entities that have not had more than their share, the one with the earliest deadline.

use super::Picked;
use crate::Sched;
use crate::seam::Pick;
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{CfsRqId, DeadlineRow, SeId};

/// Whether a pick respects the protection of the running entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Respect {
    /// It does.
    Protection,
    /// Only deadlines count.
    DeadlinesOnly,
}

impl Sched {
    /// Kernel: fair.c pick_next_entity(), v6.6–v6.18
    pub(crate) fn pick_buddy_or_eevdf(&self, cfs_rq: CfsRqId) -> Option<Picked> {
        let honours_buddy = match self.profile.pick {
            Pick::EligibleByVruntime => Feat::NEXT_BUDDY,
            Pick::Leftmost | Pick::EligibleByDeadline => Feat::PICK_BUDDY,
        };
        if self.profile.feats.has(honours_buddy)
            && let Some(buddy) = self.cfs_rqs[cfs_rq].next
            && self.averages(cfs_rq).eligible(self.ses[buddy].vruntime)
        {
            return Some(Picked::alone(buddy, Reason::PickEligibleBuddy));
        }
        self.pick_eevdf(cfs_rq, Respect::Protection)
    }

    /// Kernel: fair.c pick_eevdf(), v6.6–
    pub(crate) fn pick_eevdf(&self, cfs_rq: CfsRqId, respect: Respect) -> Option<Picked> {
        let queue = &self.cfs_rqs[cfs_rq];
        let running = queue.curr.filter(|&se| self.ses[se].on_rq);
        if queue.nr_running == 1 {
            let only = running.or_else(|| queue.deadlines.first().map(|row| row.item))?;
            return Some(Picked::alone(only, Reason::PickOnly));
        }
        let averages = self.averages(cfs_rq);
        let curr = running.filter(|&se| averages.eligible(self.ses[se].vruntime));
        if let Some(se) = curr
            && respect == Respect::Protection
            && self.profile.protection.holds(self.profile.feats, &self.ses[se])
        {
            return Some(Picked::alone(se, Reason::PickProtected));
        }
        let best = queue.deadlines.first_where(|vruntime| averages.eligible(vruntime));
        match (curr, best) {
            (Some(curr), Some(best)) if self.keeps_against(curr, best) => {
                Some(Picked { se: curr, reason: Reason::PickCurrDeadline, against: Some(best.item) })
            }
            (_, Some(best)) => Some(Picked::alone(self.first_of_equals(cfs_rq, best), Reason::PickEligibleDeadline)),
            (Some(curr), None) => Some(Picked::alone(curr, Reason::PickEligibleDeadline)),
            (None, None) => None,
        }
    }

    /// Whether the running entity, which is eligible, goes before the best that waits.
    fn keeps_against(&self, curr: SeId, best: &DeadlineRow<SeId>) -> bool {
        let lead = best.deadline.since(self.ses[curr].deadline);
        match self.profile.pick {
            Pick::EligibleByVruntime => lead >= 0,
            Pick::Leftmost | Pick::EligibleByDeadline => lead > 0,
        }
    }

    /// Of entities with the deadline of `best`, the first eligible one, the one that the kernel's search comes upon first.
    fn first_of_equals(&self, cfs_rq: CfsRqId, best: &DeadlineRow<SeId>) -> SeId {
        match self.profile.pick {
            Pick::EligibleByVruntime => {
                self.cfs_rqs[cfs_rq].deadlines.smallest_at(best.deadline).map_or(best.item, |row| row.item)
            }
            Pick::Leftmost | Pick::EligibleByDeadline => best.item,
        }
    }
}
