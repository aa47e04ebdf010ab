//! Who holds a lock keeps its CPU: no kernel does that. Explanations ask what would be if one did.

use crate::simulation::Simulation;
use fairground_stdx::{CpuId, TaskId};

impl Simulation {
    /// From now on who holds a lock is not preempted: it gives way when it has released all.
    pub fn keep_lock_holders(&mut self) {
        self.klocks.holders_stay = true;
    }

    /// Whether a reschedule of the current task is put off until it holds no lock.
    pub(crate) fn puts_off_resched(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let locker = &mut self.klocks.lockers[task];
        if !self.klocks.holders_stay || locker.held == 0 {
            return false;
        }
        locker.owes_resched = true;
        self.sched.clear_need_resched(cpu);
        true
    }

    /// The current task has released a lock: asks for the reschedule that was put off, if it was the last one. Whether it did.
    pub(super) fn asks_for_resched_put_off(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let locker = &mut self.klocks.lockers[task];
        let owes = locker.held == 0 && std::mem::take(&mut locker.owes_resched);
        if owes {
            self.sched.set_need_resched(cpu);
        }
        owes
    }
}
