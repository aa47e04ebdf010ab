//! The recorded experiments.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_formats::{read_any, read_set};
use fairground_model::TraceEvent;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn experiments() -> Vec<PathBuf> {
    fairground_testing::experiments(|_| true)
}

#[test]
fn every_experiment_is_read_without_a_skipped_line() {
    for folder in experiments() {
        let tasks = fs::read(folder.join("tasks.csv")).unwrap();
        let trace = read_set(fs::File::open(folder.join("trace.csv.zst")).unwrap(), "trace.csv.zst", &tasks).unwrap();
        let stats = &trace.stats;
        let at = folder.display();
        assert_eq!((stats.skipped, stats.clamped, stats.lost_events), (0, 0, 0), "{at}: {:?}", stats.notes);
        assert!(stats.is_clean(), "{at}: {:?}", stats.notes);
        assert_eq!(stats.events, trace.events.len() as u64, "{at}");
        let (from, to) = stats.window.expect("a window");
        assert!(from < to && stats.last_at > from, "{at}");
        assert!(trace.events.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{at}");
        let nameless = trace.tasks.iter().filter(|task| task.name == "<...>").count();
        assert_eq!(nameless > 0, stats.notes.iter().any(|note| note.what.contains("does not name")), "{at}: {:?}", stats.notes);
    }
}

/// The recordings' own script writes ftrace text; read back, it gives the same events. The script
/// does not know who runs on a CPU before its first switch, so wakers before it are not compared.
#[test]
#[ignore = "needs python3 and zstd, which a clone with only Rust lacks: for the nightly run"]
fn the_text_of_an_experiment_gives_the_same_events() {
    let wanted = ["k6.1-msg-8cpu", "k6.12-bandwidth-8cpu", "karm6.1-asym-4half-4full", "k5.10-press-12cpu"];
    let chosen = wanted.iter().filter_map(|set| experiments().into_iter().find(|path| path.to_string_lossy().contains(set)));
    for folder in chosen {
        let script = fairground_testing::recording("rig").join("to_ftrace.py");
        let text = Command::new("python3").arg(&script).arg(&folder).output().unwrap();
        assert!(text.status.success(), "{}: {}", script.display(), String::from_utf8_lossy(&text.stderr));
        let from_text = read_any(&text.stdout[..], "trace.txt").unwrap();
        let tasks = fs::read(folder.join("tasks.csv")).unwrap();
        let from_csv = read_set(fs::File::open(folder.join("trace.csv.zst")).unwrap(), "trace.csv.zst", &tasks).unwrap();
        assert_eq!(from_text.stats.skipped, 0, "{:?}", from_text.stats.notes);
        assert_eq!(from_text.stats.not_used, from_csv.stats.not_used);
        assert_eq!(from_text.events.len(), from_csv.events.len(), "{}", folder.display());
        let pid = |trace: &fairground_formats::RecordedTrace, task| trace.tasks[task].pid;
        let mut switched = vec![false; 1024];
        let offset = from_csv.events[0].0.ns();
        for (text, csv) in from_text.events.iter().zip(&from_csv.events) {
            assert_eq!((text.0.ns() + offset, text.1), (csv.0.ns(), csv.1));
            let name_pids = |trace: &fairground_formats::RecordedTrace, event: &TraceEvent| match *event {
                TraceEvent::SchedWaking { task, target_cpu, waker, .. } => {
                    let waker = if switched[csv.1.get() as usize] { waker.map(|waker| pid(trace, waker)) } else { None };
                    format!("waking {} {target_cpu} {waker:?}", pid(trace, task))
                }
                TraceEvent::SchedSwitch { prev, prev_state, next } => {
                    let pids = [prev, next].map(|task| task.map(|task| pid(trace, task)));
                    format!("switch {pids:?} {prev_state:?}")
                }
                TraceEvent::SchedProcessFork { parent, child } => {
                    format!("fork {:?} {}", parent.map(|parent| pid(trace, parent)), pid(trace, child))
                }
                TraceEvent::SchedWakeup { task, target_cpu } => format!("wakeup {} {target_cpu}", pid(trace, task)),
                TraceEvent::SchedWakeupNew { task, target_cpu } => format!("new {} {target_cpu}", pid(trace, task)),
                TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => {
                    format!("migrate {} {orig_cpu} {dest_cpu}", pid(trace, task))
                }
                TraceEvent::SchedStatRuntime { task, runtime, vruntime } => {
                    format!("runtime {} {runtime} {vruntime:?}", pid(trace, task))
                }
                TraceEvent::SchedProcessExit { task } => format!("exit {}", pid(trace, task)),
                ref other => panic!("{other:?}"),
            };
            assert_eq!(name_pids(&from_text, &text.2), name_pids(&from_csv, &csv.2), "{} at {}", folder.display(), csv.0.ns());
            switched[csv.1.get() as usize] |= matches!(csv.2, TraceEvent::SchedSwitch { .. });
        }
    }
}
