//! Changes of frequency in traces: what a run writes is read back, and what a replay makes of it.
#![allow(clippy::panic, reason = "a test stops where it fails")]

use fairground::convert::convert;
use fairground::interval::Interval;
use fairground::output::Outputs;
use fairground::replay::Replay;
use fairground::run::{RunOptions, run};
use fairground_model::TraceEvent;
use fairground_scenario::{Control, Overrides, Scenario, trace_file::TraceFile};
use std::path::{Path, PathBuf};

/// A task that computes and sleeps on a board whose governor looks after it.
const SCENARIO: &str = r#"
title = "schedutil"
duration = "300ms"
[profile]
kernel = "5.1"
[machine]
preset = "hikey"
[[workload]]
tasks = [{ name = "burst", run = "60ms", period = "100ms" }]
[[at]]
time = "1ms"
do = "governor 0-7 schedutil"
"#;

/// A folder of its own in the system's one for such things, gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("fairground-frequencies-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Time, CPU and kHz of each change.
fn changes(file: &Path) -> Vec<(u64, u32, u32)> {
    let trace = TraceFile::load(file).unwrap_or_else(|error| panic!("{error}")).trace;
    assert_eq!((trace.stats.skipped, trace.stats.lost_events), (0, 0), "{}", file.display());
    let offset = trace.stats.offset_ns;
    let change =
        |event: &TraceEvent| if let TraceEvent::CpuFrequency { cpu, khz } = *event { Some((cpu.get(), khz)) } else { None };
    trace.events.iter().filter_map(|(at, _, event)| change(event).map(|(cpu, khz)| (at.ns() + offset, cpu, khz))).collect()
}

fn written(folder: &Folder, endings: &[&str]) -> Vec<PathBuf> {
    let scenario = Scenario::parse("x", SCENARIO, Path::new(""), &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    let files: Vec<PathBuf> = endings.iter().map(|ending| folder.0.join(format!("run.{ending}"))).collect();
    let mut outputs = Outputs::for_run(&files, &scenario).expect("files can be written");
    run(&scenario, &RunOptions::default(), &mut outputs, Control::none()).expect("it runs");
    outputs.finish(true).expect("they are written");
    files
}

#[test]
fn changes_of_frequency_that_a_run_writes_are_read_back_from_every_format() {
    let folder = Folder::new("formats");
    let files = written(&folder, &["json", "csv", "txt", "pftrace"]);
    let expected = changes(&files[0]);
    assert!(expected.len() >= 8 * 2 && expected.iter().any(|row| row.1 == 7), "{expected:?}");
    for file in &files[1..] {
        assert_eq!(changes(file), expected, "{}", file.display());
    }
    let again = folder.0.join("again.txt");
    convert(&files[3], &again, Interval::default(), true).expect("a clean trace");
    let from_first = |rows: Vec<(u64, u32, u32)>| rows.iter().map(|row| (row.0 - rows[0].0, row.1, row.2)).collect::<Vec<_>>();
    assert_eq!(from_first(changes(&again)), from_first(expected));
}

#[test]
fn a_cpu_that_cannot_be_is_an_error_with_its_line() {
    let folder = Folder::new("cpu");
    let file = folder.0.join("trace.txt");
    let switch = "a-1 [000] d..2. 1.000000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120";
    let change = |cpu| format!("a-1 [000] d..2. 1.000001: cpu_frequency: state=729000 cpu_id={cpu}");
    std::fs::write(&file, format!("{switch}\n{}\n{}\n", change(7), change(1024))).expect("a file can be written");
    let error = convert(&file, &folder.0.join("x.json"), Interval::default(), true).expect_err("it must be refused").to_string();
    assert!(error.contains("line 3: a CPU number of 1024 or more was left out"), "{error}");
    let trace = TraceFile::load(&file).expect("it is read with a note").trace;
    assert_eq!((trace.stats.events, trace.stats.nr_cpus()), (2, 8));
}

#[test]
fn a_replay_says_that_it_does_not_use_them() {
    let folder = Folder::new("replay");
    let file = &written(&folder, &["txt"])[0];
    let replay = Replay::load(file, &Overrides::default(), true).expect("a clean trace");
    let note =
        format!("{} recorded changes of frequency are not used: a burst is so much work as it took time", changes(file).len());
    assert!(replay.scenario.notes.contains(&note), "{:?}", replay.scenario.notes);
}
