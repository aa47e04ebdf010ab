//! EEVDF: the average of virtual time, and who is not ahead of it.
//!
//! ```text
//! key(se)  = se.vruntime - min_vruntime
//! S, W     = sum of w * key, sum of w            over all queued entities, the running one included
//! average  = min_vruntime + floor(S / W)
//! eligible = lag >= 0  <=>  S >= key * W         exact: no division
//! ```
//!
//! The running entity is in no sum, since its virtual time moves; it is added when somebody asks.

use crate::Sched;
use crate::fair::weight::ScaleLoadDown;
use crate::fair::{CfsRq, SchedEntity};
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
    /// Kernel: fair.c avg_vruntime(), v6.6–v6.18
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

    /// Whether an entity at `vruntime` has not had more than its share.
    ///
    /// Kernel: fair.c vruntime_eligible(), v6.6–v6.18
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
        queue.averages(self.profile.scale_load_down, queue.curr.map(|se| &self.ses[se]))
    }
}

impl CfsRq {
    /// The sums with `curr`, the running entity, if it is still queued.
    #[inline]
    pub(crate) fn averages(&self, down: ScaleLoadDown, curr: Option<&SchedEntity>) -> Averages {
        let mut sums = Averages { origin: self.min_vruntime, sum: self.avg_vruntime, weight: self.avg_load };
        if let Some(curr) = curr.filter(|se| se.on_rq) {
            let weight = down.apply(curr.load.weight());
            sums.sum += i128::from(curr.vruntime.since(self.min_vruntime)) * i128::from(weight);
            sums.weight += weight;
        }
        sums
    }

    /// An entity joins those that wait.
    ///
    /// Kernel: fair.c avg_vruntime_add(), v6.6–v6.18
    #[inline]
    pub(super) fn avg_vruntime_add(&mut self, vruntime: Vruntime, weight: u64) {
        self.avg_vruntime += i128::from(vruntime.since(self.min_vruntime)) * i128::from(weight);
        self.avg_load += weight;
    }

    /// An entity leaves those that wait.
    ///
    /// Kernel: fair.c avg_vruntime_sub(), v6.6–v6.18
    #[inline]
    pub(super) fn avg_vruntime_sub(&mut self, vruntime: Vruntime, weight: u64) {
        self.avg_vruntime -= i128::from(vruntime.since(self.min_vruntime)) * i128::from(weight);
        self.avg_load -= weight;
    }

    /// Moves the floor of virtual time up to the smallest of those that wait and `curr`, the virtual time
    /// of the running entity if that is still queued. The sums are relative to the floor.
    ///
    /// Kernel: fair.c update_min_vruntime(), avg_vruntime_update(), v6.6–v6.18
    #[inline]
    pub(super) fn raise_zero_of_averages(&mut self, curr: Option<Vruntime>) {
        let candidate = match (curr, self.deadlines.min_vruntime()) {
            (Some(curr), Some(waiting)) => curr.min(waiting),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return,
        };
        let up = candidate.since(self.min_vruntime);
        if up > 0 {
            self.avg_vruntime -= i128::from(up) * i128::from(self.avg_load);
            self.min_vruntime = candidate;
        }
    }
}
