//! A task that looks at its own CPU time brings its account up to date.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, one_cpu, priced_machine, setup, work};
use fairground_model::{Arithmetic, Instr, Mode, TaskSet, Test, TraceEvent, Value};
use fairground_stdx::{Ns, TaskId};

/// When the task first gets the CPU, then when it first gives it up or looks at its clock: switches away and
/// accounts, as distances from its first switch.
fn first_turn(kernel: &str) -> (Vec<u64>, u64) {
    let mut set = TaskSet::default();
    let looks = set.task("looks", vec![work(3_500 * US), Instr::ThreadClock { into: None }, work(100 * MS)]);
    set.task("hog", vec![work(u64::MAX)]);
    let log = Log::of(one_cpu(250, kernel, set, Ns(40 * MS)));
    let times = |wanted: fn(&TraceEvent, TaskId) -> bool| {
        log.events.iter().filter(move |row| wanted(&row.2, looks)).map(|row| row.0).collect::<Vec<_>>()
    };
    let from = times(|event, task| matches!(event, TraceEvent::SchedSwitch { next, .. } if *next == Some(task)))[0];
    let until = times(|event, task| matches!(event, TraceEvent::SchedSwitch { prev, .. } if *prev == Some(task)))[0];
    let accounts = times(|event, task| matches!(event, TraceEvent::SchedStatRuntime { task: of, .. } if *of == task));
    (accounts.into_iter().map(|at| at - from).collect(), until - from)
}

#[test]
fn a_look_at_the_thread_clock_is_an_account() {
    for kernel in ["v4.12", "v5.10", "v6.1"] {
        let (accounts, stay) = first_turn(kernel);
        assert!(accounts.contains(&(3_500 * US)), "{kernel}: {accounts:?}");
        // The turn ends at a tick all the same.
        assert_eq!(stay % (4 * MS), 0, "{kernel}");
    }
}

#[test]
fn from_v6_6_a_served_request_is_noticed_there_and_not_at_the_tick() {
    for kernel in ["v6.6", "v6.12", "v6.18"] {
        let (accounts, stay) = first_turn(kernel);
        assert!(accounts.contains(&(3_500 * US)), "{kernel}: {accounts:?}");
        assert_eq!(stay, 3_500 * US, "{kernel}");
    }
}

/// A loop that ends by the clock, as the program of the recordings has it: what is lacking is waited for, then it looks again.
fn by_own_clock(time: u64) -> Vec<Instr> {
    let reg = |reg| Value::Reg(reg);
    vec![
        Instr::ThreadClock { into: Some(5) },
        Instr::Calculate { reg: 5, by: Arithmetic::Plus, value: Value::Const(time) },
        Instr::ThreadClock { into: Some(6) },
        Instr::Let { reg: 7, value: reg(5) },
        Instr::Calculate { reg: 7, by: Arithmetic::Minus, value: reg(6) },
        Instr::JumpIf { reg: 7, is: Test::AtMost, value: Value::Const(200), to: 10 },
        Instr::Now { reg: 6 },
        Instr::Calculate { reg: 6, by: Arithmetic::Plus, value: reg(7) },
        Instr::RunUntil { reg: 6 },
        Instr::Jump { to: 2 },
        Instr::Exit,
    ]
}

/// Ticks and switches are charged to the task that they hit: by its own clock they are part of its work.
#[test]
fn work_by_the_own_clock_is_what_is_accounted() {
    let runs = |body: Vec<Instr>| {
        let mut set = TaskSet::default();
        let works = set.pinned("works", 0, body);
        set.pinned("hog", 0, vec![work(u64::MAX)]);
        let mut machine = priced_machine(1, "icount");
        (machine.hz, machine.tick) = (250, Ns::from_ms(4));
        Log::of(setup(machine, "v6.12", set, 300 * MS)).runtime(works)
    };
    // The way to the first look and from the last one to the end: four system calls, a switch each way, an exit.
    let beside = runs(vec![Instr::ThreadClock { into: None }; 4]);
    let clock = runs(by_own_clock(100 * MS));
    assert!((100 * MS..100 * MS + beside).contains(&clock), "{clock} and {beside}");
    // 25 turns with a tick of 3 us each, which are no part of what it wants.
    let pure = runs(vec![Instr::RunTime { time: Ns(100 * MS), mode: Mode::User }]);
    assert!(pure > clock + 25 * 3 * US - beside, "{pure} and {clock}");
}
