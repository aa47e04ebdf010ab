//! Per-entity load tracking (PELT): the recent past of a task, a group, a queue or a CPU as a few decaying averages.
//!
//! # The problem
//!
//! Placement, balance and frequency ask about the near future: how much work does this CPU have, how much of a CPU does
//! this task need? Only the past is known. Momentary numbers, such as the count of runnable tasks, jump too much. A
//! mean over a long window follows too late, and needs a history.
//!
//! # What goes wrong without it
//!
//! - Balance by task count treats a task that runs 1 % of the time like one that never sleeps.
//! - A frequency chosen by idle time knows nothing of a task that has just arrived.
//! - Where contributions are scaled by speed, a CPU at half capacity never shows more than 512 of 1024. Up to v5.0 a
//!   ramp to the highest frequency took nearly twice as long as it needed.
//!
//! # The rule
//!
//! Time is cut into periods of 1024 units of 1024 ns. What happened 32 periods ago counts half: y^32 = 1/2.
//!
//! ```text
//! sum = sum * y^periods + contribution         contribution: time in which it ran, or was runnable, or weight
//! average = sum / divider                      divider: the largest sum possible here, 46718 to 47742
//! ```
//!
//! A multiplication per update is enough, and averages add up: that of a queue is the sum of its entities'. All of it
//! is integer arithmetic that truncates at fixed places, so model and kernel can agree to the last bit.
//!
//! - `load_avg`: runnable time, times weight. Balance between CPUs.
//! - `util_avg`: running time, up to the capacity of the CPU. Frequency, and whether a task fits.
//! - `runnable_avg` (from v5.7): runnable time per task, so k waiting tasks tend to k * 1024. Contention.
//!
//! # What changed
//!
//! The seam [`PeltFamily`] has five variants over one core step; docs/model/01-pelt.md has each formula.
//!
//! - v4.15 "sched/fair: Rewrite PELT migration propagation": groups learn of changes by sums (A before, B after)
//! - v4.17 "sched/fair: Add util_est on top of PELT": what a task used before it went to sleep
//! - v4.19 "sched/irq: Add IRQ utilization tracking": real-time, deadline and interrupt time have averages
//! - v5.1 "sched/fair: Update scale invariance of PELT": time is scaled, not contributions (C)
//! - v5.7 "sched/pelt: Add a new runnable average signal" (D-synced)
//! - v5.17 "sched/pelt: Relax the sync of util_sum with util_avg" (D)
//! - v6.0 "sched/fair: Decay task PELT values during wakeup migration": the clock of an idle CPU is estimated
//!
//! # The parts
//!
//! `avg.rs` is the state, `sum.rs` the core step, `tables.rs` its constants, `family.rs` what each caller feeds in.
//! `clock.rs` makes the time that is fed in. Between updates: `birth.rs` (new tasks), `moving.rs` (attach, detach,
//! migration), `propagate.rs` and `reweight.rs` (groups), `util_est.rs`. When updates happen is decided in
//! `fair/load.rs` and `fair/balance/blocked.rs`.
//!
//! # Read also
//!
//! docs/model/01-pelt.md; Documentation/scheduler/schedutil.rst and sched-capacity.rst; LWN "Per-entity load tracking"
//! (<https://lwn.net/Articles/531853/>) and "Load tracking in the scheduler" (<https://lwn.net/Articles/639543/>).

mod avg;
mod birth;
pub mod clock;
mod family;
mod moving;
mod propagate;
mod reweight;
mod sum;
mod tables;
mod util_est;

pub use crate::seam::{PeltClockRule, PeltFamily, PostInit, UtilEstRule, UtilEstSample};
pub use avg::{Scale, SchedAvg, UtilEst};
pub use clock::RqClocks;
pub use family::{CfsRqLoad, SeLoad};
pub use moving::Removed;
pub use propagate::{GroupEntity, GroupShare};
pub use sum::{cap_scale, decay_load, pelt_divider, segments};
pub use tables::{LOAD_AVG_MAX, PELT_MIN_DIVIDER, RUNNABLE_AVG_YN_INV};

/// Binary places of a capacity of one.
pub const SCHED_CAPACITY_SHIFT: u32 = 10;
/// Capacity of the biggest CPU at its highest frequency.
pub const SCHED_CAPACITY_SCALE: u64 = 1 << SCHED_CAPACITY_SHIFT;
