//! EEVDF: a wakee preempts if it would be picked now.

use crate::Sched;
use crate::core::Arrival;
use crate::ctx::Ctx;
use crate::fair::pick::{Picked, Respect};
use crate::seam::{ForkPreempts, IdleProtection, Protection};
use fairground_model::features::Feat;
use fairground_model::{Policy, Reason};
use fairground_stdx::{CfsRqId, CpuId, SeId, TaskId};

impl Sched {
    /// Kernel: fair.c check_preempt_wakeup(), check_preempt_wakeup_fair() from v6.8, v6.6–v6.18
    pub(super) fn wakeup_preempt_by_deadline(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        cpu: CpuId,
        curr: TaskId,
        wakee: TaskId,
        arrival: Arrival,
    ) -> Reason {
        if self.profile.fork_preempts == ForkPreempts::OnlyIfShort {
            return self.wakeup_preempt_only_if_short(cx, cpu, curr, wakee, arrival);
        }
        let (se, pse) = (self.tasks[curr].se, self.tasks[wakee].se);
        let may_be_buddy = arrival != Arrival::Fork && !self.ses[pse].sched_delayed;
        if self.profile.feats.has(Feat::NEXT_BUDDY) && may_be_buddy {
            self.set_next_buddy(pse);
        }
        if self.rqs[cpu].need_resched {
            return Reason::WakeAlreadyResched;
        }
        let rule = self.profile.idle_entity;
        if rule.asks_policies_first()
            && let Some(reason) = self.preempts_by_policy(curr, wakee)
        {
            return reason;
        }
        if !self.profile.feats.has(Feat::WAKEUP_PREEMPTION) {
            return Reason::WakeFeatureOff;
        }
        let (se, pse) = self.find_matching_se(se, pse);
        if let Some(reason) = self.preempts_by_idleness(se, pse) {
            if reason == Reason::WakePolicy && self.profile.idle_protection == IdleProtection::Cancelled {
                self.ses[se].cancel_protection(self.profile.protection);
            }
            return reason;
        }
        if !rule.asks_policies_first() && self.tasks[wakee].policy != Policy::Normal {
            return Reason::WakeBatch;
        }
        let cfs_rq = self.ses[se].cfs_rq;
        self.update_curr(cx, cfs_rq);
        match self.profile.protection {
            Protection::None | Protection::DeadlineMark => self.preempts_by_mark(cfs_rq, se, pse),
            Protection::Vprot | Protection::VprotInLag => self.preempts_by_vprot(cfs_rq, se, pse),
        }
    }

    /// What the policies of two tasks decide, whatever groups they lie in.
    fn preempts_by_policy(&self, curr: TaskId, wakee: TaskId) -> Option<Reason> {
        match (self.tasks[curr].policy, self.tasks[wakee].policy) {
            (Policy::Idle, Policy::Normal | Policy::Batch) => Some(Reason::WakePolicy),
            (_, Policy::Batch | Policy::Idle) => Some(Reason::WakeBatch),
            _ => None,
        }
    }

    /// A wakee with a shorter request may break the protection of the running entity before the pick.
    ///
    /// Kernel: fair.c do_preempt_short(), v6.12–v6.16
    fn preempts_by_mark(&mut self, cfs_rq: CfsRqId, se: SeId, pse: SeId) -> Reason {
        let short = self.is_shorter(pse, se) && self.deserves_to_preempt(cfs_rq, se, pse);
        if short {
            self.ses[se].cancel_protection(self.profile.protection);
        }
        self.preempts_if_picked(cfs_rq, pse, Respect::Protection, short)
    }

    /// A wakee with a shorter request is picked without regard to the protection of the running entity, which is shorter from now on
    /// even if the wakee is not picked.
    ///
    /// Kernel: fair.c check_preempt_wakeup_fair(), v6.17–v6.18
    fn preempts_by_vprot(&mut self, cfs_rq: CfsRqId, se: SeId, pse: SeId) -> Reason {
        let short = self.is_shorter(pse, se);
        let respect = if short { Respect::DeadlinesOnly } else { Respect::Protection };
        let reason = self.preempts_if_picked(cfs_rq, pse, respect, short);
        if reason == Reason::WakeShortPreempts {
            self.ses[se].cancel_protection(self.profile.protection);
        } else if short && self.profile.feats.has(Feat::RUN_TO_PARITY) {
            self.shrink_protection(cfs_rq, se);
        }
        reason
    }

    pub(super) fn is_shorter(&self, pse: SeId, se: SeId) -> bool {
        self.profile.feats.has(Feat::PREEMPT_SHORT) && self.ses[pse].slice < self.ses[se].slice
    }

    fn deserves_to_preempt(&self, cfs_rq: CfsRqId, se: SeId, pse: SeId) -> bool {
        let averages = self.averages(cfs_rq);
        let (curr, wakee) = (&self.ses[se], &self.ses[pse]);
        averages.eligible(wakee.vruntime) && (wakee.deadline.since(curr.deadline) < 0 || !averages.eligible(curr.vruntime))
    }

    fn preempts_if_picked(&self, cfs_rq: CfsRqId, pse: SeId, respect: Respect, short: bool) -> Reason {
        self.why_picked(cfs_rq, pse, self.pick_eevdf(cfs_rq, respect), short)
    }

    /// What it says of the wakee that `picked` would run next.
    pub(super) fn why_picked(&self, cfs_rq: CfsRqId, pse: SeId, picked: Option<Picked>, short: bool) -> Reason {
        match picked {
            Some(picked) if picked.se == pse && short => Reason::WakeShortPreempts,
            Some(picked) if picked.se == pse => Reason::WakeDeadlinePreempts,
            _ if !self.averages(cfs_rq).eligible(self.ses[pse].vruntime) => Reason::WakeNotEligible,
            Some(picked) if picked.reason == Reason::PickProtected => Reason::WakeProtected,
            _ => Reason::WakeLaterDeadline,
        }
    }
}
