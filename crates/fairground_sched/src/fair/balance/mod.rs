//! Load balance: moving runnable tasks between CPUs.
//!
//! ```text
//! tick ──► SCHED_SOFTIRQ ──► rebalance_domains ──┐
//! kick ──► nohz_idle_balance ── for each idle CPU┼──► load_balance: statistics ─► detach ─► attach
//! schedule() with an empty queue ──► newidle ────┘         └─ failed too often ──► active balance (stopper)
//! ```
//!
//! Each arrow within load_balance() is a phase: the engine lets the time pass that it cost before the next one, and
//! other CPUs go on meanwhile.

mod active;
mod attach;
mod blocked;
mod busiest_group;
mod busiest_queue;
mod capacity;
mod check;
mod cpu_load;
mod detach;
mod env;
pub(crate) mod group;
mod group_type;
mod load_balance;
mod load_based;
pub(crate) mod loads;
mod misfit;
mod newidle;
mod nohz;
mod rebalance;
#[cfg(test)]
mod reference;
mod ring;
mod should_we_balance;
#[cfg(test)]
mod tests;
mod verdict;
mod work;

pub(crate) use capacity::RtAvg;
pub(crate) use env::{LbEnv, MigrationType};
pub(crate) use group_type::GroupStats;
pub(crate) use nohz::Nohz;
pub(crate) use ring::{End, GroupNode, TaskRing};
pub(crate) use work::BalanceWork;

/// Whether a path that is done in phases is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BalanceStep {
    /// Pay what was counted, then call again.
    More,
    /// It is over.
    Done,
}
