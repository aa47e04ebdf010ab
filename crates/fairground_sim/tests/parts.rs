//! CPU time by part of a program.

use crate::common::{Build, MS, US, free_machine, setup, sleep, work};
use fairground_model::{Instr, LockKind, LockMode, LockSpec, NullSink, SpinSpec, TaskSet};
use fairground_sim::{PartTimes, Simulation};
use fairground_stdx::{Instant, LockId, Ns, PartId};

const A: Instr = Instr::Part { part: Some(PartId::new(0)) };
const B: Instr = Instr::Part { part: Some(PartId::new(1)) };
const NONE: Instr = Instr::Part { part: None };

fn set() -> TaskSet {
    let mut set = TaskSet::default();
    for name in ["a", "b"] {
        set.parts.push(name.into());
    }
    set
}

fn times(set: TaskSet, cpus: usize, ns: u64) -> PartTimes {
    let mut simulation = Simulation::new(setup(free_machine(cpus, 1000), "v6.12", set, ns)).unwrap();
    simulation.run(&mut NullSink).unwrap();
    simulation.part_times()
}

fn told(times: &PartTimes) -> ([u64; 2], u64) {
    ([0, 1].map(|row| times.parts[PartId::new(row)].0), times.other.0)
}

#[test]
fn time_on_the_cpu_counts_for_the_part_that_was_named_last() {
    let mut set = set();
    set.pinned("t", 0, vec![work(5 * US), A, work(MS), sleep(MS), work(2 * MS), B, work(3 * MS), NONE, work(7 * US)]);
    let times = times(set, 1, 50 * MS);
    assert_eq!(told(&times), ([3 * MS, 3 * MS], 12 * US));
    assert_eq!(times.total(), Ns(6 * MS + 12 * US));
}

/// Two tasks share a CPU up to the end of the run, one in each part: all of its time is told, and neither has the other's.
#[test]
fn who_waits_for_its_cpu_uses_none() {
    let mut set = set();
    set.pinned("a", 0, vec![A, work(u64::MAX)]);
    set.pinned("b", 0, vec![B, work(u64::MAX)]);
    let times = times(set, 1, 100 * MS);
    let ([a, b], other) = told(&times);
    assert_eq!((a + b, other), (100 * MS, 0));
    assert!(a.abs_diff(b) <= 4 * MS, "{a} {b}");
}

#[test]
fn only_the_window_counts() {
    let mut set = set();
    set.pinned("t", 0, vec![A, work(10 * MS), B, work(10 * MS)]);
    set.window = Some((Instant::from_ns(4 * MS), Instant::from_ns(13 * MS)));
    assert_eq!(told(&times(set, 1, 50 * MS)), ([6 * MS, 3 * MS], 0));
}

/// The holder is in part a, the spinner in b: what it spins is in neither. It spins on at the end of the second run.
#[test]
fn spinning_is_a_part_of_its_own() {
    let spin = |end| {
        let mut set = set();
        set.locks.push(LockSpec::new("l", LockKind::Spin(SpinSpec { sleep: None, ..SpinSpec::POSTGRES })));
        let (lock, mode) = (LockId::new(0), LockMode::Write);
        set.pinned("holder", 0, vec![A, Instr::Lock { lock, mode }, work(2 * MS), Instr::Unlock { lock }]);
        set.pinned("spinner", 1, vec![B, work(MS), Instr::Lock { lock, mode }, work(MS), Instr::Unlock { lock }]);
        let times = times(set, 2, end);
        assert!(times.wanted);
        (told(&times), times.spins[lock].0)
    };
    assert_eq!(spin(50 * MS), (([2 * MS, 2 * MS], 0), MS));
    assert_eq!(spin(MS + 30 * US + 17), (([MS + 30 * US + 17, MS], 0), 30 * US + 17));
}
