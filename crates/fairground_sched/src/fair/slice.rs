//! How long an entity may run before the tick takes the CPU away.
//!
//! ```text
//! period(nr) = latency                      if nr <= latency / min_granularity
//!            = nr * min_granularity         else
//! slice      = period * weight / sum of weights, at each level up to the root
//! ```

use crate::Sched;
use crate::fair::weight::{calc_delta, calc_delta_fair};
use crate::features::Feat;
use crate::seam::IdleEntity;
use fairground_stdx::{CfsRqId, SeId};

impl Sched {
    /// Kernel: fair.c __sched_period(), v4.12–v6.5
    pub(crate) fn sched_period(&self, nr_running: u32) -> u64 {
        let tunables = &self.tunables;
        if u64::from(nr_running) > tunables.nr_latency {
            u64::from(nr_running) * tunables.min_granularity_ns
        } else {
            tunables.latency_ns
        }
    }

    /// The wall time that `se` may run, in ns.
    ///
    /// Kernel: fair.c sched_slice(), v4.12–v6.5
    pub(crate) fn sched_slice(&mut self, cfs_rq: CfsRqId, se: SeId) -> u64 {
        let (down, alt_period) = (self.profile.scale_load_down, self.profile.feats.has(Feat::ALT_PERIOD));
        let queue = &self.cfs_rqs[cfs_rq];
        let queued = match alt_period {
            true => self.cfs_rqs[self.rqs[queue.cpu].cfs].h_nr_running,
            false => queue.nr_running,
        };
        let mut level = &self.ses[se];
        let mut slice = self.sched_period(queued + u32::from(!level.on_rq));
        loop {
            let weight = level.load.weight();
            let load = &mut self.cfs_rqs[level.cfs_rq].load;
            slice = if level.on_rq {
                calc_delta(down, slice, weight, load)
            } else {
                let mut with_it = *load;
                with_it.add(weight);
                calc_delta(down, slice, weight, &mut with_it)
            };
            match level.parent {
                Some(parent) => level = &self.ses[parent],
                None => break,
            }
        }
        if self.profile.feats.has(Feat::BASE_SLICE) {
            slice = slice.max(self.base_slice_floor(cfs_rq, se));
        }
        slice
    }

    /// Kernel: fair.c sched_slice(), v5.13–v6.5; the idle floor from v5.16
    fn base_slice_floor(&self, cfs_rq: CfsRqId, se: SeId) -> u64 {
        let queue = &self.cfs_rqs[cfs_rq];
        let beside_others = queue.nr_running != queue.idle_nr_running;
        match self.profile.idle_entity {
            IdleEntity::EntityAware if beside_others && self.se_is_idle(se) => self.tunables.idle_min_granularity_ns,
            _ => self.tunables.min_granularity_ns,
        }
    }

    /// The slice in virtual time: what a new task is put behind.
    ///
    /// Kernel: fair.c sched_vslice(), v4.12–v6.5
    pub(crate) fn sched_vslice(&mut self, cfs_rq: CfsRqId, se: SeId) -> u64 {
        let slice = self.sched_slice(cfs_rq, se);
        calc_delta_fair(self.profile.scale_load_down, slice, &mut self.ses[se].load)
    }
}
