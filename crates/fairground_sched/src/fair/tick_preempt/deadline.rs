//! EEVDF: a tick has no test of its own. The account of run time, here as anywhere, finds whether the
//! request is done or the protection over (`fair/deadline.rs`).

use crate::Sched;
use crate::ctx::Ctx;
use fairground_stdx::SeId;

impl Sched {
    /// Returns the entity above.
    ///
    /// Kernel: fair.c entity_tick(), v6.6–
    // Not inlined: CFS keeps its registers.
    #[inline(never)]
    pub(super) fn entity_tick_by_deadline(&mut self, cx: &mut Ctx<'_, '_>, curr: SeId) -> Option<SeId> {
        let mut level = self.level(curr);
        let turn = level.account_request(cx);
        level.update_load_avg(cx);
        let above = level.se.parent;
        match turn {
            Some(reason) => self.end_turn(cx, curr, reason),
            None => cx.decide(level.turn_goes_on(), level.se.task, 0),
        }
        above
    }
}
