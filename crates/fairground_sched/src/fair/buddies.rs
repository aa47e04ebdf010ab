//! Buddy marks: entities that a queue prefers (next, last) or passes over (skip) at the next pick.

use crate::Sched;
use fairground_stdx::{CfsRqId, SeId};

impl Sched {
    /// Clears every mark that points at `se`, on each level that carries it.
    ///
    /// Kernel: fair.c clear_buddies(), v4.12–v6.5
    #[inline]
    pub(crate) fn clear_buddies(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let queue = &self.cfs_rqs[cfs_rq];
        if (queue.last, queue.next, queue.skip) == (None, None, None) {
            return;
        }
        if queue.last == Some(se) {
            self.clear_upwards(se, |queue| &mut queue.last);
        }
        if self.cfs_rqs[cfs_rq].next == Some(se) {
            self.clear_upwards(se, |queue| &mut queue.next);
        }
        if self.cfs_rqs[cfs_rq].skip == Some(se) {
            self.clear_upwards(se, |queue| &mut queue.skip);
        }
    }

    fn clear_upwards(&mut self, se: SeId, mark: impl Fn(&mut super::CfsRq) -> &mut Option<SeId>) {
        let mut level = Some(se);
        while let Some(id) = level {
            let slot = mark(&mut self.cfs_rqs[self.ses[id].cfs_rq]);
            if *slot != Some(id) {
                return;
            }
            *slot = None;
            level = self.ses[id].parent;
        }
    }

    /// An idle entity is preferred nowhere, and so is none above it.
    fn prefer_upwards(&mut self, se: SeId, mark: impl Fn(&mut super::CfsRq) -> &mut Option<SeId>) {
        let mut level = Some(se).filter(|&se| !self.se_is_idle(&self.ses[se]));
        while let Some(id) = level {
            *mark(&mut self.cfs_rqs[self.ses[id].cfs_rq]) = Some(id);
            level = self.ses[id].parent.filter(|&se| !self.se_is_idle(&self.ses[se]));
        }
    }

    fn mark_upwards(&mut self, se: SeId, mark: impl Fn(&mut super::CfsRq) -> &mut Option<SeId>) {
        let mut level = Some(se);
        while let Some(id) = level {
            *mark(&mut self.cfs_rqs[self.ses[id].cfs_rq]) = Some(id);
            level = self.ses[id].parent;
        }
    }

    /// Kernel: fair.c set_next_buddy(), v4.12–
    pub(crate) fn set_next_buddy(&mut self, se: SeId) {
        self.prefer_upwards(se, |queue| &mut queue.next);
    }

    /// Kernel: fair.c set_last_buddy(), v4.12–v6.5
    pub(crate) fn set_last_buddy(&mut self, se: SeId) {
        self.prefer_upwards(se, |queue| &mut queue.last);
    }

    /// Kernel: fair.c set_skip_buddy(), v4.12–v6.5
    pub(crate) fn set_skip_buddy(&mut self, se: SeId) {
        self.mark_upwards(se, |queue| &mut queue.skip);
    }
}
