//! EEVDF: a tick has no test of its own. The account of run time, here as anywhere, finds whether the
//! request is done or the protection over (`fair/deadline.rs`).

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::group::Tell;
use fairground_stdx::SeId;

impl Sched {
    /// Returns the entity above.
    ///
    /// Kernel: fair.c entity_tick(), v6.6–
    // Not inlined: CFS keeps its registers.
    #[inline(never)]
    pub(super) fn entity_tick_by_deadline(&mut self, cx: &mut Ctx<'_, '_>, curr: SeId) -> Option<SeId> {
        let (ran, turn) = self.level(curr).account_request(cx);
        match turn {
            Some(reason) => self.end_turn(cx, curr, reason),
            None => cx.decide_who(self.level(curr).turn_goes_on(), self.ses[curr].who(), 0),
        }
        self.account_cfs_rq_runtime(cx, self.ses[curr].cfs_rq, ran);
        self.update_load_avg(cx, curr, Tell::Group);
        self.update_cfs_group(cx, curr);
        self.ses[curr].parent
    }
}
