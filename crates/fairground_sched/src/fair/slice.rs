//! How long an entity may run before the tick takes the CPU away.
//!
//! ```text
//! period(nr) = latency                      if nr <= latency / min_granularity
//!            = nr * min_granularity         else
//! slice      = period * weight / sum of weights, at each level up to the root
//! ```

use crate::Sched;
use crate::fair::level::Level;
use crate::fair::tunables::EffectiveTunables;
use crate::fair::weight::{Division, LoadWeight, calc_delta, calc_delta_fair};
use crate::fair::{CfsRq, SchedEntity};
use crate::seam::IdleEntity;
use fairground_model::features::Feat;
use fairground_stdx::{CfsRqId, Ns, SeId, TaskId};

impl Sched {
    /// Kernel: fair.c __sched_period(), v4.12–v6.5
    #[inline]
    pub(crate) fn sched_period(&self, nr_running: u32) -> u64 {
        period_of(&self.tunables, nr_running)
    }

    /// The wall time that `se` may run, in ns.
    ///
    /// Kernel: fair.c sched_slice(), v4.12–v6.5
    #[inline]
    pub(crate) fn sched_slice(&mut self, se: SeId) -> u64 {
        self.sched_slice_beside(self.ses[se].cfs_rq, se)
    }

    /// The same if those on `beside` share the period. It is another queue than that of `se` as a task of another group forks.
    #[inline]
    fn sched_slice_beside(&mut self, beside: CfsRqId, se: SeId) -> u64 {
        let (how, mut entity) = (self.profile.division(), &self.ses[se]);
        let (mut slice, floor) = self.period_and_floor(&self.cfs_rqs[beside], entity);
        loop {
            slice = share_of(how, slice, entity, &mut self.cfs_rqs[entity.cfs_rq].load);
            match entity.parent {
                Some(parent) => entity = &self.ses[parent],
                None => return slice.max(floor),
            }
        }
    }

    /// How long a task may run at a stretch while others wait: its slice (CFS) or its request (EEVDF).
    pub fn sched_slice_of(&self, task: TaskId) -> Ns {
        self.sched_slice_of_entity(self.se(task))
    }

    /// The same for an entity, be it a task's or a group's: what a tick compares with on its queue.
    pub fn sched_slice_of_entity(&self, entity: &SchedEntity) -> Ns {
        let how = self.profile.division();
        if self.profile.pick.is_eevdf() {
            return Ns(entity.slice);
        }
        let (mut slice, floor) = self.period_and_floor(&self.cfs_rqs[entity.cfs_rq], entity);
        let mut level = Some(entity);
        while let Some(entity) = level {
            // A copy: what looks must not leave the inverse of the weight behind.
            let mut load = self.cfs_rqs[entity.cfs_rq].load;
            slice = share_of(how, slice, entity, &mut load);
            level = entity.parent.map(|parent| &self.ses[parent]);
        }
        Ns(slice.max(floor))
    }

    /// The time that all tasks of the CPU share, and the least that an entity gets of it beside those on `queue`.
    #[inline]
    fn period_and_floor(&self, queue: &CfsRq, entity: &SchedEntity) -> (u64, u64) {
        let feats = self.profile.feats;
        let queued = match queue.se {
            // Without a group the queue is the root queue, which counts all tasks of the CPU.
            None if feats.has(Feat::ALT_PERIOD) => queue.h_nr_running,
            Some(_) if feats.has(Feat::ALT_PERIOD) => self.cfs_rqs[self.rqs[queue.cpu].cfs].h_nr_running,
            _ => queue.nr_running,
        };
        let floor = if feats.has(Feat::BASE_SLICE) { self.base_slice_floor(queue, entity) } else { 0 };
        (self.sched_period(queued + u32::from(!entity.on_rq)), floor)
    }

    /// Kernel: fair.c sched_slice(), v5.13–v6.5; the idle floor from v5.16
    #[inline]
    fn base_slice_floor(&self, queue: &CfsRq, se: &SchedEntity) -> u64 {
        // An empty queue is no idle one: the first idle task that is forked there has the smaller floor.
        let beside_others = queue.nr_running == 0 || queue.nr_running != queue.idle_nr_running;
        // A queued entity is among the idle ones of its queue, if there are any.
        let may_be_idle = queue.idle_nr_running > 0 || !se.on_rq;
        match self.profile.idle_entity {
            IdleEntity::EntityAware if beside_others && may_be_idle && self.se_is_idle(se) => {
                self.tunables.idle_min_granularity_ns
            }
            _ => self.tunables.min_granularity_ns,
        }
    }

    /// The slice in virtual time beside those on `cfs_rq`: what a new task is put behind.
    ///
    /// Kernel: fair.c sched_vslice(), v4.12–v6.5
    pub(crate) fn sched_vslice(&mut self, cfs_rq: CfsRqId, se: SeId) -> u64 {
        let slice = self.sched_slice_beside(cfs_rq, se);
        calc_delta_fair(self.profile.division(), slice, &mut self.ses[se].load)
    }
}

#[inline]
fn period_of(tunables: &EffectiveTunables, nr_running: u32) -> u64 {
    if u64::from(nr_running) > tunables.nr_latency {
        u64::from(nr_running) * tunables.min_granularity_ns
    } else {
        tunables.latency_ns
    }
}

impl Level<'_> {
    /// The wall time that a queued task of a root queue on which nobody is idle may run, in ns: [`Sched::sched_slice`].
    ///
    /// Kernel: fair.c sched_slice(), v4.12–v6.5
    #[inline(always)]
    pub(crate) fn root_slice(&mut self) -> u64 {
        let (feats, queue) = (self.profile.feats, &mut *self.cfs_rq);
        let queued = if feats.has(Feat::ALT_PERIOD) { queue.h_nr_running } else { queue.nr_running };
        let floor = if feats.has(Feat::BASE_SLICE) { self.tunables.min_granularity_ns } else { 0 };
        let period = period_of(self.tunables, queued);
        let (how, of) = (self.profile.division(), (period, self.se.load.weight(), queue.load.weight()));
        if self.rq.last_slice.of != of || self.rq.last_slice.how != Some(how) {
            let slice = calc_delta(how, period, of.1, &mut queue.load);
            self.rq.last_slice = LastSlice { of, how: Some(how), slice };
        }
        self.rq.last_slice.slice.max(floor)
    }
}

/// The slice that a tick worked out last on a CPU. Mostly the next tick asks for the same.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LastSlice {
    /// The time to be shared, the weight of the entity, and that of its queue.
    of: (u64, u64, u64),
    how: Option<Division>,
    /// The entity's share.
    slice: u64,
}

/// The share of `se` in a time of its queue, whose load is `load`, as if it were queued there.
#[inline]
fn share_of(how: Division, time: u64, se: &SchedEntity, load: &mut LoadWeight) -> u64 {
    let weight = se.load.weight();
    if se.on_rq {
        return calc_delta(how, time, weight, load);
    }
    let mut with_it = *load;
    with_it.add(weight);
    calc_delta(how, time, weight, &mut with_it)
}
