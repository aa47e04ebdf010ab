//! A kernel tree's own scheduler as a core: building it, loading it, calling it.
//!
//! # The problem
//!
//! Who writes a patch has C, and should not have to trust that our rules are those of the tree. The tree's own
//! `kernel/sched`, unmodified, can answer. It needs what a kernel has around it, and it may be wrong: a patch is what is
//! being tried.
//!
//! # The rule
//!
//! - **The tree is not touched.** An overlay of symbolic links puts an architecture of our own beside it, and the tree's
//!   own Kbuild compiles it (`build`). What the scheduler asks of the rest of a kernel is written in `kcore/`, or stops the
//!   core with the name of what is missing.
//! - **The core does not call back.** Each entry is a call that ends; what it asks of the engine lies in a ring
//!   ([`KernelCore::requests`]).
//! - **A fault is the tree's.** BUG, oops, an endless loop, a lock taken twice: the call ends with a [`Stop`] that says what
//!   happened and where. The process goes on, and the core takes no more calls.
//! - **A library belongs to what it was built from.** Its table carries a version, its size and an identity; another one is
//!   refused.
//!
//! ```text
//! TREE ─► overlay + arch/fg ─► Kbuild ─► objects ─► link with stubs ─► core.so ─► KernelCore
//!                                          └─► a symbol in no list: named, with who calls it
//! ```
//!
//! # What it is not
//!
//! No engine: nothing here has a clock or an event queue, and no rule of scheduling. docs/kernel-core.md says what is
//! not modelled.
//!
//! This is the one crate with `unsafe`: it calls a C library. Each such block says why it holds.
#![cfg(target_os = "linux")]

mod abi;
pub mod build;
mod copies;
mod core;
mod hardware;
mod library;
mod signals;
mod stopped;
mod symbols;

pub use abi::{
    CpuView, DomainView, Flags, FreqView, Governing, IDLE, Kind, Policy, QueueView, QuotaView, Request, STOPPER, Seen, TaskView,
    VERSION, Woken,
};
pub use core::{Fork, KernelCore, Wake, Why};
pub use hardware::{Hardware, Points};
pub use stopped::{CallError, Stop, StopKind};
