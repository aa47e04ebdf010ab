//! What is written and read again is the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Run, event, run, tracepoint, with_pids, written};
use fairground_formats::{RecordedTrace, WriterOptions, formats, read_any};
use fairground_model::{TraceEvent, WakeContext};
use fairground_stdx::Instant;
use proptest::prelude::*;

/// Our own formats keep everything, down to the task rows.
fn keeps_everything(run: &Run, ending: &str) {
    let file = written(run, ending, &WriterOptions { seed: Some(7), ..WriterOptions::default() });
    let trace = read_any(&file[..], "trace").unwrap();
    let text = String::from_utf8_lossy(&file);
    assert_eq!(trace.stats.is_clean(), !run.events.is_empty(), "{:?}\n{text}", trace.stats.notes);
    assert_eq!(trace.tasks.as_slice(), &run.tasks[..], "{text}");
    assert_eq!(trace.events, run.events, "{text}");
}

/// What trace text can tell of an event: the idle task wakes nobody, a hard interrupt is nobody's doing.
fn as_text_tells(event: TraceEvent) -> TraceEvent {
    match event {
        TraceEvent::SchedWaking { task, target_cpu, waker, context } => {
            let (waker, context) = match (waker, context) {
                (_, WakeContext::Hardirq) | (None, WakeContext::Task) => (None, WakeContext::Hardirq),
                other => other,
            };
            TraceEvent::SchedWaking { task, target_cpu, waker, context }
        }
        other => other,
    }
}

fn pids_of(trace: &RecordedTrace) -> Vec<(Instant, u32, TraceEvent)> {
    let pid = |task| trace.tasks[task].pid;
    trace.events.iter().map(|(at, cpu, event)| (*at, cpu.get(), with_pids(event, pid))).collect()
}

proptest! {
    #[test]
    fn csv_keeps_everything(run in run(event())) {
        keeps_everything(&run, "csv");
    }

    #[test]
    fn json_keeps_everything(run in run(event())) {
        keeps_everything(&run, "json");
    }

    #[test]
    fn trace_text_keeps_what_has_a_tracepoint(run in run(tracepoint())) {
        let file = written(&run, "txt", &WriterOptions::default());
        let trace = read_any(&file[..], "trace.txt").unwrap();
        prop_assert_eq!(trace.stats.skipped, 0, "{}", String::from_utf8_lossy(&file));
        let start = run.events.first().map_or(0, |(at, ..)| at.ns());
        let expected: Vec<_> = run.events.iter().map(|(at, cpu, event)| {
            let event = with_pids(&as_text_tells(*event), |task| run.tasks[task.get() as usize].pid);
            (Instant::from_ns(at.ns() - start), cpu.get(), event)
        }).collect();
        prop_assert_eq!(pids_of(&trace), expected);
        for task in trace.tasks.iter() {
            let written = &run.tasks[(task.pid - 1000) as usize];
            prop_assert!(task.name == written.name || written.name.is_empty() || task.name == "<...>" || task.name == written.name.trim());
        }
    }
}

#[test]
fn each_format_that_is_not_written_says_so_by_name() {
    for format in formats().iter().filter(|format| !format.writes()) {
        let error = fairground_formats::writer_for(format.ending, Box::new(Vec::new())).err().unwrap().to_string();
        assert!(error.contains(format.ending) && error.contains(".pftrace"), "{error}");
    }
    // They can be written, but not from events.
    for ending in ["html", "hgrm", "schedstat"] {
        let error = fairground_formats::writer_for(ending, Box::new(Vec::new())).err().unwrap().to_string();
        assert!(error.contains("no events"), "{error}");
    }
    let error = fairground_formats::writer_for(".xyz", Box::new(Vec::new())).err().unwrap().to_string();
    assert_eq!(
        error,
        "there is no writer for files that end in `.xyz`; there are writers for .pftrace, .csv, .json, .txt, .parquet, .html, .hgrm, .schedstat"
    );
}

#[test]
fn the_json_document_is_json_and_tells_what_it_was_made_of() {
    let run = Run { tasks: Vec::new(), events: Vec::new() };
    let options = WriterOptions {
        command: "run".into(),
        inputs: vec![("a \"b\".toml".into(), "00ff".into())],
        seed: None,
        ..WriterOptions::default()
    };
    let document: serde_json::Value = serde_json::from_slice(&written(&run, "json", &options)).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["tool"]["name"], "fairground");
    assert_eq!(document["command"], "run");
    assert_eq!(document["inputs"][0]["name"], "a \"b\".toml");
    assert_eq!(document["seed"], serde_json::Value::Null);
    assert_eq!((&document["events"], document["digest"].as_str().unwrap().len()), (&serde_json::Value::from(0), 32));
}
