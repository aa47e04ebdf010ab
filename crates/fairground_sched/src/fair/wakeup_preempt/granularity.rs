//! CFS: a wakee preempts if it is before the running entity by more than the wake-up granularity.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::weight::calc_delta_fair;
use fairground_model::features::Feat;
use fairground_model::{Policy, Reason};
use fairground_stdx::{CpuId, SeId, TaskId};

/// How far a waiting entity is before the running one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lead {
    /// Not before it (the kernel's -1).
    Behind,
    /// Before it by at most the wake-up granularity (0).
    WithinGranularity,
    /// Before it by more (1).
    Enough,
}

impl Sched {
    /// The virtual lead that `se` needs to preempt: light entities need more.
    ///
    /// Kernel: fair.c wakeup_gran(), v4.12–v6.5
    #[inline]
    pub(crate) fn wakeup_gran(&mut self, se: SeId) -> u64 {
        let granularity = self.tunables.wakeup_granularity_ns;
        calc_delta_fair(self.profile.division(), granularity, &mut self.ses[se].load)
    }

    /// How far `se` is before `curr`; both stand on one queue.
    ///
    /// Kernel: fair.c wakeup_preempt_entity(), v4.12–v6.5
    pub(crate) fn wakeup_preempt_entity(&mut self, curr: SeId, se: SeId) -> Lead {
        let lead = self.ses[curr].vruntime.since(self.ses[se].vruntime);
        if lead <= 0 {
            Lead::Behind
        } else if lead as u64 > self.wakeup_gran(se) {
            Lead::Enough
        } else {
            Lead::WithinGranularity
        }
    }

    /// Kernel: fair.c check_preempt_wakeup(), v4.12–v6.5
    pub(super) fn wakeup_preempt_by_granularity(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        cpu: CpuId,
        curr: TaskId,
        wakee: TaskId,
        fork: bool,
    ) -> Reason {
        let (se, pse) = (self.tasks[curr].se, self.tasks[wakee].se);
        let mark_next = self.profile.feats.has(Feat::NEXT_BUDDY) && self.buddies_matter(se) && !fork;
        if mark_next {
            self.set_next_buddy(pse);
        }
        if self.rqs[cpu].need_resched {
            return Reason::WakeAlreadyResched;
        }
        if self.tasks[curr].policy == Policy::Idle && self.tasks[wakee].policy != Policy::Idle {
            return Reason::WakePolicy;
        }
        if self.tasks[wakee].policy != Policy::Normal {
            return Reason::WakeBatch;
        }
        if !self.profile.feats.has(Feat::WAKEUP_PREEMPTION) {
            return Reason::WakeFeatureOff;
        }
        let (se, pse) = self.find_matching_se(se, pse);
        if let Some(reason) = self.preempts_by_idleness(se, pse) {
            return reason;
        }
        self.update_curr(cx, self.ses[se].cfs_rq);
        match self.wakeup_preempt_entity(se, pse) {
            Lead::Behind => Reason::WakeBehind,
            Lead::WithinGranularity => Reason::WakeWithinGranularity,
            Lead::Enough => {
                if !mark_next {
                    self.set_next_buddy(pse);
                }
                Reason::WakePreempts
            }
        }
    }
}
