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
    /// The load of its running task, if that does not fit; else 0.
    pub misfit_load: u64,
    /// Its capacity for fair tasks, as balance has found it last.
    pub capacity: u64,
}

/// What is kept of all CPUs for balance and placement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RootState {
    /// Somebody waits on some CPU.
    pub overloaded: bool,
    /// Whether wake-ups go by energy while no CPU is overutilized; if so, whether one is.
    pub overutilized: Option<bool>,
}

impl Sched {
    /// What balance and placement keep of `cpu`.
    pub fn balance_state(&self, cpu: CpuId) -> BalanceState {
        let lb = &self.rqs[cpu].lb;
        BalanceState {
            next_balance: lb.next_balance,
            avg_idle: lb.avg_idle,
            softirq_raised: lb.softirq_raised,
            misfit_load: lb.misfit_task_load,
            capacity: self.capacity_of(cpu),
        }
    }
    /// What they keep of all CPUs.
    pub fn root_state(&self) -> RootState {
        RootState { overloaded: self.topology.overload, overutilized: self.overutilized() }
    }
}
