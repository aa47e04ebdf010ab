//! Does a woken task preempt the running one? The rule goes with the seam `pick`.
//!
//! Contract: `curr` runs on `cpu`, `wakee` has just been queued there. The answer is a reason; nothing
//! else than protection and buddy marks has changed.

mod eevdf;
mod granularity;
mod only_if_short;

use crate::Sched;
use crate::core::Arrival;
use crate::ctx::Ctx;
use crate::rq::Urgency;
use crate::seam::Pick;
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, SeId, TaskId};

pub use granularity::Lead;

/// The answers that mean yes.
const PREEMPTS: [Reason; 5] =
    [Reason::WakePreempts, Reason::WakePolicy, Reason::WakeDeadlinePreempts, Reason::WakeShortPreempts, Reason::WakeSyncPreempts];

impl Sched {
    /// Decides whether `wakee`, just queued on `cpu`, preempts what runs there.
    ///
    /// Kernel: fair.c check_preempt_wakeup(), check_preempt_wakeup_fair() from v6.8, v4.12–
    pub(crate) fn check_preempt_wakeup(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, wakee: TaskId, arrival: Arrival) {
        let Some(curr) = self.rqs[cpu].curr else { return };
        if self.tasks[wakee].throttled || self.is_held_back(self.se(wakee).cfs_rq) {
            return;
        }
        let reason = match self.profile.pick {
            Pick::Leftmost => self.wakeup_preempt_by_granularity(cx, cpu, curr, wakee, arrival == Arrival::Fork),
            Pick::EligibleByVruntime | Pick::EligibleByDeadline => self.wakeup_preempt_by_deadline(cx, cpu, curr, wakee, arrival),
        };
        cx.decide2(reason, Some(wakee), Some(curr));
        if PREEMPTS.contains(&reason) {
            self.preempt_curr(cx, cpu, curr, wakee);
        }
    }

    /// What decides if one of two entities of a queue is idle and the other is not: an idle one gives way to any other, and
    /// preempts none.
    ///
    /// Kernel: fair.c check_preempt_wakeup(), v5.15–
    fn preempts_by_idleness(&self, se: SeId, pse: SeId) -> Option<Reason> {
        match (self.se_is_idle(&self.ses[se]), self.se_is_idle(&self.ses[pse])) {
            (true, false) => Some(Reason::WakePolicy),
            (false, true) => Some(Reason::WakeBatch),
            _ => None,
        }
    }

    /// Buddies are kept only where enough entities wait that a preempted one would lose its cache.
    fn buddies_matter(&self, se: SeId) -> bool {
        u64::from(self.cfs_rqs[self.ses[se].cfs_rq].nr_running) >= self.tunables.nr_latency
    }

    /// A preempted task that is queued still may be preferred at the next pick, if it stood on the queue on which it was
    /// preempted.
    fn preempt_curr(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, curr: TaskId, wakee: TaskId) {
        self.resched_curr_as(cx, cpu, Urgency::Lazy);
        let se = self.tasks[curr].se;
        let marks = self.profile.feats.has(Feat::LAST_BUDDY) && self.ses[se].on_rq && self.buddies_matter(se);
        if marks && self.find_matching_se(se, self.tasks[wakee].se).0 == se {
            self.set_last_buddy(se);
        }
    }
}
