//! What a CPU remembers of its balance from one phase to the next.

use super::active::Push;
use super::load_balance::LoadBalance;
use super::newidle::Newidle;
use super::rebalance::Softirq;
use crate::Sched;
use fairground_stdx::CpuId;

/// The balance that a CPU is in the middle of.
#[derive(Clone, Debug, Default)]
pub(crate) enum BalanceWork {
    /// None.
    #[default]
    None,
    /// In its softirq.
    Softirq(Softirq),
    /// In schedule().
    Newidle(Newidle),
    /// In its stopper.
    Push(Push),
}

impl BalanceWork {
    /// It, if it is one in the softirq.
    pub(super) fn as_softirq(&mut self) -> Option<&mut Softirq> {
        if let BalanceWork::Softirq(softirq) = self { Some(softirq) } else { None }
    }

    /// It, if it is one in schedule().
    pub(super) fn as_newidle(&mut self) -> Option<&mut Newidle> {
        if let BalanceWork::Newidle(newidle) = self { Some(newidle) } else { None }
    }
}

impl Sched {
    /// The run queue whose lock the next phase of the balance of `cpu` takes, to move tasks off it or onto it.
    pub fn balance_locks(&self, cpu: CpuId) -> Option<CpuId> {
        match &self.balance_works[cpu] {
            BalanceWork::None => None,
            BalanceWork::Softirq(softirq) => softirq.balance().and_then(LoadBalance::locks),
            BalanceWork::Newidle(newidle) => newidle.balance().and_then(LoadBalance::locks),
            BalanceWork::Push(push) => Some(self.tasks[push.task].cpu),
        }
    }
}
