//! The discrete-event engine: CPU contexts, ticks, timers, interrupts, pipes, sockets, the loop.
//!
//! The core counts, the machine prices, the engine spends: every call into the scheduler happens at
//! one instant; what it counted is priced, and the CPU is busy for that long before the next thing
//! happens on it. Long kernel paths are chains of such phases (`cpu::Then`), between which events of
//! other CPUs run.
#![deny(clippy::float_arithmetic)]

mod account;
mod cache;
mod check;
mod cpu;
mod ending;
mod frequency;
mod hotplug;
mod idle;
mod interrupt;
mod kernel;
mod klocks;
mod locks;
mod memory;
mod net;
mod noise;
mod pipe;
pub mod queue;
mod schedule;
mod script;
mod simulation;
mod smt;
mod softirq;
mod step;
mod task;
mod tick;
mod timers;
mod turns;
mod wake;

pub use ending::{Ending, Misuse, RunEnd, Stopped};
pub use klocks::{Deadlock, HolderIs, LockReport, LockWaits, MAX_TASKS_TOLD_APART};
pub use queue::QueueKind;
pub use simulation::{Counts, Flow, Setup, Simulation};
