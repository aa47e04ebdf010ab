//! The domains are about to change: what is going on in them ends.

use super::BalanceWork;
use crate::Sched;
use crate::ctx::Ctx;
use crate::task::TaskState;

impl Sched {
    /// Ends every balance that is under way, before the domains are built anew: who is on its way arrives. The kernel
    /// waits until nobody looks at the old domains any more (synchronize_rcu()).
    ///
    /// Kernel: topology.c detach_destroy_domains(), v4.12–
    pub(crate) fn end_all_balance(&mut self, cx: &mut Ctx<'_, '_>) {
        for task in self.tasks.ids() {
            if self.tasks[task].state == TaskState::Migrating {
                self.end_migration(cx, task);
            }
        }
        for rq in self.rqs.iter_mut() {
            rq.lb.work = BalanceWork::None;
            // The new domains count all their CPUs as busy.
            rq.lb.counted_idle = false;
        }
        self.balancing = false;
    }
}
