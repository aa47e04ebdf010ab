//! The reader of trace-cmd's trace.dat: files of our own writing in every variant, files that the
//! real tool recorded and converted, and hostile ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

#[path = "common/trace_dat.rs"]
mod writer;

use crate::common::folder::Folder;
use fairground_formats::{ImportError, RecordedTrace, read_any, read_file};
use fairground_model::{PrevState, Section, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Ns, TaskId, Vruntime};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use writer::{DISCARDED, Fields, Layout, Page, Record, Value};

fn n(number: i64) -> Value {
    Value::Number(number)
}
fn t(text: &'static str) -> Value {
    Value::Text(text)
}
fn record(at: u64, event: &'static str, pid: i32, values: &[Value]) -> Record {
    Record { at, event, flags: 0, pid, values: values.to_vec() }
}
fn page(records: Vec<Record>) -> Page {
    Page { records, lost: None }
}

/// Two CPUs, every tracepoint, several pages, a time extend, a discarded record, an unused event.
fn pages() -> Vec<Vec<Page>> {
    let start = 1_000_000_000_000;
    let cpu0 = vec![
        page(vec![
            record(start, "sched_process_fork", 7, &[t("parent"), n(7), t("parent"), n(8)]),
            record(start + 30, "sched_wakeup_new", 7, &[t("parent"), n(8), n(120), n(1)]),
            record(start + 35, DISCARDED, 7, &[]),
            record(start + 40, "sched_stat_runtime", 7, &[t("parent"), n(7), n(5_000_000_000), n(-1)]),
        ]),
        page(vec![
            record(start + 60, "sched_switch", 7, &[t("parent"), n(7), n(120), n(1), t("swapper/0"), n(0), n(120)]),
            Record { flags: 8, ..record(start + 400_000_000, "sched_waking", 0, &[t("parent"), n(7), n(120), n(0)]) },
            record(start + 400_000_010, "sched_migrate_task", 0, &[t("parent"), n(7), n(120), n(0), n(1)]),
            record(start + 400_000_020, "sched_wakeup", 0, &[t("parent"), n(7), n(120), n(1)]),
        ]),
    ];
    let cpu1 = vec![page(vec![
        record(start + 50, "sched_switch", 0, &[t("swapper/1"), n(0), n(120), n(0), t("parent"), n(8), n(-1)]),
        record(start + 55, "sched_process_wait", 8, &[t("child"), n(0), n(120)]),
        record(start + 70, "sched_waking", 8, &[t("kworker/0:1"), n(9), n(100), n(0)]),
        record(start + 75, "cpu_frequency", 8, &[n(729_000), n(1)]),
        record(start + 80, "sched_process_exit", 8, &[t("child"), n(8), n(120)]),
        record(start + 90, "sched_switch", 8, &[t("child"), n(8), n(120), n(0x10), t("swapper/1"), n(0), n(120)]),
    ])];
    vec![cpu0, cpu1]
}

/// What [`pages`] means: ns from the first event, CPU, event.
fn expected() -> Vec<(u64, u32, TraceEvent)> {
    use TraceEvent::*;
    let (parent, child, kworker) = (TaskId::new(0), TaskId::new(1), TaskId::new(2));
    let (cpu0, cpu1) = (CpuId::new(0), CpuId::new(1));
    let waking = |task, target_cpu, waker, context| SchedWaking { task, target_cpu, waker, context };
    let switch = |prev, prev_state, next| SchedSwitch { prev, prev_state, next };
    vec![
        (0, 0, SchedProcessFork { parent: Some(parent), child }),
        (30, 0, SchedWakeupNew { task: child, target_cpu: cpu1 }),
        (40, 0, SchedStatRuntime { task: parent, runtime: Ns(5_000_000_000), vruntime: Some(Vruntime(u64::MAX)) }),
        (50, 1, switch(None, PrevState::Running, Some(child))),
        (60, 0, switch(Some(parent), PrevState::Sleeping, None)),
        (70, 1, waking(kworker, cpu0, Some(child), WakeContext::Task)),
        (75, 1, CpuFrequency { cpu: cpu1, khz: 729_000 }),
        (80, 1, SchedProcessExit { task: child }),
        (90, 1, switch(Some(child), PrevState::Dead, None)),
        (400_000_000, 0, waking(parent, cpu0, None, WakeContext::Hardirq)),
        (400_000_010, 0, SchedMigrateTask { task: parent, orig_cpu: cpu0, dest_cpu: cpu1 }),
        (400_000_020, 0, SchedWakeup { task: parent, target_cpu: cpu1 }),
    ]
}

fn variants() -> Vec<Layout> {
    let mut variants = Vec::new();
    for (version, packing) in [(6, "none"), (7, "none"), (7, "zstd"), (7, "zlib")] {
        for (big_endian, long) in [(false, 8), (false, 4), (true, 8), (true, 4)] {
            variants.push(Layout { version, packing, big_endian, long, page_size: 512, ..Layout::new(version) });
        }
    }
    variants
}

fn read(file: Vec<u8>) -> Result<RecordedTrace, ImportError> {
    read_file(Cursor::new(file), "trace.dat", &[])
}
fn notes(trace: &RecordedTrace) -> String {
    trace.stats.notes.iter().map(|note| format!("{note}\n")).collect()
}
fn events(trace: &RecordedTrace) -> Vec<(u64, u32, TraceEvent)> {
    trace.events.iter().map(|&(at, cpu, event)| (at.ns(), cpu.get(), event)).collect()
}

#[test]
fn every_variant_gives_the_same_events() {
    for layout in variants() {
        let file = layout.file(&pages());
        let trace = read(file.clone()).unwrap();
        assert_eq!(events(&trace), expected(), "{layout:?}");
        let tasks: Vec<(&str, u32, i32)> = trace.tasks.iter().map(|task| (task.name.as_str(), task.pid, task.prio)).collect();
        assert_eq!(tasks, [("parent", 7, 120), ("child", 8, 120), ("kworker/0:1", 9, 100)], "{layout:?}");
        let stats = &trace.stats;
        assert_eq!((stats.format, stats.not_used, stats.skipped, stats.lost_events), ("trace-dat", 1, 0, 0));
        assert_eq!((stats.offset_ns, stats.nr_cpus(), stats.is_clean()), (1_000_000_000_000, 2, true));
        assert_eq!(stats.kernel_release.as_deref(), Some("6.12.3-test"));
        let piped = read_any(&file[..], "-").unwrap();
        assert_eq!(piped, trace, "from a pipe");
    }
}

/// A soft interrupt with a hard one in it: each nanosecond goes to the inner one.
#[test]
fn interrupts_are_stretches_of_time() {
    use writer::Kind::{Int, String, U32};
    for mut layout in variants() {
        layout.formats.push(("irq_handler_entry", vec![("irq", Int), ("name", String)]));
        layout.formats.push(("irq_handler_exit", vec![("irq", Int), ("ret", Int)]));
        layout.formats.extend(["softirq_entry", "softirq_exit"].map(|name| (name, vec![("vec", U32)])));
        let at = |after: u64| 1_000_000_000_000 + after;
        let records = vec![
            record(at(0), "sched_switch", 7, &[t("a"), n(7), n(120), n(1), t("b"), n(8), n(120)]),
            record(at(100), "softirq_entry", 8, &[n(3)]),
            record(at(130), "irq_handler_entry", 8, &[n(24), t("eth0")]),
            record(at(150), "irq_handler_exit", 8, &[n(24), n(1)]),
            record(at(200), "softirq_exit", 8, &[n(3)]),
        ];
        let trace = read(layout.file(&[vec![page(records)]])).unwrap();
        let section = |section, took| TraceEvent::KernelSection { section, took: Ns(took) };
        assert_eq!(
            events(&trace)[1..],
            [
                (100, 0, section(Section::NetRxSoftirq, 30)),
                (130, 0, section(Section::DeviceInterrupt, 20)),
                (150, 0, section(Section::NetRxSoftirq, 50)),
            ],
            "{layout:?}"
        );
        assert!(trace.stats.is_clean() && trace.stats.not_used == 0, "{}", notes(&trace));
    }
}

#[test]
fn lost_events_are_counted() {
    for layout in variants() {
        let mut pages = pages();
        pages[0][1].lost = Some(Some(42));
        pages[1][0].lost = Some(None);
        let trace = read(layout.file(&pages)).unwrap();
        assert_eq!((events(&trace), trace.stats.lost_events), (expected(), 43), "{layout:?}");
        assert!(notes(&trace).contains("lost events") && !trace.stats.is_clean());
    }
}

#[test]
fn fields_that_are_missing_or_elsewhere() {
    let file = |change: &dyn Fn(&mut Fields), event: &str| {
        let mut layout = Layout::new(7);
        let format = layout.formats.iter_mut().find(|(name, _)| *name == event).unwrap();
        change(&mut format.1);
        read(layout.file(&pages())).unwrap()
    };
    let trace = file(&|fields| fields.truncate(3), "sched_wakeup");
    assert_eq!((trace.stats.events, trace.stats.skipped), (11, 1));
    assert!(notes(&trace).contains("`sched_wakeup` has no field `target_cpu`"), "{}", notes(&trace));
    let trace = file(&|fields| fields.truncate(3), "sched_stat_runtime");
    assert_eq!((trace.stats.events, trace.stats.skipped), (12, 0), "kernels from 6.8 on have no vruntime");
    assert!(events(&trace).iter().any(|event| matches!(event.2, TraceEvent::SchedStatRuntime { vruntime: None, .. })));
    let trace = file(&|fields| fields.truncate(0), "sched_process_fork");
    assert_eq!((trace.stats.events, trace.stats.skipped), (11, 1));
}

#[test]
fn events_that_the_file_does_not_describe() {
    let mut layout = Layout::new(6);
    layout.formats.retain(|(name, _)| !matches!(*name, "sched_waking" | "sched_wakeup"));
    let trace = read(layout.file(&pages())).unwrap();
    assert_eq!((trace.stats.events, trace.stats.skipped, trace.stats.not_used), (9, 3, 1));
    assert!(notes(&trace).contains("does not describe") && !trace.stats.is_clean(), "{}", notes(&trace));
    layout.formats.clear();
    let trace = read(layout.file(&pages())).unwrap();
    assert_eq!(trace.stats.events, 0);
    assert!(notes(&trace).contains("no scheduling event"), "{}", notes(&trace));
}

#[test]
fn numbers_that_make_no_sense() {
    let odd = |event, values: &[Value]| {
        let trace = read(Layout::new(6).file(&[vec![page(vec![record(5, event, 1, values)])]])).unwrap();
        (trace.stats.events, trace.stats.skipped)
    };
    assert_eq!(odd("sched_wakeup", &[t("a"), n(-1), n(120), n(0)]), (0, 1));
    assert_eq!(odd("sched_wakeup", &[t("a"), n(5), n(120), n(-1)]), (0, 1));
    assert_eq!(odd("sched_wakeup", &[t("a"), n(5), n(120), n(4096)]), (0, 1));
    assert_eq!(odd("sched_migrate_task", &[n(0x7fff_ffff), n(5), n(120), n(0), n(1)]), (0, 1), "a name behind the record");
    assert_eq!(odd("sched_wakeup", &[t("a"), n(5), n(120), n(1)]), (1, 0));
}

#[test]
fn names_of_wakers_come_from_the_cache_until_a_better_one_is_seen() {
    let waking = record(5, "sched_waking", 7, &[t("wakee"), n(9), n(120), n(0)]);
    let own = record(9, "sched_stat_runtime", 7, &[t("renamed"), n(7), n(1), n(1)]);
    let first = read(Layout::new(7).file(&[vec![page(vec![waking.clone()])]])).unwrap();
    assert_eq!(first.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["cached name", "wakee"]);
    let both = read(Layout::new(7).file(&[vec![page(vec![waking, own])]])).unwrap();
    assert_eq!(both.tasks.iter().next().unwrap().name, "renamed");
}

#[test]
fn clocks() {
    let trace = |version, clock| read(Layout { clock, ..Layout::new(version) }.file(&pages()));
    for version in [6, 7] {
        for clock in ["mono", "local", "boot", "uptime", "something"] {
            let trace = trace(version, clock).unwrap();
            assert_eq!(trace.stats.events, 12);
            assert_eq!(notes(&trace).contains(clock), clock != "mono" && clock != "boot", "{}", notes(&trace));
            assert_eq!(trace.stats.is_clean(), clock != "something");
        }
        for clock in ["counter", "x86-tsc"] {
            let error = trace(version, clock).unwrap_err().to_string();
            assert!(error.contains(clock) && error.contains("not modelled yet") && error.contains("-C mono"), "{error}");
        }
    }
}

#[test]
fn cycles_become_ns() {
    for version in [6, 7] {
        let layout = Layout { clock: "x86-tsc", cycles: Some((1 << 30, 30)), ..Layout::new(version) };
        assert_eq!(events(&read(layout.file(&pages())).unwrap()), expected());
        let layout = Layout { cycles: Some((1 << 29, 30)), ..layout };
        let trace = read(layout.file(&pages())).unwrap();
        assert_eq!((trace.stats.offset_ns, trace.stats.last_at.ns()), (500_000_000_000, 200_000_010));
    }
}

#[test]
fn other_buffers_are_noted_and_the_first_with_data_is_read() {
    for version in [6, 7] {
        let layout = |buffers| Layout { buffers, ..Layout::new(version) };
        let trace = read(layout(vec!["", "empty"]).file(&pages())).unwrap();
        assert!(trace.stats.is_clean() && events(&trace) == expected(), "{}", notes(&trace));
        let trace = read(layout(vec!["guest", ""]).file(&pages())).unwrap();
        assert!(events(&trace) == expected() && notes(&trace).contains("buffer `guest` is read"), "{}", notes(&trace));
    }
    let both = Layout { buffers: vec!["", "other"], fill_all: true, ..Layout::new(7) };
    let trace = read(both.file(&pages())).unwrap();
    assert!(events(&trace) == expected() && notes(&trace).contains("buffer `other` was left out"), "{}", notes(&trace));
    assert!(!trace.stats.is_clean());
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let changed = |from: &[u8], to: &[u8]| {
        let mut file = Layout { packing: "zstd", ..Layout::new(7) }.file(&pages());
        let at = file.windows(from.len()).position(|window| window == from).unwrap();
        file[at..at + to.len()].copy_from_slice(to);
        read(file).unwrap_err().to_string()
    };
    for (from, to, wanted) in [
        (&b"tracing7"[..], &b"tracing8"[..], "version `8`, reading which is not modelled yet"),
        (b"zstd", b"lzma", "packed by `lzma`, unpacking which is not modelled yet"),
        (b"tracing7\0\0", b"tracing7\0\x07", "byte order 7"),
        (b"tracing7\0\0\x08", b"tracing7\0\0\x05", "`long` has 5 bytes"),
        (b"tracing7\0\0\x08\0\x10\0\0", b"tracing7\0\0\x08\x01\0\0\0", "page of the ring buffer has 1 bytes"),
    ] {
        let error = changed(from, to);
        assert!(error.contains(wanted) && error.contains("trace-cmd report"), "{error}");
    }
}

#[test]
fn cut_off_at_every_byte() {
    let small = |version, packing| Layout { version, packing, page_size: 256, ..Layout::new(version) };
    for layout in [small(6, "none"), small(7, "none"), small(7, "zstd")] {
        let whole = layout.file(&small_pages());
        let events = read(whole.clone()).unwrap().stats.events;
        for length in 0..whole.len() {
            match read(whole[..length].to_vec()) {
                Err(error) => assert!(length < 12 || error.to_string().contains("cut off"), "{length}: {error}"),
                Ok(trace) => {
                    assert!(trace.stats.events <= events);
                    let clean = trace.stats.events < events && trace.stats.is_clean();
                    assert!(!clean, "{length} of {}: {}", whole.len(), notes(&trace));
                }
            }
        }
    }
}

/// As [`pages`], a record a page.
fn small_pages() -> Vec<Vec<Page>> {
    let split = |pages: Vec<Page>| pages.into_iter().flat_map(|page| page.records).map(|record| page(vec![record])).collect();
    pages().into_iter().map(split).collect()
}

#[test]
fn thousands_of_corruptions() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for layout in variants() {
        let whole = layout.file(&small_pages());
        for _ in 0..500 {
            let mut file = whole.clone();
            for _ in 0..=next(8) {
                let at = next(file.len());
                file[at] = match next(3) {
                    0 => 0xff,
                    1 => 0,
                    _ => next(256) as u8,
                };
            }
            if next(10) == 0 {
                file.truncate(next(whole.len()));
            }
            if let Ok(trace) = read(file) {
                assert_eq!(trace.stats.events, trace.events.len() as u64);
                assert!(trace.events.windows(2).all(|pair| pair[0].0 <= pair[1].0));
                assert!(trace.stats.skipped == 0 || !trace.stats.is_clean());
            }
        }
    }
}

#[test]
fn seeds_of_the_fuzz_target() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/trace-dat");
    let mut readable = 0;
    for seed in std::fs::read_dir(seeds).unwrap() {
        let bytes = std::fs::read(seed.unwrap().path()).unwrap();
        if let Ok(trace) = read(bytes) {
            assert_eq!(trace.stats.events, trace.events.len() as u64);
            readable += usize::from(trace.stats.events > 0);
        }
    }
    assert!(readable >= 5, "the variants of the writer give events");
}

#[test]
fn a_sample_of_a_real_kernel() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trace_dat/samples");
    let [six, seven] = ["linux-6.18.v6.dat", "linux-6.18.v7.dat"].map(|name| {
        let file = std::fs::File::open(samples.join(name)).unwrap();
        read_file(file, name, &[]).unwrap()
    });
    assert_eq!((&six.events, &six.tasks), (&seven.events, &seven.tasks));
    assert_eq!((six.stats.skipped, six.stats.lost_events, six.stats.nr_cpus(), six.stats.is_clean()), (0, 0, 2, true));
    let text = std::fs::read(samples.join("linux-6.18.txt")).unwrap();
    same_as_text(&six, &read_any(&text[..], "report.txt").unwrap());
    assert!(six.stats.kinds.len() == 8, "{:?}", six.stats.kinds);
}

/// Events and tasks are those of the text that the real tool makes of the file. The text has no
/// column of interrupt flags: wakers are compared where no interrupt woke the task.
fn same_as_text(binary: &RecordedTrace, text: &RecordedTrace) {
    assert_eq!((binary.stats.events, binary.stats.offset_ns), (text.stats.events, text.stats.offset_ns));
    assert_eq!((&binary.tasks, binary.stats.lost_events), (&text.tasks, text.stats.lost_events));
    for (binary, text) in binary.events.iter().zip(&text.events) {
        let mut text = *text;
        if let (
            TraceEvent::SchedWaking { waker, context, .. },
            TraceEvent::SchedWaking { waker: in_text, context: context_in_text, .. },
        ) = (binary.2, &mut text.2)
            && context != WakeContext::Task
        {
            (*in_text, *context_in_text) = (waker, context);
        }
        assert_eq!(*binary, text);
    }
}

/// What a command prints, if it can be run and succeeds.
fn output(command: &mut Command) -> Option<Vec<u8>> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(output.stdout)
}
fn has_trace_cmd() -> bool {
    let found = Command::new("trace-cmd").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: trace-cmd is not installed (Debian: apt-get install trace-cmd)");
    }
    found
}
fn report(file: &Path) -> RecordedTrace {
    let text = output(Command::new("trace-cmd").args(["report", "-t", "-i"]).arg(file)).unwrap();
    read_any(&text[..], "report.txt").unwrap()
}
fn open(file: &Path) -> RecordedTrace {
    read_file(std::fs::File::open(file).unwrap(), "trace.dat", &[]).unwrap()
}
/// The same recording in every version and packing that the installed tool can write.
fn converted(file: &Path, folder: &Folder) -> Vec<PathBuf> {
    let kinds = [("6", "none"), ("7", "none"), ("7", "zstd"), ("7", "zlib")];
    let files = kinds.iter().filter_map(|(version, packing)| {
        let to = folder.0.join(format!("v{version}-{packing}.dat"));
        let mut convert = Command::new("trace-cmd");
        convert.args(["convert", "--file-version", version, "--compression", packing, "-i"]).arg(file).arg("-o").arg(&to);
        let written = output(&mut convert).is_some() && to.is_file();
        if !written {
            eprintln!("this trace-cmd cannot write version {version} packed by {packing}");
        }
        written.then_some(to)
    });
    files.collect()
}

#[test]
fn the_real_tool_reads_our_files_as_we_do_and_we_read_what_it_makes_of_them() {
    if !has_trace_cmd() {
        return;
    }
    let folder = Folder::new("trace-dat-written");
    for (row, layout) in variants().into_iter().filter(|layout| layout.packing != "zlib").enumerate() {
        let layout = Layout { page_size: 4096, ..layout };
        let mut pages = pages();
        pages[0][1].lost = Some(Some(42));
        let path = folder.0.join(format!("{row}.dat"));
        std::fs::write(&path, layout.file(&pages)).unwrap();
        let ours = open(&path);
        same_as_text(&ours, &report(&path));
        if row == 0 {
            for file in converted(&path, &folder) {
                let theirs = open(&file);
                assert_eq!(
                    (theirs.events, theirs.tasks, theirs.stats.lost_events),
                    (ours.events.clone(), ours.tasks.clone(), 42)
                );
            }
        }
    }
}

/// Records the scheduler for a while with `trace-cmd record`, or where that is not permitted (it wants
/// the function tracer's files), into a trace instance by hand, of which `trace-cmd extract` makes a file.
fn recorded(folder: &Folder) -> Result<PathBuf, String> {
    let file = folder.0.join("recorded.dat");
    let tracing = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(Path::new);
    let Some(tracing) = tracing.into_iter().find(|path| path.join("instances").is_dir()) else {
        return Err("there is no tracefs".to_string());
    };
    if std::fs::read(tracing.join("set_ftrace_pid")).is_ok() && std::fs::read(tracing.join("set_ftrace_filter")).is_ok() {
        let mut record = Command::new("trace-cmd");
        record.args(["record", "-q", "-C", "mono", "-e", "sched", "-o"]).arg(&file).args(["sleep", "0.2"]);
        if output(&mut record).is_some() {
            return Ok(file);
        }
    }
    let name = format!("fairground_{}", std::process::id());
    let instance = tracing.join("instances").join(&name);
    let outcome = by_hand(&instance, &name, &file);
    let _ = std::fs::remove_dir(&instance);
    outcome.map(|()| file).map_err(|error| format!("tracing is not permitted here: {error}"))
}
fn by_hand(instance: &Path, name: &str, file: &Path) -> std::io::Result<()> {
    std::fs::create_dir(instance)?;
    std::fs::write(instance.join("trace_clock"), "mono")?;
    std::fs::write(instance.join("set_event"), "sched:*")?;
    Command::new("sleep").arg("0.2").status()?;
    std::fs::write(instance.join("set_event"), "")?;
    let extract = Command::new("trace-cmd").args(["extract", "-B", name, "-o"]).arg(file).output()?;
    if extract.status.success() { Ok(()) } else { Err(std::io::Error::other("trace-cmd extract failed")) }
}

#[test]
fn recorded_by_the_real_tool() {
    if !has_trace_cmd() {
        return;
    }
    let folder = Folder::new("trace-dat-recorded");
    let file = match recorded(&folder) {
        Ok(file) => file,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let ours = open(&file);
    assert!(ours.stats.events > 10 && ours.stats.skipped == 0, "{}", notes(&ours));
    let sleeper = ours.tasks.iter().position(|task| task.name == "sleep").unwrap();
    let switches = ours.events.iter().filter(
        |(_, _, event)| matches!(event, TraceEvent::SchedSwitch { prev: Some(task), .. } if task.get() as usize == sleeper),
    );
    assert!(switches.count() >= 2, "it sleeps and ends");
    same_as_text(&ours, &report(&file));
    let converted = converted(&file, &folder);
    assert!(converted.len() >= 2, "{converted:?}");
    for file in converted {
        let again = open(&file);
        assert_eq!((&again.events, &again.tasks), (&ours.events, &ours.tasks), "{}", file.display());
    }
}
