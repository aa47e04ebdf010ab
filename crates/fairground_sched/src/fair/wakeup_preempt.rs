//! Does a woken task preempt the running one?

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::weight::calc_delta_fair;
use crate::features::Feat;
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
    fn wakeup_gran(&mut self, se: SeId) -> u64 {
        let granularity = self.tunables.wakeup_granularity_ns;
        calc_delta_fair(self.profile.scale_load_down, granularity, &mut self.ses[se].load)
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

    /// Decides whether `wakee`, just queued on `cpu`, preempts what runs there.
    ///
    /// Kernel: fair.c check_preempt_wakeup(), v4.12–v6.5
    pub(crate) fn check_preempt_wakeup(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, wakee: TaskId, fork: bool) {
        let Some(curr) = self.rqs[cpu].curr else { return };
        let reason = self.wakeup_preempt_reason(cx, cpu, curr, wakee, fork);
        cx.decide2(reason, Some(wakee), Some(curr));
        if matches!(reason, Reason::WakePreempts | Reason::WakePolicy) {
            self.preempt_curr(cx, cpu, curr);
        }
    }

    fn wakeup_preempt_reason(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, curr: TaskId, wakee: TaskId, fork: bool) -> Reason {
        let (se, pse) = (self.tasks[curr].se, self.tasks[wakee].se);
        let mark_next = self.profile.feats.has(Feat::NEXT_BUDDY) && self.buddies_matter(se) && !fork;
        if mark_next && self.tasks[wakee].policy != Policy::Idle {
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

    /// Buddies are kept only where enough entities wait that a preempted one would lose its cache.
    fn buddies_matter(&self, se: SeId) -> bool {
        u64::from(self.cfs_rqs[self.ses[se].cfs_rq].nr_running) >= self.tunables.nr_latency
    }

    fn preempt_curr(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, curr: TaskId) {
        self.resched_curr(cx, cpu);
        let se = self.tasks[curr].se;
        let idle = self.tasks[curr].policy == Policy::Idle;
        if self.ses[se].on_rq && self.profile.feats.has(Feat::LAST_BUDDY) && self.buddies_matter(se) && !idle {
            self.set_last_buddy(se);
        }
    }
}
