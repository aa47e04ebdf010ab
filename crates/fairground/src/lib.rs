//! The facade: run, compare, sweep, replay and everything else that the command line and other bindings offer of runs. This is
//! the only crate of the project whose interface is promised.
//!
//! Data flow in one direction: a [`fairground_scenario::Scenario`] is a value that decides a run; [`run::run`] gives
//! its records to sinks; reports are made of what the sinks counted.

pub mod capture;
pub mod compare;
pub mod convert;
pub mod diff_runs;
pub mod domains;
mod freq_table;
mod group_table;
pub mod input;
pub mod lists;
mod lock_table;
pub mod output;
pub mod pages;
pub mod perf_sched;
mod quota_table;
pub mod replay;
pub mod report;
pub mod run;
pub mod schedstat;
pub mod sensitivity;
pub mod sweep;
pub mod tables;
mod thread_table;
