//! Shared words: futexes, and loops that look at a word.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{self, Build, Log, MS, US, free_machine, priced_machine, setup, sleep, work};
use fairground_model::{Instr, Op, TaskSet, Test, Value, Word};
use fairground_sim::{Ending, Simulation, Stopped};
use fairground_stdx::{TaskId, WordId};

fn word(set: &mut TaskSet, value: u64) -> Word {
    set.words.push(value).into()
}

fn store(word: Word, value: u64) -> Instr {
    Instr::Store { word, value: Value::Const(value) }
}

#[test]
fn waiters_are_woken_first_come_first_served_and_only_so_many() {
    let mut set = TaskSet::default();
    let word = word(&mut set, 0);
    for row in 0..4 {
        set.pinned(
            "waiter",
            row,
            vec![work((1 + u64::from(row)) * 100 * US), Instr::FutexWait { word, value: Value::Const(0) }, work(MS)],
        );
    }
    set.pinned(
        "waker",
        4,
        vec![work(2 * MS), Instr::FutexWake { word, count: 3 }, work(MS), Instr::FutexWake { word, count: 9 }],
    );
    let (log, simulation, end) = Log::and_simulation(setup(priced_machine(8, "xeon-spr"), "v5.19", set, 100 * MS));
    assert_eq!(end.ending, Ending::AllExited);
    let at: Vec<u64> = (0..4).map(|row| log.wakeups(TaskId::new(row))[0].0).collect();
    assert!(at.is_sorted() && at[2] < 2_100 * US && at[3] > 3 * MS, "{at:?}");
    assert_eq!(simulation.op_total(Op::FutexOp), 6);
}

#[test]
fn who_comes_after_the_word_has_changed_does_not_sleep() {
    let mut set = TaskSet::default();
    let word = word(&mut set, 0);
    set.pinned("setter", 0, vec![work(MS), store(word, 1), Instr::FutexWake { word, count: 1 }]);
    let late = set.pinned("late", 1, vec![work(2 * MS), Instr::FutexWait { word, value: Value::Const(0) }, work(MS)]);
    let (log, _, end) = Log::and_simulation(setup(free_machine(2, 1000), "v5.19", set, 100 * MS));
    assert_eq!((end.ending, end.at.ns()), (Ending::AllExited, 3 * MS));
    assert!(log.wakeups(late).is_empty());
}

#[test]
fn a_wake_up_of_nobody_costs_a_system_call_and_no_more() {
    let mut set = TaskSet::default();
    let word = word(&mut set, 0);
    set.pinned("nobody", 0, vec![Instr::FutexWake { word, count: 1 }, Instr::Exit]);
    let (_, simulation, end) = Log::and_simulation(setup(priced_machine(1, "xeon-spr"), "v5.19", set, 100 * MS));
    assert_eq!((simulation.op_total(Op::Syscall), simulation.op_total(Op::FutexOp)), (1, 1));
    assert_eq!(end.ending, Ending::AllExited);
}

#[test]
fn a_spin_ends_when_the_word_changes_wherever_the_spinner_is() {
    let mut set = TaskSet::default();
    let word = word(&mut set, 1);
    let spin = Instr::Spin { word, value: 1 };
    let sees = set.pinned("sees", 1, vec![spin.clone(), work(MS)]);
    // This one shares its CPU: it looks again when it runs again.
    let later = set.pinned("later", 2, vec![spin, work(MS)]);
    set.pinned("hog", 2, vec![work(20 * MS)]);
    set.pinned("setter", 0, vec![work(5 * MS), store(word, 0), work(50 * MS)]);
    let (log, simulation, _) = Log::and_simulation(setup(free_machine(4, 1000), "v5.19", set, 100 * MS));
    let ended = |task| log.exit_of(task).unwrap();
    assert_eq!(ended(sees), 6 * MS);
    assert!((6 * MS..30 * MS).contains(&ended(later)), "{}", ended(later));
    assert_eq!(simulation.ended().unwrap().ending, Ending::AllExited);
}

/// Tasks that compute under one lock, many times over; each adds one to a count that the lock guards.
fn lockers(asleep: bool, count: u64) -> (TaskSet, WordId) {
    let mut set = TaskSet::default();
    let (lock, sum) = (word(&mut set, 0), set.words.push(0));
    let wait =
        if asleep { Instr::FutexWait { word: lock, value: Value::Const(1) } } else { Instr::Spin { word: lock, value: 1 } };
    for row in 0..4 {
        set.task(
            "locker",
            vec![
                work((100 + 7 * row) * US),
                Instr::Load { word: lock, into: 0 },
                Instr::JumpIf { reg: 0, is: Test::Equal, value: Value::Const(0), to: 5 },
                wait.clone(),
                Instr::Jump { to: 1 },
                store(lock, 1),
                Instr::Load { word: sum.into(), into: 1 },
                work(50 * US),
                Instr::Calculate { reg: 1, by: fairground_model::Arithmetic::Plus, value: Value::Const(1) },
                Instr::Store { word: sum.into(), value: Value::Reg(1) },
                store(lock, 0),
                Instr::FutexWake { word: lock, count: 1 },
                sleep(10 * US),
                common::repeat(count),
            ],
        );
    }
    let last = set.words.push(0);
    assert_eq!(last, WordId::new(2));
    (set, sum)
}

#[test]
fn a_lock_keeps_others_out() {
    for asleep in [true, false] {
        for cpus in [1, 2, 8] {
            let (mut set, sum) = lockers(asleep, 50);
            // A witness that spins until every one of 4 times 50 rounds was counted.
            set.task(
                "witness",
                vec![
                    sleep(MS),
                    Instr::Load { word: sum.into(), into: 0 },
                    Instr::JumpIf { reg: 0, is: Test::AtMost, value: Value::Const(199), to: 0 },
                ],
            );
            let (_, _, end) = Log::and_simulation(setup(priced_machine(cpus, "xeon-spr"), "v5.19", set, 10_000 * MS));
            assert_eq!(end.ending, Ending::AllExited, "asleep {asleep} on {cpus} CPUs");
        }
    }
}

#[test]
fn a_word_that_does_not_exist_stops_the_run() {
    let mut set = TaskSet::default();
    let first = set.words.push(0);
    set.task(
        "wild",
        vec![
            work(MS),
            Instr::Let { reg: 2, value: Value::Const(u64::MAX) },
            Instr::Store { word: Word { first, plus: Some(2) }, value: Value::Const(1) },
        ],
    );
    let mut simulation = Simulation::new(setup(free_machine(1, 1000), "v5.19", set, 100 * MS)).unwrap();
    let stopped = simulation.run(&mut fairground_model::NullSink).unwrap_err();
    assert!(matches!(&stopped, Stopped::Fault { task, .. } if task == "wild"), "{stopped}");
    assert!(!stopped.hint().is_empty());
}
