//! The discrete-event engine: CPUs that compute, enter the kernel, take interrupts and go idle, and the loop over their
//! events.
//!
//! # The problem
//!
//! A scheduler's rules give no time. Whether a search for an idle CPU pays depends on how long it takes, and on what
//! other CPUs do meanwhile. The engine supplies both: it lets the counted work take time, and orders everything that
//! happens. Equal inputs must give equal runs, bit for bit, on any system.
//!
//! # What goes wrong otherwise
//!
//! - If a kernel path were one instant, two CPUs would never choose the same idle CPU. Real ones do.
//! - If prices were known to the scheduler, it could choose by them. No kernel can.
//! - If events of one instant came in the order in which they were set, an optimisation of the queue would change
//!   results.
//! - If a timestamp were a float, two machines would round to two schedules.
//!
//! # The rule
//!
//! **The core counts, the machine prices, the engine spends.** A call into the scheduler happens at one instant and
//! counts what a kernel would do: locks, looks, enqueues. The price list turns the counts into nanoseconds. The CPU is
//! busy for so long before the next thing happens on it.
//!
//! ```text
//! event ─► phase: call the core ─► counts * prices = time ─► CPU is in the kernel, interrupts off ─► next phase …
//!                     │                                         (events of other CPUs are handled meanwhile)
//!                     └─► requests: interrupts, timers, a stopper for other CPUs
//! ```
//!
//! Long paths are chains of phases (`cpu::Then`): a wake-up is *select*, then *activate*. Between two phases all tables
//! are consistent, so a run may be copied there: [`Simulation`] is `Clone`, and a copy continues to the same digest.
//!
//! **The order of events is a contract**: by time, then class, then CPU; within an interrupt by source. It is part of
//! every digest, and holds no insertion counter (`queue`).
//!
//! No policy is here. Whenever there is something to choose, `fairground_sched` is asked.
//!
//! # The parts
//!
//! The loop: `simulation.rs` (`step`), `queue/`, `kernel.rs` (phases), `cpu.rs`. What tasks do: `step.rs`, `task.rs`,
//! `pipe/`, `net/`, `memory.rs` (futexes), `klocks/` (locks of tasks). How CPUs get there: `schedule.rs`,
//! `interrupt.rs`, `tick.rs`, `timers.rs`, `softirq/`, `idle.rs`, `hotplug.rs`, `script.rs`. What costs time besides:
//! `locks.rs` (run-queue locks), `cache.rs`, `smt.rs`, `frequency.rs`, `noise.rs`, and `turns.rs` for emulated
//! machines. Where time went: `account.rs`. Who else hears of each entry into the scheduler: `other_core/`.
//!
//! # What changed in kernels
//!
//! Little here depends on the kernel: differences are seams of the scheduler, which the engine asks. The preemption
//! model is one (v6.13 "sched: Add Lazy preemption model"), the way of throttling another (v6.18 "sched/fair: Switch to
//! task based throttle model").
//!
//! # Read also
//!
//! ARCHITECTURE.md, "The order of events is a contract" and "Determinism"; docs/model/09-cost-model.md and
//! docs/costs.md; Documentation/scheduler/sched-stats.rst.
#![deny(clippy::float_arithmetic)]

mod account;
mod cache;
mod check;
mod cpu;
mod ending;
mod faults;
mod frequency;
mod hotplug;
mod idle;
mod inspect;
mod interrupt;
mod kernel;
mod klocks;
mod locks;
mod memory;
mod net;
mod noise;
mod other_core;
mod paranoid;
mod parts;
mod pipe;
pub mod queue;
mod schedule;
mod script;
mod simulation;
mod slice_ext;
mod smt;
mod softirq;
mod step;
mod task;
mod tick;
mod timers;
mod turns;
mod wake;

pub use ending::{Counts, Ending, Misuse, RunEnd, Stopped};
pub use klocks::{Deadlock, HeldUp, HolderIs, LockReport, LockWaits, MAX_TASKS_TOLD_APART, SpinReport};
pub use other_core::{CpuFlags, Entry, LeadingCore, Led, LedFrequency, OtherCore, Site};
pub use parts::PartTimes;
pub use queue::QueueKind;
pub use simulation::{Flow, Setup, Simulation};
pub use slice_ext::SliceExtensions;
pub use task::{FIRST_PID, GaveWay};
