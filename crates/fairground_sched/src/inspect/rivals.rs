//! Two tasks of one CPU, compared where their groups meet: what an explanation reads.

use crate::Sched;
use crate::fair::SchedEntity;
use fairground_stdx::{TaskId, TgId};

/// The entities of two tasks, or of the groups above them, that stand on one queue.
#[derive(Clone, Copy, Debug)]
pub struct Rivals<'a> {
    /// That of the first.
    pub own: &'a SchedEntity,
    /// That of the second.
    pub other: &'a SchedEntity,
    /// Whether the first is idle: a task of SCHED_IDLE, or a group with cpu.idle.
    pub own_is_idle: bool,
    /// Whether the second is.
    pub other_is_idle: bool,
    /// How many groups lie above both of them.
    pub depth: u32,
    /// The weight of all entities of that queue, as in the nice table.
    pub queue_weight: u64,
    /// EEVDF: whether the first may be picked.
    pub eligible: bool,
    /// CFS: how far before the floor of the queue the second is placed when it wakes after a long sleep, in virtual ns.
    pub credit: u64,
}

impl Sched {
    /// The group in which a group lies; `None` is the root.
    pub fn group_parent(&self, group: TgId) -> Option<TgId> {
        self.groups[group].parent
    }
    /// Compares two queued tasks of one CPU.
    pub fn rivals(&self, task: TaskId, other: TaskId) -> Rivals<'_> {
        let (own, other) = self.find_matching_se(self.se_of(task), self.se_of(other));
        let credit = self.sleeper_credit_of_entity(other);
        let (own, other) = (&self.ses[own], &self.ses[other]);
        let queue = &self.cfs_rqs[own.cfs_rq];
        let queue_weight = self.profile.scale_load_down.apply(queue.load.weight());
        let eligible = !self.profile.pick.is_eevdf() || self.averages(own.cfs_rq).eligible(own.vruntime);
        let (own_is_idle, other_is_idle) = (self.se_is_idle(own), self.se_is_idle(other));
        Rivals { own, other, own_is_idle, other_is_idle, depth: queue.depth, queue_weight, eligible, credit }
    }
}
