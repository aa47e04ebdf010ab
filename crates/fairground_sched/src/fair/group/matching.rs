//! Two entities of different groups are compared where their ancestors meet.

use crate::Sched;
use fairground_stdx::SeId;

impl Sched {
    /// The ancestors of `se` and `pse` (or they themselves) that stand on one queue. Both are of one CPU.
    ///
    /// Kernel: fair.c find_matching_se(), v4.12–
    pub(crate) fn find_matching_se(&self, mut se: SeId, mut pse: SeId) -> (SeId, SeId) {
        while self.ses[se].cfs_rq != self.ses[pse].cfs_rq {
            let (depth, other) = (self.se_depth(se), self.se_depth(pse));
            if depth >= other {
                se = self.above(se);
            }
            if other >= depth {
                pse = self.above(pse);
            }
        }
        (se, pse)
    }

    /// How many groups lie above an entity.
    ///
    /// Kernel: sched.h sched_entity::depth, v4.12–
    #[inline]
    pub(crate) fn se_depth(&self, se: SeId) -> u32 {
        self.cfs_rqs[self.ses[se].cfs_rq].depth
    }

    /// The entity above one that is not on the root queue.
    #[inline]
    pub(crate) fn above(&self, se: SeId) -> SeId {
        self.ses[se].parent.expect("invariant: entities of one CPU meet on its root queue at the latest")
    }
}
