//! Per-entity load tracking: geometric sums over periods of 1024 units of 1024 ns, with y^32 = 1/2.
//!
//! [`SchedAvg`] is the state, [`PeltFamily`] the seam: four sets of rules over the same core step
//! (`sum.rs`). What happens between updates lies in `moving.rs` (attach, detach, migration),
//! `propagate.rs` (groups), `birth.rs` and `util_est.rs`; the time that is fed in comes from `clock.rs`.

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
