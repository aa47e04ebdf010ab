//! The null test on recordings whose truth is known, as the simulator made them: what went through sockets is a closed loop in the replay.

#![allow(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

use fairground::null_test::{Figure, NullRow};
use fairground::output::Outputs;
use fairground::replay::Replay;
use fairground::run::{RunOptions, RunOutcome, run};
use fairground_scenario::{Control, Overrides, Scenario};
use std::path::{Path, PathBuf};

/// A folder that goes when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fairground-null-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const PLACE: &str = "duration = \"300ms\"\nmachine = { preset = \"smp-2\" }\nprofile = { kernel = \"6.12\" }\n";

/// Runs a scenario and writes its trace.
fn record(workload: &str, trace: &Path) -> RunOutcome {
    let text = format!("{PLACE}{workload}");
    let scenario = Scenario::parse("a.toml", &text, trace.parent().unwrap(), &Overrides::default()).unwrap();
    let mut files = Outputs::for_run(&[trace.to_path_buf()], &scenario).unwrap();
    let outcome = run(&scenario, &RunOptions::default(), &mut files, Control::none()).unwrap();
    files.finish_run(&scenario, &outcome).unwrap();
    outcome
}
fn replayed(trace: &Path) -> (Replay, RunOutcome) {
    let flags = Overrides { profile: Some("v6.12".into()), machine: Some("smp-2".into()), ..Overrides::default() };
    let replay = Replay::load(trace, &flags, true).unwrap();
    let outcome = run(&replay.scenario, &RunOptions::default(), &mut fairground_model::NullSink, Control::none()).unwrap();
    (replay, outcome)
}
/// Wake-ups pass. Run time is nearly all price here, as no program computes for as much as a microsecond between two calls: where a wake-up
/// finds its CPU the prices differ by a few percent from those that are taken off.
fn assert_close(row: &NullRow) {
    assert!(row.pair(Figure::Wakeups).recorded > 1000, "{row:?}");
    assert_eq!(row.passes(Figure::Wakeups), Some(true), "{row:?}");
    assert!(row.pair(Figure::RunTime).is_within(50), "{row:?}");
}

#[test]
fn request_and_answer_over_tcp_are_a_closed_loop() {
    let folder = Folder::new("tcp");
    let trace = folder.0.join("t.txt");
    record("workload = [{ name = \"netperf\", args = { test = \"TCP_RR\" } }]\n", &trace);
    let (replay, outcome) = replayed(&trace);
    let causes = replay.causes;
    assert!(causes.message * 100 > causes.sum() * 95 && causes.confidence_permille > 900, "{causes:?}");
    assert_close(&replay.null_test(&outcome).all);
}

#[test]
fn a_ping_pong_through_pipes_keeps_its_wake_ups_and_run_time() {
    let folder = Folder::new("pipe");
    let trace = folder.0.join("t.csv");
    record("workload = [{ name = \"sched_pipe\" }]\n", &trace);
    let (replay, outcome) = replayed(&trace);
    assert_close(&replay.null_test(&outcome).all);
}

/// The same loop beside two hogs for as long as it was recorded: it gets on more slowly, and neither side runs ahead of the other.
#[test]
fn beside_hogs_the_closed_loop_stays_closed() {
    let folder = Folder::new("hogs");
    let trace = folder.0.join("t.txt");
    let alone = record("workload = [{ name = \"netperf\", args = { test = \"TCP_RR\" } }]\n", &trace);
    let hogs = "[[workload]]\nreplay = \"t.txt\"\n[[workload]]\ntasks = [{ name = \"hog\", hog = true, count = 4 }]\n";
    let beside = record(hogs, &folder.0.join("beside.csv"));
    let runs = |outcome: &RunOutcome| -> Vec<u64> {
        let of = |task: &&fairground_metrics::latency::TaskReport| task.info.name.starts_with("net");
        outcome.report.tasks.iter().filter(of).map(|task| task.runtime.0).collect()
    };
    let (before, after) = (runs(&alone), runs(&beside));
    assert_eq!((before.len(), after.len()), (2, 2), "{before:?} {after:?}");
    assert!(after[0] * 10 < before[0] * 9, "hogs take time: {before:?} {after:?}");
    // Work done by the client and by the server, as shares of what was recorded.
    let shares = [after[0] * 1000 / before[0], after[1] * 1000 / before[1]];
    assert!(shares[0].abs_diff(shares[1]) <= 20, "{shares:?}");
}
