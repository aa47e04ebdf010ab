//! The scheduler: run queues, load tracking, the fair class. It has no clock, knows no cost and does
//! no I/O: the engine hands in *now* ([`Ctx`]), gets back what the core wants done ([`Request`]), and
//! prices what the core counted.
//!
//! Reading order: `sched.rs` (the tables), `core/` (wake-up, schedule(), tick), `fair/` (CFS and EEVDF), `rt/`, `deadline/`, `cpufreq/`, `pelt/`.
//! All of these are rules. What comparisons and explanations need of the core is in `follow/` and `inspect/`; slow models that need its
//! private tables lie beside what they are held against (`reference.rs`), all others in `fairground_vopr`.
#![deny(clippy::float_arithmetic)]

mod check;
mod core;
mod cpufreq;
mod ctx;
mod deadline;
pub mod fair;
pub mod features;
mod follow;
mod inspect;
pub mod pelt;
pub mod profile;
mod rq;
mod rt;
mod sched;
pub mod seam;
mod task;
pub mod topology;
mod uclamp;
pub mod version;

pub use crate::check::Broken;
pub use crate::core::{LastCpu, Leaving, SchedInfo, Switch, UserReturn, WakeFlags, Waking, rq_lock_op};
pub use crate::cpufreq::FreqReport;
pub use crate::ctx::{Ctx, Request, SCHED_CLOCK_AT_START};
pub use crate::deadline::{DlSe, DlTimer, Refused};
pub use crate::fair::balance::BalanceStep;
pub use crate::fair::bandwidth::{Account, BandwidthStats, Distribution, PeriodTick, Spans};
pub use crate::follow::QueueSeat;
pub use crate::inspect::{GroupReading, LoadReading, Rivals};
pub use crate::profile::Profile;
pub use crate::rq::Rq;
pub use crate::sched::Sched;
pub use crate::task::{Task, TaskState};
