//! The facade: run, compare, sweep, replay and everything else that the command line and other bindings offer of runs. This is
//! the only crate of the project whose interface is promised.
//!
//! Data flow in one direction: a [`fairground_scenario::Scenario`] is a value that decides a run; [`run::run`] gives
//! its records to sinks; reports are made of what the sinks counted.
//!
//! Two hogs share one CPU of Linux 6.12 for a second:
//!
//! ```
//! use fairground::run::{RunOptions, run};
//! use fairground_model::NullSink;
//! use fairground_scenario::{Control, Overrides, Scenario};
//! use std::path::Path;
//!
//! let text = r#"
//!     duration = "1s"
//!     machine = { preset = "smp-1" }
//!     profile = { kernel = "6.12" }
//!     workload = [{ tasks = [{ name = "a", hog = true }, { name = "b", hog = true }] }]
//! "#;
//! let scenario = Scenario::parse("hogs.toml", text, Path::new(""), &Overrides::default())?;
//! let outcome = run(&scenario, &RunOptions::default(), &mut NullSink, Control::none())?;
//! let runtime = outcome.metrics.iter().find(|metric| metric.name == "tasks.a.runtime_ms").expect("each task has one");
//! assert!((490_000_000..510_000_000).contains(&runtime.value), "half of the second, in ns");
//! # Ok::<(), fairground_scenario::Error>(())
//! ```

pub mod capture;
pub mod compare;
pub mod convert;
pub mod diff_runs;
pub mod domains;
pub mod input;
pub mod lists;
pub mod output;
pub mod pages;
pub mod perf_sched;
pub mod replay;
pub mod report;
pub mod run;
pub mod schedstat;
pub mod sensitivity;
pub mod sweep;
