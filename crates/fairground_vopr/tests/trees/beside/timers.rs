//! Timers of the kernel's core fire where those of ours do.

use super::{Beside, Trouble};

impl Beside {
    /// The kernel has set a timer: on which CPU, and for when.
    pub(super) fn timer_is_set(&mut self, timer: u64, (cpu, at): (u32, u64)) {
        let before = self.timers.insert(timer, (cpu, at));
        if before.is_some_and(|before| before.0 != cpu && before.1 == at) {
            self.left_behind.insert(timer);
        }
    }

    /// A timer fires on `cpu` in ours. One that another CPU left there may be overdue: if ours had it, it would have fired before.
    pub(super) fn fire(&mut self, cpu: u32, now: u64) -> Result<(), Trouble> {
        let due: Vec<u64> = self.timers.iter().filter(|(_, row)| row.0 == cpu && row.1 <= now).map(|row| *row.0).collect();
        let ours_has_not = |timer: &u64| self.left_behind.contains(timer) && self.timers[timer].1 < now;
        let (others, due): (Vec<u64>, Vec<u64>) = due.into_iter().partition(ours_has_not);
        if due.is_empty() {
            let what = format!("timer of CPU {cpu}: none is due in the kernel; it has {:?}", self.timers);
            return Err(Trouble::Differs(vec![what]));
        }
        self.fired = due.len() - 1;
        for timer in [others, due].concat() {
            self.timers.remove(&timer);
            self.left_behind.remove(&timer);
            self.core.timer(cpu, now, timer as u32)?;
            self.take_requests();
        }
        Ok(())
    }
}
