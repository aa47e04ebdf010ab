//! The virtual time of a new task.

use super::place::Placement;
use crate::Sched;
use crate::ctx::Ctx;
use fairground_stdx::{CpuId, TaskId, Vruntime};

impl Sched {
    /// A child starts from its parent's virtual time and is placed as a new entity, in CFS relative to the minimum of the parent's
    /// queue. That is so also where the child is born into another group, whose queue counts from its own minimum. A child from
    /// outside of the run starts at the minimum of its own queue.
    ///
    /// Kernel: fair.c task_fork_fair(), v4.12–v6.11
    pub(crate) fn task_fork_fair(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        let se = self.se_of(child);
        let cfs_rq = self.ses[parent.map_or(se, |task| self.se_of(task))].cfs_rq;
        let parent_se = parent.map(|task| self.se_of(task)).filter(|&se| self.cfs_rqs[cfs_rq].curr == Some(se));
        if parent_se.is_some() {
            self.update_curr(cx, cfs_rq);
        }
        self.ses[se].vruntime = match (parent_se, parent) {
            (Some(parent), _) => self.ses[parent].vruntime,
            // A parent of another class leaves 0, which is ahead of the minimum of a queue in its first 2^20 ns.
            (None, Some(parent)) if !self.is_fair(parent) => Vruntime(0),
            (None, _) => self.cfs_rqs[cfs_rq].min_vruntime,
        };
        if self.profile.place.keeps_lag() {
            self.place_entity_by_lag(cx, cfs_rq, se, true);
            return;
        }
        self.place_entity(cx, cfs_rq, se, Placement::Initial);
        if let Some(parent_se) = parent_se.filter(|_| self.tunables.child_runs_first)
            && self.ses[parent_se].vruntime.since(self.ses[se].vruntime) < 0
        {
            // The child takes the parent's place; the parent is not in the timeline while it runs.
            let earlier = self.ses[parent_se].vruntime;
            self.ses[parent_se].vruntime = self.ses[se].vruntime;
            self.ses[se].vruntime = earlier;
            self.resched_curr(cx, cpu);
        }
        let floor = self.cfs_rqs[cfs_rq].min_vruntime.0;
        self.ses[se].vruntime = self.ses[se].vruntime.minus(floor);
    }
}
