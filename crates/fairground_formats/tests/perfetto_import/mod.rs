//! The Perfetto reader against an independent encoder made of Perfetto's own message definitions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

mod compact;
mod groups;
mod packed;

use crate::common::pftrace::{Form, encode, file, packet};
use crate::common::{Run, run, tracepoint, with_pids, written};
use fairground_formats::{ImportError, RecordedTrace, WriterOptions, is_trace, read_any, read_into, read_set};
use fairground_model::{NullSink, PrevState, TraceEvent, WakeContext};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use perfetto_protos::ftrace::PrintFtraceEvent;
use perfetto_protos::ftrace_event::FtraceEvent;
use perfetto_protos::ftrace_event::ftrace_event::Event;
use perfetto_protos::ftrace_event_bundle::ftrace_event_bundle::{CompactSched, FtraceError};
use perfetto_protos::ftrace_event_bundle::{FtraceClock, FtraceEventBundle};
use perfetto_protos::ftrace_stats::{FtraceCpuStats, FtraceStats, ftrace_stats::Phase};
use perfetto_protos::process_tree::{ProcessTree, process_tree};
use perfetto_protos::sched::{SchedSwitchFtraceEvent, SchedWakeupFtraceEvent, SchedWakingFtraceEvent};
use perfetto_protos::system_info::{SystemInfo, Utsname};
use perfetto_protos::task::{TaskNewtaskFtraceEvent, TaskRenameFtraceEvent};
use perfetto_protos::trace_packet::TracePacket;
use perfetto_protos::trace_packet::trace_packet::Data;
use perfetto_protos::track_event::TrackEvent;
use proptest::prelude::*;
use protobuf::{EnumOrUnknown, MessageField};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn read(file: &[u8]) -> RecordedTrace {
    read_any(file, "trace").unwrap()
}
fn notes(trace: &RecordedTrace) -> String {
    trace.stats.notes.iter().map(|note| format!("{note}\n")).collect()
}

/// What happened on each CPU, with process ids; times count from the first event.
type ByCpu = BTreeMap<u32, Vec<(u64, TraceEvent)>>;

fn by_cpu(trace: &RecordedTrace) -> ByCpu {
    assert!(trace.events.is_sorted_by_key(|row| row.0));
    let mut cpus = ByCpu::new();
    let start = trace.events.first().map_or(0, |row| row.0.ns());
    for (at, cpu, event) in &trace.events {
        let event = with_pids(event, |task| trace.tasks[task].pid);
        cpus.entry(cpu.get()).or_default().push((at.ns() - start, event));
    }
    cpus
}

/// What the compact form can tell: who leaves a CPU is known from the CPU's events before, and so is
/// who wakes; the order of different kinds at equal times is not kept.
fn as_compact_tells(cpus: ByCpu) -> ByCpu {
    let told = cpus.into_iter().map(|(cpu, rows)| {
        let mut rows = rows;
        rows.sort_by_key(|(at, event)| match event {
            TraceEvent::SchedWaking { .. } => (*at, 0),
            TraceEvent::SchedSwitch { .. } => (*at, 2),
            _ => (*at, 1),
        });
        let mut current_is_known = false;
        rows.retain_mut(|(_, event)| match event {
            TraceEvent::SchedSwitch { .. } => std::mem::replace(&mut current_is_known, true),
            TraceEvent::SchedWaking { waker, context, .. } if !current_is_known => {
                *waker = None;
                if *context == WakeContext::Task {
                    *context = WakeContext::Hardirq;
                }
                true
            }
            _ => true,
        });
        (cpu, rows)
    });
    told.collect()
}

/// The same distances from the first event that is left.
fn from_first(mut cpus: ByCpu) -> ByCpu {
    let start = cpus.values().flatten().map(|row| row.0).min().unwrap_or(0);
    cpus.values_mut().flatten().for_each(|row| row.0 -= start);
    cpus.retain(|_, rows| !rows.is_empty());
    cpus
}

fn compare(found: ByCpu, expected: ByCpu, what: &str) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{what}");
    for (cpu, rows) in expected {
        for (index, (found, expected)) in found[&cpu].iter().zip(&rows).enumerate() {
            assert_eq!(found, expected, "{what}: event {index} of CPU {cpu}");
        }
        assert_eq!(found[&cpu].len(), rows.len(), "{what}: CPU {cpu}");
    }
}

/// Events as they can happen: the task that leaves a CPU is the one that came, and it is the one that wakes.
fn consistent(run: Run) -> Run {
    let mut current = BTreeMap::new();
    let events = run.events.into_iter().map(|(at, cpu, mut event)| {
        let before = current.get(&cpu).copied().flatten();
        match &mut event {
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                *prev = before;
                if before.is_none() {
                    *prev_state = PrevState::Running; // the idle task never sleeps
                }
                current.insert(cpu, *next);
            }
            TraceEvent::SchedWaking { waker, .. } => *waker = before,
            _ => {}
        }
        (at, cpu, event)
    });
    Run { events: events.collect(), ..run }
}

fn as_text(run: &Run) -> RecordedTrace {
    read_any(&written(run, "txt", &WriterOptions::default())[..], "trace.txt").unwrap()
}

proptest! {
    #[test]
    fn plain_events_are_those_of_trace_text(run in run(tracepoint())) {
        let text = as_text(&run);
        prop_assume!(!text.events.is_empty());
        let trace = read(&encode(&text, Form::Plain));
        prop_assert_eq!(trace.stats.skipped, 0, "{}", notes(&trace));
        prop_assert_eq!(trace.stats.not_used, text.stats.not_used);
        compare(by_cpu(&trace), by_cpu(&text), "plain");
    }

    #[test]
    fn compact_events_are_those_of_trace_text(run in run(tracepoint()).prop_map(consistent)) {
        let text = as_text(&run);
        prop_assume!(!text.events.is_empty());
        let trace = read(&encode(&text, Form::Compact));
        prop_assert_eq!(trace.stats.skipped, 0, "{}", notes(&trace));
        compare(by_cpu(&trace), from_first(as_compact_tells(by_cpu(&text))), "compact");
    }

    #[test]
    fn our_own_files_keep_what_has_a_tracepoint(run in run(tracepoint()).prop_map(consistent)) {
        let trace = read(&written(&run, "pftrace", &WriterOptions::default()));
        prop_assert_eq!(trace.stats.skipped, 0, "{}", notes(&trace));
        let kept = |event: &TraceEvent| !matches!(event, TraceEvent::SchedStatRuntime { .. });
        let events = run.events.iter().filter(|row| kept(&row.2)).copied().collect();
        compare(by_cpu(&trace), by_cpu(&as_text(&Run { events, ..run.clone() })), "written");
        for task in trace.tasks.iter() {
            let written = &run.tasks[(task.pid - 1000) as usize];
            prop_assert_eq!(&task.name, &written.name);
        }
    }

    #[test]
    fn packets_with_some_bytes_changed(
        compact in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = fs::read(sample(if compact { "compact.pftrace" } else { "plain.pftrace" })).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(stats) = read_into(&bytes[..], "x.pftrace", &[], &mut NullSink) {
            prop_assert!(stats.skipped == 0 || !stats.is_clean());
        }
    }

    #[test]
    fn random_bytes_behind_a_good_packet(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        let mut input = file(vec![packet(Data::FtraceEvents(bundle(0, vec![switch(5, 0, 7)])))]);
        input.extend(bytes);
        if let Ok(stats) = read_into(&input[..], "x.pftrace", &[], &mut NullSink) {
            prop_assert!(stats.events > 0);
        }
    }
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/perfetto/samples").join(name)
}

/// The samples are the recorded experiment's sample in both forms; UPDATE_EXPECT=1 writes them anew.
#[test]
fn the_stored_samples() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/recorded/samples");
    let tasks = fs::read(folder.join("tasks.csv")).unwrap();
    let csv = read_set(fs::File::open(folder.join("trace.csv")).unwrap(), "trace.csv", &tasks).unwrap();
    for (name, form) in [("plain.pftrace", Form::Plain), ("compact.pftrace", Form::Compact)] {
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(sample(name), encode(&csv, form)).unwrap();
        }
        let stored = fs::read(sample(name)).unwrap();
        assert!(stored == encode(&csv, form), "{name}: UPDATE_EXPECT=1 writes the samples anew");
        let trace = read(&stored);
        assert_eq!((trace.stats.skipped, trace.stats.format), (0, "perfetto"), "{}", notes(&trace));
        let expected = if form == Form::Plain { by_cpu(&csv) } else { from_first(as_compact_tells(by_cpu(&csv))) };
        compare(by_cpu(&trace), expected, name);
        for length in 0..stored.len() {
            match read_any(&stored[..length], "x.pftrace") {
                Ok(cut) => {
                    assert_eq!(cut.stats.events, cut.events.len() as u64);
                    assert!(!cut.stats.is_clean() || cut.stats.skipped == 0);
                    assert!(cut.stats.events <= trace.stats.events);
                }
                Err(error) => assert!(length == 0, "{length}: {error}"),
            }
        }
    }
}

/// What fuzzing found worth keeping is read without a panic, and what is left out is said.
#[test]
fn the_seeds_of_the_fuzz_target() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/perfetto");
    for seed in fs::read_dir(seeds).unwrap() {
        let bytes = fs::read(seed.unwrap().path()).unwrap();
        let stats = fairground_formats::perfetto::read(&bytes[..], &mut NullSink);
        assert!(stats.skipped == 0 || !stats.is_clean());
    }
}

/// The recorded experiments in both forms give what their own CSV gives.
#[test]
fn the_recorded_experiments() {
    let wanted = ["k6.1-msg-8cpu", "k6.12-hogs-2cpu", "karm6.1-asym-4half-4full", "k5.10-press-12cpu", "k6.18-hogs-8cpu"];
    for set in wanted {
        let folder = fairground_testing::experiments(|name| name == set).remove(0);
        let tasks = fs::read(folder.join("tasks.csv")).unwrap();
        let csv = read_set(fs::File::open(folder.join("trace.csv.zst")).unwrap(), "trace.csv.zst", &tasks).unwrap();
        for form in [Form::Plain, Form::Compact] {
            let trace = read(&encode(&csv, form));
            let what = format!("{} {form:?}", folder.display());
            assert_eq!((trace.stats.skipped, trace.stats.time_went_back, trace.stats.clamped), (0, 0, 0), "{what}");
            let expected = if form == Form::Plain { by_cpu(&csv) } else { from_first(as_compact_tells(by_cpu(&csv))) };
            compare(by_cpu(&trace), expected, &what);
        }
    }
}

/// A second recorded by Perfetto's own tool, where it is installed (Debian 12 has no package of it).
#[test]
fn a_trace_of_the_real_tool() {
    let out = std::env::temp_dir().join(format!("fairground-{}.pftrace", std::process::id()));
    for tool in ["tracebox", "perfetto"] {
        let arguments = ["-t", "1s", "sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup"];
        match Command::new(tool).arg("-o").arg(&out).args(arguments).output() {
            Err(_) => eprintln!("skipped: there is no `{tool}` here"),
            Ok(run) if !run.status.success() => {
                eprintln!("skipped: `{tool}` cannot record here: {}", String::from_utf8_lossy(&run.stderr));
            }
            Ok(_) => {
                let trace = read(&fs::read(&out).unwrap());
                fs::remove_file(&out).unwrap();
                assert!(trace.stats.events > 0 && trace.stats.skipped == 0, "{}", notes(&trace));
                return;
            }
        }
    }
}

// Traces by hand.

fn event(at_ns: u64, pid: u32, event: Event) -> FtraceEvent {
    FtraceEvent { timestamp: Some(at_ns), pid: Some(pid), event: Some(event), ..FtraceEvent::default() }
}
fn bundle(cpu: u32, event: Vec<FtraceEvent>) -> FtraceEventBundle {
    FtraceEventBundle { cpu: Some(cpu), event, ..FtraceEventBundle::default() }
}
fn events(cpu: u32, event: Vec<FtraceEvent>) -> TracePacket {
    packet(Data::FtraceEvents(bundle(cpu, event)))
}
fn switch_with(at_ns: u64, prev: i32, prev_state: i64, next: i32) -> FtraceEvent {
    let name = |pid: i32| Some(format!("t{pid}"));
    let switch = SchedSwitchFtraceEvent {
        prev_comm: name(prev),
        prev_pid: Some(prev),
        prev_prio: Some(120),
        prev_state: Some(prev_state),
        next_comm: name(next),
        next_pid: Some(next),
        next_prio: Some(120),
        ..SchedSwitchFtraceEvent::default()
    };
    event(at_ns, prev as u32, Event::SchedSwitch(switch))
}
fn switch(at_ns: u64, prev: i32, next: i32) -> FtraceEvent {
    switch_with(at_ns, prev, 0, next)
}
fn waking(at_ns: u64, current: u32, pid: i32) -> FtraceEvent {
    let waking = SchedWakingFtraceEvent {
        comm: Some(format!("t{pid}")),
        pid: Some(pid),
        prio: Some(120),
        target_cpu: Some(0),
        ..SchedWakingFtraceEvent::default()
    };
    event(at_ns, current, Event::SchedWaking(waking))
}
fn times(trace: &RecordedTrace) -> Vec<u64> {
    trace.events.iter().map(|row| row.0.ns() + trace.stats.offset_ns).collect()
}

#[test]
fn bundles_of_several_cpus_are_merged_beyond_any_window_of_records() {
    let of_cpu = |cpu: u32| {
        let rows = (0..30_000u64).map(|i| switch(10 * i + u64::from(cpu), 0, 1 + cpu as i32));
        rows.collect::<Vec<_>>().chunks(1000).map(|rows| events(cpu, rows.to_vec())).collect::<Vec<_>>()
    };
    let trace = read(&file((0..4).rev().flat_map(of_cpu).collect()));
    assert_eq!((trace.stats.events, trace.stats.time_went_back, trace.stats.clamped), (120_000, 0, 0));
    assert!(times(&trace).is_sorted() && !trace.stats.is_clean(), "{}", notes(&trace));
}

#[test]
fn a_cpu_whose_own_time_goes_back_is_counted() {
    let trace = read(&file(vec![events(0, vec![switch(100, 0, 7), waking(150, 7, 8), switch(120, 7, 0)])]));
    assert_eq!((times(&trace), trace.stats.time_went_back), (vec![100, 120, 150], 1));
}

#[test]
fn a_process_id_that_is_used_again_is_a_new_task() {
    let rows = vec![switch(1, 0, 7), switch_with(2, 7, 0x10, 0), waking(3, 0, 7), switch(4, 0, 7)];
    let trace = read(&file(vec![events(0, rows)]));
    assert_eq!(trace.tasks.iter().map(|task| task.pid).collect::<Vec<_>>(), [7, 7], "{:?}", trace.events);
}

#[test]
fn lost_events_are_counted_once() {
    let lossy = FtraceEventBundle { lost_events: Some(true), ..bundle(0, vec![switch(5, 0, 7)]) };
    let stats = |phase, overrun| {
        let cpu_stats = vec![FtraceCpuStats { cpu: Some(0), overrun: Some(overrun), ..FtraceCpuStats::default() }];
        packet(Data::FtraceStats(FtraceStats { phase: Some(EnumOrUnknown::new(phase)), cpu_stats, ..FtraceStats::default() }))
    };
    let dropped = TracePacket { previous_packet_dropped: Some(true), ..events(0, vec![switch(9, 7, 0)]) };
    let error = FtraceEventBundle { error: vec![FtraceError::default()], ..bundle(0, vec![switch(10, 0, 8)]) };
    let packets = vec![
        TracePacket { previous_packet_dropped: Some(true), ..events(0, vec![switch(1, 0, 7)]) },
        packet(Data::FtraceEvents(lossy)),
        dropped,
        packet(Data::FtraceEvents(error)),
    ];
    let trace = read(&file(packets.clone()));
    assert_eq!((trace.stats.lost_events, trace.stats.events), (3, 4), "{}", notes(&trace));
    assert!(!trace.stats.is_clean());
    let counted = [vec![stats(Phase::START_OF_TRACE, 100)], packets, vec![stats(Phase::END_OF_TRACE, 142)]].concat();
    assert_eq!(read(&file(counted)).stats.lost_events, 42);
}

#[test]
fn missing_fields_are_counted_and_the_rest_is_used() {
    let mut nameless = switch(2, 0, 7);
    let Some(Event::SchedSwitch(body)) = &mut nameless.event else { panic!("a switch") };
    (body.prev_comm, body.next_comm, body.next_prio) = (None, None, None);
    let without = |remove: fn(&mut SchedSwitchFtraceEvent)| {
        let mut row = switch(3, 7, 0);
        let Some(Event::SchedSwitch(body)) = &mut row.event else { panic!("a switch") };
        remove(body);
        row
    };
    let rows = vec![
        nameless,
        without(|body| body.prev_pid = None),
        without(|body| body.next_pid = Some(-5)),
        without(|body| body.prev_state = None),
        FtraceEvent { timestamp: None, ..switch(3, 7, 0) },
        event(4, 7, Event::SchedWakeup(SchedWakeupFtraceEvent { pid: Some(8), ..SchedWakeupFtraceEvent::default() })),
        event(
            5,
            7,
            Event::SchedWakeup(SchedWakeupFtraceEvent {
                pid: Some(8),
                target_cpu: Some(4000),
                ..SchedWakeupFtraceEvent::default()
            }),
        ),
        FtraceEvent { timestamp: Some(6), ..FtraceEvent::default() },
    ];
    let packets = vec![
        events(0, rows),
        packet(Data::FtraceEvents(FtraceEventBundle { cpu: None, ..bundle(0, vec![switch(3, 7, 0)]) })),
        events(4096, vec![switch(3, 7, 0)]),
    ];
    let trace = read(&file(packets));
    assert_eq!((trace.stats.events, trace.stats.skipped, trace.stats.not_used), (1, 8, 1), "{}", notes(&trace));
    for what in ["`sched_switch` without", "`sched_wakeup` without", "without a time", "does not name its CPU", "1024 or more"] {
        assert!(notes(&trace).contains(what), "{what}: {}", notes(&trace));
    }
}

#[test]
fn clocks() {
    let on = |clock, own: Option<i64>, boot: Option<i64>, cpu, at| {
        let ftrace_clock = Some(EnumOrUnknown::new(clock));
        let bundle = bundle(cpu, vec![switch(at, 0, 7), waking(at + 1, 7, 8)]);
        packet(Data::FtraceEvents(FtraceEventBundle { ftrace_clock, ftrace_timestamp: own, boot_timestamp: boot, ..bundle }))
    };
    let boot = |cpu, at| events(cpu, vec![switch(at, 0, 7), waking(at + 1, 7, 8)]);
    let raw = FtraceClock::FTRACE_CLOCK_MONO_RAW;

    let one = read(&file(vec![on(raw, Some(50), Some(1050), 0, 10), on(raw, Some(90), Some(1091), 1, 20)]));
    assert_eq!((times(&one), one.stats.is_clean()), (vec![1010, 1011, 1020, 1021], true), "{}", notes(&one));

    let mixed = read(&file(vec![boot(0, 1000), on(raw, Some(50), Some(1050), 1, 10)]));
    assert_eq!(times(&mixed), [1000, 1001, 1010, 1011]);
    assert!(notes(&mixed).contains("different clocks") && !mixed.stats.is_clean());

    let unknown = read(&file(vec![boot(0, 1000), on(FtraceClock::FTRACE_CLOCK_GLOBAL, None, None, 1, 10)]));
    assert!(notes(&unknown).contains("not told how they relate"), "{}", notes(&unknown));
    let local = read(&file(vec![on(FtraceClock::FTRACE_CLOCK_LOCAL, Some(1), Some(2), 0, 10)]));
    assert!(notes(&local).contains("each CPU keeps for itself"), "{}", notes(&local));
}

#[test]
fn traces_without_wakeups_or_without_kernel_events_say_so() {
    let switches = read(&file(vec![events(0, vec![switch(1, 0, 7), switch(2, 7, 0)])]));
    assert!(notes(&switches).contains("no wake-up in it") && !switches.stats.is_clean(), "{}", notes(&switches));
    let wakings = read(&file(vec![events(0, vec![switch(1, 0, 7), waking(2, 7, 8)])]));
    assert!(notes(&wakings).contains("no sched_wakeup in it") && wakings.stats.is_clean(), "{}", notes(&wakings));
    let tracks = read(&file(vec![packet(Data::TrackEvent(TrackEvent::default()))]));
    assert!(notes(&tracks).contains("without ftrace events: record with"), "{}", notes(&tracks));
    assert_eq!((tracks.stats.events, tracks.stats.not_used, tracks.stats.is_clean()), (0, 1, false));
}

#[test]
fn packets_of_another_machine_are_not_used() {
    let remote = TracePacket { machine_id: Some(3), ..events(0, vec![switch(2, 0, 9)]) };
    let trace = read(&file(vec![events(0, vec![switch(1, 0, 7)]), remote]));
    assert_eq!((trace.stats.events, trace.stats.not_used), (1, 1), "{}", notes(&trace));
}

#[test]
fn names_come_from_wherever_they_are_told() {
    let tree = ProcessTree {
        processes: vec![process_tree::Process { pid: Some(7), cmdline: vec!["/usr/bin/player".into()], ..Default::default() }],
        threads: vec![process_tree::Thread { tid: Some(8), name: Some("decoder".into()), ..Default::default() }],
        ..ProcessTree::default()
    };
    let newtask = TaskNewtaskFtraceEvent { pid: Some(9), comm: Some("child".into()), ..Default::default() };
    let rename = TaskRenameFtraceEvent { pid: Some(10), newcomm: Some("renamed".into()), ..Default::default() };
    let mut rows = vec![event(1, 7, Event::TaskNewtask(newtask)), event(2, 7, Event::TaskRename(rename))];
    rows.extend([7, 8, 9, 10].map(|pid| waking(u64::from(pid), pid, 20)));
    let trace = read(&file(vec![packet(Data::ProcessTree(tree)), events(0, rows)]));
    let names: BTreeMap<u32, &str> = trace.tasks.iter().map(|task| (task.pid, task.name.as_str())).collect();
    assert_eq!(names, [(7, "player"), (8, "decoder"), (9, "child"), (10, "renamed"), (20, "t20")].into());
    assert_eq!((trace.stats.events, trace.stats.not_used), (4, 0));
}

#[test]
fn the_release_tells_what_the_bits_of_a_state_mean() {
    let states = |release: &str| {
        let utsname = MessageField::some(Utsname { release: Some(release.into()), ..Utsname::default() });
        let info = packet(Data::SystemInfo(SystemInfo { utsname, ..SystemInfo::default() }));
        let trace = read(&file(vec![info, events(0, vec![switch_with(1, 7, 0x40, 8), switch_with(2, 8, 0x82, 0)])]));
        let states = trace.events.iter().map(|row| match row.2 {
            TraceEvent::SchedSwitch { prev_state, .. } => prev_state,
            other => panic!("{other:?}"),
        });
        states.collect::<Vec<_>>()
    };
    assert_eq!(states("4.9.270-g862f51bac900"), [PrevState::Dead, PrevState::DiskSleep]);
    assert_eq!(states("5.10.66-android12"), [PrevState::IdleWait, PrevState::IdleWait]);
}
