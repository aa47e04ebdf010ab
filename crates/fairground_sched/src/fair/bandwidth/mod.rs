//! CPU quota of groups (`cpu.max`): how much CPU time a group may use in each period, over all CPUs together.
//!
//! # The problem
//!
//! One number has to hold on many CPUs at once. A shared counter that every CPU charges at every update would make one
//! cache line the busiest of the machine. So each CPU takes a slice of the quota in advance, and charges that. Every
//! rule here follows from this: what a CPU keeps, gives back, overdraws and loses.
//!
//! # What goes wrong otherwise
//!
//! - Without debts a task that runs on to the next tick gets that time for nothing, and the mean exceeds the limit.
//! - With slices that expire (v4.18 to v5.3) each CPU loses up to 1 ms per period. On 88 CPUs more than 80 of 100 ms
//!   are lost.
//! - With releases by the timer's CPU alone (up to v6.2) one interrupt walks the groups of all CPUs: 67 ms on 384 CPUs.
//! - With queues that stop as a whole (up to v6.17) a task stops inside the kernel too, and keeps its locks until the
//!   refill.
//!
//! # The rule
//!
//! ```text
//! update_curr ─► account: remaining -= ran; none left ─► assign: up to a slice from the pool ─► empty: resched
//! put_prev, pick ─► check: remaining <= 0 ─► throttle: last in the pool's list, and all below it stops,
//!                   or (from v6.18) each task below it does on its way back to user mode
//! period timer ─► refill the pool ─► distribute: each queue in the list gets its debt and 1 ns, and is released
//! last task gone ─► all but 1 ms goes back to the pool ─► slack timer ─► distribute
//! ```
//!
//! The pool (`cfs_bandwidth`, one per group) holds what no CPU has yet. The account (one per group and CPU) holds
//! `runtime_remaining`, which is signed: below 0 it is a debt. Nothing is lost but by a named rule. At each instant:
//!
//! ```text
//! refills = pool + sum of runtime_remaining + used + what a rule took away          `is_conserved`
//! ```
//!
//! As long as no group has a quota, none of this is looked at.
//!
//! # What changed
//!
//! - v5.4 "sched/fair: Fix low cpu usage with high throttling by removing expiration of cpu-local slices"
//! - v5.14 "sched/fair: Introduce the burstable CFS controller": a refill adds instead of setting
//! - v6.3 "sched: Async unthrottling for cfs bandwidth": each CPU releases its own queues
//! - v6.4 "sched: Interleave cfs bandwidth timers for improved single thread performance at low utilization"
//! - v6.18 "sched/fair: Switch to task based throttle model": tasks stop on their way to user mode
//! - v7.2 "sched/fair: Unify cfs_rq throttling via account_cfs_rq_runtime()": throttled at the charge
//!
//! # The parts
//!
//! Read `pool.rs`, then `account.rs` (charging), `throttle.rs` with its two forms `cfs_rq_dequeue.rs` and
//! `on_user_return.rs`, `distribute.rs` (period timer, release), `slack.rs`. `set.rs` writes a limit, `hotplug.rs`
//! releases the queues of a CPU that goes off line, `walk.rs` and `subtree.rs` visit the groups below.
//!
//! # Read also
//!
//! docs/model/10-bandwidth.md and 11-task-throttle.md; Documentation/scheduler/sched-bwc.rst; LWN "CFS bandwidth
//! control" (<https://lwn.net/Articles/428230/>) and "The burstable CFS bandwidth controller"
//! (<https://lwn.net/Articles/844976/>).

mod account;
mod cfs_rq_dequeue;
mod distribute;
mod hotplug;
mod on_user_return;
mod pool;
mod set;
mod slack;
mod subtree;
#[cfg(test)]
mod tests;
mod throttle;
mod walk;

pub use distribute::{Distribution, PeriodTick};
pub use pool::{Account, BandwidthStats, CfsBandwidth, Spans};

use crate::Sched;
use fairground_stdx::{CfsRqId, CpuId, Id, IndexVec, TaskId, TgId};
use subtree::Subtree;
use walk::ThrottledQueue;

/// Everything that quotas add to the tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bandwidth {
    /// The seed of the run: phases of period timers come from it.
    pub(crate) seed: u64,
    /// How many groups have a quota.
    used: u32,
    /// By group; empty as long as none of them has had a quota.
    pools: IndexVec<TgId, Option<Box<CfsBandwidth>>>,
    /// By queue; those behind the end are not throttled and never were.
    queues: IndexVec<CfsRqId, ThrottledQueue>,
    /// By CPU: what its call that hands out quota has done so far. Empty as long as no group has had a quota.
    calls: IndexVec<CpuId, distribute::Call>,
    /// By group: what a walk below it visits. Empty as long as nothing was throttled since a group came or went.
    subtrees: IndexVec<TgId, Option<Box<Subtree>>>,
    /// Room for the tasks of a queue.
    marked: Vec<TaskId>,
}

impl Sched {
    /// Whether any group has a quota.
    ///
    /// Kernel: fair.c cfs_bandwidth_used(), v4.12–
    #[inline(always)]
    pub fn cfs_bandwidth_used(&self) -> bool {
        self.bandwidth.used > 0
    }

    /// The pool of a group that has, or had, a quota.
    pub fn cfs_bandwidth(&self, group: TgId) -> Option<&CfsBandwidth> {
        self.bandwidth.pools.get(group)?.as_deref()
    }

    /// The pool of the group of a queue.
    pub(crate) fn pool_of(&mut self, queue: CfsRqId) -> Option<&mut CfsBandwidth> {
        let tg = self.cfs_rqs[queue].tg?;
        self.pool(tg)
    }

    pub(crate) fn pool(&mut self, group: TgId) -> Option<&mut CfsBandwidth> {
        match group.index() < self.bandwidth.pools.len() {
            true => self.bandwidth.pools[group].as_deref_mut(),
            false => None,
        }
    }
}
