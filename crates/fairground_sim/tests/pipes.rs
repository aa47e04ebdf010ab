//! Pipes, forks, exits: tasks that depend on one another.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, cpu, free_machine, priced_machine, repeat, setup, work};
use fairground_model::{Instr, PrevState, Start, TaskSet, TraceEvent};
use fairground_sim::Ending;
use fairground_stdx::{PipeId, TaskId};

fn write(pipe: PipeId) -> Instr {
    Instr::Write { pipe, value: None }
}

fn read(pipe: PipeId) -> Instr {
    Instr::Read { pipe, into: 0 }
}

const ROUNDS: u64 = 1_000;

/// Two tasks that wake each other [`ROUNDS`] times.
fn ping_pong(one_cpu: bool) -> TaskSet {
    let mut set = TaskSet::default();
    let (ping, pong) = (set.pipe(1), set.pipe(1));
    for (row, code) in
        [vec![write(ping), read(pong), repeat(ROUNDS)], vec![read(ping), write(pong), repeat(ROUNDS)]].into_iter().enumerate()
    {
        set.pinned("end", if one_cpu { 0 } else { row as u32 }, code);
    }
    set
}

#[test]
fn ping_pong_takes_one_wake_up_per_message() {
    for (one_cpu, cpus) in [(true, 1), (false, 2)] {
        let (log, simulation, end) =
            Log::and_simulation(setup(priced_machine(cpus, "xeon-spr"), "v5.19", ping_pong(one_cpu), 1_000 * MS));
        assert_eq!(end.ending, Ending::AllExited);
        let [first, second] = [0, 1].map(|row| log.wakeups(TaskId::new(row)).len() as u64);
        // On one CPU the very first write finds the reader awake or asleep, as the order of the starts has it.
        assert!((ROUNDS - 1..=ROUNDS).contains(&first) && (ROUNDS - 1..=ROUNDS).contains(&second), "{first}, {second}");
        assert_eq!(simulation.counts().wakeups, first + second);
        assert_eq!(simulation.op_total(fairground_model::Op::PipeOp), 4 * ROUNDS, "a write and a read per message");
        if one_cpu {
            // Each message is one switch; the price of a hop is that of the list.
            let hop = end.at.ns() / (2 * ROUNDS);
            assert!((2 * US..6 * US).contains(&hop), "{hop} ns per hop");
        }
    }
}

#[test]
fn a_full_pipe_blocks_the_writer() {
    let mut set = TaskSet::default();
    let pipe = set.pipe(2);
    let written = set.marker("written");
    let got = set.marker("got");
    let mark = Instr::MarkValue { marker: written, value: 1 };
    let writer = set.pinned("writer", 0, vec![write(pipe), mark, repeat(5)]);
    let receive = vec![work(10 * MS), read(pipe), Instr::MarkSince { marker: got, reg: 0 }, repeat(5)];
    let reader = set.pinned("reader", 1, receive);
    let (log, _, end) = Log::and_simulation(setup(free_machine(2, 1000), "v5.19", set, 1_000 * MS));
    assert_eq!(end.ending, Ending::AllExited);
    let at = |marks: Vec<(u64, u64)>| marks.iter().map(|mark| mark.0 / MS).collect::<Vec<_>>();
    assert_eq!(at(log.marks(writer, written)), [0, 0, 10, 20, 30]);
    assert_eq!(at(log.marks(reader, got)), [10, 20, 30, 40, 50]);
    // Messages come out in order: each carries the time at which its write began.
    let ages: Vec<u64> = log.marks(reader, got).iter().map(|mark| mark.1 / MS).collect();
    assert_eq!(ages, [10, 20, 30, 30, 30]);
}

#[test]
fn one_task_wakes_many() {
    let mut set = TaskSet::default();
    let mut master = vec![work(5 * MS)];
    let workers: Vec<TaskId> = (0..12)
        .map(|_| {
            let pipe = set.pipe(1);
            master.push(write(pipe));
            let worker = set.task("worker", vec![read(pipe), work(4 * MS), Instr::Exit]);
            set.tasks[worker].affinity = Some((1..4).map(cpu).collect());
            worker
        })
        .collect();
    let master = set.pinned("master", 0, master);
    let (log, _, end) = Log::and_simulation(setup(free_machine(4, 1000), "v5.19", set, 1_000 * MS));
    assert_eq!(end.ending, Ending::AllExited);
    assert_eq!(log.exit_of(master), Some(5 * MS), "writes into pipes with room do not block");
    for &worker in &workers {
        assert_eq!(log.wakeups(worker).len(), 1);
        assert_eq!(log.runtime(worker), 4 * MS);
    }
}

/// Two readers of one pipe, one message: the one that waits longer gets it, the other goes on waiting.
#[test]
fn waiters_are_served_in_order_of_arrival() {
    let mut set = TaskSet::default();
    let pipe = set.pipe(4);
    let readers = [0, 1].map(|row| set.pinned("reader", row, vec![work(MS * u64::from(row + 1)), read(pipe), work(MS)]));
    set.pinned("writer", 2, vec![work(5 * MS), write(pipe), work(5 * MS), write(pipe)]);
    let log = Log::of(setup(free_machine(3, 1000), "v5.19", set, 100 * MS));
    assert_eq!(readers.map(|reader| log.exit_of(reader)), [Some(6 * MS), Some(11 * MS)]);
}

#[test]
fn a_parent_waits_for_all_children() {
    for prices in ["zero", "xeon-spr"] {
        let mut set = TaskSet::default();
        let children = [3, 9, 6].map(|ms| {
            let child = set.task("child", vec![work(ms * MS)]);
            set.tasks[child].start = Start::Forked;
            child
        });
        let mut code = vec![work(MS)];
        code.extend(children.map(|task| Instr::Fork { task }));
        code.extend([Instr::WaitChildren, work(MS), Instr::WaitChildren]);
        let parent = set.task("parent", code);
        let (log, _, end) = Log::and_simulation(setup(priced_machine(4, prices), "v5.19", set, 1_000 * MS));
        assert_eq!((end.ending, Some(end.at.ns())), (Ending::AllExited, log.exit_of(parent)), "{prices}");
        let ends = children.map(|child| log.exit_of(child).expect("all children end"));
        assert!(ends[0] < ends[2] && ends[2] < ends[1], "{prices}: {ends:?}");
        if prices == "zero" {
            assert_eq!((ends, end.at.ns()), ([4 * MS, 10 * MS, 7 * MS], 11 * MS));
        }
        let forks = log.events.iter().filter(|row| matches!(row.2, TraceEvent::SchedProcessFork { parent: Some(_), .. }));
        assert_eq!(forks.count(), 3);
        let deaths = log.events.iter().filter(|row| matches!(row.2, TraceEvent::SchedSwitch { prev_state: PrevState::Dead, .. }));
        assert!(deaths.count() >= 3, "the last may end with the run");
    }
}

/// A reader without a writer: nothing can ever happen again.
#[test]
fn a_dead_end_ends_the_run() {
    let mut set = TaskSet::default();
    let pipe = set.pipe(1);
    set.task("reader", vec![work(MS), read(pipe)]);
    let (log, _, end) = Log::and_simulation(setup(free_machine(1, 1000), "v5.19", set, 1_000 * MS));
    assert_eq!((end.at.ns(), end.ending), (MS, Ending::NothingLeft));
    assert!(log.stays_on(cpu(0)).iter().map(|stay| stay.ns).eq([MS]));
}
