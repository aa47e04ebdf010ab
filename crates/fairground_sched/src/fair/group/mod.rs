//! Task groups: the CPU cgroups. A group has a queue on every CPU on which one of its tasks has been, and an entity that
//! stands for that queue on the queue above, which is its parent's or the root's.
//!
//! Start reading at `shares.rs` (what such an entity weighs), then `propagate.rs` (how load goes up).

mod change;
mod h_load;
mod leaf;
mod matching;
mod propagate;
mod reweight;
mod shares;
mod slice;
#[cfg(test)]
mod tests;
mod tg_load;

pub use change::Busy;
pub(crate) use propagate::Tell;

use crate::Sched;
use crate::ctx::SCHED_CLOCK_AT_START;
use crate::fair::weight::{LoadWeight, NICE_0_LOAD, SCHED_FIXEDPOINT_SHIFT};
use crate::fair::{CfsRq, SchedEntity};
use crate::pelt::{PeltFamily, SchedAvg};
use crate::seam::GroupWeight;
use fairground_model::{DEFAULT_SHARES, TaskGroupSpec};
use fairground_stdx::{CfsRqId, CpuId, IndexVec, Ns, SeId, TgId};

/// A CPU cgroup.
#[derive(Clone, Debug)]
pub struct TaskGroup {
    /// Its path from the root.
    pub name: String,
    /// The group in which it lies; `None` is the root group.
    pub parent: Option<TgId>,
    /// Its weight among its siblings, times 1024.
    pub shares: u64,
    /// Whether it is idle (cpu.idle).
    pub idle: bool,
    /// Whether it was removed.
    pub removed: bool,
    /// Whether its weight, or that of a group in it, was written when it was made: its entities got theirs anew then.
    pub(crate) reweighted: bool,
    /// When one of its periods begins, if that is given.
    pub(crate) period_phase: Option<Ns>,
    /// What each CPU has of its quota when a run begins.
    pub(crate) left_on_cpus: Ns,
    /// Sum of what its queues have told of their load.
    pub load_avg: u64,
    /// The groups in it.
    pub(crate) children: Vec<TgId>,
    /// Its queue on each CPU; `None` where it was not used yet.
    pub(crate) queues: IndexVec<CpuId, Option<CfsRqId>>,
}

impl Sched {
    /// Adds a group of that description, without its limit ([`Sched::tg_set_cfs_bandwidth`]); its parent was added before.
    ///
    /// Kernel: core.c sched_create_group(), v4.12–
    pub fn add_group(&mut self, spec: &TaskGroupSpec) -> TgId {
        let TaskGroupSpec { name, parent, shares, idle, period_phase, left_on_cpus, .. } = spec.clone();
        self.has_idle_policy |= idle;
        let group = self.groups.push(TaskGroup {
            name,
            parent,
            shares: change::stored_shares(shares, idle),
            idle,
            removed: false,
            reweighted: false,
            period_phase,
            left_on_cpus,
            load_avg: 0,
            children: Vec::new(),
            queues: IndexVec::filled(None, self.rqs.len()),
        });
        if let Some(parent) = parent {
            self.groups[parent].children.push(group);
        }
        let mut written = Some(group).filter(|&group| self.groups[group].shares != change::stored_shares(DEFAULT_SHARES, false));
        while let Some(group) = written {
            self.groups[group].reweighted = true;
            written = self.groups[group].parent;
        }
        self.add_group_clamps(spec.clamp);
        self.forget_subtrees();
        group
    }

    /// A group.
    pub fn group(&self, group: TgId) -> &TaskGroup {
        &self.groups[group]
    }

    /// The queue of a group on `cpu`, and the entity that stands for it, if it was used there.
    pub fn group_on(&self, group: TgId, cpu: CpuId) -> Option<(CfsRqId, SeId)> {
        let queue = self.groups[group].queues[cpu]?;
        Some((queue, self.cfs_rqs[queue].se?))
    }

    /// The queue of a group on `cpu`, made when it is first asked for.
    #[inline]
    pub(crate) fn group_queue(&mut self, group: Option<TgId>, cpu: CpuId) -> CfsRqId {
        match group {
            None => self.rqs[cpu].cfs,
            Some(tg) => self.groups[tg].queues[cpu].unwrap_or_else(|| self.make_group_queue(tg, cpu)),
        }
    }

    /// Makes the queues of all groups on all CPUs before a run begins, as kernels do: nothing else differs. In family A their entities
    /// are in step with the root queues, which count as up to date then.
    ///
    /// Kernel: fair.c alloc_fair_sched_group(), online_fair_sched_group(), v4.12–
    pub fn make_group_queues(&mut self) {
        for rq in self.rqs.iter().filter(|_| self.profile.pelt == PeltFamily::A) {
            let root = &mut self.pelt_cfs[rq.cfs];
            root.last_update_time = root.last_update_time.max(SCHED_CLOCK_AT_START);
        }
        for tg in self.groups.ids() {
            for cpu in self.rqs.ids() {
                self.group_queue(Some(tg), cpu);
            }
        }
    }

    /// A queue of a group and its entity, both without load. In the kernel they are there since the group was made; an
    /// average of 0 is the same whenever it was last aged.
    ///
    /// Kernel: fair.c alloc_fair_sched_group(), init_tg_cfs_entry(), online_fair_sched_group(), v4.12–
    #[cold]
    fn make_group_queue(&mut self, tg: TgId, cpu: CpuId) -> CfsRqId {
        let above = self.group_queue(self.groups[tg].parent, cpu);
        let mut avg = SchedAvg::default();
        self.profile.pelt.init_group(&mut avg, &self.pelt_cfs[above]);
        self.pelt_se.push(avg);
        // Empty, it has the least weight as soon as its weight, or that of a group in it, is written.
        let least = self.groups[tg].reweighted && self.profile.group_weight != GroupWeight::IfChangedAndLoaded;
        let weight = if least { shares::MIN_SHARES } else { NICE_0_LOAD };
        let se = self.ses.push(SchedEntity {
            parent: self.cfs_rqs[above].se,
            tg: Some(tg),
            ..SchedEntity::new(above, LoadWeight::new(weight), self.tunables.base_slice_ns)
        });
        self.pelt_cfs.push(SchedAvg::default());
        let depth = self.cfs_rqs[above].depth + 1;
        let queue = self.cfs_rqs.push(CfsRq { tg: Some(tg), se: Some(se), depth, ..CfsRq::new(cpu) });
        self.ses[se].my_q = Some(queue);
        self.groups[tg].queues[cpu] = Some(queue);
        self.sync_throttle(queue, above);
        self.subtrees_gain_queue(tg, cpu);
        queue
    }

    /// Whether the group of a queue is idle; the root group never is.
    ///
    /// Kernel: fair.c cfs_rq_is_idle(), v5.15–
    #[inline]
    pub(crate) fn cfs_rq_is_idle(&self, queue: CfsRqId) -> bool {
        self.cfs_rqs[queue].tg.is_some_and(|tg| self.groups[tg].idle)
    }

    /// The shares of a group as cpu.shares tells them.
    pub fn shares_of(&self, group: TgId) -> u64 {
        self.groups[group].shares >> SCHED_FIXEDPOINT_SHIFT
    }
}
