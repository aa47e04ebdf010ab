//! Load balance: moving runnable tasks between CPUs after they were placed.
//!
//! # The problem
//!
//! Placement decides when a task wakes up. Afterwards tasks end, sleepers wake and busy tasks pile up on one CPU.
//! Somebody has to correct that without a view of the whole machine, without a lock over it, and without moving tasks
//! to and fro. Looking costs time on busy machines, moving costs cache, and equality is often impossible: nine tasks on
//! eight CPUs.
//!
//! # What goes wrong without it
//!
//! - A CPU idles for milliseconds beside a queue of waiting tasks (no newidle balance).
//! - Comparing load alone leaves two light tasks waiting on one CPU, and searches a CPU with one heavy task in vain.
//! - If every CPU of a group pulls at once, tasks fly around.
//! - A statistic that hides waiting tasks hides them from all of this: docs/experiments/runnable-propagation.md.
//!
//! # The rule
//!
//! Each CPU balances for itself, domain by domain from the smallest span up. In a domain it compares groups of CPUs:
//!
//! ```text
//! tick ──► SCHED_SOFTIRQ ──► rebalance_domains ──┐
//! kick ──► nohz_idle_balance ── for each idle CPU┼──► load_balance: busiest group, its busiest queue ─► detach ─► attach
//! schedule() with an empty queue ──► newidle ────┘         └─ failed too often ──► active balance (stopper)
//! ```
//!
//! One CPU of a group balances for all of it (`should_we_balance`). The interval of a domain doubles while nothing is
//! found, and is the shortest again after an imbalance. Cache-hot tasks stay until more balances have failed than
//! `cache_nice_tries`. A running task is only moved by force, by the stopper.
//!
//! Each arrow within load_balance() is a phase: the engine lets the time pass that it cost before the next one, and
//! other CPUs go on meanwhile. So whatever was read may have changed, as in a kernel that takes the second lock later.
//!
//! # What changed
//!
//! - v4.20 "sched/fair: Add 'group_misfit_task' load-balance type": tasks too big for their CPU
//! - v5.5 "sched/fair: Rework load_balance()": groups have types; what is moved is load, utilisation or a number of
//!   tasks
//! - v5.10 "sched/fair: Relax constraint on task's load during load balance": the load counts less after each failure
//! - v5.16 "sched/fair: Remove sysctl_sched_migration_cost condition": newidle goes by its measured cost
//! - v6.6 "sched/fair: Consider the idle state of the whole core for load balance"
//! - v6.19 and stable trees "sched/fair: Proportional newidle balance": tries are drawn by their success so far
//!
//! # The parts
//!
//! When and by whom: `rebalance.rs`, `newidle.rs`, `nohz.rs`, `should_we_balance.rs`. One balance: `load_balance.rs`
//! over `env.rs`. From where, and how much: `busiest_group.rs` chooses between `load_based/` (up to v5.4) and
//! `group_type/`; then `busiest_queue.rs`. Which tasks: `detach.rs`, in the order of `ring.rs`; `attach.rs`. By force:
//! `active.rs`, `misfit.rs`. What is read: `loads.rs`, `cpu_load.rs`, `capacity.rs`, `group.rs`, `blocked.rs`.
//! Independent models: `reference/`.
//!
//! # Read also
//!
//! docs/model/07-load-balance.md and 05-topology.md; docs/limits.md for what is missing;
//! Documentation/scheduler/sched-domains.rst; "The Linux Scheduler: a Decade of Wasted Cores"
//! (<https://people.ece.ubc.ca/sasha/papers/eurosys16-final29.pdf>).

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
