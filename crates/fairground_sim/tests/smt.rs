//! Threads of one core: what each loses while the other one is busy.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, cpu, priced_machine, setup, sleep, work};
use fairground_machine::Machine;
use fairground_model::{Instr, NullSink, Section, TaskSet, TraceEvent};
use fairground_sim::Simulation;
use fairground_stdx::{Instant, TaskId};

/// Two threads of one core.
fn core(prices: &str, smt_percent: u32) -> Machine {
    let mut machine = priced_machine(2, prices);
    machine.cpus[cpu(1)].core = machine.cpus[cpu(0)].core;
    machine.cpus[cpu(1)].freq_domain = machine.cpus[cpu(0)].freq_domain;
    machine.smt_percent = smt_percent;
    machine
}

fn end_of(log: &Log, task: TaskId) -> u64 {
    let ends = |row: &&(u64, _, TraceEvent)| matches!(row.2, TraceEvent::SchedProcessExit { task: ended } if ended == task);
    log.events.iter().find(ends).unwrap().0
}

/// 10 ms of work on CPU 0, and from 2 ms on 3.1 ms of work on CPU 1.
fn ends(machine: Machine) -> [u64; 2] {
    let mut set = TaskSet::default();
    let tasks = [
        set.pinned("long", 0, vec![work(10 * MS), Instr::Exit]),
        set.pinned("short", 1, vec![sleep(2 * MS), work(3_100_000), Instr::Exit]),
    ];
    let log = Log::of(setup(machine, "v5.19", set, 20 * MS));
    tasks.map(|task| end_of(&log, task))
}

/// ```text
/// CPU 0   2 ms alone | 5 ms beside CPU 1: 3.1 ms of work | 4.9 ms alone
/// CPU 1              | 5 ms: 3.1 ms of work              |
/// ```
#[test]
fn work_is_timed_anew_when_the_sibling_wakes_up_and_goes_idle() {
    assert_eq!(ends(core("zero", 100)), [10 * MS, 5_100_000]);
    assert_eq!(ends(core("zero", 62)), [11_900_000, 7 * MS]);
    let mut two_cores = core("zero", 62);
    two_cores.cpus[cpu(1)].core = 1;
    assert_eq!(ends(two_cores), [10 * MS, 5_100_000]);
}

/// 1 us of CPU work takes 1613 ns beside a busy sibling.
#[test]
fn kernel_work_is_slower_beside_a_busy_sibling() {
    let syscalls = |smt_percent, hog| {
        let mut set = TaskSet::default();
        set.pinned("sleeper", 0, vec![sleep(MS), Instr::Repeat { counter: 0, times: 5, to: 0 }]);
        if hog {
            set.pinned("hog", 1, vec![work(u64::MAX)]);
        }
        let log = Log::of(setup(core("unit", smt_percent), "v5.19", set, 3 * MS));
        let took = |row: &(u64, _, TraceEvent)| match row.2 {
            TraceEvent::KernelSection { section: Section::Syscall, took } if row.1 == cpu(0) => Some(took.0),
            _ => None,
        };
        log.events.iter().find_map(took).unwrap()
    };
    // The timer and the way in and out.
    assert_eq!([syscalls(100, true), syscalls(62, false), syscalls(62, true)], [2_000, 2_000, 3_226]);
}

#[test]
fn a_run_on_threads_of_a_core_can_be_copied() {
    let build = || {
        let mut set = TaskSet::default();
        for row in 0..5 {
            set.task(
                "task",
                vec![sleep(100_000 + 1_000 * row), work(70_000 + 10_000 * row), Instr::Repeat { counter: 0, times: 100, to: 0 }],
            );
        }
        Simulation::new(setup(core("xeon-spr", 62), "v6.12", set, 20 * MS)).unwrap()
    };
    let (mut whole, mut copied) = (build(), build());
    copied.run_until(Instant::from_ns(5_432_100), &mut NullSink).unwrap();
    let mut copied = copied.clone();
    whole.run(&mut NullSink).unwrap();
    copied.run(&mut NullSink).unwrap();
    assert_eq!(whole.digest(), copied.digest());
}
