//! The list of a CPU's group queues that have load, queued or blocked: whose averages must be aged from outside.

use super::Tell;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::CfsRq;
use crate::fair::steps::step;
use crate::seam::DecayedQueue;
use fairground_model::Op;
use fairground_stdx::{CfsRqId, CpuId, SeId};

impl Sched {
    /// Puts a queue on the list of its CPU: right before the one above it, if that is there. If not, the queue begins a
    /// branch at the front, and those above follow it as they come. The root queue is the last, and only marked.
    ///
    /// A queue above that was taken off and comes back stands right before the one above itself, so those below it that
    /// stayed are elsewhere before it.
    ///
    /// Kernel: fair.c list_add_leaf_cfs_rq(), v4.12–
    #[inline]
    pub(crate) fn list_add_leaf_cfs_rq(&mut self, queue: CfsRqId) {
        step("list_add_leaf_cfs_rq");
        let cfs_rq = &mut self.cfs_rqs[queue];
        if std::mem::replace(&mut cfs_rq.on_list, true) {
            return;
        }
        let (cpu, se) = (cfs_rq.cpu, cfs_rq.se);
        let above = se.map(|se| self.ses[se].cfs_rq);
        let listed = above.filter(|&above| self.cfs_rqs[above].on_list);
        let root = self.rqs[cpu].cfs;
        let rq = &mut self.rqs[cpu];
        let place = |other: CfsRqId| rq.leaf_cfs_rqs.iter().position(|&one| one == other);
        let at = match (listed, rq.leaf_branch) {
            (Some(above), _) if above == root => rq.leaf_cfs_rqs.len(),
            (Some(above), _) => place(above).expect("invariant: what is marked is on the list"),
            (None, Some(branch)) => place(branch).expect("invariant: a branch is on the list") + 1,
            (None, None) => 0,
        };
        rq.leaf_branch = (above.is_some() && listed.is_none()).then_some(queue);
        if above.is_some() {
            rq.leaf_cfs_rqs.insert(at, queue);
        }
    }

    /// Takes a queue off the list of its CPU.
    ///
    /// Kernel: fair.c list_del_leaf_cfs_rq(), v4.12–
    pub(crate) fn list_del_leaf_cfs_rq(&mut self, queue: CfsRqId) {
        if !std::mem::take(&mut self.cfs_rqs[queue].on_list) {
            return;
        }
        let rq = &mut self.rqs[self.cfs_rqs[queue].cpu];
        let Some(at) = rq.leaf_cfs_rqs.iter().position(|&other| other == queue) else { return };
        rq.leaf_cfs_rqs.remove(at);
        if rq.leaf_branch == Some(queue) {
            rq.leaf_branch = at.checked_sub(1).map(|before| rq.leaf_cfs_rqs[before]);
        }
    }

    /// Takes the queues off the list of a CPU that were told so (`on_list`), all at once.
    pub(crate) fn tidy_leaf_list(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        if let Some(branch) = rq.leaf_branch.filter(|&branch| !self.cfs_rqs[branch].on_list) {
            let before = rq.leaf_cfs_rqs.iter().take_while(|&&queue| queue != branch);
            rq.leaf_branch = before.filter(|&&queue| self.cfs_rqs[queue].on_list).last().copied();
        }
        rq.leaf_cfs_rqs.retain(|&queue| self.cfs_rqs[queue].on_list);
    }

    /// Ages the queues of the groups on `cpu` that have load, from the leaves up; those in which nothing is left leave the
    /// list. True: something is left to age.
    ///
    /// Kernel: fair.c update_blocked_averages(), __update_blocked_fair() from v5.4, v4.12–
    pub(crate) fn update_blocked_groups(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> bool {
        let mut queues = std::mem::take(&mut self.rqs[cpu].leaf_cfs_rqs);
        self.touch_queues(&queues);
        let (mut has_blocked, mut before) = (false, None);
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
            let stays = !self.is_decayed_behind(queue, before);
            self.cfs_rqs[queue].on_list = stays;
            before = if stays { Some(queue) } else { before };
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
        let CfsRq { cpu, on_list, .. } = self.cfs_rqs[queue];
        let rq = &self.rqs[cpu];
        let before = match on_list {
            true => rq.leaf_cfs_rqs.iter().take_while(|&&other| other != queue).last().copied(),
            false => rq.leaf_branch,
        };
        self.is_decayed_behind(queue, before)
    }

    /// The same of a queue that stands on the list behind `before`.
    fn is_decayed_behind(&self, queue: CfsRqId, before: Option<CfsRqId>) -> bool {
        let (row, avg) = (&self.cfs_rqs[queue], &self.pelt_cfs[queue]);
        if row.nr_running > 0 || (avg.load_sum, avg.util_sum, avg.runnable_sum) != (0, 0, 0) {
            return false;
        }
        match self.profile.decayed_queue {
            DecayedQueue::Sums => true,
            DecayedQueue::Childless => !self.child_cfs_rq_on_list(queue, before),
            DecayedQueue::Untold => !self.child_cfs_rq_on_list(queue, before) && row.tg_load_avg_contrib == 0,
        }
    }

    /// Whether the queue before this one on the list is of a group in it. One elsewhere on the list is not found.
    ///
    /// Kernel: fair.c child_cfs_rq_on_list(), v5.13–
    fn child_cfs_rq_on_list(&self, queue: CfsRqId, before: Option<CfsRqId>) -> bool {
        let below = before.and_then(|before| self.cfs_rqs[before].tg);
        below.is_some_and(|group| self.groups[group].parent == self.cfs_rqs[queue].tg)
    }
}
