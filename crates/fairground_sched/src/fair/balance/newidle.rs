//! Newidle balance: a CPU that runs out of tasks looks for some elsewhere before it goes idle.

use super::BalanceStep;
use crate::Sched;
use crate::core::Leaving;
use crate::ctx::Ctx;
use fairground_stdx::CpuId;

impl Sched {
    /// Whether `cpu`, in the middle of schedule(), has no fair task that wants to run: newidle balance comes before the
    /// pick.
    ///
    /// Kernel: fair.c pick_next_task_fair(), v4.12–
    #[inline]
    pub fn wants_newidle_balance(&self, cpu: CpuId, _leaving: &Leaving) -> bool {
        let rq = &self.rqs[cpu];
        rq.online && self.cfs_rqs[rq.cfs].h_nr_runnable == 0
    }

    /// `cx.cpu` looks for a task before it goes idle, one phase of it.
    ///
    /// Kernel: fair.c idle_balance(), newidle_balance() from v5.4, sched_balance_newidle() from v6.10, v4.12–
    pub fn newidle_balance(&mut self, cx: &mut Ctx<'_, '_>) -> BalanceStep {
        let rq = &mut self.rqs[cx.cpu];
        rq.lb.idle_stamp = rq.clocks.clock;
        BalanceStep::Done
    }
}
