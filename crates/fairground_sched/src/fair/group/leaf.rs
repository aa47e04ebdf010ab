//! The list of a CPU's group queues that have load, queued or blocked: whose averages must be aged from outside.

use super::Tell;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::CfsRq;
use crate::fair::steps::step;
use crate::seam::DecayedQueue;
use fairground_model::Op;
use fairground_stdx::{CfsRqId, CpuId, SeId, TgId};

impl Sched {
    /// Puts a queue on the list of its CPU, before those above it. The root queue is the last, and only marked.
    ///
    /// Kernel: fair.c list_add_leaf_cfs_rq(), v4.12–
    #[inline]
    pub(crate) fn list_add_leaf_cfs_rq(&mut self, queue: CfsRqId) {
        step("list_add_leaf_cfs_rq");
        let cfs_rq = &mut self.cfs_rqs[queue];
        if std::mem::replace(&mut cfs_rq.on_list, true) || cfs_rq.tg.is_none() {
            return;
        }
        let (cpu, depth) = (cfs_rq.cpu, cfs_rq.depth);
        let at = self.rqs[cpu].leaf_cfs_rqs.partition_point(|&other| self.cfs_rqs[other].depth >= depth);
        self.rqs[cpu].leaf_cfs_rqs.insert(at, queue);
    }

    /// Takes a queue off the list of its CPU.
    ///
    /// Kernel: fair.c list_del_leaf_cfs_rq(), v4.12–
    pub(crate) fn list_del_leaf_cfs_rq(&mut self, queue: CfsRqId) {
        if std::mem::take(&mut self.cfs_rqs[queue].on_list) {
            let cpu = self.cfs_rqs[queue].cpu;
            self.rqs[cpu].leaf_cfs_rqs.retain(|&other| other != queue);
        }
    }

    /// Takes the queues off the list of a CPU that were told so (`on_list`), all at once.
    pub(crate) fn tidy_leaf_list(&mut self, cpu: CpuId) {
        self.rqs[cpu].leaf_cfs_rqs.retain(|&queue| self.cfs_rqs[queue].on_list);
    }

    /// Ages the queues of the groups on `cpu` that have load, from the leaves up; those in which nothing is left leave the
    /// list. True: something is left to age.
    ///
    /// Kernel: fair.c update_blocked_averages(), __update_blocked_fair() from v5.4, v4.12–
    pub(crate) fn update_blocked_groups(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> bool {
        let mut queues = std::mem::take(&mut self.rqs[cpu].leaf_cfs_rqs);
        self.touch_queues(&queues);
        let mut has_blocked = false;
        cx.meter.count_n(Op::BlockedAvg, queues.len() as u64);
        queues.retain(|&queue| {
            if self.update_cfs_rq_load_avg(cx, queue) {
                self.tell_group(cx, queue);
            }
            let se = self.cfs_rqs[queue].se.expect("invariant: a group's queue has an entity");
            if !self.skip_blocked_update(se, queue) {
                self.update_load_avg(cx, se, Tell::Group);
            }
            let avg = &self.pelt_cfs[queue];
            has_blocked |= avg.load_avg != 0 || avg.util_avg != 0;
            let stays = !self.cfs_rq_is_decayed(queue);
            self.cfs_rqs[queue].on_list = stays;
            stays
        });
        self.rqs[cpu].leaf_cfs_rqs = queues;
        has_blocked
    }

    /// Whether the entity of `queue` has nothing to age and nothing to take.
    ///
    /// Kernel: fair.c skip_blocked_update(), v4.13–
    fn skip_blocked_update(&self, se: SeId, queue: CfsRqId) -> bool {
        let avg = &self.pelt_se[se];
        avg.load_avg == 0 && avg.util_avg == 0 && !self.cfs_rqs[queue].propagate
    }

    /// Whether nothing is queued there and nothing blocked is left, by seam `decayed_queue`.
    ///
    /// Kernel: fair.c cfs_rq_is_decayed(), v4.12–
    pub(crate) fn cfs_rq_is_decayed(&self, queue: CfsRqId) -> bool {
        let (row, avg) = (&self.cfs_rqs[queue], &self.pelt_cfs[queue]);
        if row.nr_running > 0 || (avg.load_sum, avg.util_sum, avg.runnable_sum) != (0, 0, 0) {
            return false;
        }
        match self.profile.decayed_queue {
            DecayedQueue::Sums => true,
            DecayedQueue::Childless => !self.child_cfs_rq_on_list(queue),
            DecayedQueue::Untold => !self.child_cfs_rq_on_list(queue) && row.tg_load_avg_contrib == 0,
        }
    }

    /// Whether a queue of a group in it is on the list of the CPU.
    ///
    /// Kernel: fair.c child_cfs_rq_on_list(), v5.13–
    fn child_cfs_rq_on_list(&self, queue: CfsRqId) -> bool {
        let CfsRq { cpu, tg, .. } = self.cfs_rqs[queue];
        let Some(tg) = tg else { return !self.rqs[cpu].leaf_cfs_rqs.is_empty() };
        let listed = |child: &TgId| self.groups[*child].queues[cpu].is_some_and(|below| self.cfs_rqs[below].on_list);
        self.groups[tg].children.iter().any(listed)
    }
}
