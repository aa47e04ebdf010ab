//! EEVDF: requests and their deadlines, and when the running entity gives way.
//!
//! ```text
//! deadline = vruntime + slice * 1024 / weight       renewed as soon as vruntime reaches it
//! ```

use super::level::Level;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::SchedEntity;
use crate::fair::weight::{Division, calc_delta_fair};
use crate::rq::Urgency;
use crate::seam::Protection;
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::SeId;

impl SchedEntity {
    /// Its request in virtual time.
    #[inline]
    pub(crate) fn virtual_request(&mut self, how: Division) -> u64 {
        calc_delta_fair(how, self.slice, &mut self.load)
    }
}

impl Level<'_> {
    /// Gives the running entity a new request if it has run the old one; true then.
    ///
    /// Kernel: fair.c update_deadline(), v6.6–
    #[inline]
    pub(super) fn update_deadline(&mut self) -> bool {
        if self.se.vruntime.since(self.se.deadline) < 0 {
            return false;
        }
        if !self.se.custom_slice {
            self.se.slice = self.tunables.base_slice_ns;
        }
        self.se.deadline = self.se.vruntime.plus(self.se.virtual_request(self.profile.division()));
        true
    }

    /// Why the running entity gives way, after an account of its run time; `renewed`: it got
    /// a new request. An entity that is alone goes on.
    ///
    /// Kernel: fair.c update_curr(), update_deadline() before v6.12, did_preempt_short() v6.12–v6.16, v6.6–
    #[inline]
    pub(super) fn turn_is_over(&self, renewed: bool) -> Option<Reason> {
        if self.cfs_rq.nr_running == 1 {
            return None;
        }
        if renewed {
            return Some(Reason::TickDeadlinePassed);
        }
        match self.profile.protection {
            Protection::Vprot | Protection::VprotInLag => (!self.se.has_protection_left()).then_some(Reason::TickProtectionOver),
            Protection::DeadlineMark => {
                let unsafe_now = self.profile.feats.has(Feat::PREEMPT_SHORT) && !self.se.has_deadline_mark();
                (unsafe_now && !self.is_eligible()).then_some(Reason::TickNotEligible)
            }
            Protection::None => None,
        }
    }

    /// Why the running entity goes on.
    pub(super) fn turn_goes_on(&self) -> Reason {
        let protected = match self.profile.protection {
            Protection::Vprot | Protection::VprotInLag => self.se.has_protection_left(),
            Protection::DeadlineMark | Protection::None => self.se.has_deadline_mark(),
        };
        if self.cfs_rq.nr_running == 1 {
            Reason::TickAlone
        } else if protected {
            Reason::TickProtected
        } else {
            Reason::TickEligible
        }
    }

    /// Whether the running entity is eligible.
    #[inline]
    fn is_eligible(&self) -> bool {
        self.cfs_rq.averages(self.profile, Some(self.se)).eligible(self.se.vruntime)
    }
}

impl Sched {
    /// The running entity `se` gives way: its CPU shall pick again.
    ///
    /// Kernel: fair.c update_curr(), v6.6–
    #[cold]
    pub(crate) fn end_turn(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, reason: Reason) {
        let cfs_rq = self.ses[se].cfs_rq;
        self.resched_curr_as(cx, self.cfs_rqs[cfs_rq].cpu, Urgency::Lazy);
        self.clear_buddies(cfs_rq, se);
        cx.decide_who(reason, self.ses[se].who(), 0);
    }
}
