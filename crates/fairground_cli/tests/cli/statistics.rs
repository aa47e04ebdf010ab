//! `schedstat`, `latency`, `timehist`.

use crate::support::{Folder, SMALL, ok, recording, run, workspace};
use serde_json::Value;
use std::process::Command;

#[test]
fn a_run_writes_the_counters_of_its_kernel() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    for (profile, version) in [("v5.19", 15), ("v6.12", 16), ("v6.14", 17)] {
        let file = folder.path("end.schedstat");
        ok(&["run", &path, "--profile", profile, "-o", &file]);
        assert!(folder.read("end.schedstat").starts_with(&format!("version {version}\ntimestamp ")), "{profile}");
        let document = ok(&["schedstat", &file, "--json"]).json();
        assert_eq!((&document["command"], &document["version"]), (&"schedstat".into(), &version.into()));
        let cpu = &document["tables"][0]["rows"][0];
        assert!(cpu["pcount"].as_u64().unwrap() > 50 && cpu["run_delay_ns"].as_u64().unwrap() > 100_000_000, "{cpu}");
        assert!(cpu["rq_cpu_time_ns"].as_u64().unwrap() > 900_000_000, "{cpu}");
    }
    let ran = run(&["convert", &folder.path("end.schedstat"), &folder.path("x.schedstat")]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(!folder.has("x.schedstat"));
}

#[test]
fn snapshots_that_cannot_be_compared_are_refused() {
    let folder = Folder::new();
    let snapshot = |jiffies: u32| format!("version 15\ntimestamp {jiffies}\ncpu0 0 0 {jiffies} 0 0 0 5 0 1\n");
    let (early, late) = (folder.file("early", snapshot(7)), folder.file("late", snapshot(9)));
    let counted = ok(&["schedstat", &early, &late, "--json"]).json();
    assert_eq!((&counted["jiffies"], &counted["tables"][0]["rows"][0]["sched_count"]), (&2.into(), &2.into()));
    assert_eq!(run(&["schedstat", &late, &early]).code, 2);
    let wrong = folder.file("wrong", "version 15\ntimestamp 1\ncpu0 1 2 x\n");
    let ran = run(&["schedstat", &wrong]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`cpu0` has 3 numbers"), "{}", ran.err);
    let cut = folder.file("cut", &snapshot(12)[..snapshot(12).len() - 1]);
    let ran = run(&["schedstat", &early, &cut]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cut:3:1") && ran.err.contains("cut off in the line of `cpu0`"), "{}", ran.err);
    assert!(ran.err.contains("help: "), "{}", ran.err);
    assert_eq!(run(&["schedstat", &folder.path("missing")]).code, 3);
}

#[test]
fn a_recorded_set_shows_what_was_counted_during_its_run() {
    let set = recording("k6.18-hogs-8cpu/a_12on8");
    let document = ok(&["schedstat", &set, "--total", "--json"]).json();
    assert_eq!((&document["version"], &document["jiffies"]), (&17.into(), &514.into()));
    let busy = &document["tables"][1]["rows"][0];
    assert_eq!((&busy["as"], &busy["lb_count"], &busy["lb_gained"]), (&"busy".into(), &91.into(), &17.into()));
}

/// A run, and the trace that it wrote, have the same times.
#[test]
fn a_run_and_its_trace_have_the_same_delays() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let trace = folder.path("a.json");
    ok(&["run", &path, "-o", &trace]);
    for command in [&["latency", "--pids"][..], &["timehist", "--summary"], &["timehist", "--task", "player"]] {
        let of = |input: &str| -> Value {
            let mut document = ok(&[command, &[input, "--json"]].concat()).json();
            if let Some(tables) = document["tables"].as_array_mut() {
                // Who waits at the end waits until the last record of a trace, not until the end of the run.
                tables.iter_mut().for_each(|table| table["notes"] = Value::Null);
            }
            serde_json::json!([document["tables"], document["rows"]])
        };
        let made = of(&path);
        assert_eq!(made, of(&trace), "{command:?}");
        assert!(made.to_string().contains("player"), "{made}");
    }
    let lines = ok(&["timehist", &path]).out;
    assert!(lines.lines().count() > 50 && lines.contains(" preempt "), "{lines}");
    assert_eq!(run(&["latency", &trace, "--profile", "v6.1"]).code, 2, "a trace is not simulated");
    assert_eq!(run(&["timehist", &trace, "--cpu", "x"]).code, 2);
}

/// perf itself, where it is installed: wait, delay and run time of each switch, in ms with three digits. Where the trace does
/// not tell a time, perf prints 0, or what has passed since any switch on that CPU.
#[test]
fn timehist_is_that_of_perf() {
    for sample in ["file.data", "packed.data"] {
        let file = workspace().join("crates/fairground_formats/src/perf_data/samples").join(sample);
        let output = Command::new("perf").args(["sched", "timehist", "-i"]).arg(&file).output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            eprintln!("skipped: perf is not installed");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_row = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit()) && line.contains('[');
        let number = |word: &str| word.parse::<f64>().unwrap();
        let theirs: Vec<Vec<f64>> =
            text.lines().filter(is_row).map(|line| line.split_whitespace().rev().take(3).map(number).collect()).collect();
        let document = ok(&["timehist", &file.display().to_string(), "--json"]).json();
        let ours = document["rows"].as_array().unwrap();
        assert_eq!(ours.len(), theirs.len(), "{text}");
        for (row, theirs) in ours.iter().zip(&theirs) {
            for (name, theirs) in ["run_ns", "delay_ns", "wait_ns"].iter().zip(theirs) {
                let Some(ns) = row[*name].as_f64() else { continue };
                assert!((ns / 1e6 - theirs).abs() <= 0.001, "{name} {ns} ns, perf {theirs} ms\n{text}");
            }
        }
    }
}
