//! The fair class: which ordinary task of a CPU runs next, for how long, and when another one may take the CPU from it.
//!
//! # The problem
//!
//! Several tasks want one CPU. Each should get a share in proportion to its weight. No task should wait long, and a
//! task that needs the CPU only briefly should get it soon. These aims contradict each other: short turns cost
//! switches, and early service for one task is late service for another.
//!
//! # What goes wrong without a rule
//!
//! - A task that slept for an hour and is placed at the front runs alone until it has caught up.
//! - A task that gets nothing for its sleep waits behind every busy task at each wake-up: typing stutters.
//! - A task that may forget what it owes by sleeping shortly takes more than its share.
//!
//! # The rule
//!
//! Run time is counted in virtual time, which passes more slowly for a heavier task: `vruntime += ran * 1024 / weight`.
//!
//! - **CFS** (up to v6.5) runs the entity with the smallest `vruntime`. The tick ends a turn after a slice. A sleeper
//!   is placed up to half a latency behind the others. A wakee preempts if its lead exceeds the wake-up granularity.
//! - **EEVDF** (from v6.6) keeps two numbers. *Lag* is the service that an entity was owed and did not get; whoever has
//!   a lag of 0 or more is eligible. *Deadline* is the virtual time at which its present request should be served. The
//!   earliest deadline among the eligible entities runs. Lag survives sleep, so there is no bonus for sleepers.
//!
//! With cgroups the same choice is made level by level: an entity stands for a task, or for a group's queue on that
//! CPU.
//!
//! # What changed
//!
//! - v5.13 "sched,fair: Alternative sched_slice()": slices by the number of all fair tasks of the CPU
//! - v5.15 "sched: Cgroup SCHED_IDLE support": whole groups can be idle
//! - v6.6 "sched/fair: Implement an EEVDF-like scheduling policy" and "sched/fair: Commit to EEVDF"
//! - v6.8 "sched/eevdf: Sort the rbtree by virtual deadline": ties fall differently
//! - v6.12 "sched/fair: Implement delayed dequeue": a sleeper that owes service stays queued until it has paid
//! - v6.13 "sched: Add Lazy preemption model": the end of a request asks lazily (profiles: from v6.18)
//! - v6.17 "sched/fair: Limit run to parity to the min slice of enqueued entities"
//!
//! A kernel is CFS or EEVDF through the seams `pick`, `place`, `tick_preempt` and `protection`.
//!
//! # The parts
//!
//! `class.rs` is what `core/` calls. Run time: `update_curr.rs`, `weight.rs`, `tunables.rs`. Coming and going:
//! `enqueue.rs`, `place/`, `fork.rs`, `delay.rs`, `switched.rs`. Choosing: `pick/`, `buddies.rs`. Ending a turn:
//! `tick_preempt/`, `slice.rs`, `deadline.rs`, `protect.rs`, `wakeup_preempt/`, `hrtick.rs`, `yield_task.rs`. Groups:
//! `group/`; their CPU quota: `bandwidth/`. Load: `load.rs` over `crate::pelt`. Which CPU: `select_task_rq/` and
//! `energy/` at a wake-up, `balance/` later.
//!
//! # Read also
//!
//! docs/model/02-fair-core.md and 03-groups.md; Documentation/scheduler/sched-design-CFS.rst and sched-eevdf.rst; LWN:
//! "An EEVDF CPU scheduler for Linux" (<https://lwn.net/Articles/925371/>) and "Completing the EEVDF scheduler"
//! (<https://lwn.net/Articles/969062/>).

mod avg_vruntime;
pub mod balance;
pub mod bandwidth;
mod buddies;
mod class;
mod deadline;
mod delay;
mod energy;
mod enqueue;
mod entity;
mod fork;
pub mod group;
mod hrtick;
mod level;
mod load;
mod order;
pub mod pick;
pub mod place;
mod plain_switch;
mod protect;
pub mod select_task_rq;
mod slice;
mod steps;
mod switched;
#[cfg(test)]
mod tests;
pub mod tick_preempt;
mod touch;
pub mod tunables;
mod update_curr;
mod wakeup_preempt;
pub mod weight;
mod yield_task;

pub(crate) use class::Set;
pub(crate) use energy::{Energy, efficient_khz};
pub use entity::{CfsRq, SchedEntity};
pub(crate) use entity::{DequeueFlags, EnqueueFlags};
pub(crate) use hrtick::HrtickTimer;
pub(crate) use select_task_rq::WakeeFlips;
pub(crate) use slice::LastSlice;
pub use wakeup_preempt::Lead;
