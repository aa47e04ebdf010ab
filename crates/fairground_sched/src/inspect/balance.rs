//! What balance keeps of a CPU, as another scheduler's numbers are held against it.

use crate::Sched;
use fairground_stdx::CpuId;

/// What balance and placement keep of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BalanceState {
    /// The jiffy from which on its tick balances.
    pub next_balance: u64,
    /// Mean length of its idle times, ns.
    pub avg_idle: u64,
    /// Whether its balance softirq or one on behalf of others is raised.
    pub softirq_raised: bool,
}

impl Sched {
    /// What balance and placement keep of `cpu`.
    pub fn balance_state(&self, cpu: CpuId) -> BalanceState {
        let lb = &self.rqs[cpu].lb;
        BalanceState { next_balance: lb.next_balance, avg_idle: lb.avg_idle, softirq_raised: lb.softirq_raised }
    }
}
