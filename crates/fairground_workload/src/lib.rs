//! One folder per benchmark or workload language. Each compiles what a person wrote, or what a
//! kernel recorded, to a [`fairground_model::TaskSet`]: byte code that the engine steps through.
//!
//! Nothing here looks into a run queue: a program sees time, its own registers and a random stream.
#![deny(clippy::float_arithmetic)]

mod args;
mod build;
mod database;
mod noise;
mod param;
mod post_wait;
mod table;
mod workload;

pub mod cyclictest;
pub mod fibtest;
pub mod hackbench;
pub mod hog;
pub mod hog_tree;
pub mod irq_noise;
pub mod management;
mod mysql;
pub mod netperf;
pub mod periodic;
mod pgbench;
pub mod press;
pub mod recorded;
pub mod registry;
pub mod replay;
pub mod rtapp;
pub mod schbench;
pub mod schbench_2016;
pub mod sched_pipe;
pub mod service;
pub mod steal;
pub mod tbench;

pub use args::{Arg, Args};
pub use param::{Param, ParamKind};
pub use registry::{args_of_flags, build, duration, find, flags_text, threads, workloads};
pub use table::{Aggregate, Column, Figure, Percentile, Percentiles, Threads};
pub use workload::Workload;

#[cfg(test)]
mod testing;
