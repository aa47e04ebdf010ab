//! The repair layer on whole recordings.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use fairground_formats::{Inferred, WriterOptions, read_file, read_repaired, writer_with};
use std::fs::{self, File};
use std::io::Cursor;
use std::path::Path;

/// The only set whose recorder lost records: a kernel under perf, on a machine of somebody else.
const WITH_GAPS: &str = "real6.18-2cpu";

fn sets(with_gaps: bool) -> Vec<std::path::PathBuf> {
    fairground_testing::experiments(|name| (name == WITH_GAPS) == with_gaps)
}
fn tasks_of(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("tasks.csv")).unwrap()
}
fn trace_of(folder: &Path) -> File {
    File::open(folder.join("trace.csv.zst")).unwrap()
}

#[test]
fn a_record_without_a_gap_goes_through_unchanged() {
    for folder in sets(false) {
        let plain = read_file(trace_of(&folder), "trace.csv.zst", &tasks_of(&folder)).unwrap();
        let repaired = read_repaired(trace_of(&folder), "trace.csv.zst", &tasks_of(&folder)).unwrap();
        assert!(plain == repaired, "{}: {:?}", folder.display(), repaired.stats.inferred);
    }
}

#[test]
fn an_export_of_such_a_record_goes_through_unchanged() {
    for (folder, ending) in sets(false).into_iter().step_by(7).zip(["txt", "pftrace", "json", "csv"].into_iter().cycle()) {
        let trace = read_file(trace_of(&folder), "trace.csv.zst", &tasks_of(&folder)).unwrap();
        let mut file = Vec::new();
        let mut writer = writer_with(ending, Box::new(&mut file), &WriterOptions::default()).unwrap();
        trace.tasks.iter_enumerated().for_each(|(task, info)| writer.task(task, info));
        trace.events.iter().for_each(|(at, cpu, event)| writer.record(*at, *cpu, event));
        writer.finish().unwrap();
        let name = format!("trace.{ending}");
        let plain = read_file(Cursor::new(&file), &name, &[]).unwrap();
        let repaired = read_repaired(Cursor::new(&file), &name, &[]).unwrap();
        assert!(plain == repaired, "{} as {ending}: {:?}", folder.display(), repaired.stats.inferred);
    }
}

#[test]
fn switches_that_a_recorder_lost_are_put_in() {
    for folder in sets(true) {
        let repaired = read_repaired(trace_of(&folder), "trace.csv.zst", &tasks_of(&folder)).unwrap();
        assert!(repaired.stats.inferred.switches > 10, "{}: {:?}", folder.display(), repaired.stats.inferred);
        assert!(repaired.stats.quality().contains("switches"), "{}", repaired.stats.quality());
    }
}

/// Only switches, a cut line, nothing at all: an honest line, and no panic.
#[test]
fn poor_recordings_are_called_poor() {
    let switches = "a-1 [000] d..2. 1.0: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120
b-2 [000] d..2. 1.5: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio=120
";
    let read = |text: &str| read_repaired(Cursor::new(text.as_bytes()), "t.txt", &[]).unwrap().stats;
    let stats = read(switches);
    assert_eq!(stats.inferred, Inferred { first_seen: 1, wakeups: 1, ..Inferred::default() });
    let line = stats.quality();
    assert!(line.contains("never recorded: sched_waking") && line.contains("how-to-record"), "{line}");
    assert!(read(&switches[..switches.len() - 30]).quality().contains("unreadable"));
    assert!(read("# tracer: nop\n").quality().contains("no scheduling event"));
}
