//! What a replay charges for switches, sleeps and wake-ups. Recorded run time has the recorded kernel's share of these in it, so a replay that
//! runs it all and charges its own prices too would pay twice.

use super::track::Act;
use fairground_stdx::Ns;

/// Prices of what a replayed task does in the kernel, at full speed. They are taken off the recorded run time beside which they are charged;
/// what a run is too short for is taken off the next one. So switches and wake-ups that a change adds cost their price, and those that
/// were recorded are paid once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Charges {
    /// Of the switch to it after a sleep. That after a preemption or a yield may not come again, and is left out.
    pub switch: Ns,
    /// Of a wait for another task, before it leaves its CPU.
    pub wait: Ns,
    /// The same, after the wake-up.
    pub waited: Ns,
    /// Of a sleep on a timer, before it leaves its CPU.
    pub sleep: Ns,
    /// Of a wake-up, before the wakee's state is looked at.
    pub wake: Ns,
    /// The same, behind that.
    pub woken: Ns,
    /// Of a wake-up towards another CPU, beside that.
    pub remote: Ns,
    /// Of a timer's interrupt that wakes a task, for whom it interrupts.
    pub interrupt: Ns,
    /// Of a fork.
    pub fork: Ns,
}

impl Charges {
    /// What is charged before an act.
    pub(super) fn before(&self, act: &Act) -> u64 {
        match act {
            Act::Await | Act::Message { .. } => self.wait.0,
            Act::Until { .. } | Act::Device(_) => self.sleep.0,
            Act::Wake(_) | Act::Send(_) => self.wake.0,
            Act::Fork(_) => self.fork.0,
            Act::Run(_) | Act::Again => 0,
        }
    }
    /// What is charged after it.
    pub(super) fn after(&self, act: &Act) -> u64 {
        match act {
            Act::Await | Act::Message { .. } => self.switch.0 + self.waited.0,
            Act::Until { .. } | Act::Device(_) => self.switch.0,
            Act::Wake(_) | Act::Send(_) => self.woken.0,
            Act::Fork(_) | Act::Run(_) | Act::Again => 0,
        }
    }
}
