//! The balance softirq: which domains of a CPU are due, one after the other.

use super::BalanceStep;
use crate::Sched;
use crate::ctx::Ctx;
use fairground_stdx::CpuId;

impl Sched {
    /// At each tick: is it time to balance, here or on behalf of idle CPUs?
    ///
    /// Kernel: fair.c trigger_load_balance(), sched_balance_trigger() from v6.10, v4.12–
    #[inline]
    pub(crate) fn trigger_load_balance(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        if self.topology.cpus[cpu].base.is_some() && cx.jiffies >= self.rqs[cpu].lb.next_balance {
            self.rqs[cpu].lb.softirq_raised = true;
        }
    }

    /// Whether the balance softirq of `cpu` is raised: it runs when the interrupt ends.
    #[inline]
    pub fn softirq_raised(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].lb.softirq_raised
    }

    /// The balance softirq of `cx.cpu`, one phase of it.
    ///
    /// Kernel: fair.c run_rebalance_domains(), sched_balance_softirq() from v6.10, v4.12–
    pub fn run_rebalance_domains(&mut self, cx: &mut Ctx<'_, '_>) -> BalanceStep {
        self.rqs[cx.cpu].lb.softirq_raised = false;
        BalanceStep::Done
    }
}
