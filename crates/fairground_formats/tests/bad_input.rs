//! Dirty, hostile and cut-off input: never a panic, never a hang, always a note.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_formats::{ImportError, RecordedTrace, read_any, read_into, read_set};
use fairground_model::{NullSink, TraceEvent};
use proptest::prelude::*;

const TEXT: &str = include_str!("../src/ftrace/samples/ftrace_flags.txt");
const RECORDED: &str = include_str!("../src/recorded/samples/trace.csv");
const TASKS: &str = include_str!("../src/recorded/samples/tasks.csv");
const CSV: &str = include_str!("../src/csv/samples/run.csv");
const JSON: &str = include_str!("../src/json/samples/run.json");

fn notes(trace: &RecordedTrace) -> String {
    trace.stats.notes.iter().map(|note| format!("{note}\n")).collect()
}
/// A line of a switch from the idle task.
fn switch(at: &str, pid: u32) -> String {
    format!(
        "a-1 [000] d..2. {at}: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
         next_comm=t{pid} next_pid={pid} next_prio=120\n"
    )
}

#[test]
fn cut_off_at_every_byte() {
    for sample in [TEXT, CSV, JSON] {
        for length in 0..sample.len() {
            match read_any(&sample.as_bytes()[..length], "trace.txt") {
                Ok(trace) => assert_eq!(trace.stats.events, trace.events.len() as u64),
                Err(error) => assert!(length == 0 || !sample.starts_with("# tracer"), "{length}: {error}"),
            }
        }
    }
    for length in (0..RECORDED.len()).step_by(7) {
        let _ = read_set(&RECORDED.as_bytes()[..length], "trace.csv", TASKS.as_bytes());
    }
}

#[test]
fn a_cut_off_last_line_is_noted() {
    let whole = read_any(TEXT.as_bytes(), "t").unwrap();
    let cut = read_any(&TEXT.as_bytes()[..TEXT.len() - 30], "t").unwrap();
    assert_eq!(cut.stats.events, whole.stats.events - 1);
    assert!(notes(&cut).contains("cut off") && !cut.stats.is_clean() && whole.stats.is_clean(), "{}", notes(&whole));
    let json = read_any(&JSON.as_bytes()[..JSON.len() / 2], "t").unwrap();
    assert!(json.stats.events > 0 && notes(&json).contains("cut off"), "{}", notes(&json));
}

#[test]
fn a_changed_record_does_not_match_the_digest() {
    let forged = JSON.replacen("\"t_ns\":1000,", "\"t_ns\":1001,", 1);
    assert_ne!(forged, JSON);
    let trace = read_any(forged.as_bytes(), "t").unwrap();
    assert!(notes(&trace).contains("digest"), "{}", notes(&trace));
}

#[test]
fn files_that_are_no_text_are_refused_with_a_hint() {
    let error = |bytes: &[u8], name: &str| read_any(bytes, name).unwrap_err();
    assert_eq!(error(b"", "x"), ImportError::Empty { name: "x".into() });
    assert!(error(b"PERFILE2....", "perf.data").to_string().contains("cut off"));
    assert!(error(b"\x17\x08\x44tracing6", "trace.dat").to_string().contains("cut off"));
    assert!(matches!(error(b"\x1f\x8b\x08", "t.gz"), ImportError::Unreadable { .. }));
    assert!(error(b"\x00\x01\x02\x03", "core").to_string().contains("no trace of a known format"));
    assert!(error(b"{\"tasks\": {}}", "rt-app.json").to_string().contains("no trace of a known format"));
    assert!(matches!(error(b"\x28\xb5\x2f\xfd\x00", "t.zst"), ImportError::Unreadable { .. }));
}

#[test]
fn huge_lines_zero_bytes_and_wrong_utf8() {
    let mut bytes = switch("1.0", 5).into_bytes();
    bytes.extend(std::iter::repeat_n(b'x', 1_000_000));
    bytes.extend_from_slice(b"\n\0\0\0\0\n\xff\xfe\xfd\n");
    bytes.extend(switch("1.5", 6).replace("t6", "t\u{fffd}").into_bytes());
    let bad = bytes.iter().rposition(|&byte| byte == 0xbd).unwrap();
    bytes[bad] = b'!';
    let trace = read_any(&bytes[..], "trace.txt").unwrap();
    assert_eq!((trace.stats.events, trace.stats.skipped), (2, 3), "{}", notes(&trace));
    for what in ["64 KiB", "no UTF-8", "without the columns"] {
        assert!(notes(&trace).contains(what), "{}", notes(&trace));
    }
}

#[test]
fn lost_events_and_unknown_ones_are_counted() {
    let text = switch("1.0", 5) + "CPU:0 [LOST 42 EVENTS]\nCPU:1 [EVENTS DROPPED]\n a-1 [000] d..2. 1.1: timer_start: x=1\n";
    let trace = read_any(text.as_bytes(), "t").unwrap();
    assert_eq!((trace.stats.lost_events, trace.stats.not_used, trace.stats.skipped), (43, 1, 0));
    assert!(!trace.stats.is_clean());
    assert!(notes(&trace).contains("`timer_start`"));
}

#[test]
fn small_disorder_is_sorted_and_large_disorder_is_clamped() {
    let text: String = ["1.3", "1.1", "1.2"].iter().enumerate().map(|(i, at)| switch(at, 5 + i as u32)).collect();
    let trace = read_any(text.as_bytes(), "t").unwrap();
    let times: Vec<u64> = trace.events.iter().map(|(at, ..)| at.ns()).collect();
    assert_eq!(times, [0, 100_000_000, 200_000_000]);
    assert_eq!((trace.stats.offset_ns, trace.stats.time_went_back, trace.stats.clamped), (1_100_000_000, 1, 0));
    assert!(trace.stats.is_clean());

    let late: String = (0..6000).map(|i| switch(&format!("2.{i:06}"), 5)).collect::<String>() + &switch("1.0", 9);
    let trace = read_any(late.as_bytes(), "t").unwrap();
    assert_eq!((trace.stats.events, trace.stats.time_went_back, trace.stats.clamped), (6001, 1, 1));
    assert!(trace.events.windows(2).all(|pair| pair[0].0 <= pair[1].0) && !trace.stats.is_clean());
}

#[test]
fn numbers_that_the_model_cannot_hold_are_left_out() {
    let text = switch("1.0", 5)
        + &switch("9000000000.0", 5)
        + &switch("1.5", 5).replace("[000]", "[1024]")
        + "a-1 [000] 1.6: sched_wakeup: comm=a pid=5 prio=120 target_cpu=4000000000\n"
        + &switch("99999999999999999999.0", 5);
    let trace = read_any(text.as_bytes(), "t").unwrap();
    assert_eq!((trace.stats.events, trace.stats.skipped), (1, 4), "{}", notes(&trace));
    let csv = "t_ns,cpu,event,task,other_task,from_cpu,to_cpu,what,value,value2,value3\n\
               5,0,sched_process_exit,4000000000,,,,,,,\n6,99999,sched_process_exit,1,,,,,,,\n7,0,sched_process_exit,1,,,,,,,\n\
               -1,0,sched_process_exit,1,,,,,,,\n8,0,nothing,1,,,,,,,\n8,0,decision,,,,,never,1,1,\n";
    let trace = read_any(csv.as_bytes(), "t").unwrap();
    assert_eq!((trace.stats.events, trace.stats.skipped, trace.tasks.len()), (1, 5, 2), "{}", notes(&trace));
}

#[test]
fn a_process_id_that_is_used_again_is_a_new_task() {
    let text = "a-7 [000] .....  1.1: sched_process_exit: comm=a pid=7 prio=120\n\
        a-7 [000] d..2.  1.2: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=X ==> next_comm=b next_pid=8 next_prio=120\n\
        b-8 [000] .....  1.3: sched_process_fork: comm=b pid=8 child_comm=b child_pid=7\n\
        b-8 [000] d..2.  1.4: sched_wakeup_new: comm=b pid=7 prio=120 target_cpu=000\n";
    let trace = read_any(text.as_bytes(), "t").unwrap();
    let tasks: Vec<(u32, &str)> = trace.tasks.iter().map(|task| (task.pid, task.name.as_str())).collect();
    assert_eq!(tasks, [(7, "a"), (8, "b"), (7, "b")]);
    assert!(matches!(trace.events[3].2, TraceEvent::SchedWakeupNew { task, .. } if task.get() == 2));
}

#[test]
fn a_source_that_fails_in_the_middle_gives_what_came_before() {
    struct Failing<'a>(&'a [u8]);
    impl std::io::Read for Failing<'_> {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buf)? {
                0 => Err(std::io::Error::other("the disk is gone")),
                length => Ok(length),
            }
        }
    }
    let trace = read_any(Failing(TEXT.as_bytes()), "t").unwrap();
    assert!(trace.stats.events > 0 && notes(&trace).contains("the disk is gone"), "{}", notes(&trace));
    assert!(matches!(read_any(Failing(b""), "t"), Err(ImportError::Unreadable { .. })));
}

proptest! {
    #[test]
    fn random_bytes_behind_any_beginning(
        start in prop::sample::select(vec!["# tracer: nop\n", TEXT, RECORDED, CSV, &JSON[..JSON.len() / 2], ""]),
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let mut input = start.as_bytes().to_vec();
        input.extend(bytes);
        let _ = read_into(&input[..], "trace.txt", TASKS.as_bytes(), &mut NullSink);
    }

    #[test]
    fn samples_with_some_bytes_changed(
        sample in prop::sample::select(vec![TEXT, RECORDED, CSV, JSON]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut input = sample.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(input.len());
            input[at] = byte;
        }
        let _ = read_set(&input[..], "trace.txt", TASKS.as_bytes());
    }
}
