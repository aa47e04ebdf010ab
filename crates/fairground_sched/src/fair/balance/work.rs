//! What a CPU remembers of its balance from one phase to the next.

use super::active::Push;
use super::newidle::Newidle;
use super::rebalance::Softirq;

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
