//! The facade: scenarios, run, compare, sweep, replay and everything else that the command line
//! and other bindings offer. This is the only crate of the project whose interface is promised.
//!
//! Data flow in one direction: a [`scenario::Scenario`] is a value that decides a run; [`run::run`] gives
//! its records to sinks; reports are made of what the sinks counted.

pub mod capture;
pub mod compare;
pub mod conform;
pub mod control;
pub mod convert;
pub mod diff_runs;
pub mod domains;
pub mod error;
mod freq_table;
mod group_table;
pub mod guard;
pub mod input;
pub mod lists;
pub mod load_tracking;
mod lock_table;
pub mod metrics;
pub mod output;
pub mod pages;
pub mod perf_sched;
pub mod quota_pattern;
mod quota_record;
mod quota_table;
mod recorded_capacity;
pub mod recorded_clock;
mod recorded_kernel;
mod recorded_load;
pub mod recorded_set;
pub mod recorded_system;
pub mod replay;
pub mod report;
pub mod run;
pub mod scenario;
pub mod schedstat;
pub mod sensitivity;
pub mod sweep;
pub mod tables;
pub mod text_file;
mod thread_table;
pub mod trace_file;

pub use control::{Control, Progress};
pub use error::{Error, FileMistakes};
pub use fairground_stdx::nearest;
pub use scenario::{Overrides, Scenario};
