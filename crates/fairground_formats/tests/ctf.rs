//! CTF: traces of two independent writers, LTTng's compact events by hand, and dirty ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::files::{Files, tar};
use fairground_formats::{RecordedTrace, is_of_trace_folder, read_any, read_file, read_repaired, read_repaired_folder};
use fairground_model::{PrevState, Section, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Ns, TaskId, Vruntime};
use std::io::Cursor;
use std::path::Path;

fn sample(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path)).unwrap()
}
fn notes(trace: &RecordedTrace) -> String {
    trace.stats.notes.iter().map(|note| format!("{note}\n")).collect()
}

/// `perf data convert --to-ctf` of a recording that the reader of perf.data reads too.
#[test]
fn what_perf_converts_is_what_perf_recorded() {
    let converted = read_any(&sample("ctf/samples/perf.tar.gz")[..], "perf.tar.gz").unwrap();
    let recorded = read_any(&sample("perf_data/samples/file.data")[..], "perf.data").unwrap();
    assert!(converted.stats.is_clean() && converted.stats.events > 5, "{}", notes(&converted));
    assert_eq!(converted.stats.kernel_release, recorded.stats.kernel_release);
    assert_eq!((&converted.tasks, &converted.events), (&recorded.tasks, &recorded.events));
    assert_eq!(converted.stats.offset_ns, recorded.stats.offset_ns);
}

/// Events as LTTng names them, written by babeltrace2's `sink.ctf.fs`.
#[test]
fn what_babeltrace_writes() {
    let trace = read_any(&sample("ctf/samples/babeltrace.tar.gz")[..], "b.tar.gz").unwrap();
    let (lager, rt, child) = (TaskId::new(0), TaskId::new(1), TaskId::new(2));
    let tasks: Vec<(&str, u32, i32)> = trace.tasks.iter().map(|task| (task.name.as_str(), task.pid, task.prio)).collect();
    assert_eq!(tasks, [("lager", 77, 120), ("rt", 99, 90), ("lager", 101, 125)]);
    let (zero, one) = (CpuId::new(0), CpuId::new(1));
    let waking = |task, target_cpu, waker, context| TraceEvent::SchedWaking { task, target_cpu, waker, context };
    let switch = |prev, prev_state, next| TraceEvent::SchedSwitch { prev, prev_state, next };
    let expected = [
        (14_345, zero, TraceEvent::KernelSection { section: Section::DeviceInterrupt, took: Ns(200) }),
        (14_445, zero, waking(lager, one, None, WakeContext::Hardirq)),
        (14_645, one, TraceEvent::SchedWakeup { task: lager, target_cpu: one }),
        (14_745, one, switch(None, PrevState::Running, Some(lager))),
        (14_845, one, waking(rt, zero, Some(lager), WakeContext::Task)),
        (14_945, one, TraceEvent::SchedWakeup { task: rt, target_cpu: zero }),
        (15_045, zero, switch(None, PrevState::Running, Some(rt))),
        (15_095, zero, TraceEvent::SchedStatRuntime { task: rt, runtime: Ns(50), vruntime: Some(Vruntime(0)) }),
        (15_145, one, TraceEvent::SchedProcessFork { parent: Some(lager), child }),
        (15_195, one, TraceEvent::SchedWakeupNew { task: child, target_cpu: one }),
        (15_245, zero, switch(Some(rt), PrevState::Sleeping, None)),
        (15_295, one, TraceEvent::SchedMigrateTask { task: child, orig_cpu: one, dest_cpu: zero }),
        (15_345, one, TraceEvent::SchedProcessExit { task: lager }),
        (15_395, zero, TraceEvent::CpuFrequency { cpu: zero, khz: 1_800_000 }),
        (15_445, one, switch(Some(lager), PrevState::Dead, None)),
        (15_745, one, switch(None, PrevState::Running, Some(child))),
    ];
    let found: Vec<_> = trace.events.iter().map(|&(at, cpu, event)| (at.ns() + 14_345, cpu, event)).collect();
    assert_eq!(found, expected);
    // The clock as babeltrace2 prints it; three lost events as it warns of.
    assert_eq!((trace.stats.offset_ns, trace.stats.lost_events, trace.stats.skipped), (1_700_000_000_000_014_345, 3, 0));
    assert_eq!((trace.stats.kernel_release.as_deref(), trace.stats.not_used), (Some("6.1.0-test"), 0));
}

#[test]
fn a_zip_a_tar_and_a_folder_are_the_same_trace() {
    let packed = sample("ctf/samples/babeltrace.tar.gz");
    let whole = read_any(&packed[..], "b.tar.gz").unwrap();
    let plain = fairground_formats::unpack(&packed[..], 1 << 20).unwrap();
    let zip = sample("ctf/samples/babeltrace.zip");
    for bytes in [&plain, &zip] {
        assert_eq!(read_file(Cursor::new(bytes), "b", &[]).unwrap().events, whole.events);
        assert_eq!(read_any(&bytes[..], "b").unwrap().events, whole.events);
    }
    let parts: Vec<(String, Vec<u8>)> = lttng(true).into_iter().map(|(name, bytes)| (format!("kernel/{name}"), bytes)).collect();
    let foreign = [("ust/metadata".to_string(), b"/* CTF 1.8 */ stream { id = 0; };".to_vec())];
    let from_folder = read_repaired_folder(&mut Files::new([&parts[..], &foreign].concat()), "session").unwrap();
    let from_tar = read_repaired(Cursor::new(tar(&parts)), "session.tar", &[]).unwrap();
    assert_eq!((&from_folder.events, &from_folder.tasks), (&from_tar.events, &from_tar.tasks));
    assert!(notes(&from_folder).contains("`ust` was left out"), "{}", notes(&from_folder));
}

const METADATA: &str = include_str!("common/lttng_metadata.tsdl");

/// Writes bits as LTTng does, in one byte order.
struct Writer {
    is_little: bool,
    bytes: Vec<u8>,
}

impl Writer {
    fn number(&mut self, value: u64, length: usize) {
        let bytes = value.to_le_bytes()[..length].to_vec();
        self.bytes.extend(if self.is_little { bytes } else { bytes.into_iter().rev().collect() });
    }
    fn align(&mut self, bytes: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(bytes), 0);
    }
    /// 5 bits of id and 27 of time: the id comes first, which is at the lower end in little order and at the upper in big.
    fn compact(&mut self, id: u64, time: u64) {
        self.align(4);
        let time = time & 0x07ff_ffff;
        self.number(if self.is_little { time << 5 | id } else { id << 27 | time }, 4);
    }
    /// The long form: 31, then id and time in full.
    fn extended(&mut self, id: u64, time: u64) {
        self.align(4);
        self.number(if self.is_little { 31 } else { 31 << 3 }, 1);
        self.align(8);
        self.number(id, 4);
        self.align(8);
        self.number(time, 8);
    }
    fn comm(&mut self, name: &str) {
        let mut comm = name.as_bytes().to_vec();
        comm.resize(16, 0);
        self.bytes.extend(comm);
    }
    fn switch(&mut self, prev: (&str, u64, u64), state: u64, next: (&str, u64, u64)) {
        self.align(8);
        for ((name, tid, prio), has_state) in [(prev, true), (next, false)] {
            self.comm(name);
            self.align(4);
            self.number(tid, 4);
            self.number(prio, 4);
            if has_state {
                self.align(8);
                self.number(state, 8);
            }
        }
    }
}

/// A packet: its header, then what `events` writes, then room up to 4096 bytes.
fn packet(
    is_little: bool,
    cpu: u64,
    times: (u64, u64),
    discarded: u64,
    sequence: u64,
    events: impl FnOnce(&mut Writer),
) -> Vec<u8> {
    let mut w = Writer { is_little, bytes: Vec::new() };
    w.number(0xc1fc_1fc1, 4);
    w.bytes.extend([9; 16]);
    w.number(0, 4);
    w.number(cpu, 8);
    [times.0, times.1, 0, 4096 * 8, sequence, discarded].into_iter().for_each(|number| w.number(number, 8));
    w.number(cpu, 4);
    events(&mut w);
    let mut content = Writer { is_little, bytes: Vec::new() };
    content.number(8 * w.bytes.len() as u64, 8);
    w.bytes[48..56].copy_from_slice(&content.bytes);
    w.bytes.resize(4096, 0);
    w.bytes
}

const IDLE: (&str, u64, u64) = ("swapper/0", 0, 20);

/// A trace as LTTng lays it out: compact events, times of 27 bits that wrap, an array of unused numbers.
fn lttng(is_little: bool) -> Vec<(String, Vec<u8>)> {
    let order = if is_little { "le" } else { "be" };
    let text = METADATA.replace("byte_order = le", &format!("byte_order = {order}"));
    let start = (3 << 27) + (1 << 27) - 1000;
    let first = packet(is_little, 0, (start, start + (1 << 27)), 0, 7, |w| {
        w.compact(0, start + 10);
        w.switch(IDLE, 0, ("player", 42, 20));
        w.compact(1, start + 500);
        w.align(8);
        [2, 0x11, 0x22].into_iter().for_each(|number| w.number(number, 1)); // a sequence of two bytes
        w.align(8);
        w.number(0x1234, 8);
        w.compact(0, start + 1500); // the lower 27 bits began again
        w.switch(("player", 42, 20), 2, IDLE);
        w.extended(0, start + (5 << 27));
        w.switch(IDLE, 0, ("player", 42, 20));
        w.compact(0, start + (5 << 27) + 2000);
        w.switch(("player", 42, 20), 64, IDLE);
    });
    let second = packet(is_little, 0, (start + (6 << 27), start + (7 << 27)), 4, 9, |w| {
        w.compact(0, start + (6 << 27) + 1);
        w.switch(IDLE, 0, ("other", 43, u64::from(-1_i32 as u32)));
    });
    vec![("channel0_0".into(), [first, second].concat()), ("channel0_1".into(), Vec::new()), ("metadata".into(), text.into())]
}

#[test]
fn compact_events_of_both_byte_orders() {
    for is_little in [true, false] {
        let trace = read_any(&tar(&lttng(is_little))[..], "t.tar").unwrap();
        let times: Vec<u64> = trace.events.iter().map(|(at, ..)| at.ns()).collect();
        let (long, next) = ((5 << 27) - 10, (6 << 27) + 1 - 10);
        assert_eq!(times, [0, 1490, long, long + 2000, next], "{}", notes(&trace));
        let states: Vec<PrevState> = trace
            .events
            .iter()
            .filter_map(|(_, _, event)| match event {
                TraceEvent::SchedSwitch { prev: Some(_), prev_state, .. } => Some(*prev_state),
                _ => None,
            })
            .collect();
        // The kernel of the trace is 4.9: 64 is TASK_DEAD, which a kernel since 4.14 shows as 16.
        assert_eq!(states, [PrevState::DiskSleep, PrevState::Dead]);
        let tasks: Vec<(&str, u32, i32)> = trace.tasks.iter().map(|task| (task.name.as_str(), task.pid, task.prio)).collect();
        assert_eq!(tasks, [("player", 42, 120), ("other", 43, 99)]);
        // Four events that the recorder counted, and a packet that is missing.
        assert_eq!((trace.stats.lost_events, trace.stats.not_used, trace.stats.skipped), (5, 1, 0), "{}", notes(&trace));
        assert_eq!(trace.stats.offset_ns, 1_400_000_000_000_000_000 + (4 << 27) - 990);
    }
}

#[test]
fn a_trace_that_is_cut_off_gives_what_came_before() {
    let parts = lttng(true);
    let whole = tar(&parts);
    let (mut events, mut cut_notes) = (0, String::new());
    for length in (0..parts[0].1.len()).step_by(3) {
        let cut = [(parts[0].0.clone(), parts[0].1[..length].to_vec()), parts[2].clone()];
        let trace = read_any(&tar(&cut)[..], "t.tar").unwrap();
        assert!(trace.stats.events >= events, "{length}");
        events = trace.stats.events;
        cut_notes += &notes(&trace);
    }
    assert_eq!(events, 5);
    assert!(cut_notes.contains("cut off in the middle of a packet") && cut_notes.contains("does not fit"), "{cut_notes}");
    for length in (0..whole.len()).step_by(37) {
        let _ = read_any(&whole[..length], "t.tar");
    }
    for length in (0..METADATA.len()).step_by(5) {
        let cut = [parts[0].clone(), (parts[2].0.clone(), parts[2].1[..length].to_vec())];
        let _ = read_any(&tar(&cut)[..], "t.tar");
    }
}

#[test]
fn what_is_no_stream_or_no_description_is_named() {
    let error = |parts: &[(&str, &[u8])]| {
        let parts: Vec<(String, Vec<u8>)> = parts.iter().map(|&(name, bytes)| (name.to_string(), bytes.to_vec())).collect();
        read_any(&tar(&parts)[..], "t.tar").map(|trace| notes(&trace)).map_err(|error| error.to_string())
    };
    let streams = lttng(true);
    assert!(error(&[("metadata", b"")]).unwrap_err().contains("describes no stream"));
    assert!(
        error(&[("metadata", b"trace { major = 1;\n x := integer { size = 65; };")])
            .unwrap_err()
            .contains("line 2 of `metadata`")
    );
    assert!(error(&[("metadata", b"\x1e{}")]).unwrap_err().contains("CTF 2"));
    assert!(error(&[("metadata", &streams[2].1)]).unwrap().contains("no scheduling event"));
    assert!(error(&[("metadata", &streams[2].1), ("a", b"text")]).unwrap().contains("`a` is no stream"));
    assert!(error(&[("a", b"text")]).unwrap_err().contains("a tar archive"));
    let wrong_kind = METADATA.replace("stream_id = 0", "stream_id = 5").replace("stream {\n\tid = 0", "stream {\n\tid = 5");
    assert!(error(&[("metadata", wrong_kind.as_bytes()), ("a", &streams[0].1)]).unwrap().contains("does not describe"));
    for bytes in [&streams[0].1, &streams[2].1] {
        assert!(is_of_trace_folder(&bytes[..]));
        let said = read_any(&bytes[..], "channel0_0").unwrap_err().to_string();
        assert!(said.contains("CTF trace") && said.contains("folder"), "{said}");
    }
    assert!(!is_of_trace_folder(&b"PERFILE2"[..]));
}
