//! Seam `group_load`: how what happens on a group's queue reaches the group's entity and the queue above.
//!
//! ```text
//! via-load-avg   load and utilisation go up when a task has come or gone for good (attach, detach, a sleeper that left);
//!                that a task wakes or sleeps shows above only as the entity ages towards its weight
//! independent    as that, and runnable load goes up at every update:
//!                runnable = shares * runnable load of the queue / (load of the group elsewhere + that)
//! reweighted     load goes up as the time that came or went; a change of weight rescales what stands above
//! runnable-avg   as that; utilisation, runnable tasks and load each by themselves
//! ```
//!
//! Contract: the entity and both queues are aged to the same moment; the queue above has what was added or taken off
//! marked for its own entity.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::CfsRq;
use crate::pelt::{GroupEntity, GroupShare, PeltFamily, SchedAvg};
use crate::seam::{GroupLoad, LoadEnd};
use fairground_stdx::{CfsRqId, SeId};

/// Whether an update of a queue's averages is told to its group (UPDATE_TG).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tell {
    /// It is.
    Group,
    /// It is not.
    Nobody,
}

impl CfsRq {
    /// Load has come (`sum` > 0) or gone for good: the group's entity is to follow.
    ///
    /// Kernel: fair.c add_tg_cfs_propagate(), set_tg_cfs_propagate() before v4.15, v4.12–
    #[inline]
    pub(crate) fn add_tg_cfs_propagate(&mut self, sum: i64) {
        if self.se.is_some() {
            self.propagate = true;
            self.prop_runnable_sum = self.prop_runnable_sum.wrapping_add(sum);
        }
    }
}

impl Sched {
    /// The part of [`Sched::update_load_avg`] that concerns groups: the entity takes what changed below it, and the group
    /// of its queue is told.
    #[inline(never)]
    pub(crate) fn update_load_of_groups(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, decayed: bool, tell: Tell) {
        let queue = self.ses[se].cfs_rq;
        let propagated = self.ses[se].my_q.is_some_and(|below| self.propagate_entity_load_avg(cx, se, below));
        if let Some(tg) = self.cfs_rqs[queue].tg
            && (decayed || propagated)
            && tell == Tell::Group
        {
            self.update_tg_load_avg(cx, queue, tg);
        }
    }

    /// The entity takes what came to its queue `below` or left it, and the queue above the difference. False: nothing did.
    ///
    /// Kernel: fair.c propagate_entity_load_avg(), v4.12–
    fn propagate_entity_load_avg(&mut self, cx: &Ctx<'_, '_>, se: SeId, below: CfsRqId) -> bool {
        if self.profile.group_load == GroupLoad::Independent {
            self.propagate_runnable_load(se, below);
        }
        if !std::mem::take(&mut self.cfs_rqs[below].propagate) {
            return false;
        }
        let sum = std::mem::take(&mut self.cfs_rqs[below].prop_runnable_sum);
        let above = self.ses[se].cfs_rq;
        self.cfs_rqs[above].add_tg_cfs_propagate(sum);
        let (pelt, down) = (self.profile.pelt, self.profile.scale_load_down);
        let (group, on_rq) = (self.pelt_cfs[below], self.ses[se].on_rq);
        let share = self.load_share(below, &group);
        let (parent, avg) = (&mut self.pelt_cfs[above], &mut self.pelt_se[se]);
        pelt.propagate_util(parent, avg, &group);
        pelt.propagate_runnable(parent, avg, &group);
        match self.profile.group_load {
            GroupLoad::ViaLoadAvg => {
                let delta = PeltFamily::take_load(parent, avg, share);
                if on_rq {
                    PeltFamily::add_runnable_load(parent, delta);
                }
            }
            GroupLoad::Independent => {
                PeltFamily::take_load(parent, avg, share);
            }
            GroupLoad::Reweighted | GroupLoad::RunnableAvg => {
                let entity = &self.ses[se];
                let entity = GroupEntity {
                    se: avg,
                    weight: down.apply(entity.load.weight()),
                    runnable_weight: down.apply(entity.runnable_weight()),
                    on_rq,
                };
                let weights = down.apply(self.cfs_rqs[below].load.weight());
                let cpu = self.cfs_rqs[below].cpu;
                let capacity = cx.machine.cpus[cpu].capacity;
                pelt.propagate_load(self.profile.pelt_clock, parent, entity, (&group, weights), sum, capacity);
            }
        }
        true
    }

    /// Family A: what of the load of its queue `below`, in state `group`, an entity shows above.
    ///
    /// via-load-avg: load_avg, cut to shares if the group's load on all CPUs is more than those;
    /// independent: the share that load_avg makes.
    fn load_share(&self, below: CfsRqId, group: &SchedAvg) -> u64 {
        match self.profile.group_load {
            GroupLoad::ViaLoadAvg => {
                let cfs_rq = &self.cfs_rqs[below];
                let tg = &self.groups[cfs_rq.tg.expect("invariant: a group's queue has a group")];
                let share = GroupShare {
                    tg_load_avg: tg.load_avg,
                    tg_load_avg_contrib: cfs_rq.tg_load_avg_contrib,
                    shares: self.profile.scale_load_down.apply(tg.shares),
                };
                share.of(group.load_avg)
            }
            GroupLoad::Independent => self.shares_scaled_down(below, group.load_avg),
            GroupLoad::Reweighted | GroupLoad::RunnableAvg => 0,
        }
    }

    /// The part of its group's shares that belongs to the queue `below` if its load is `load`.
    pub(crate) fn shares_scaled_down(&self, below: CfsRqId, load: u64) -> u64 {
        self.profile.scale_load_down.apply(self.calc_group_shares(below, load))
    }

    /// The runnable load of the queue `below` goes up, as the share of the group that it makes.
    ///
    /// Kernel: fair.c propagate_entity_load_avg() with the patch `independent-runnable`, v4.12–v4.12
    fn propagate_runnable_load(&mut self, se: SeId, below: CfsRqId) {
        let load = self.shares_scaled_down(below, self.pelt_cfs[below].runnable_avg);
        let above = self.ses[se].cfs_rq;
        PeltFamily::take_runnable_load(&mut self.pelt_cfs[above], &mut self.pelt_se[se], load);
    }

    /// A run takes the other variant of family A: the runnable loads are made as that makes them, from what is queued.
    pub(crate) fn restart_runnable_load(&mut self) {
        for avg in self.pelt_cfs.iter_mut() {
            (avg.runnable_avg, avg.runnable_sum) = (0, 0);
        }
        // A queue is made after those above it, so the last groups are the inner ones. Tasks stand on queues of any depth.
        let (tasks, groups): (Vec<SeId>, Vec<SeId>) = self.ses.ids().partition(|&se| self.ses[se].my_q.is_none());
        for se in tasks.into_iter().chain(groups.into_iter().rev()) {
            let (entity, load) = (&self.ses[se], self.pelt_se[se].load_avg);
            let (queue, below) = (entity.cfs_rq, entity.my_q);
            if below.is_some() {
                (self.pelt_se[se].runnable_avg, self.pelt_se[se].runnable_sum) = (0, 0);
            }
            match (below, self.profile.group_load) {
                (Some(below), GroupLoad::Independent) => self.propagate_runnable_load(se, below),
                _ if entity.on_rq => PeltFamily::add_runnable_load(&mut self.pelt_cfs[queue], load as i64),
                _ => {}
            }
        }
    }

    /// What came to the queue of `se`, or left it, goes up to the root at once.
    ///
    /// Kernel: fair.c propagate_entity_cfs_rq(), v4.12–
    pub(crate) fn propagate_entity_cfs_rq(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        let takes_last = self.profile.load_end == LoadEnd::AtThrottled;
        if takes_last && self.load_ends_at(self.ses[se].cfs_rq) {
            return;
        }
        self.add_leaf_unless_stopped(self.ses[se].cfs_rq);
        let mut level = self.ses[se].parent;
        while let Some(group) = level {
            let ends = self.load_ends_at(self.ses[group].cfs_rq);
            if ends && !takes_last {
                // Those above are listed already, or now; they take nothing.
                return self.add_leaf_unless_stopped(self.ses[group].cfs_rq);
            }
            self.update_load_avg(cx, group, Tell::Group);
            if ends {
                return;
            }
            self.add_leaf_unless_stopped(self.ses[group].cfs_rq);
            level = self.ses[group].parent;
        }
    }

    /// A queue got load, or lost it, by other means than time: its group is told.
    pub(crate) fn tell_group(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        if let Some(tg) = self.cfs_rqs[queue].tg {
            self.update_tg_load_avg(cx, queue, tg);
        }
    }
}
