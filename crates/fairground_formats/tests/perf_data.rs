//! perf.data: files that the real perf records during the test, against the text that `perf script` makes
//! of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_formats::{RecordedTrace, read_any, read_file};
use fairground_model::{TraceEvent, WakeContext};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder of this test run that goes away at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fairground-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What is recorded: processes that start, sleep, talk through a pipe and end.
const WORK: &str = "for i in 1 2 3; do sleep 0.01; ls / | wc -l; done > /dev/null";

/// Records with the real perf; says why not where it cannot.
fn record(args: &[&str], file: &Path) -> Result<(), String> {
    let output = Command::new("perf").args(args).arg("-o").arg(file).args(["--", "sh", "-c", WORK]).stdin(Stdio::null()).output();
    match output {
        Err(error) => Err(format!("perf cannot be run: {error}")),
        Ok(output) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("perf may not record here: {}", said.lines().next().unwrap_or("no reason given")))
        }
        Ok(_) => Ok(()),
    }
}

/// The text that perf itself makes of a file.
fn script(file: &Path) -> RecordedTrace {
    let script = ["script", "--ns", "--show-lost-events", "-F", "comm,tid,cpu,time,event,trace", "-i"];
    let output = Command::new("perf").args(script).arg(file).stderr(Stdio::null()).output().unwrap();
    read_any(&output.stdout[..], "perf.txt").unwrap()
}

/// The events without what text does not tell: in which kind of interrupt a wake-up came.
fn as_text_tells(trace: &RecordedTrace, of_binary: &RecordedTrace) -> Vec<String> {
    let events = trace.events.iter().zip(&of_binary.events).map(|((at, cpu, event), (.., binary))| {
        let told = match (*event, *binary) {
            (TraceEvent::SchedWaking { task, target_cpu, .. }, TraceEvent::SchedWaking { context, .. })
                if context != WakeContext::Task =>
            {
                TraceEvent::SchedWaking { task, target_cpu, waker: None, context }
            }
            (event, _) => event,
        };
        format!("{at:?} {cpu:?} {told:?}")
    });
    events.collect()
}

/// Records, reads both ways and compares.
fn same_as_perf_script(name: &str, args: &[&str]) {
    let folder = Folder::new(name);
    let file = folder.0.join("perf.data");
    if let Err(why) = record(args, &file) {
        eprintln!("skipped `perf {}`: {why}", args.join(" "));
        return;
    }
    let binary = read_file(File::open(&file).unwrap(), "perf.data", &[]).unwrap();
    let text = script(&file);
    assert_eq!(binary.stats.format, "perf-data");
    assert_eq!(binary.stats.kinds, text.stats.kinds, "{:?}", binary.stats.notes);
    let (ours, theirs) = (as_text_tells(&binary, &binary), as_text_tells(&text, &binary));
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "event {number} of {}", theirs.len());
    }
    assert_eq!((ours.len(), &binary.tasks, binary.stats.offset_ns), (theirs.len(), &text.tasks, text.stats.offset_ns));
    assert!(binary.stats.events > 20 && binary.stats.skipped == 0, "{:?}", binary.stats.notes);
    // From a source that cannot be sought, and packed.
    let bytes = fs::read(&file).unwrap();
    let streamed = read_any(&bytes[..], "perf.data").unwrap();
    assert_eq!((&streamed.events, &streamed.tasks), (&binary.events, &binary.tasks));
}

#[test]
fn perf_sched_record() {
    same_as_perf_script("sched", &["sched", "record"]);
}

#[test]
fn perf_record_of_all_sched_events_packed() {
    same_as_perf_script("packed", &["record", "-q", "-a", "-z", "-e", "sched:*"]);
}

#[test]
fn perf_record_with_call_chains_of_one_process_tree() {
    same_as_perf_script("chains", &["record", "-q", "-g", "--sample-cpu", "-e", "sched:*"]);
}

#[test]
fn perf_record_with_another_clock() {
    same_as_perf_script("clock", &["record", "-q", "-a", "-k", "mono", "-e", "sched:sched_switch,sched:sched_waking"]);
}
