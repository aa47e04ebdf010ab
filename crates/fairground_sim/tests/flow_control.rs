//! Flow control of pipes whose messages have a size, and of AF_UNIX streams: who sleeps when, and who is woken by whom.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{self, Build, Log, MS, free_machine, repeat, setup, sleep};
use fairground_model::{Instr, PipeSpec, SockKind, TaskSet, TraceEvent};
use fairground_sim::Simulation;
use fairground_stdx::{PipeId, SockId, TaskId};

/// Whom pipes wake: before v5.5, in v5.5, from v5.6 and from v6.14 on.
const RULES: [&str; 4] = ["each", "edge", "exclusive", "freed"];

fn write(pipe: PipeId) -> Instr {
    Instr::Write { pipe, value: None }
}

fn read(pipe: PipeId) -> Instr {
    Instr::Read { pipe, into: 1 }
}

/// Does `instr` so many times with a ms before each.
fn slowly(instr: Instr, times: u64) -> Vec<Instr> {
    vec![sleep(MS), instr, repeat(times)]
}

/// Does `instr` so many times after `first` ms.
fn at_once(first: u64, instr: Instr, times: u64) -> Vec<Instr> {
    vec![sleep(first * MS), instr, Instr::Repeat { counter: 0, times, to: 1 }]
}

/// A run on as many CPUs as there are tasks, where nothing takes time.
fn run(rule: &str, set: TaskSet) -> Log {
    let cpus = set.tasks.len();
    let mut setup = setup(free_machine(cpus, 1000), "v5.19", set, 10_000 * MS);
    setup.profile = setup.profile.with_seam("pipe_wakeup", rule).unwrap();
    common::run(setup)
}

/// Who was woken by whom, in order; `None`: by a timer.
fn woken(log: &Log) -> Vec<(u32, Option<u32>)> {
    let waking = |row: &(u64, _, TraceEvent)| match row.2 {
        TraceEvent::SchedWaking { task, waker, .. } => Some((task.get(), waker.map(|waker| waker.get()))),
        _ => None,
    };
    log.events.iter().filter_map(waking).collect()
}

/// Instants in ms at which `task` was woken by `waker`.
fn woken_by(log: &Log, wakee: u32, by: u32) -> Vec<u64> {
    let waking = |row: &(u64, _, TraceEvent)| match row.2 {
        TraceEvent::SchedWaking { task, waker: Some(waker), .. } if (task.get(), waker.get()) == (wakee, by) => Some(row.0 / MS),
        _ => None,
    };
    log.events.iter().filter_map(waking).collect()
}

#[test]
fn the_641st_message_waits_for_a_page() {
    for rule in RULES {
        let mut set = TaskSet::default();
        let pipe = set.pipes.push(PipeSpec::of_bytes(100));
        let marker = set.marker("written");
        let mark = Instr::MarkValue { marker, value: 1 };
        set.pinned("writer", 0, vec![write(pipe), repeat(640), mark.clone(), write(pipe), mark]);
        let mut reads = slowly(read(pipe), 100);
        reads.insert(0, sleep(10 * MS));
        reads[3] = Instr::Repeat { counter: 0, times: 100, to: 1 };
        set.pinned("reader", 1, reads);
        let log = run(rule, set);
        let written: Vec<u64> = log.marks(TaskId::new(0), marker).iter().map(|mark| mark.0 / MS).collect();
        assert_eq!(written, [0, 50], "{rule}: the page is free after 40 reads");
        let woken = woken_by(&log, 0, 1);
        match rule {
            "each" | "freed" => assert_eq!(woken, [50], "{rule}"),
            _ => assert_eq!(woken, (11..=50).collect::<Vec<u64>>(), "{rule}: each read from a full pipe wakes"),
        }
    }
}

#[test]
fn a_write_into_an_empty_pipe_wakes_and_who_was_woken_wakes_the_next() {
    for rule in RULES {
        let mut set = TaskSet::default();
        let pipe = set.pipes.push(PipeSpec::of_bytes(100));
        for number in 0..3 {
            set.pinned("reader", number, vec![sleep(MS * u64::from(number + 1)), read(pipe)]);
        }
        set.pinned("writer", 3, at_once(10, write(pipe), 2));
        let log = run(rule, set);
        let woken: Vec<(u32, Option<u32>)> = woken(&log).into_iter().filter(|row| row.1.is_some()).collect();
        match rule {
            // Of all three one finds nothing, and nobody writes for it again.
            "each" | "edge" => assert_eq!(woken, [(2, Some(3)), (1, Some(3)), (0, Some(3))], "{rule}"),
            _ => assert_eq!(woken, [(0, Some(3)), (1, Some(0))], "{rule}"),
        }
    }
}

#[test]
fn a_free_page_goes_to_one_writer_that_waits() {
    for rule in RULES {
        let mut set = TaskSet::default();
        let pipe = set.pipes.push(PipeSpec::of_bytes(100));
        set.pinned("filler", 0, vec![write(pipe), repeat(640)]);
        for number in 1..4 {
            set.pinned("writer", number, vec![sleep(MS * u64::from(number)), write(pipe)]);
        }
        set.pinned("reader", 4, at_once(10, read(pipe), 40));
        let log = run(rule, set);
        let written: Vec<u32> = (1..4).filter(|&number| log.exit_of(TaskId::new(number)).is_some()).collect();
        let woken: Vec<u32> = woken(&log).into_iter().filter(|row| row.1 == Some(4)).map(|row| row.0).collect();
        // They run at one instant, each on a CPU of its own: any of those who are woken may be the first there.
        assert_eq!(written.len(), 1, "{rule}: {written:?}");
        match rule {
            "each" | "edge" => assert_eq!(woken, [3, 2, 1], "{rule}: the last to wait is woken first"),
            // The first three reads find the pipe full and wake one each; nobody sleeps again before the last read.
            "exclusive" => assert_eq!(woken, [1, 2, 3]),
            _ => assert_eq!((woken, written), (vec![1], vec![1])),
        }
    }
}

#[test]
fn all_who_poll_are_woken_by_a_byte_that_nobody_reads() {
    for rule in RULES {
        let mut set = TaskSet::default();
        let pipe = set.pipes.push(PipeSpec::of_bytes(1));
        for number in 0..3 {
            set.pinned("poller", number, vec![sleep(MS * u64::from(number + 1)), Instr::Poll { pipe }, Instr::Poll { pipe }]);
        }
        set.pinned("writer", 3, vec![sleep(10 * MS), write(pipe)]);
        set.pinned("late", 4, vec![sleep(20 * MS), Instr::Poll { pipe }]);
        let log = run(rule, set);
        let woken: Vec<u32> = woken(&log).into_iter().filter(|row| row.1.is_some()).map(|row| row.0).collect();
        assert_eq!(woken, [2, 1, 0], "{rule}");
        assert_eq!((log.exit_of(TaskId::new(0)), log.exit_of(TaskId::new(4))), (Some(10 * MS), Some(20 * MS)));
    }
}

fn send(sock: SockId) -> Instr {
    Instr::Send { sock, bytes: 100 }
}

#[test]
fn senders_share_write_memory_and_are_woken_at_a_quarter() {
    let mut set = TaskSet::default();
    let [receiver, sender] = set.connect(SockKind::Unix);
    let marker = set.marker("sent");
    let mark = Instr::MarkValue { marker, value: 1 };
    set.pinned("first", 0, vec![send(sender), repeat(200), mark.clone(), sleep(2 * MS), send(sender), mark.clone()]);
    set.pinned(
        "second",
        1,
        vec![sleep(MS), send(sender), Instr::Repeat { counter: 0, times: 78, to: 1 }, mark.clone(), send(sender), mark],
    );
    let mut reads = slowly(Instr::Recv { sock: receiver, bytes: 100 }, 300);
    reads.insert(0, sleep(9 * MS));
    reads[3] = Instr::Repeat { counter: 0, times: 280, to: 1 };
    set.pinned("receiver", 2, reads);
    let log = run("exclusive", set);
    let sent = |task| log.marks(TaskId::new(task), marker).iter().map(|mark| mark.0 / MS).collect::<Vec<u64>>();
    // 278 of both fit, and 69 of them are left after 209 receives.
    assert_eq!((sent(0), sent(1)), (vec![0, 9 + 209], vec![1, 9 + 209]));
    let order: Vec<u32> = woken(&log).into_iter().filter(|row| row.1 == Some(2)).map(|row| row.0).collect();
    assert_eq!(order, [0, 1], "the last to wait first");
    assert_eq!(woken_by(&log, 2, 0).len() + woken_by(&log, 2, 1).len(), 0, "the receiver never waits");
}

#[test]
fn each_message_wakes_a_receiver_that_sleeps() {
    let mut set = TaskSet::default();
    let [receiver, sender] = set.connect(SockKind::Unix);
    set.pinned("sender", 0, slowly(send(sender), 5));
    set.pinned("receiver", 1, vec![Instr::Recv { sock: receiver, bytes: 250 }, repeat(2)]);
    let log = run("exclusive", set);
    assert_eq!(woken_by(&log, 1, 0), [1, 2, 3, 4, 5]);
    assert_eq!(log.exit_of(TaskId::new(1)), Some(5 * MS));
}

/// Pipes and sockets between more tasks than CPUs.
#[test]
fn runs_are_repeated_exactly() {
    let run = || {
        let mut set = TaskSet::default();
        let pipe = set.pipes.push(PipeSpec::of_bytes(100));
        let [receiver, sender] = set.connect(SockKind::Unix);
        for number in 0..4 {
            set.task(&format!("s{number}"), vec![write(pipe), send(sender), repeat(1_000)]);
        }
        set.task("r", vec![read(pipe), Instr::Recv { sock: receiver, bytes: 100 }, repeat(4_000)]);
        common::run(setup(common::priced_machine(2, "xeon-spr"), "v6.14", set, 1_000 * MS))
    };
    let (one, other) = (run(), run());
    assert_eq!((one.digest, one.end), (other.digest, other.end));
    assert!((0..5).all(|task| one.exit_of(TaskId::new(task)).is_some()), "all messages were received");
}

#[test]
fn messages_that_do_not_fit_are_refused() {
    let mut set = TaskSet::default();
    let pipes = [0, 4097].map(|bytes| set.pipes.push(PipeSpec::of_bytes(bytes)));
    let [receiver, sender] = set.connect(SockKind::Unix);
    set.task("sender", vec![write(pipes[0]), Instr::Send { sock: sender, bytes: 3777 }]);
    set.task("receiver", vec![Instr::Recv { sock: receiver, bytes: 0 }]);
    let mistakes = Simulation::new(setup(free_machine(1, 1000), "v5.19", set, MS)).err().unwrap();
    assert_eq!(mistakes.0.len(), 4, "{mistakes}");
}
