//! The scheduler: run queues, entities, CFS and EEVDF, PELT, placement, balance and quota, as kernels from v4.12 to
//! v7.2 do it.
//!
//! # What it is given, and what it gives back
//!
//! The core has no clock, knows no cost and does no I/O. For the length of one call it gets a [`Ctx`]: the time, the
//! machine as numbers, a meter, a recorder. It changes its tables, counts on the meter what a kernel would have done,
//! and pushes a [`Request`] for what others must do: send an interrupt, arm a timer. The engine prices the counts and
//! carries out the requests. So a price can never decide who runs, and any call can be tested alone.
//!
//! Public functions have the kernel's names: `ttwu_select`, `schedule`, `sched_tick`, `wake_up_new_task`. An item that
//! models a kernel function says so in a `Kernel:` line with its versions; docs/kernel-index.md lists them all.
//!
//! # How it is kept
//!
//! All state lies in tables inside one [`Sched`], linked by typed ids. A run can therefore be cloned, compared and
//! continued. What kernels do differently is a switch (`fairground_model::features`) or a seam (`seam`), asked through
//! the [`Profile`]; versions are never compared. Each decision is recorded with the rule that made it.
//!
//! # Where to begin
//!
//! 1. `sched.rs`, `rq.rs`, `task.rs`: the tables.
//! 2. `core/`: the entry points. `wakeup.rs`, `schedule.rs`, `tick.rs`, `fork.rs`, `hotplug.rs`.
//! 3. `fair/`: ordinary tasks; its `mod.rs` is the map. `rt/` and `deadline/` are the classes above it.
//! 4. `pelt/`: load tracking. `topology/`: domains. `cpufreq/`, `uclamp/`: frequencies and clamps.
//! 5. `profile/`, `seam/`, and the switches (`fairground_model::features`): how kernels differ.
//!
//! All of these are rules. What comparisons and explanations need of the core is in `follow/` and `inspect/`, which no
//! rule calls. Slow models that need private tables lie beside what they are held against (`reference.rs`,
//! `reference/`); all others are in `fairground_vopr`. `check.rs` says what must always hold of the tables.
#![deny(clippy::float_arithmetic)]

mod check;
mod core;
mod cpufreq;
mod ctx;
mod deadline;
pub mod fair;
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

pub use crate::check::Broken;
pub use crate::core::{LastCpu, Leaving, SchedInfo, Switch, UserReturn, WakeFlags, Waking, rq_lock_op};
pub use crate::cpufreq::{FreqReport, FreqState, Governed};
pub use crate::ctx::{Ctx, Request, SCHED_CLOCK_AT_START};
pub use crate::deadline::{DlSe, DlState, DlTaskState, DlTimer, Refused};
pub use crate::fair::balance::BalanceStep;
pub use crate::fair::bandwidth::{Account, BandwidthStats, Distribution, PeriodTick, Spans};
pub use crate::follow::{Astray, Followed, QueueSeat, WakeupLead};
pub use crate::inspect::{BalanceState, GroupReading, LoadReading, Rivals, RootState};
pub use crate::profile::Profile;
pub use crate::rq::Rq;
pub use crate::rt::RtState;
pub use crate::sched::Sched;
pub use crate::task::{Task, TaskState};
