//! Seam `protection`: for how long a picked entity is safe from those with an earlier deadline.
//!
//! ```text
//! deadline-mark   vprot = deadline when picked; broken as soon as they differ
//! vprot           vprot = min(deadline, vruntime + smallest slice * 1024 / weight) when picked;
//!                 over as soon as vruntime reaches it
//! ```
//!
//! Contract: set when an entity is put on the CPU, and only then; picked again while it runs, an entity
//! keeps what is left.

use super::level::Level;
use crate::Sched;
use crate::fair::SchedEntity;
use crate::fair::weight::{Division, calc_delta_fair};
use crate::seam::Protection;
use fairground_model::features::{Feat, FeatSet};
use fairground_stdx::{CfsRqId, SeId, Vruntime};

impl SchedEntity {
    /// Whether its deadline is still the one that it was picked with (the kernel keeps the mark in `vlag`).
    ///
    /// Kernel: fair.c did_preempt_short(), pick_eevdf(), v6.6–v6.16
    #[inline]
    pub(super) fn has_deadline_mark(&self) -> bool {
        self.vprot == self.deadline
    }

    /// Whether it has not reached the end of its protection.
    ///
    /// Kernel: fair.c protect_slice(), v6.17–
    #[inline]
    pub(in crate::fair) fn has_protection_left(&self) -> bool {
        self.vprot.since(self.vruntime) > 0
    }

    /// Nothing protects it any more.
    ///
    /// Kernel: fair.c cancel_protect_slice(), v6.15– (check_preempt_wakeup_fair() before)
    pub(super) fn cancel_protection(&mut self, rule: Protection) {
        match rule {
            Protection::DeadlineMark if self.has_deadline_mark() => self.vprot = self.deadline.plus(1),
            Protection::Vprot | Protection::VprotInLag if self.has_protection_left() => self.set_vprot(rule, self.vruntime),
            Protection::None | Protection::DeadlineMark | Protection::Vprot | Protection::VprotInLag => {}
        }
    }

    /// Its protection ends at the latest when it has run `slice` from here.
    fn protect_no_longer_than(&mut self, rule: Protection, how: Division, slice: u64) {
        let end = self.vruntime.plus(calc_delta_fair(how, slice, &mut self.load));
        self.set_vprot(rule, self.vprot.min(end));
    }

    /// Stores the end of its protection; where the kernel has one field for both it is the lag, too.
    ///
    /// Kernel: sched.h struct sched_entity, a union of vlag and vprot, v6.17–v6.18
    pub(super) fn set_vprot(&mut self, rule: Protection, vprot: Vruntime) {
        self.vprot = vprot;
        if rule == Protection::VprotInLag {
            self.vlag = vprot.0 as i64;
        }
    }

    /// Stores the lag of one that is queued and gets another weight. Where the mark is a deadline that is an interim result, and the mark stays.
    ///
    /// Kernel: fair.c reweight_eevdf(), v6.6–
    pub(super) fn set_interim_lag(&mut self, rule: Protection, vlag: i64) {
        match rule {
            Protection::DeadlineMark => self.vlag = vlag,
            _ => self.set_vlag(rule, vlag),
        }
    }

    /// Stores its lag, likewise. A mark that is a deadline lies there, too, so who leaves its queue has none: it may come back before it is
    /// picked, with the same deadline.
    ///
    /// Kernel: fair.c update_entity_lag(), with sched.h struct sched_entity, where both are vlag, v6.6–v6.18
    pub(super) fn set_vlag(&mut self, rule: Protection, vlag: i64) {
        self.vlag = vlag;
        if matches!(rule, Protection::DeadlineMark | Protection::VprotInLag) {
            self.vprot = Vruntime(vlag as u64);
        }
    }
}

impl Protection {
    /// Whether the running entity `se` keeps the CPU at a pick without regard to deadlines.
    #[inline]
    pub(super) fn holds(self, feats: FeatSet, se: &SchedEntity) -> bool {
        match self {
            Protection::None => false,
            Protection::DeadlineMark => feats.has(Feat::RUN_TO_PARITY) && se.has_deadline_mark(),
            Protection::Vprot | Protection::VprotInLag => se.has_protection_left(),
        }
    }
}

impl Level<'_> {
    /// The entity, which is not in the order any more, gets the CPU.
    ///
    /// Kernel: fair.c set_protect_slice(), v6.15– (set_next_entity() before)
    #[inline]
    pub(super) fn set_protection(&mut self) {
        let rule = self.profile.protection;
        self.se.set_vprot(rule, self.se.deadline);
        if !rule.is_vprot() {
            return;
        }
        let limit = match self.profile.feats.has(Feat::RUN_TO_PARITY) {
            true => self.cfs_rq.deadlines.min_slice().unwrap_or(u64::MAX),
            false => self.tunables.normalized_base_slice_ns,
        };
        if limit < self.se.slice {
            self.se.protect_no_longer_than(rule, self.profile.division(), limit);
        }
    }
}

impl Sched {
    /// The running entity `curr` is protected for no longer than the smallest request of its queue from here.
    ///
    /// Kernel: fair.c update_protect_slice(), v6.17–
    pub(super) fn shrink_protection(&mut self, cfs_rq: CfsRqId, curr: SeId) {
        let (rule, how) = (self.profile.protection, self.profile.division());
        let waiting = self.cfs_rqs[cfs_rq].deadlines.min_slice().unwrap_or(u64::MAX);
        let entity = &mut self.ses[curr];
        entity.protect_no_longer_than(rule, how, waiting.min(entity.slice));
    }
}
