//! Phases: what happens on one CPU while another is in the middle of a long kernel path.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, asleep_until, busy_until, cpu, free_machine, priced_machine, setup, work};
use fairground_machine::Machine;
use fairground_model::{Change, Instr, Section, TaskSet, TraceEvent};
use fairground_stdx::{CpuId, CpuMask, TaskId};

/// CPUs 0 and 1 wake one reader each at the same instant; both readers were last on CPU 2, and CPUs
/// 2 and 3 are idle.
fn two_wakers(machine: Machine) -> (Log, [TaskId; 2]) {
    let mut set = TaskSet::default();
    let readers = [0, 1].map(|row| {
        let pipe = set.pipe(1);
        let mut code = busy_until(10 * MS).to_vec();
        code.extend([Instr::Write { pipe, value: None }, work(u64::MAX)]);
        set.pinned("waker", row, code);
        let reader = set.task("reader", vec![Instr::Read { pipe, into: 0 }, work(MS)]);
        set.tasks[reader].affinity = Some([cpu(2), cpu(3)].into_iter().collect::<CpuMask>());
        set.tasks[reader].first_cpu = Some(cpu(2));
        reader
    });
    (Log::of(setup(machine, "v5.19", set, 20 * MS)), readers)
}

fn targets(machine: Machine) -> [Vec<CpuId>; 2] {
    let (log, readers) = two_wakers(machine);
    readers.map(|reader| log.wakeups(reader).into_iter().map(|wakeup| wakeup.1).collect())
}

#[test]
fn two_searches_that_overlap_find_the_same_idle_cpu() {
    for prices in ["unit", "xeon-spr"] {
        assert_eq!(targets(priced_machine(4, prices)), [vec![cpu(2)], vec![cpu(2)]], "{prices}");
    }
}

#[test]
fn without_prices_a_wake_up_is_one_event() {
    assert_eq!(targets(free_machine(4, 1000)), [vec![cpu(2)], vec![cpu(3)]]);
}

/// Every section of a CPU ends before the next begins, and sections cost what the price list says.
#[test]
fn sections_of_a_cpu_follow_one_another() {
    let (log, _) = two_wakers(priced_machine(4, "unit"));
    let mut busy_until = [0; 4];
    for &(at, cpu, event) in &log.events {
        if let TraceEvent::KernelSection { took, .. } = event {
            let until = &mut busy_until[cpu.get() as usize];
            assert!(*until <= at, "a section of CPU {cpu} begins at {at}, in the middle of another");
            assert_eq!(took.0 % US, 0);
            *until = at + took.0;
        }
    }
    // The write: entry and copy (1 us each), search and base of the wake-up and the way of the lines (3), activation (lock,
    // the scaling of its clock, enqueue and perhaps an interrupt to the target).
    let of_waker = |row: &&(u64, CpuId, TraceEvent)| row.0 >= 10 * MS && row.1 == cpu(0);
    let sections: Vec<_> = log
        .events
        .iter()
        .filter(of_waker)
        .filter_map(|row| match row.2 {
            TraceEvent::KernelSection { section, took } if section != Section::SchedTick => Some((section, took.0 / US)),
            _ => None,
        })
        .take(3)
        .collect();
    assert_eq!(sections, [(Section::Syscall, 2), (Section::TryToWakeUp, 3), (Section::TryToWakeUp, 4)]);
}

/// A waker that meets a task whose CPU is still switching away from it waits for that.
#[test]
fn a_waker_waits_until_the_switch_is_over() {
    let mut set = TaskSet::default();
    let pipe = set.pipe(1);
    let mut code = busy_until(10 * MS + 5 * US / 2).to_vec();
    code.extend([Instr::Write { pipe, value: None }, work(u64::MAX)]);
    set.pinned("waker", 0, code);
    let mut code = busy_until(10 * MS).to_vec();
    code.extend([Instr::Read { pipe, into: 0 }, work(MS)]);
    let reader = set.pinned("reader", 1, code);
    let log = Log::of(setup(priced_machine(2, "unit"), "v5.19", set, 12 * MS));
    let switched_at = log
        .events
        .iter()
        .find(|row| matches!(row.2, TraceEvent::SchedSwitch { prev, .. } if prev == Some(reader)))
        .expect("the reader slept")
        .0;
    // schedule() of the reader: pick 1 us, switch to idle 1 us, dequeue 1 us.
    let woken = log.wakeups(reader);
    assert_eq!(woken.len(), 1);
    assert!(woken[0].0 >= switched_at + 3 * US, "woken at {} while the switch began at {switched_at}", woken[0].0);
}

/// The CPUs that a task may use change while it is being woken: it is queued, and moves on at once.
#[test]
fn a_change_of_affinity_waits_for_the_wake_up() {
    for change_us in 0..12 {
        let mut set = TaskSet::default();
        set.pinned("hog", 0, vec![work(u64::MAX)]);
        let mut code = asleep_until(10 * MS).to_vec();
        code.push(work(u64::MAX));
        let wakee = set.task("wakee", code);
        set.tasks[wakee].affinity = Some(CpuMask::only(cpu(1)));
        let cpus = CpuMask::only(cpu(2));
        set.at(10 * MS + change_us * US, Change::Affinity { task: wakee, cpus });
        let (_, simulation, _) = Log::and_simulation(setup(priced_machine(3, "unit"), "v5.19", set, 11 * MS));
        assert_eq!(simulation.sched().rq(cpu(2)).curr, Some(wakee), "changed {change_us} us after the timer");
    }
}
