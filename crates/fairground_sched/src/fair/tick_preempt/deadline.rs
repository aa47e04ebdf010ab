//! EEVDF: a tick has no test of its own. The account of run time, here as anywhere, finds whether the
//! request is done or the protection over (`fair/deadline.rs`).

use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::Reason;
use fairground_stdx::SeId;

impl Sched {
    /// Acts on what the account at the tick found of the running entity `curr`.
    ///
    /// Kernel: fair.c entity_tick(), v6.6–
    #[inline]
    pub(super) fn entity_tick(&mut self, cx: &mut Ctx<'_, '_>, curr: SeId, turn: Option<Reason>) {
        match turn {
            Some(reason) => self.end_turn(cx, curr, reason),
            None => {
                let level = self.level(curr);
                cx.decide(level.turn_goes_on(), level.se.task, 0);
            }
        }
    }
}
