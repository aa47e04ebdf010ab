//! The small samples that lie beside each format.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_formats::{RecordedTrace, read_any};
use fairground_model::{PrevState, TraceEvent, WakeContext};
use std::path::Path;

fn sample(path: &str) -> RecordedTrace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path);
    read_any(std::fs::File::open(&path).unwrap(), &path.to_string_lossy()).unwrap()
}
/// Task by name, wakers and contexts of all wake-ups.
fn wakings(trace: &RecordedTrace) -> Vec<(&str, u32, Option<&str>, WakeContext)> {
    let name = |task| trace.tasks[task].name.as_str();
    let wakings = trace.events.iter().filter_map(|(_, _, event)| match *event {
        TraceEvent::SchedWaking { task, target_cpu, waker, context } => {
            Some((name(task), target_cpu.get(), waker.map(name), context))
        }
        _ => None,
    });
    wakings.collect()
}

#[test]
fn ftrace_with_flags() {
    let trace = sample("ftrace/samples/ftrace_flags.txt");
    assert!(trace.stats.is_clean() && trace.stats.notes.is_empty(), "{:?}", trace.stats.notes);
    assert_eq!((trace.stats.events, trace.stats.offset_ns, trace.stats.last_at.ns()), (13, 951_012_340_000, 2_680_000));
    assert_eq!(
        wakings(&trace),
        [
            ("Web Content", 0, None, WakeContext::Hardirq),
            ("kworker/u8:2-ev", 1, Some("Web Content"), WakeContext::Task),
            ("rcu_preempt", 1, Some("Web Content"), WakeContext::Softirq),
        ]
    );
    assert_eq!(trace.tasks.iter().find(|task| task.pid == 2301).unwrap().name, "ls", "renamed by exec");
    assert_eq!(trace.stats.kinds["sched_switch"], 4);
}

#[test]
fn trace_cmd_report_with_the_short_form() {
    let trace = sample("ftrace/samples/trace_cmd_report.txt");
    assert_eq!((trace.stats.events, trace.stats.lost_events, trace.stats.not_used, trace.stats.skipped), (6, 42, 0, 0));
    assert_eq!(wakings(&trace), [("hog", 1, Some("my: [x] task"), WakeContext::Task)]);
    let states: Vec<PrevState> = trace
        .events
        .iter()
        .filter_map(|(_, _, event)| match event {
            TraceEvent::SchedSwitch { prev_state, .. } => Some(*prev_state),
            _ => None,
        })
        .collect();
    assert_eq!(states, [PrevState::Running, PrevState::Running, PrevState::DiskSleep]);
    assert_eq!(trace.stats.last_at.ns(), 8_177_667);
}

/// One recording as `trace-cmd report` prints it with `-R`, `-l`, `--ts-diff` and `-w`: the same events. Only `-l` tells where a wake-up came from.
#[test]
fn the_forms_of_trace_cmd_report() {
    let plain = sample("ftrace/samples/report_plain.txt");
    let without_context = |trace: &RecordedTrace| {
        let mut events = trace.events.clone();
        for (_, _, event) in &mut events {
            if let TraceEvent::SchedWaking { waker, context, .. } = event {
                (*waker, *context) = (None, WakeContext::Task);
            }
        }
        events
    };
    for form in ["raw", "latency", "ts_diff", "waits"] {
        let read = sample(&format!("ftrace/samples/report_{form}.txt"));
        assert_eq!((read.stats.skipped, read.stats.is_clean()), (0, true), "{form}: {:?}", read.stats.notes);
        assert_eq!(without_context(&read), without_context(&plain), "{form}");
        assert_eq!(
            read.tasks.iter().map(|task| task.pid).collect::<Vec<_>>(),
            plain.tasks.iter().map(|task| task.pid).collect::<Vec<_>>()
        );
    }
    assert!(plain.stats.events > 60 && plain.stats.kinds.len() > 4);
}

#[test]
fn perf_script_with_call_chains() {
    let trace = sample("ftrace/samples/perf_script.txt");
    assert_eq!((trace.stats.events, trace.stats.lost_events, trace.stats.skipped), (5, 33, 0), "{:?}", trace.stats.notes);
    assert_eq!(wakings(&trace), [("hog 1", 1, None, WakeContext::Hardirq)]);
}

#[test]
fn ftrace_with_thread_groups_and_either_line_end() {
    let trace = sample("ftrace/samples/with_tgid.txt");
    assert_eq!((trace.stats.events, trace.tasks.as_slice()[0].name.as_str()), (2, "(sd-pam)"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ftrace/samples/with_tgid.txt");
    let dos = std::fs::read_to_string(path).unwrap().replace('\n', "\r\n");
    let dos = read_any(dos.as_bytes(), "t").unwrap();
    assert_eq!((dos.events, dos.tasks), (trace.events, trace.tasks));
}

#[test]
fn our_own_files() {
    let (csv, json) = (sample("csv/samples/run.csv"), sample("json/samples/run.json"));
    assert_eq!((csv.stats.skipped, json.stats.skipped), (0, 0), "{:?} {:?}", csv.stats.notes, json.stats.notes);
    assert_eq!((&csv.events, &csv.tasks), (&json.events, &json.tasks));
    assert!(csv.stats.kinds.len() > 8);
}

#[test]
fn a_recorded_experiment_without_its_tasks() {
    let trace = sample("recorded/samples/trace.csv");
    assert_eq!(trace.stats.skipped, 0);
    assert!(trace.stats.notes.iter().any(|note| note.what.contains("tasks.csv")) && trace.stats.is_clean());
    assert_eq!(trace.stats.window.map(|(from, to)| (from.ns(), to.ns())), Some((50_620_076, 2_050_620_076)));
}

#[test]
fn the_recorded_kernel_is_known_where_the_file_tells_it() {
    for name in ["file", "pipe", "packed", "call_chains"] {
        let trace = sample(&format!("perf_data/samples/{name}.data"));
        assert_eq!(trace.stats.kernel_release.as_deref(), Some("6.18.44-fc-v657"), "{name}");
    }
    assert_eq!(sample("ftrace/samples/ftrace_flags.txt").stats.kernel_release, None);
}
