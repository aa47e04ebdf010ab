//! What a walk below a throttled queue visits, kept from walk to walk.
//!
//! Every CPU walks twice in every period, but the tree of groups and the queues that are in use hardly change: who is visited is
//! found out once for each CPU, and again when a group comes or goes, or uses that CPU for the first time. Counted, and so priced,
//! is the kernel's walk over all groups, used there or not.

use crate::Sched;
use fairground_stdx::{CfsRqId, CpuId, IndexVec, TgId};

/// A group and all below it.
#[derive(Clone, Debug)]
pub(crate) struct Subtree {
    /// Each before those in it.
    groups: Vec<TgId>,
    /// Their queues in that order, as far as they are used; `None`: to be found out.
    queues: IndexVec<CpuId, Option<Vec<CfsRqId>>>,
}

impl Sched {
    /// The queues of a group and of all below it on a CPU, those of a group before those in it, and how many groups that are. The
    /// caller gives the list back ([`Sched::keep_subtree`]).
    ///
    /// Kernel: sched.h walk_tg_tree(), core.c walk_tg_tree_from(), v4.12–
    pub(super) fn take_subtree(&mut self, top: TgId, cpu: CpuId) -> (Vec<CfsRqId>, usize) {
        if self.bandwidth.subtrees.len() != self.groups.len() {
            self.bandwidth.subtrees = IndexVec::filled(None, self.groups.len());
        }
        if self.bandwidth.subtrees[top].is_none() {
            let subtree = Subtree { groups: self.groups_below(top), queues: IndexVec::filled(None, self.rqs.len()) };
            self.bandwidth.subtrees[top] = Some(Box::new(subtree));
        }
        let subtree = self.bandwidth.subtrees[top].as_mut().expect("invariant: it was just made");
        let used = |&group: &TgId| self.groups[group].queues[cpu];
        let queues = subtree.queues[cpu].take().unwrap_or_else(|| subtree.groups.iter().filter_map(used).collect());
        (queues, subtree.groups.len())
    }

    /// What [`Sched::take_subtree`] gave, for the next walk.
    pub(super) fn keep_subtree(&mut self, top: TgId, cpu: CpuId, queues: Vec<CfsRqId>) {
        let subtree = self.bandwidth.subtrees[top].as_mut().expect("invariant: a walk changes no group");
        subtree.queues[cpu] = Some(queues);
    }

    /// A group is used on a CPU for the first time.
    pub(crate) fn subtrees_gain_queue(&mut self, group: TgId, cpu: CpuId) {
        let mut level = Some(group).filter(|_| !self.bandwidth.subtrees.is_empty());
        while let Some(group) = level {
            self.bandwidth.subtrees[group].iter_mut().for_each(|subtree| subtree.queues[cpu] = None);
            level = self.groups[group].parent;
        }
    }

    /// A group has come or gone.
    pub(crate) fn forget_subtrees(&mut self) {
        self.bandwidth.subtrees = IndexVec::new();
    }

    /// A group and all below it that are not removed, level by level.
    fn groups_below(&self, top: TgId) -> Vec<TgId> {
        let mut found = vec![top];
        let mut next = 0;
        while let Some(&group) = found.get(next) {
            found.extend(self.groups[group].children.iter().filter(|&&child| !self.groups[child].removed));
            next += 1;
        }
        found
    }

    /// A group of which something else is kept than a walk would find.
    pub(crate) fn stale_subtree(&self) -> Option<TgId> {
        let stale = |top: TgId, subtree: &Subtree| {
            let groups = self.groups_below(top);
            let used = |cpu: CpuId| groups.iter().filter_map(move |&group| self.groups[group].queues[cpu]);
            let wrong = |cpu: CpuId, kept: &[CfsRqId]| !kept.iter().copied().eq(used(cpu));
            let mut lists = subtree.queues.iter_enumerated().filter_map(|(cpu, kept)| Some((cpu, kept.as_ref()?)));
            groups != subtree.groups || lists.any(|(cpu, kept)| wrong(cpu, kept))
        };
        let mut kept = self.bandwidth.subtrees.iter_enumerated().filter_map(|(top, kept)| Some((top, kept.as_ref()?)));
        kept.find(|(top, subtree)| stale(*top, subtree)).map(|row| row.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::fair::tests::bench::Bench;

    #[test]
    fn what_is_kept_follows_groups_and_their_use() {
        let mut bench = Bench::with_cpus(Profile::parse("v6.14").unwrap(), 2);
        let (one, two) = (CpuId::new(0), CpuId::new(1));
        let top = bench.group(None, 1024);
        let [left, right] = [0, 1].map(|_| bench.group(Some(top), 1024));
        let inner = bench.group(Some(left), 1024);
        bench.queued_in(Some(inner));
        let walk = |bench: &mut Bench, cpu: CpuId| {
            let (queues, groups) = bench.sched.take_subtree(top, cpu);
            bench.sched.keep_subtree(top, cpu, queues.clone());
            assert_eq!(bench.sched.stale_subtree(), None);
            (queues.iter().map(|&queue| bench.sched.cfs_rqs[queue].tg.unwrap()).collect::<Vec<TgId>>(), groups)
        };
        assert_eq!(walk(&mut bench, one), (vec![top, left, inner], 4));
        assert_eq!(walk(&mut bench, two), (vec![], 4));
        bench.queued_in(Some(right));
        assert_eq!(walk(&mut bench, one), (vec![top, left, right, inner], 4));
        bench.cpu = two;
        bench.queued_in(Some(right));
        assert_eq!(walk(&mut bench, two), (vec![top, right], 4));
        let late = bench.group(Some(right), 1024);
        assert_eq!(walk(&mut bench, two), (vec![top, right], 5));
        bench.call(|sched, cx| sched.remove_group(cx, late)).unwrap();
        assert_eq!(walk(&mut bench, one), (vec![top, left, right, inner], 4));
    }
}
