//! EEVDF: the average of virtual time, and who is not ahead of it.
//!
//! ```text
//! key(se)  = se.vruntime - zero                  zero = min_vruntime in mainline up to v6.18
//! S, W     = sum of w * key, sum of w            over all queued entities, the running one included
//! average  = zero + floor(S / W)
//! eligible = lag >= 0  <=>  S >= key * W         exact: no division
//! ```
//!
//! Seam `avg_vruntime`: up to v6.18 zero follows the smallest virtual time and w is a weight of 1024 for nice 0; from v7.2 on zero goes
//! to the average itself whenever that is asked for, so that keys stay small, and w is the full weight. The recorded stable kernel 6.12
//! has the one without the other, and in that of 6.18 zero goes to the average whenever one joins those that wait, or leaves them.
//! Where zero lies shows only where a queue has run empty. Sums are kept in 128 bits, which no queue overflows.
//!
//! The running entity is in no sum, since its virtual time moves; it is added when somebody asks.

use crate::Sched;
use crate::fair::{CfsRq, SchedEntity};
use crate::profile::Profile;
use crate::seam::AvgVruntime;
use fairground_stdx::{CfsRqId, Vruntime};

/// The sums of a queue, the running entity included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Averages {
    origin: Vruntime,
    sum: i128,
    weight: u64,
}

impl Averages {
    /// The average virtual time, rounded down; the floor of virtual time if nothing is queued.
    ///
    /// Kernel: fair.c avg_vruntime(), v6.6–
    #[inline]
    pub(crate) fn avg_vruntime(&self) -> Vruntime {
        if self.weight == 0 {
            return self.origin;
        }
        let key = match (i64::try_from(self.sum), i64::try_from(self.weight)) {
            (Ok(sum), Ok(weight)) => sum.div_euclid(weight),
            _ => self.sum.div_euclid(i128::from(self.weight)) as i64,
        };
        self.origin.plus(key as u64)
    }

    /// Whether an entity at `vruntime` has a lag of 0 or more.
    ///
    /// Kernel: fair.c entity_eligible(), vruntime_eligible(), v6.6–
    #[inline]
    pub(crate) fn eligible(&self, vruntime: Vruntime) -> bool {
        self.sum >= i128::from(vruntime.since(self.origin)) * i128::from(self.weight)
    }

    /// The sum of the weights.
    #[inline]
    pub(crate) fn weight(&self) -> u64 {
        self.weight
    }
}

impl Sched {
    /// The sums of `cfs_rq` with its running entity.
    #[inline]
    pub(crate) fn averages(&self, cfs_rq: CfsRqId) -> Averages {
        let queue = &self.cfs_rqs[cfs_rq];
        queue.averages(&self.profile, queue.curr.map(|se| &self.ses[se]))
    }

    /// The average of `cfs_rq` for a placement. Zero may move to it.
    ///
    /// Kernel: fair.c avg_vruntime(), v6.6–
    pub(crate) fn settled_average(&mut self, cfs_rq: CfsRqId) -> Vruntime {
        let average = self.averages(cfs_rq).avg_vruntime();
        if self.profile.avg_vruntime.settles_when_asked() {
            self.cfs_rqs[cfs_rq].move_zero_of_averages(average);
        }
        average
    }

    /// One has joined those that wait on `cfs_rq`, or has left them: zero may follow. One that has just been put back counts twice,
    /// since it is still the current one.
    ///
    /// Kernel: fair.c __enqueue_entity(), __dequeue_entity() with update_zero_vruntime(), v6.18–v6.18
    #[inline]
    pub(crate) fn waiting_changed(&mut self, cfs_rq: CfsRqId) {
        if self.profile.avg_vruntime == AvgVruntime::ZeroQueued {
            let average = self.averages(cfs_rq).avg_vruntime();
            self.cfs_rqs[cfs_rq].move_zero_of_averages(average);
        }
    }
}

impl Profile {
    /// The weight with which an entity stands in the sums.
    #[inline]
    pub(crate) fn avg_weight(&self, weight: u64) -> u64 {
        self.avg_vruntime.weight(self.scale_load_down, weight)
    }
}

impl CfsRq {
    /// The sums with `curr`, the running entity, if it is still queued.
    #[inline]
    pub(crate) fn averages(&self, profile: &Profile, curr: Option<&SchedEntity>) -> Averages {
        let mut sums = Averages { origin: self.min_vruntime, sum: self.avg_vruntime, weight: self.avg_load };
        if let Some(curr) = curr.filter(|se| se.on_rq) {
            let weight = profile.avg_weight(curr.load.weight());
            sums.sum += i128::from(curr.vruntime.since(self.min_vruntime)) * i128::from(weight);
            sums.weight += weight;
        }
        sums
    }

    /// Adds a waiting entity to the sums.
    ///
    /// Kernel: fair.c avg_vruntime_add(), v6.6–v6.18, sum_w_vruntime_add(), v7.2–
    #[inline]
    pub(super) fn avg_vruntime_add(&mut self, vruntime: Vruntime, weight: u64) {
        self.avg_vruntime += i128::from(vruntime.since(self.min_vruntime)) * i128::from(weight);
        self.avg_load += weight;
    }

    /// Takes an entity out of the sums.
    ///
    /// Kernel: fair.c avg_vruntime_sub(), v6.6–v6.18, sum_w_vruntime_sub(), v7.2–
    #[inline]
    pub(super) fn avg_vruntime_sub(&mut self, vruntime: Vruntime, weight: u64) {
        self.avg_vruntime -= i128::from(vruntime.since(self.min_vruntime)) * i128::from(weight);
        self.avg_load -= weight;
    }

    /// Moves the floor of virtual time up to the smallest of those that wait and `curr`, the virtual time
    /// of the running entity if that is still queued. The sums are relative to the floor.
    ///
    /// Kernel: fair.c update_min_vruntime(), v6.6–v6.18
    #[inline]
    pub(super) fn raise_zero_of_averages(&mut self, curr: Option<Vruntime>) {
        let candidate = match (curr, self.deadlines.min_vruntime()) {
            (Some(curr), Some(waiting)) => curr.min(waiting),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return,
        };
        if candidate.since(self.min_vruntime) > 0 {
            self.move_zero_of_averages(candidate);
        }
    }

    /// Moves the point that the sums are relative to.
    ///
    /// Kernel: fair.c update_zero_vruntime(), avg_vruntime_update() before, v6.6–
    #[inline]
    pub(super) fn move_zero_of_averages(&mut self, to: Vruntime) {
        self.avg_vruntime -= i128::from(to.since(self.min_vruntime)) * i128::from(self.avg_load);
        self.min_vruntime = to;
    }
}
