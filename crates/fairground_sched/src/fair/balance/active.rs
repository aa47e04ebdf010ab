//! Active balance: the stopper takes the running task off its CPU and pushes it to another.

use super::BalanceStep;
use crate::Sched;
use crate::ctx::Ctx;
use fairground_stdx::CpuId;

impl Sched {
    /// Whether the stopper of `cpu` is asked to push a task.
    #[inline]
    pub fn stop_work_due(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].lb.push_cpu.is_some()
    }

    /// The stopper of `cx.cpu` runs: the task that ran there is put down and is one of those that may be pushed.
    ///
    /// Kernel: fair.c active_load_balance_cpu_stop(), v4.12–
    pub fn active_load_balance_cpu_stop(&mut self, cx: &mut Ctx<'_, '_>) -> BalanceStep {
        self.rqs[cx.cpu].lb.push_cpu = None;
        BalanceStep::Done
    }
}
