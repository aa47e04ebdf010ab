//! A paranoid run checks every invariant of the core again and again.

use crate::simulation::Simulation;

/// Events of the loop between two complete checks. Of ticks, switches and wake-ups there may be none for millions of them. A check looks at
/// every CPU, so that larger machines are checked as much more seldom.
const EVERY: u32 = 16;

impl Simulation {
    /// After an event of the loop.
    #[inline(always)]
    pub(crate) fn check_again_and_again(&mut self) {
        if self.paranoid {
            self.unchecked += 1;
            if self.unchecked >= EVERY.max(self.machine.cpus.len() as u32) {
                self.unchecked = 0;
                self.check();
            }
        }
    }

    /// Every invariant of the core; a broken one is our bug and stops the program.
    fn check(&self) {
        let held = self.sched.check();
        assert!(held.is_ok(), "invariant: at {} after {} events: {:?}", self.now.ns(), self.counts().events(), held.err());
    }
}
