//! Seam `reweight`: the entity of a group changes its weight where it stands.
//!
//! ```text
//! keeps-vruntime   virtual time stays                                                             (CFS)
//! around-average   vruntime = V - (V - vruntime) * old / new                 V = the average before the change,
//!                  deadline = V + (deadline - V) * old / new                 the lag within its limit
//! with-protection  likewise, and vprot = V + (vprot - V) * old / new         of the current entity, if it is protected still
//! places-again     vlag * old / new, what is left of the request * old / new, and placed by them
//! ```
//!
//! In all of them the averages above follow the weight, but for family A, which lets them age.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::SchedEntity;
use crate::fair::weight::LoadWeight;
use crate::seam::{GroupLoad, Reweight};
use fairground_stdx::{CfsRqId, SeId, Vruntime};

impl Sched {
    /// Gives the entity of a group its weight and, for families B and C, its second weight, both times 1024.
    ///
    /// Kernel: fair.c reweight_entity(), v4.12–
    pub(super) fn reweight_group(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, weight: u64, runnable: u64) {
        let (cfs_rq, on_rq) = (self.ses[se].cfs_rq, self.ses[se].on_rq);
        self.group_stats.cpu_changes(self.cfs_rqs[cfs_rq].cpu);
        if !on_rq {
            if self.profile.reweight != Reweight::KeepsVruntime {
                self.ses[se].scale_lag(&self.profile, LoadWeight::new(weight));
            }
            return self.set_group_weight(se, weight, runnable);
        }
        let is_curr = self.cfs_rqs[cfs_rq].curr == Some(se);
        if is_curr || self.profile.reweight != Reweight::KeepsVruntime {
            self.update_curr(cx, cfs_rq);
        }
        match self.profile.reweight {
            Reweight::KeepsVruntime => self.set_queued_weight(se, weight, runnable),
            Reweight::AroundAverage | Reweight::WithProtection => {
                let average = self.settled_average(cfs_rq);
                let vlag = self.entity_lag(cx, cfs_rq, se, average);
                self.ses[se].set_interim_lag(self.profile.protection, vlag);
                if !is_curr {
                    self.level(se).dequeue_from_order();
                    self.waiting_changed(cfs_rq);
                }
                let scales_protection = is_curr && self.profile.reweight == Reweight::WithProtection;
                self.ses[se].scale_around(average, weight, scales_protection);
                self.set_queued_weight(se, weight, runnable);
                self.put_back_reweighted(cfs_rq, se, is_curr);
            }
            Reweight::PlacesAgain => {
                self.update_entity_lag(cx, cfs_rq, se);
                // The order is by deadline: out of it before that becomes relative.
                if !is_curr {
                    self.level(se).dequeue_from_order();
                    self.waiting_changed(cfs_rq);
                }
                let entity = &mut self.ses[se];
                entity.deadline = entity.deadline.minus(entity.vruntime.0);
                entity.rel_deadline = true;
                self.ses[se].scale_lag(&self.profile, LoadWeight::new(weight));
                self.set_queued_weight(se, weight, runnable);
                self.place_entity_by_lag(cx, cfs_rq, se, false);
                self.put_back_reweighted(cfs_rq, se, is_curr);
            }
        }
    }

    fn put_back_reweighted(&mut self, cfs_rq: CfsRqId, se: SeId, is_curr: bool) {
        if !is_curr {
            self.level(se).enqueue_in_order();
            self.waiting_changed(cfs_rq);
        }
        self.update_min_vruntime(cfs_rq);
    }

    /// The weight of an entity that its queue counts.
    fn set_queued_weight(&mut self, se: SeId, weight: u64, runnable: u64) {
        let mut level = self.level(se);
        level.cfs_rq.load.sub(level.se.load.weight());
        if level.profile.group_load == GroupLoad::Reweighted {
            level.dequeue_runnable_load_avg();
        }
        self.set_group_weight(se, weight, runnable);
        let mut level = self.level(se);
        level.cfs_rq.load.add(weight);
        if level.profile.group_load == GroupLoad::Reweighted {
            level.enqueue_runnable_load_avg();
        }
    }

    fn set_group_weight(&mut self, se: SeId, weight: u64, runnable: u64) {
        let down = self.profile.scale_load_down;
        let entity = &mut self.ses[se];
        let (old, new) = (down.apply(entity.load.weight()), down.apply(weight));
        if weight != entity.load.weight() {
            entity.load = LoadWeight::new(weight);
        }
        if self.profile.group_load == GroupLoad::Reweighted {
            entity.runnable_weight = runnable;
        }
        let (cfs_avg, avg) = (&mut self.pelt_cfs[entity.cfs_rq], &mut self.pelt_se[se]);
        self.profile.pelt.reweight(cfs_avg, avg, old, new, down.apply(runnable));
    }
}

impl SchedEntity {
    /// Moves a queued entity in virtual time so that what it is owed stays the same with `weight`. Its lag is in `vlag`.
    ///
    /// Kernel: fair.c reweight_eevdf(), v6.6 stable–v6.12; rescale_entity(), v7.2–
    fn scale_around(&mut self, average: Vruntime, weight: u64, scales_protection: bool) {
        let (old, new) = (i128::from(self.load.weight()), i128::from(weight));
        let scaled = |distance: i64| (i128::from(distance) * old / new) as u64;
        if scales_protection && self.has_protection_left() {
            self.vprot = average.plus(scaled(self.vprot.since(average)));
        }
        if average != self.vruntime {
            self.vruntime = average.minus(scaled(self.vlag));
        }
        self.deadline = average.plus(scaled(self.deadline.since(average)));
    }
}
