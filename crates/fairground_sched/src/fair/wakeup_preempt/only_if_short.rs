//! EEVDF from v7.2 on: new tasks and delayed sleepers preempt by a shorter slice only, and a buddy counts.
//!
//! ```text
//! a reschedule is due, NO_WAKEUP_PREEMPTION              keep
//! curr idle, wakee not / the other way round             preempt / keep
//! shorter slice (PREEMPT_SHORT)                          pick by deadlines only, no buddy
//! new, or its dequeue was delayed                        keep
//! a new buddy (NEXT_BUDDY), woken synchronously          preempt if its deadline is earlier and curr has run for long enough, else keep
//! else                                                   pick as schedule() would, with NEXT_BUDDY the wakee as buddy
//! ```

use crate::Sched;
use crate::core::Arrival;
use crate::ctx::Ctx;
use crate::fair::pick::Respect;
use fairground_model::features::Feat;
use fairground_model::{Policy, Reason};
use fairground_stdx::{CfsRqId, CpuId, SeId, TaskId};

impl Sched {
    /// Kernel: fair.c wakeup_preempt_fair(), v7.2–
    pub(super) fn wakeup_preempt_only_if_short(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        cpu: CpuId,
        curr: TaskId,
        wakee: TaskId,
        arrival: Arrival,
    ) -> Reason {
        if self.rqs[cpu].need_resched {
            return Reason::WakeAlreadyResched;
        }
        if !self.profile.feats.has(Feat::WAKEUP_PREEMPTION) {
            return Reason::WakeFeatureOff;
        }
        let (se, pse) = self.find_matching_se(self.se_of(curr), self.se_of(wakee));
        if let Some(reason) = self.preempts_by_idleness(se, pse) {
            if reason == Reason::WakePolicy {
                self.ses[se].cancel_protection(self.profile.protection);
            }
            return reason;
        }
        if self.tasks[wakee].policy != Policy::Normal {
            return Reason::WakeBatch;
        }
        let cfs_rq = self.ses[se].cfs_rq;
        self.update_curr(cx, cfs_rq);
        let short = self.is_shorter(pse, se);
        if !short && (arrival == Arrival::Fork || self.ses[pse].sched_delayed) {
            return Reason::WakeNewWaits;
        }
        let new_buddy = !short && self.profile.feats.has(Feat::NEXT_BUDDY) && self.set_preempt_buddy(cfs_rq, pse);
        if let (true, Arrival::Sync { selected }) = (new_buddy, arrival) {
            return self.preempt_sync(cpu, se, pse, selected);
        }
        let reason = self.picked_at_wakeup(cx, cfs_rq, pse, short);
        match reason {
            Reason::WakeShortPreempts => {
                self.ses[se].cancel_protection(self.profile.protection);
                self.clear_buddies(cfs_rq, se);
            }
            Reason::WakeDeadlinePreempts => {}
            _ if self.profile.feats.has(Feat::RUN_TO_PARITY) => self.shrink_protection(cfs_rq, se),
            _ => {}
        }
        reason
    }

    /// The wakee becomes the next buddy, unless the present one has the earlier deadline; whether it did.
    ///
    /// Kernel: fair.c set_preempt_buddy(), v7.2–
    fn set_preempt_buddy(&mut self, cfs_rq: CfsRqId, pse: SeId) -> bool {
        let deadline = self.ses[pse].deadline;
        let goes_before = |buddy: SeId| self.ses[buddy].deadline.since(deadline) < 0;
        let keeps = self.cfs_rqs[cfs_rq].next.is_some_and(goes_before);
        if !keeps {
            self.set_next_buddy(pse);
        }
        !keeps
    }

    /// Whether a new buddy preempts whose waker says that it will sleep soon. The time that the running entity has had counts from
    /// its last account, which was just made: so it does only if the migration cost is 0 (below 4 ns for one that was selected a CPU).
    ///
    /// ```text
    /// deadline(wakee) < deadline(curr)  and  clock_task - exec_start(curr) >= migration_cost, a quarter of it if selected
    /// ```
    ///
    /// Kernel: fair.c preempt_sync(), v7.2–
    fn preempt_sync(&self, cpu: CpuId, se: SeId, pse: SeId, selected: bool) -> Reason {
        let threshold_ns = self.tunables.migration_cost_ns >> if selected { 2 } else { 0 };
        let (curr, wakee) = (&self.ses[se], &self.ses[pse]);
        let ran_ns = self.rqs[cpu].clocks.clock_task.saturating_sub(curr.exec_start);
        match wakee.deadline.since(curr.deadline) < 0 && ran_ns >= threshold_ns {
            true => Reason::WakeSyncPreempts,
            false => Reason::WakeSyncWaits,
        }
    }

    /// Whether the wakee would be picked now. Delayed sleepers that would be leave the queue.
    fn picked_at_wakeup(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId, pse: SeId, short: bool) -> Reason {
        loop {
            let picked = match short {
                true => self.pick_eevdf(cfs_rq, Respect::DeadlinesOnly),
                false => self.pick_buddy_or_eevdf(cfs_rq),
            };
            let Some(picked) = picked else { return Reason::WakeNotEligible };
            let entity = &self.ses[picked.se];
            match (entity.sched_delayed, entity.task) {
                (true, Some(sleeper)) => self.complete_delayed_dequeue(cx, sleeper),
                (true, None) => self.complete_delayed_group(cx, picked.se),
                (false, _) => return self.why_picked(cfs_rq, pse, Some(picked), short),
            }
        }
    }
}
