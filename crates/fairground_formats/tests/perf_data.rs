//! perf.data: files that the real perf records during the test, against the text that `perf script` makes
//! of them; files of our own writing in every variant; hostile ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

#[path = "common/perf_data.rs"]
mod writer;

use crate::common::folder::Folder;
use fairground_formats::{ImportError, RecordedTrace, read_any, read_file, read_file_into, read_into};
use fairground_model::{NullSink, PrevState, Section, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Ns, TaskId, Vruntime};
use proptest::prelude::*;
use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use writer::{Item, Layout, Value};

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

/// The events without what text does not tell: in which kind of interrupt a wake-up came, and who a waker was
/// that is about to end (perf calls it -1).
fn as_text_tells(trace: &RecordedTrace, of_binary: &RecordedTrace) -> Vec<String> {
    let events = trace.events.iter().zip(&of_binary.events).map(|((at, cpu, event), (.., binary))| {
        let told = match (*event, *binary) {
            (TraceEvent::SchedWaking { task, target_cpu, waker, .. }, TraceEvent::SchedWaking { waker: binary, context, .. }) => {
                let waker = if context == WakeContext::Task { waker.or(binary) } else { None };
                TraceEvent::SchedWaking { task, target_cpu, waker, context }
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

/// A file that perf 6.1 recorded on kernel 6.18 (the names of other processes in it are overwritten).
fn sample(name: &str) -> RecordedTrace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/perf_data/samples").join(name);
    read_file(File::open(path).unwrap(), name, &[]).unwrap()
}

#[test]
fn samples_of_the_real_tool() {
    for (name, events, first_ns, tasks) in [
        ("file.data", 11, 14_952_734_108_802, [(5861, "sh"), (5982, "ls")]),
        ("packed.data", 8, 15_039_583_848_521, [(12582, "sh"), (12975, "ls")]),
        ("pipe.data", 7, 15_139_460_064_442, [(15026, "sh"), (15266, "ls")]),
        ("call_chains.data", 8, 15_234_129_865_754, [(26767, "sh"), (27069, "ls")]),
    ] {
        let trace = sample(name);
        assert!(trace.stats.is_clean() && trace.stats.skipped == 0, "{name}: {}", notes(&trace));
        assert_eq!((trace.stats.events, trace.stats.offset_ns), (events, first_ns), "{name}");
        let found = |(pid, comm): &(u32, &str)| trace.tasks.iter().any(|task| task.pid == *pid && task.name == *comm);
        assert!(tasks.iter().all(found), "{name}: {:?}", trace.tasks);
        let forks = trace.events.iter().filter(|(.., event)| matches!(event, TraceEvent::SchedProcessFork { .. }));
        assert_eq!(forks.count(), 1, "{name}");
    }
}

fn n(number: i64) -> Value {
    Value::Number(number)
}
fn t(text: &'static str) -> Value {
    Value::Text(text)
}
fn mark() -> Item {
    Item::Other(writer::FINISHED_ROUND, 0, Vec::new())
}

/// Two CPUs in two rounds, each tracepoint once, records of CPU 1 before the earlier ones of CPU 0.
fn items() -> Vec<Item> {
    let switch =
        |prev: Value, prev_pid, state, next: Value, next_pid| vec![prev, n(prev_pid), n(120), n(state), next, n(next_pid), n(-2)];
    vec![
        Item::Sample("sched_wakeup", 1_300, 1, 0, 0, vec![t("b"), n(8), n(120), n(1)]),
        Item::Sample("sched_switch", 1_400, 1, 0, 0, switch(t("swapper/1"), 0, 0, t("b"), 8)),
        Item::Sample("sched_waking", 1_200, 0, 0x08, 0, vec![t("b"), n(8), n(120), n(0)]),
        mark(),
        Item::Sample("sched_stat_runtime", 1_500, 1, 0, 8, vec![t("b"), n(8), n(90), n(-5)]),
        Item::Sample("sched_process_fork", 1_600, 1, 0, 8, vec![t("b"), n(8), t("b"), n(9)]),
        Item::Sample("sched_wakeup_new", 1_700, 1, 0, 8, vec![t("b"), n(9), n(120), n(0)]),
        Item::Sample("sched_migrate_task", 1_800, 1, 0, 8, vec![t("a task"), n(7), n(100), n(0), n(1)]),
        Item::Sample("sched_process_exit", 1_900, 1, 0, 8, vec![t("b"), n(8), n(120)]),
        Item::Sample("sched_switch", 2_000, 1, 0, 8, switch(t("b"), 8, 0x10, t("swapper/1"), 0)),
        Item::Sample("sched_waking", 1_550, 0, 0, 8, vec![t("b"), n(9), n(120), n(1)]),
        Item::Sample("cpu_frequency", 1_560, 0, 0, 8, vec![n(729_000), n(1)]),
        mark(),
    ]
}

fn notes(trace: &RecordedTrace) -> String {
    trace.stats.notes.iter().map(|note| format!("{note}\n")).collect()
}
fn read_bytes(bytes: &[u8]) -> RecordedTrace {
    read_file(Cursor::new(bytes), "perf.data", &[]).unwrap()
}
fn refusal(bytes: &[u8]) -> String {
    let error = read_file(Cursor::new(bytes), "perf.data", &[]).unwrap_err();
    assert!(matches!(error, ImportError::Unusable { .. }), "{error}");
    error.to_string()
}
fn variants() -> Vec<Layout> {
    let mut variants = Vec::new();
    for (big_endian, pipe, packed) in [
        (false, false, false),
        (false, false, true),
        (false, true, false),
        (false, true, true),
        (true, false, false),
        (true, true, true),
    ] {
        variants.push(Layout { big_endian, pipe, packed, ..Layout::plain() });
    }
    variants
}

#[test]
fn every_variant_gives_the_same_events() {
    let task = TaskId::new;
    for layout in variants() {
        let trace = read_bytes(&layout.file(&items()));
        assert!(trace.stats.is_clean() && trace.stats.skipped == 0, "{layout:?}: {}", notes(&trace));
        let tasks: Vec<(u32, &str, i32)> = trace.tasks.iter().map(|task| (task.pid, task.name.as_str(), task.prio)).collect();
        assert_eq!(tasks, [(8, "b", 120), (9, "b", 120), (9, "b", 120), (7, "a task", 100)]);
        let events: Vec<(u64, u32, TraceEvent)> =
            trace.events.iter().map(|(at, cpu, event)| (at.ns(), cpu.get(), *event)).collect();
        use TraceEvent::*;
        let cpu = CpuId::new;
        assert_eq!(
            events,
            [
                (0, 0, SchedWaking { task: task(0), target_cpu: cpu(0), waker: None, context: WakeContext::Hardirq }),
                (100, 1, SchedWakeup { task: task(0), target_cpu: cpu(1) }),
                (200, 1, SchedSwitch { prev: None, prev_state: PrevState::Running, next: Some(task(0)) }),
                (300, 1, SchedStatRuntime { task: task(0), runtime: Ns(90), vruntime: Some(Vruntime(-5i64 as u64)) }),
                (350, 0, SchedWaking { task: task(1), target_cpu: cpu(1), waker: Some(task(0)), context: WakeContext::Task }),
                (360, 0, CpuFrequency { cpu: cpu(1), khz: 729_000 }),
                (400, 1, SchedProcessFork { parent: Some(task(0)), child: task(2) }),
                (500, 1, SchedWakeupNew { task: task(2), target_cpu: cpu(0) }),
                (600, 1, SchedMigrateTask { task: task(3), orig_cpu: cpu(0), dest_cpu: cpu(1) }),
                (700, 1, SchedProcessExit { task: task(0) }),
                (800, 1, SchedSwitch { prev: Some(task(0)), prev_state: PrevState::Dead, next: None }),
            ]
        );
        assert_eq!(trace.stats.offset_ns, 1_200);
    }
}

/// The handler of one CPU outlasts events of another one, and is put where it began.
#[test]
fn interrupts_are_stretches_of_time() {
    for layout in variants() {
        let items = [
            Item::Sample("irq_handler_entry", 1_000, 0, 0, 5, vec![n(24), n(0)]),
            Item::Sample("irq_handler_exit", 1_070, 0, 0, 5, vec![n(24), n(1)]),
            Item::Sample("softirq_entry", 1_080, 0, 0, 5, vec![n(7)]),
            Item::Sample("sched_wakeup", 1_085, 1, 0, 0, vec![t("b"), n(8), n(120), n(1)]),
            Item::Sample("softirq_exit", 1_100, 0, 0, 5, vec![n(7)]),
            Item::Sample("softirq_exit", 1_200, 0, 0, 5, vec![n(1)]),
            mark(),
        ];
        let trace = read_bytes(&layout.file(&items));
        let section = |section, took| TraceEvent::KernelSection { section, took: Ns(took) };
        let events: Vec<(u64, TraceEvent)> = trace.events.iter().map(|row| (row.0.ns(), row.2)).collect();
        let wakeup = TraceEvent::SchedWakeup { task: TaskId::new(0), target_cpu: CpuId::new(1) };
        assert_eq!(
            events,
            [(0, section(Section::DeviceInterrupt, 70)), (80, section(Section::SchedSoftirq, 20)), (85, wakeup)],
            "{layout:?}"
        );
        assert!(notes(&trace).contains("the exit of an interrupt whose entry is not recorded"), "{}", notes(&trace));
    }
}

#[test]
fn fields_are_found_by_name_wherever_they_stand() {
    let mut layout = Layout::plain();
    layout.tracepoint("sched_waking").fields = vec![("int target_cpu", 4), ("long new_field", 8), ("pid_t pid", 4)];
    layout.tracepoint("sched_stat_runtime").fields = vec![("u64 runtime", 8), ("pid_t pid", 4)];
    let items = [
        Item::Sample("sched_waking", 10, 0, 0, 5, vec![n(3), n(-1), n(6)]),
        Item::Sample("sched_stat_runtime", 20, 0, 0, 5, vec![n(77), n(6)]),
    ];
    let trace = read_bytes(&layout.file(&items));
    let TraceEvent::SchedWaking { task, target_cpu, waker: Some(_), .. } = trace.events[0].2 else {
        panic!("{:?}", trace.events)
    };
    assert_eq!((trace.tasks[task].pid, target_cpu.get()), (6, 3));
    assert_eq!(trace.events[1].2, TraceEvent::SchedStatRuntime { task, runtime: Ns(77), vruntime: None });
}

#[test]
fn missing_fields_wrong_sizes_and_other_tracepoints_are_counted_by_name() {
    let mut layout = Layout::plain();
    layout.tracepoint("sched_switch").fields.retain(|(field, _)| *field != "pid_t next_pid");
    layout.tracepoint("sched_wakeup").fields = vec![("pid_t pid", 3), ("int target_cpu", 4)];
    layout.tracepoint("sched_process_exit").name = "sched_kthread_stop";
    let items = [
        Item::Sample("sched_switch", 10, 0, 0, 5, Vec::new()),
        Item::Sample("sched_wakeup", 20, 0, 0, 5, vec![n(7), n(0)]),
        Item::Sample("sched_kthread_stop", 30, 0, 0, 5, Vec::new()),
        Item::Sample("sched_waking", 40, 0, 0, 5, vec![t("a")]),
        Item::Sample("sched_waking", 50, 0, 0, 5, vec![t("a"), n(-7), n(120), n(0)]),
        Item::Sample("sched_waking", 60, 0, 0, 5, vec![t("a"), n(7), n(120), n(0)]),
    ];
    let trace = read_bytes(&layout.file(&items));
    assert_eq!((trace.stats.events, trace.stats.skipped, trace.stats.not_used), (1, 4, 1), "{}", notes(&trace));
    for what in [
        "no field `next_pid`",
        "a `sched_wakeup` was left out",
        "`sched_kthread_stop` are not used",
        "`sched_waking` was left out",
    ] {
        assert!(notes(&trace).contains(what), "{what}: {}", notes(&trace));
    }
    assert!(notes(&trace).contains("record 4: "), "{}", notes(&trace));
}

#[test]
fn lost_records_are_counted_once() {
    let layout = Layout::plain();
    let lost = |count: i64| Item::Other(writer::LOST, 0, [layout.number(1, 8), layout.number(count, 8), vec![0; 40]].concat());
    let sums = |count: i64, misc| Item::Other(writer::LOST_SAMPLES, misc, [layout.number(count, 8), vec![0; 40]].concat());
    let all = |more: Vec<Item>| read_bytes(&layout.file(&[items(), more].concat()));
    let trace = all(vec![lost(40), lost(2)]);
    assert!(trace.stats.lost_events == 42 && !trace.stats.is_clean() && trace.stats.events == 11);
    assert_eq!(all(vec![lost(40), sums(40, 0)]).stats.lost_events, 40, "the sum at the end tells of the same ones");
    assert_eq!(all(vec![lost(40), sums(45, 0)]).stats.lost_events, 45);
    assert_eq!(all(vec![sums(45, 1 << 15)]).stats.lost_events, 0, "a filter dropped them on purpose");
    assert_eq!(all(vec![Item::Other(writer::THROTTLE, 0, vec![0; 24])]).stats.lost_events, 1);
    let short = all(vec![Item::Other(writer::LOST, 0, vec![0; 9]), Item::Other(writer::LOST_SAMPLES, 0, vec![0; 7])]);
    assert_eq!((short.stats.lost_events, short.stats.skipped), (0, 2));
}

#[test]
fn a_waker_is_called_as_its_comm_record_says() {
    let layout = Layout::plain();
    let comm = [layout.number(5, 4), layout.number(5, 4), b"waker\0\0\0".to_vec()].concat();
    let items = [Item::Other(writer::COMM, 0, comm), Item::Sample("sched_waking", 60, 0, 0, 5, vec![t("a"), n(7), n(120), n(0)])];
    let trace = read_bytes(&layout.file(&items));
    let names: Vec<&str> = trace.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["waker", "a"]);
}

#[test]
fn clocks_are_noted() {
    let mut layout = Layout::plain();
    layout.tracepoints.iter_mut().for_each(|tracepoint| tracepoint.clock = Some(1));
    let trace = read_bytes(&layout.file(&items()));
    assert!(trace.stats.is_clean() && notes(&trace).contains("clock Monotonic"), "{}", notes(&trace));
    layout.tracepoint("sched_waking").clock = None;
    let trace = read_bytes(&layout.file(&items()));
    assert!(!trace.stats.is_clean() && notes(&trace).contains("different clocks"), "{}", notes(&trace));
}

#[test]
fn events_that_were_not_recorded_are_noted() {
    let without = |names: &[&str]| {
        let mut layout = Layout::plain();
        layout.tracepoints.retain(|tracepoint| !names.contains(&tracepoint.name));
        let items: Vec<Item> =
            items().into_iter().filter(|item| !matches!(item, Item::Sample(name, ..) if names.contains(name))).collect();
        notes(&read_bytes(&layout.file(&items)))
    };
    assert!(without(&["sched_waking"]).contains("`sched_waking` was not recorded"));
    assert!(without(&["sched_wakeup"]).contains("`sched_wakeup` was not recorded"));
    assert!(without(&["sched_waking", "sched_wakeup"]).contains("no wake-ups were recorded"));
    assert!(without(&["sched_switch"]).contains("`sched_switch` was not recorded"));
}

#[test]
fn what_cannot_be_read_at_all_is_refused_with_a_hint() {
    for pipe in [false, true] {
        let layout = Layout { pipe, ..Layout::plain() };
        let with_type = |sample_type| {
            let mut layout = layout.clone();
            layout.tracepoints.iter_mut().for_each(|tracepoint| tracepoint.sample_type = sample_type);
            refusal(&layout.file(&items()))
        };
        assert!(with_type(writer::CPU | writer::RAW).contains("without times"));
        assert!(with_type(writer::TIME | writer::RAW).contains("without CPU numbers; record with `perf sched record`"));
        assert!(with_type(writer::TIME | writer::CPU).contains("fields"));
        assert!(refusal(&Layout { tracing_data: false, ..layout.clone() }.file(&items())).contains("formats"));
        assert!(refusal(&Layout { tracepoints: Vec::new(), ..layout.clone() }.file(&[])).contains("describes no event"));
    }
    assert!(refusal(b"PERFILE2").contains("cut off"));
    assert!(refusal(&[&b"PERFILE2"[..], &[0; 60]].concat()).contains("cut off"));
}

#[test]
fn some_events_without_a_cpu_do_not_spoil_the_others() {
    let mut layout = Layout::plain();
    layout.tracepoint("sched_waking").sample_type = writer::TIME | writer::RAW;
    let trace = read_bytes(&layout.file(&items()));
    assert_eq!((trace.stats.events, trace.stats.skipped), (9, 2));
    assert!(notes(&trace).contains("recorded without CPU numbers"), "{}", notes(&trace));
}

#[test]
fn cut_off_at_every_byte() {
    for layout in variants() {
        let file = layout.file(&items());
        for length in 1..file.len() {
            match read_file(Cursor::new(&file[..length]), "perf.data", &[]) {
                Ok(trace) => assert_eq!(trace.stats.events, trace.events.len() as u64),
                Err(error) => assert!(matches!(error, ImportError::Unusable { .. } | ImportError::Unknown { .. }), "{error}"),
            }
        }
    }
}

#[test]
fn a_pipe_that_breaks_gives_what_came_before() {
    let layout = Layout { pipe: true, ..Layout::plain() };
    let file = layout.file(&items());
    let trace = read_bytes(&file[..file.len() - 20]);
    assert!(trace.stats.events == 10 && notes(&trace).contains("cut off") && !trace.stats.is_clean(), "{}", notes(&trace));
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buf)? {
                0 => Err(std::io::Error::other("the disk is gone")),
                length => Ok(length),
            }
        }
    }
    for pipe in [false, true] {
        let file = Layout { pipe, ..Layout::plain() }.file(&items());
        let trace = read_any(Failing(&file), "perf.data").unwrap();
        assert!(trace.stats.events == 11 && notes(&trace).contains("the disk is gone"), "{}", notes(&trace));
    }
}

#[test]
fn what_the_fuzzer_kept() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/perf-data");
    let mut read = 0;
    for entry in fs::read_dir(seeds).unwrap() {
        let _ = read_file_into(File::open(entry.unwrap().path()).unwrap(), "perf.data", &[], &mut NullSink);
        read += 1;
    }
    assert!(read > 20);
}

#[test]
fn packed_parts_that_are_broken_are_left_out() {
    let layout = Layout::plain();
    let mut all = items();
    all.push(Item::Other(writer::COMPRESSED, 0, vec![9; 40]));
    all.push(Item::Sample("sched_waking", 5_000, 0, 0, 8, vec![t("b"), n(9), n(120), n(1)]));
    let trace = read_bytes(&layout.file(&all));
    assert!(trace.stats.events == 12 && notes(&trace).contains("could not be unpacked"), "{}", notes(&trace));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn some_bytes_changed(
        variant in 0..6usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(0), Just(255)]), 1..12),
    ) {
        let mut file = variants()[variant].file(&items());
        for (at, byte) in changes {
            let at = 8 + at.index(file.len() - 8);
            file[at] = byte;
        }
        let sought = read_file_into(Cursor::new(&file), "perf.data", &[], &mut NullSink);
        let streamed = read_into(&file[..], "perf.data", &[], &mut NullSink);
        prop_assert_eq!(sought.is_ok(), streamed.is_ok());
    }
}
