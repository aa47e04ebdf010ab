//! The facade: everything that the command line and other bindings offer. This is the only crate of the project whose
//! interface is promised.
//!
//! A [`Scenario`](fairground_scenario::Scenario) is a value that decides a run: machine, kernel profile, workload, seed. The same
//! scenario always gives the same records, so each result carries a digest.
//!
//! | to | call |
//! | --- | --- |
//! | read a scenario, an rt-app file or a recorded set | [`input::RunInput::open`] |
//! | simulate one scenario | [`run::run`] |
//! | hold two kernels or settings against each other over paired seeds | [`compare::compare`] |
//! | judge a kernel against another over a battery of cases | [`judge::judge`] |
//! | run every combination of the axes of a file | [`sweep::Sweep`] |
//! | ask whether a result rests on assumed costs | [`sensitivity::sensitivity`] |
//! | find the first record in which two kernels differ | [`diff_runs::diff_runs`] |
//! | run a recorded trace on another machine or kernel | [`replay::Replay`] |
//! | turn one trace format into another | [`convert::convert`] |
//! | describe this host as a machine file | [`capture::capture_machine`] |
//! | build the scheduler of a kernel tree as a library | `kernels::build`, on Linux |
//!
//! # Shapes, units, errors
//!
//! Every call takes a scenario or a path, and options with a default; long ones take a
//! [`Control`](fairground_scenario::Control) too, which shows progress and stops them between two batches of events.
//! A stopped call returns what it has and says so (`interrupted`, [`run::RunOutcome::is_partial`]).
//!
//! Times are whole nanoseconds: [`Ns`](fairground_stdx::Ns) for durations, [`Instant`](fairground_stdx::Instant) for points of
//! simulated time. A [`Metric`](fairground_metrics::Metric) holds a whole number, `value`: nanoseconds for every time, thousandths for a
//! percentage. Its [unit](fairground_metrics::Unit) says how it is shown.
//!
//! Errors are one type, [`fairground_scenario::Error`]. `Input` has all mistakes of all texts concerned, each with its place
//! and a hint. `World` is the disk or another part of the system. `Broken` is a broken invariant of the simulator, with the
//! command that leads back to it. No input makes a call panic.
//!
//! Results become text in three ways: a [`Table`](fairground_report::Table) for people, a [`Document`](fairground_report::Document) for programs, files
//! by [`output`].
//!
//! # Run
//!
//! Two hogs share one CPU of Linux 6.12 for a second:
//!
//! ```
//! use fairground::run::{RunOptions, run};
//! use fairground_scenario::{Control, Overrides, Scenario};
//! let text = r#"
//!     duration = "1s"
//!     machine = { preset = "smp-1" }
//!     profile = { kernel = "6.12" }
//!     workload = [{ tasks = [{ name = "a", hog = true }, { name = "b", hog = true }] }]
//! "#;
//! let scenario = Scenario::parse("hogs.toml", text, "".as_ref(), &Overrides::default())?;
//! let outcome = run(&scenario, &RunOptions::default(), &mut fairground_model::NullSink, Control::none())?;
//! let runtime = outcome.metrics.iter().find(|metric| metric.name == "tasks.a.runtime_ms").expect("each task has one");
//! assert!((490_000_000..510_000_000).contains(&runtime.value), "half of the second, in ns");
//! # Ok::<(), fairground_scenario::Error>(())
//! ```
//!
//! The third argument gets every record of the run. [`output::Outputs`] is such a sink: it writes trace files, pages, histograms.
//!
//! # Compare
//!
//! Linux 5.19 with and without preemption by wake-ups, over five pairs of runs with equal seeds:
//!
//! ```
//! use fairground::compare::{CompareOptions, compare};
//! # use fairground_scenario::{Control, Overrides, Scenario};
//! let text = r#"
//!     duration = "50ms"
//!     machine = { preset = "smp-1" }
//!     profile = { kernel = "5.19" }
//!     workload = [{ tasks = [{ name = "a", hog = true }, { name = "b", run = "1ms", period = "4ms" }] }]
//! "#;
//! let scenario = Scenario::parse("pair.toml", text, "".as_ref(), &Overrides::default())?;
//! let options = CompareOptions { changes: vec!["NO_WAKEUP_PREEMPTION".into()], runs: 5, ..CompareOptions::default() };
//! let compared = compare(&scenario, &options, Control::none())?;
//! assert_eq!(compared.report.b, "v5.19 NO_WAKEUP_PREEMPTION");
//! assert!(compared.report.rows.iter().any(|row| row.comparison.name == "wakeup_latency_us.p99"));
//! # Ok::<(), fairground_scenario::Error>(())
//! ```
//!
//! # Sweep
//!
//! Two kernels on two machines are four runs. Finished runs stand in a journal beside the file, so a sweep that was stopped
//! goes on where it was.
//!
//! ```
//! use fairground::sweep::{Sweep, SweepOptions};
//! # let folder = std::env::temp_dir().join(format!("fairground-guide-sweep-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let base = "duration = '20ms'\nworkload = [{ tasks = [{ name = 'a', hog = true, count = 3 }] }]\n";
//! std::fs::write(folder.join("base.toml"), base)?;
//! let axes = "base = 'base.toml'\naxes = { profile = ['v5.19', 'v6.12'], machine = ['smp-1', 'smp-2'] }";
//! std::fs::write(folder.join("sweep.toml"), axes)?;
//! let sweep = Sweep::load(&folder.join("sweep.toml"))?;
//! let swept = sweep.run(&SweepOptions::default(), fairground_scenario::Control::none())?;
//! let point: Vec<String> = swept.rows[3].point.iter().map(ToString::to_string).collect();
//! assert_eq!(point, ["v6.12", "smp-2"]);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Sensitivity
//!
//! The costs of kernel code are assumed for most machines. Each class of them is halved and doubled, and a metric is looked at:
//!
//! ```
//! use fairground::sensitivity::{SensitivityOptions, sensitivity};
//! # use fairground_scenario::{Control, Overrides, Scenario};
//! let text = r#"
//!     duration = "20ms"
//!     machine = { preset = "smp-1" }
//!     profile = { kernel = "6.12" }
//!     workload = [{ tasks = [{ name = "a", run = "1ms", period = "3ms", count = 2 }] }]
//! "#;
//! let scenario = Scenario::parse("two.toml", text, "".as_ref(), &Overrides::default())?;
//! let options = SensitivityOptions { metrics: vec!["kernel_pct".into()], ..SensitivityOptions::default() };
//! let found = sensitivity(&scenario, &options, Control::none())?;
//! assert!(found.unused.contains(&fairground_model::CostClass::Network), "no run sends packets");
//! # Ok::<(), fairground_scenario::Error>(())
//! ```
//!
//! # Replay and convert
//!
//! A run writes a trace; `convert` makes another format of it; `replay` makes tasks of it and runs them under another kernel:
//!
//! ```
//! use fairground::{convert::convert, output::Outputs, replay::Replay, run::{RunOptions, run}};
//! # use fairground_scenario::{Control, Overrides, Scenario};
//! # let folder = std::env::temp_dir().join(format!("fairground-guide-replay-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let (trace, rows) = (folder.join("run.txt"), folder.join("run.csv"));
//! let text = r#"
//!     duration = "20ms"
//!     machine = { preset = "smp-1" }
//!     profile = { kernel = "6.12" }
//!     workload = [{ tasks = [{ name = "a", run = "1ms", period = "3ms" }] }]
//! "#;
//! let scenario = Scenario::parse("a.toml", text, "".as_ref(), &Overrides::default())?;
//! let mut files = Outputs::for_run(&[trace.clone()], &scenario)?;
//! let outcome = run(&scenario, &RunOptions::default(), &mut files, Control::none())?;
//! files.finish_run(&scenario, &outcome)?;
//! assert!(convert(&trace, &rows, fairground_metrics::Interval::default(), true)?.stats.events > 20);
//! let flags = Overrides { profile: Some("v5.19".into()), ..Overrides::default() };
//! let replay = Replay::load(&trace, &flags, true)?;
//! assert_eq!(replay.scenario.profile.full_name(), "v5.19");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Capture
//!
//! The topology of this host, from sysfs, as a machine file that a scenario can name. Sysfs may lack what is needed; then the
//! error says which file.
//!
//! ```
//! match fairground::capture::capture_machine() {
//!     Ok(captured) => {
//!         let read = fairground_machine::machine_file::parse(&captured.text).expect("what is written can be read");
//!         assert_eq!(read.cpus.len(), captured.imported.machine.cpus.len());
//!     }
//!     Err(error) => assert!(error.to_string().contains("/sys/devices/system"), "{error}"),
//! }
//! ```

pub mod capture;
pub mod compare;
pub mod compare_traces;
pub mod convert;
pub mod diff_runs;
pub mod domains;
pub mod input;
pub mod interval;
pub mod judge;
#[cfg(target_os = "linux")]
pub mod kernels;
pub mod lists;
pub mod null_test;
pub mod output;
pub mod pages;
pub mod perf_sched;
pub mod record;
pub mod replay;
pub mod run;
pub mod schedstat;
pub mod sensitivity;
pub mod sweep;
#[cfg(target_os = "linux")]
mod tree;
