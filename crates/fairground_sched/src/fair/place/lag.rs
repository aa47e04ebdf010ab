//! Lag in EEVDF: an entity that leaves a queue takes along what it was owed, and gets it back where it is queued again.
//!
//! # The problem
//!
//! Virtual time exists per queue. An entity that sleeps, or moves to another CPU, returns to a queue whose virtual time
//! has gone on, or was never comparable. Something has to be kept that means the same there. That is its *lag*: how far
//! its `vruntime` is behind the weighted average of the queue, positive for an entity that is owed service.
//!
//! # What goes wrong without it
//!
//! - An entity that restarts at the average loses what it was owed, and one that took too much is forgiven. Sleeping
//!   for a moment just before the debt is due then gains CPU time.
//! - An unlimited lag lets an entity that was starved once run alone for as long.
//! - Inserting an entity moves the average by its own weight. Without a correction its lag shrinks at every wake-up.
//!
//! # The rule
//!
//! ```text
//! leaving   vlag = average - vruntime                       within +-limit
//!           limit = max(2 * slice, a tick) * 1024 / weight                               own-slice
//!                 = (largest slice on the queue + a tick) * 1024 / weight                largest-slice
//! coming    lag = vlag * (W + w) / W                        the newcomer (w) moves the average of the queue (W)
//!           vruntime = average - lag
//!           deadline = vruntime + request                   INITIAL: half a request
//! ```
//!
//! Lags here are virtual time, so a change of weight scales them: what an entity is owed, weight * vlag, stays.
//!
//! Delayed dequeue makes the debt real. A sleeper with negative lag stays in the queue, not runnable, until its lag is
//! used up or it wakes. It cannot gain by that: with DELAY_ZERO it leaves with a lag of 0 at most.
//!
//! # What changed
//!
//! - v6.6 "sched/fair: Add cfs_rq::avg_vruntime" and "sched/fair: Add lag based placement"
//! - v6.7 "sched/eevdf: Fix vruntime adjustment on reweight", in stable 6.6 too
//! - v6.12 "sched/fair: Implement delayed dequeue" and "sched/fair: Implement DELAY_ZERO"
//! - v6.12 "sched/fair: Avoid re-setting virtual deadline on 'migrations'": PLACE_REL_DEADLINE, the deadline moves
//!   along
//! - v7.2 (profile): the limit goes by the largest slice of the queue, and the lag of a delayed sleeper never falls
//!   below what it was when it went to sleep (seams `lag_limit`, `delayed_lag`)
//!
//! # The parts
//!
//! Up to v6.5 placement is `sleeper_credit.rs`; `mod.rs` chooses between both by the seam `place`. The average and who
//! is eligible are in `../avg_vruntime.rs`, delayed dequeue in `../delay.rs`, requests and deadlines in
//! `../deadline.rs`, weights of queued entities in `../group/reweight.rs`.
//!
//! # Read also
//!
//! docs/model/02-fair-core.md, "EEVDF: averages, lag, eligibility", and 14-v7.2.md;
//! Documentation/scheduler/sched-eevdf.rst; LWN "Completing the EEVDF scheduler" (<https://lwn.net/Articles/969062/>).

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::group::Tell;
use crate::fair::steps::step;
use crate::fair::weight::{LoadWeight, calc_delta_fair};
use crate::fair::{DequeueFlags, EnqueueFlags, SchedEntity};
use crate::profile::Profile;
use crate::seam::{AvgVruntime, DelayedLag, LagLimit, Reweight};
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{CfsRqId, SeId, Vruntime};

impl Sched {
    /// Kernel: fair.c enqueue_entity(), v6.6–
    pub(super) fn enqueue_entity_with_lag(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, flags: EnqueueFlags) {
        let (cfs_rq, idle) = (self.ses[se].cfs_rq, self.se_is_idle(&self.ses[se]));
        let is_curr = self.cfs_rqs[cfs_rq].curr == Some(se);
        if is_curr {
            // It has run since its last account, and is charged for that from its new place.
            self.place_entity_by_lag(cx, cfs_rq, se, flags.has(EnqueueFlags::INITIAL));
        }
        self.update_curr(cx, cfs_rq);
        self.update_group_entity(cx, se);
        if !is_curr {
            self.place_entity_by_lag(cx, cfs_rq, se, flags.has(EnqueueFlags::INITIAL));
        }
        let mut level = self.level(se);
        level.account_entity_enqueue(idle);
        if !is_curr {
            level.enqueue_in_order();
            self.waiting_changed(cfs_rq);
        }
        let level = self.level(se);
        level.se.on_rq = true;
        if level.cfs_rq.nr_running == 1 {
            self.first_on_queue(cx, cfs_rq);
        }
    }

    /// Kernel: fair.c dequeue_entity(), v6.6–
    pub(super) fn dequeue_entity_with_lag(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, flags: DequeueFlags) -> bool {
        let (cfs_rq, idle) = (self.ses[se].cfs_rq, self.se_is_idle(&self.ses[se]));
        self.update_curr(cx, cfs_rq);
        self.clear_buddies(cfs_rq, se);
        if self.delays_dequeue(cfs_rq, se, flags) {
            self.update_load_avg(cx, se, Tell::Nobody);
            self.sample_within_dequeue(cx, se, flags);
            if self.profile.delayed_lag == DelayedLag::Bounded {
                self.update_entity_lag(cx, cfs_rq, se);
            }
            self.set_delayed(cx, se);
            return false;
        }
        self.update_load_avg_at_dequeue(cx, se, flags);
        self.sample_within_dequeue(cx, se, flags);
        self.se_update_runnable(se);
        self.update_entity_lag(cx, cfs_rq, se);
        let relative = self.profile.feats.has(Feat::PLACE_REL_DEADLINE) && !flags.has(DequeueFlags::SLEEP);
        let mut level = self.level(se);
        if level.cfs_rq.curr != Some(se) {
            level.dequeue_from_order();
            self.waiting_changed(cfs_rq);
            level = self.level(se);
        }
        if relative {
            level.se.deadline = level.se.deadline.minus(level.se.vruntime.0);
            level.se.rel_deadline = true;
        }
        level.se.on_rq = false;
        level.account_entity_dequeue(idle);
        self.return_cfs_rq_runtime(cx, cfs_rq);
        self.update_cfs_group(cx, se);
        if !flags.has(DequeueFlags::SAVE) || flags.has(DequeueFlags::MOVE) {
            self.update_min_vruntime(cfs_rq);
        }
        if flags.has(DequeueFlags::DELAYED) {
            self.finish_delayed_dequeue_entity(se);
        }
        true
    }

    /// Stores the lag of `se` in `vlag`. Returns whether that is another one than by its place: it was over the limit, or the entity
    /// is in delayed dequeue.
    ///
    /// Kernel: fair.c update_entity_lag(), v6.6–
    pub(crate) fn update_entity_lag(&mut self, cx: &Ctx<'_, '_>, cfs_rq: CfsRqId, se: SeId) -> bool {
        let average = self.settled_average(cfs_rq);
        let vlag = self.entity_lag(cx, cfs_rq, se, average);
        let entity = &mut self.ses[se];
        let bounded = match self.profile.delayed_lag {
            DelayedLag::Bounded if entity.sched_delayed => {
                let most = if self.profile.feats.has(Feat::DELAY_ZERO) { 0 } else { i64::MAX };
                vlag.max(entity.vlag).min(most)
            }
            DelayedLag::AsItIs | DelayedLag::Bounded => vlag,
        };
        entity.set_vlag(self.profile.protection, bounded);
        bounded != average.since(entity.vruntime)
    }

    /// The lag of `se` to `average`, within its limit.
    ///
    /// Kernel: fair.c entity_lag(), v6.6–
    pub(crate) fn entity_lag(&mut self, cx: &Ctx<'_, '_>, cfs_rq: CfsRqId, se: SeId, average: Vruntime) -> i64 {
        let longest = self.lag_limit(cx, cfs_rq, se);
        let entity = &mut self.ses[se];
        let limit = calc_delta_fair(self.profile.division(), longest, &mut entity.load) as i64;
        average.since(entity.vruntime).clamp(-limit, limit)
    }

    /// The largest lag that `se` may have, as run time in ns.
    ///
    /// Kernel: fair.c update_entity_lag(), entity_lag(), v6.6–
    fn lag_limit(&self, cx: &Ctx<'_, '_>, cfs_rq: CfsRqId, se: SeId) -> u64 {
        let (own, tick) = (self.ses[se].slice, cx.machine.tick.0);
        match self.profile.lag_limit {
            LagLimit::OwnSlice => (2 * own).max(tick),
            LagLimit::LargestSlice => {
                let queue = &self.cfs_rqs[cfs_rq];
                let running = queue.curr.filter(|&se| self.ses[se].on_rq).map_or(0, |se| self.ses[se].slice);
                own.max(running).max(queue.deadlines.max_slice().unwrap_or(0)) + tick
            }
        }
    }

    /// Places `se`, which is not queued, by its lag, and sets its deadline.
    ///
    /// Kernel: fair.c place_entity(), v6.6–
    pub(crate) fn place_entity_by_lag(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId, se: SeId, initial: bool) {
        step("place_entity");
        let (average, weight) = (self.settled_average(cfs_rq), self.averages(cfs_rq).weight());
        let avg_weight = self.profile.avg_weight(self.ses[se].load.weight());
        let how = self.profile.division();
        let feats = self.profile.feats;
        let base_slice = self.tunables.base_slice_ns;
        let entity = &mut self.ses[se];
        if !entity.custom_slice {
            entity.slice = base_slice;
        }
        let keeps_lag = feats.has(Feat::PLACE_LAG) && weight > 0 && entity.vlag != 0;
        let lag = if keeps_lag { inflated(entity.vlag, weight, avg_weight) } else { 0 };
        entity.vruntime = average.minus(lag as u64);
        let zero_follows = keeps_lag && avg_weight > weight && self.profile.avg_vruntime == AvgVruntime::Zero;
        if zero_follows {
            // The newcomer is heavier than the queue, and the average will be near it.
            let queue = &mut self.cfs_rqs[cfs_rq];
            queue.move_zero_of_averages(queue.min_vruntime.minus(lag as u64));
        }
        let who = entity.who();
        if entity.rel_deadline {
            entity.deadline = entity.vruntime.plus(entity.deadline.0);
            entity.rel_deadline = false;
        } else {
            let request = entity.virtual_request(how);
            let halved = initial && feats.has(Feat::PLACE_DEADLINE_INITIAL);
            entity.deadline = entity.vruntime.plus(if halved { request / 2 } else { request });
        }
        cx.decide_who(if keeps_lag { Reason::PlaceLag } else { Reason::PlaceAverage }, who, 0);
    }
}

/// The lag to place with, so that the entity has `vlag` once its own weight has moved the average; truncated.
///
/// ```text
/// vlag * (queue + weight) / queue           queue: the weight of the queue without the entity
/// ```
fn inflated(vlag: i64, queue: u64, weight: u64) -> i64 {
    let scaled = i128::from(vlag) * i128::from(queue + weight) / i128::from(queue);
    scaled.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

impl SchedEntity {
    /// Scales the lag of an entity on no queue to a new weight, so that weight * vlag stays the same, and from v6.13 on what it
    /// has left of its request.
    ///
    /// Kernel: fair.c reweight_entity(), v6.6–
    pub(crate) fn scale_lag(&mut self, profile: &Profile, new: LoadWeight) {
        let (old, new) = (i128::from(self.load.weight()), i128::from(new.weight()));
        self.set_vlag(profile.protection, (i128::from(self.vlag) * old / new) as i64);
        if self.rel_deadline && profile.reweight != Reweight::AroundAverage {
            self.deadline = Vruntime((i128::from(self.deadline.since(Vruntime(0))) * old / new) as u64);
        }
    }
}
