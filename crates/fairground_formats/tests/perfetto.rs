//! The Perfetto writer against an independent decoder made of Perfetto's own message definitions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Run, event, run, written};
use fairground_formats::WriterOptions;
use fairground_model::{Decision, MarkerSpec, MarkerUnit, PrevState, Reason, Section, TaskInfo, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Instant, MarkerId, Ns, TaskId, Vruntime};
use perfetto_protos::ftrace_event::ftrace_event::Event;
use perfetto_protos::trace::Trace;
use perfetto_protos::trace_packet::TracePacket;
use perfetto_protos::trace_packet::trace_packet::Data;
use perfetto_protos::track_event::track_event::Type;
use proptest::prelude::*;
use protobuf::Message;
use std::collections::BTreeMap;

fn decode(run: &Run, options: &WriterOptions) -> Vec<TracePacket> {
    Trace::parse_from_bytes(&written(run, "pftrace", options)).expect("a trace").packet
}
fn at(us: u64) -> Instant {
    Instant::from_ns(us * 1000)
}
fn task(row: u32) -> TaskId {
    TaskId::new(row)
}
fn cpu(number: u32) -> CpuId {
    CpuId::new(number)
}

/// Two tasks on two CPUs with one event of each kind.
fn small_run() -> Run {
    let info = |name: &str, pid| TaskInfo { name: name.into(), pid, prio: 120 };
    let switch = |prev, prev_state, next| TraceEvent::SchedSwitch { prev, prev_state, next };
    let (hog, player) = (task(0), task(1));
    Run {
        tasks: vec![info("hog", 1001), info("player", 1002)],
        events: vec![
            (at(0), cpu(0), TraceEvent::SchedProcessFork { parent: None, child: hog }),
            (at(0), cpu(0), TraceEvent::SchedWakeupNew { task: hog, target_cpu: cpu(1) }),
            (at(1), cpu(1), TraceEvent::Decision(Decision { reason: Reason::PickOnly, a: 0, b: 0 })),
            (at(1), cpu(1), switch(None, PrevState::Running, Some(hog))),
            (
                at(5),
                cpu(1),
                TraceEvent::SchedWaking { task: player, target_cpu: cpu(0), waker: Some(hog), context: WakeContext::Task },
            ),
            (at(6), cpu(1), TraceEvent::KernelSection { section: Section::TryToWakeUp, took: Ns(800) }),
            (at(6), cpu(1), TraceEvent::SchedWakeup { task: player, target_cpu: cpu(0) }),
            (at(7), cpu(0), switch(None, PrevState::Running, Some(player))),
            (
                at(9),
                cpu(1),
                TraceEvent::SchedStatRuntime { task: hog, runtime: Ns(8000), vruntime: Some(Vruntime(u64::MAX - 4)) },
            ),
            (at(9), cpu(1), TraceEvent::CfsSample { nr_running: 2, util_avg: 97, load_avg: 1024 }),
            (at(9), cpu(1), TraceEvent::SeSample { task: hog, util_avg: 41 }),
            (at(10), cpu(1), TraceEvent::CfsSample { nr_running: 2, util_avg: 98, load_avg: 1024 }),
            (at(11), cpu(0), TraceEvent::Marker { task: player, marker: MarkerId::new(0), value: 33 }),
            (at(12), cpu(0), switch(Some(player), PrevState::Sleeping, None)),
            (
                at(13),
                cpu(0),
                TraceEvent::SchedWaking { task: player, target_cpu: cpu(0), waker: None, context: WakeContext::Hardirq },
            ),
            (at(14), cpu(0), TraceEvent::SchedMigrateTask { task: player, orig_cpu: cpu(0), dest_cpu: cpu(1) }),
            (at(15), cpu(1), TraceEvent::Decision(Decision { reason: Reason::WakePreempts, a: 1, b: 0 })),
            (at(20), cpu(1), TraceEvent::SchedProcessExit { task: hog }),
            (at(21), cpu(1), switch(Some(hog), PrevState::Dead, Some(player))),
        ],
    }
}

/// All ftrace events: CPU, time, current pid, flags, event.
fn ftrace(packets: &[TracePacket]) -> Vec<(u32, u64, u32, u32, Event)> {
    let bundles = packets.iter().filter_map(|packet| match &packet.data {
        Some(Data::FtraceEvents(bundle)) => Some(bundle),
        _ => None,
    });
    let mut events: Vec<_> = bundles
        .flat_map(|bundle| {
            bundle.event.iter().map(|e| {
                (bundle.cpu(), e.timestamp(), e.pid(), e.common_flags(), e.event.clone().expect("an event of a known kind"))
            })
        })
        .collect();
    events.sort_by_key(|row| row.1);
    events
}

#[test]
fn switches_and_wakeups_are_those_of_a_recorded_trace() {
    let packets = decode(&small_run(), &WriterOptions::default());
    let mut switches = Vec::new();
    let mut wakings = Vec::new();
    for (cpu, at, pid, flags, event) in ftrace(&packets) {
        match event {
            Event::SchedSwitch(e) => {
                assert_eq!(pid, e.prev_pid() as u32);
                let (prev, next) = (e.prev_comm().to_string(), e.next_comm().to_string());
                switches.push((cpu, at, prev, e.prev_pid(), e.prev_state(), next, e.next_pid(), e.next_prio()));
            }
            Event::SchedWaking(e) => wakings.push((cpu, at, pid, flags, e.comm().to_string(), e.pid(), e.target_cpu())),
            Event::SchedWakeup(e) => assert_eq!((cpu, at, e.pid(), e.target_cpu(), e.prio()), (1, 6000, 1002, 0, 120)),
            Event::SchedWakeupNew(e) => assert_eq!((cpu, at, e.pid(), e.target_cpu()), (0, 0, 1001, 1)),
            Event::SchedMigrateTask(e) => assert_eq!((at, e.pid(), e.orig_cpu(), e.dest_cpu()), (14_000, 1002, 0, 1)),
            Event::SchedProcessFork(e) => assert_eq!((at, e.parent_pid(), e.child_comm(), e.child_pid()), (0, 0, "hog", 1001)),
            Event::SchedProcessExit(e) => assert_eq!((at, e.pid(), e.comm()), (20_000, 1001, "hog")),
            other => panic!("{other:?}"),
        }
    }
    let row = |cpu, us: u64, prev: &str, prev_pid, state, next: &str, next_pid| {
        (cpu, us * 1000, prev.to_string(), prev_pid, state, next.to_string(), next_pid, 120)
    };
    assert_eq!(
        switches,
        [
            row(1, 1, "swapper/1", 0, 0, "hog", 1001),
            row(0, 7, "swapper/0", 0, 0, "player", 1002),
            row(0, 12, "player", 1002, 1, "swapper/0", 0),
            row(1, 21, "hog", 1001, 0x10, "player", 1002),
        ]
    );
    let waking = |cpu, us: u64, pid, flags, target| (cpu, us * 1000, pid, flags, "player".to_string(), 1002, target);
    assert_eq!(wakings, [waking(1, 5, 1001, 0, 0), waking(0, 13, 0, 0x08, 0)]);
}

#[test]
fn tasks_are_named_and_clocks_declared_before_they_are_used() {
    let packets = decode(&small_run(), &WriterOptions::default());
    assert!(packets.iter().all(|packet| packet.trusted_packet_sequence_id() == 1));
    let first = &packets[0];
    assert_eq!((first.sequence_flags(), first.trace_packet_defaults.timestamp_clock_id()), (1, 6));
    let Some(Data::ClockSnapshot(clocks)) = &first.data else { panic!("{first:?}") };
    assert_eq!(clocks.primary_trace_clock() as u32, 6);
    let names: BTreeMap<i32, String> = packets
        .iter()
        .filter_map(|packet| match &packet.data {
            Some(Data::ProcessTree(tree)) => Some(tree),
            _ => None,
        })
        .flat_map(|tree| tree.threads.iter().map(|thread| (thread.tid(), thread.name().to_string())))
        .collect();
    assert_eq!(names, BTreeMap::from([(1001, "hog".to_string()), (1002, "player".to_string())]));
}

/// Path of each track, from the top: `CPU 1 scheduler/nr_running`, `hog (1001)/util_avg`.
fn tracks(packets: &[TracePacket]) -> BTreeMap<u64, String> {
    let mut paths = BTreeMap::new();
    for packet in packets {
        let Some(Data::TrackDescriptor(track)) = &packet.data else { continue };
        let own = match track.thread.as_ref() {
            Some(thread) => format!("{} ({})", thread.thread_name(), thread.tid()),
            None => track.name().to_string(),
        };
        let path = match track.parent_uuid {
            Some(parent) => format!("{}/{own}", paths.get(&parent).expect("the parent comes first")),
            None => own,
        };
        assert_eq!(paths.insert(track.uuid(), path), None, "introduced twice");
    }
    paths
}

#[test]
fn counters_reasons_and_kernel_sections() {
    let markers = [MarkerSpec { name: "latency".into(), unit: MarkerUnit::Ns }].into_iter().collect();
    let packets = decode(&small_run(), &WriterOptions { markers, ..WriterOptions::default() });
    let tracks = tracks(&packets);
    let interned = &packets[0].interned_data;
    let name = |iid: u64| interned.event_names.iter().find(|row| row.iid() == iid).expect("a name").name();
    let annotation = |iid: u64| interned.debug_annotation_names.iter().find(|row| row.iid() == iid).expect("a name").name();
    let mut shown = Vec::new();
    for packet in &packets {
        let Some(Data::TrackEvent(event)) = &packet.data else { continue };
        assert_eq!(packet.sequence_flags(), 2);
        let track = &tracks[&event.track_uuid()];
        let what = match event.type_() {
            Type::TYPE_COUNTER => event.counter_value().to_string(),
            Type::TYPE_INSTANT => {
                let why = event.debug_annotations.iter().find(|row| annotation(row.name_iid()) == "why").expect("a sentence");
                format!("{}: {}", name(event.name_iid()), why.string_value())
            }
            Type::TYPE_SLICE_BEGIN => format!("begin {}", name(event.name_iid())),
            Type::TYPE_SLICE_END => "end".to_string(),
            other => panic!("{other:?}"),
        };
        shown.push(format!("{} {track} {what}", packet.timestamp()));
    }
    assert_eq!(
        shown,
        [
            "1000 CPU 1 scheduler/decisions pick-only: hog (1001) is the only candidate",
            "6000 CPU 1 scheduler/kernel begin try_to_wake_up",
            "6800 CPU 1 scheduler/kernel end",
            "9000 hog (1001)/vruntime -5",
            "9000 CPU 1 scheduler/nr_running 2",
            "9000 CPU 1 scheduler/util_avg 97",
            "9000 CPU 1 scheduler/load_avg 1024",
            "9000 hog (1001)/util_avg 41",
            "10000 CPU 1 scheduler/util_avg 98",
            "11000 player (1002)/latency 33",
            "15000 CPU 1 scheduler/decisions wake-preempts: player (1002) is before hog (1001) by more than the wake-up granularity",
        ]
    );
}

#[test]
fn bundles_are_bounded_and_keep_the_order_of_each_cpu() {
    let event = |i: u64| (at(i), cpu((i % 3) as u32), TraceEvent::SchedWakeup { task: task(0), target_cpu: cpu(0) });
    let run = Run { tasks: Vec::new(), events: (0..5000).map(event).collect() };
    let packets = decode(&run, &WriterOptions::default());
    let mut last = [None; 3];
    let mut events = 0;
    for packet in &packets {
        let Some(Data::FtraceEvents(bundle)) = &packet.data else { continue };
        assert!(bundle.event.len() <= 256);
        for event in &bundle.event {
            assert!(last[bundle.cpu() as usize] < event.timestamp);
            last[bundle.cpu() as usize] = event.timestamp;
            events += 1;
        }
    }
    assert_eq!(events, 5000);
}

proptest! {
    #[test]
    fn any_run_can_be_decoded(run in run(event())) {
        let packets = decode(&run, &WriterOptions::default());
        let tracks = tracks(&packets);
        let switches = ftrace(&packets).iter().filter(|row| matches!(row.4, Event::SchedSwitch(_))).count();
        prop_assert_eq!(switches, run.events.iter().filter(|row| matches!(row.2, TraceEvent::SchedSwitch { .. })).count());
        let mut instants = 0;
        for packet in &packets {
            let known = packet.special_fields.unknown_fields().iter().count() == 0;
            prop_assert!(known && packet.data.is_some());
            if let Some(Data::TrackEvent(event)) = &packet.data {
                prop_assert!(tracks.contains_key(&event.track_uuid()));
                instants += usize::from(event.type_() == Type::TYPE_INSTANT);
            }
        }
        let is_instant = |event: &TraceEvent| matches!(event, TraceEvent::Decision(_) | TraceEvent::KernelWarn(_));
        prop_assert_eq!(instants, run.events.iter().filter(|row| is_instant(&row.2)).count());
    }
}

/// A lock has a track with one of each task that uses it, and counters of who holds it and waits for it.
#[test]
fn locks_have_tracks() {
    use fairground_model::{LockAct, LockEvent, LockMode};
    use fairground_stdx::LockId;
    let mut file = Vec::new();
    let options = WriterOptions { locks: ["mmap".to_string()].into_iter().collect(), ..WriterOptions::default() };
    let mut writer = fairground_formats::writer_with("pftrace", Box::new(&mut file), &options).unwrap();
    for (row, name) in [(0, "writer"), (1, "reader")] {
        writer.task(task(row), &TaskInfo { name: name.into(), pid: 1000 + row, prio: 120 });
    }
    let steps = [
        (1, 0, LockMode::Write, LockAct::Holds),
        (2, 1, LockMode::Read, LockAct::Waits),
        (3, 0, LockMode::Write, LockAct::Releases),
        (4, 1, LockMode::Read, LockAct::Holds),
    ];
    for (us, row, mode, act) in steps {
        writer.lock(at(us), cpu(0), &LockEvent { lock: LockId::new(0), task: task(row), mode, act });
    }
    writer.finish().unwrap();
    let packets = Trace::parse_from_bytes(&file).unwrap().packet;
    let tracks = tracks(&packets);
    let found: Vec<(u64, String, Option<Type>, i64)> = packets
        .iter()
        .filter_map(|packet| match &packet.data {
            Some(Data::TrackEvent(event)) => {
                let track = tracks[&event.track_uuid()].clone();
                Some((packet.timestamp() / 1000, track, Some(event.type_()), event.counter_value()))
            }
            _ => None,
        })
        .collect();
    let row = |us, track: &str, what, value| (us, track.to_string(), Some(what), value);
    let expected = [
        row(1, "lock mmap/writer", Type::TYPE_SLICE_BEGIN, 0),
        row(1, "lock mmap/holders", Type::TYPE_COUNTER, 1),
        row(1, "lock mmap/waiters", Type::TYPE_COUNTER, 0),
        row(2, "lock mmap/reader", Type::TYPE_SLICE_BEGIN, 0),
        row(2, "lock mmap/waiters", Type::TYPE_COUNTER, 1),
        row(3, "lock mmap/writer", Type::TYPE_SLICE_END, 0),
        row(3, "lock mmap/holders", Type::TYPE_COUNTER, 0),
        row(4, "lock mmap/reader", Type::TYPE_SLICE_END, 0),
        row(4, "lock mmap/reader", Type::TYPE_SLICE_BEGIN, 0),
        row(4, "lock mmap/holders", Type::TYPE_COUNTER, 1),
        row(4, "lock mmap/waiters", Type::TYPE_COUNTER, 0),
    ];
    assert_eq!(found, expected);
}
