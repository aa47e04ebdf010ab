//! CPU quota of groups (cpu.max): what a group may use per period, taken from a pool in slices by its queue on each CPU.
//!
//! ```text
//! update_curr ─► account: remaining -= ran; none left ─► assign: up to a slice from the pool ─► empty: resched
//! put_prev, pick ─► check: remaining <= 0 ─► throttle: it lines up at the pool, and stops with all below it,
//!                   or (from v6.18) each task below it does on its way back to user mode
//! period timer ─► refill the pool ─► distribute: who lines up gets its debt and 1 ns, and is released on its CPU
//! last task gone ─► all but 1 ms goes back to the pool ─► slack timer ─► distribute
//! ```
//!
//! As long as no group has a quota nothing of this is looked at. Start reading at `pool.rs`, then `account.rs`,
//! `throttle.rs` with `cfs_rq_dequeue.rs` and `on_user_return.rs`, `distribute.rs`.

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
