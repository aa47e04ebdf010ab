//! The watchdog of a CPU lets its stopper run for an instant: what runs there gives way to it, and comes back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, cpu, free_machine, hogs, priced_machine, setup, sleep, work};
use fairground_machine::Machine;
use fairground_model::{Change, Instr, Op, PrevState, Section, TaskSet, TraceEvent};
use fairground_sim::{QueueKind, Simulation};
use fairground_stdx::{CpuMask, TaskId};

const KERNELS: [&str; 10] = ["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.14", "v6.18"];

fn watchdog(set: &mut TaskSet, at: u64, number: u32) {
    set.at(at, Change::Watchdog { cpu: cpu(number) });
}

/// Switches on a CPU from an instant on: when, from whom and in what state, to whom.
fn switches(log: &Log, number: u32, from: u64) -> Vec<(u64, Option<u32>, PrevState, Option<u32>)> {
    let switch = |row: &(u64, _, TraceEvent)| match row.2 {
        TraceEvent::SchedSwitch { prev, prev_state, next } if row.1 == cpu(number) && row.0 >= from => {
            Some((row.0, prev.map(TaskId::get), prev_state, next.map(TaskId::get)))
        }
        _ => None,
    };
    log.events.iter().filter_map(switch).collect()
}

fn one_hog_of(machine: Machine, kernel: &str, at: u64) -> (Log, Simulation) {
    let mut set = hogs(&[0]);
    watchdog(&mut set, at, 0);
    let (log, simulation, _) = Log::and_simulation(setup(machine, kernel, set, 20 * MS));
    (log, simulation)
}

/// Without prices the stopper takes no time: the hog leaves and comes back at one instant, and loses nothing.
#[test]
fn the_running_task_gives_way_for_an_instant() {
    for kernel in KERNELS {
        let at = 7 * MS + 300 * US;
        let (log, simulation) = one_hog_of(free_machine(1, 1000), kernel, at);
        let expected = [(at, Some(0), PrevState::Running, None), (at, None, PrevState::Running, Some(0))];
        assert_eq!(switches(&log, 0, MS), expected, "{kernel}");
        assert_eq!(log.runtime(TaskId::new(0)), 20 * MS, "{kernel}: nothing of its time is lost");
        assert_eq!(simulation.sched().nr_migrations(), 0, "{kernel}");
    }
}

/// With prices the CPU is in the stopper's section for as long as the run of the stopper is booked, and the hog is back
/// when that and the switch are over.
#[test]
fn the_stopper_takes_what_it_costs() {
    for kernel in KERNELS {
        let (log, simulation) = one_hog_of(priced_machine(1, "unit"), kernel, 7 * MS + 300 * US);
        let turns = switches(&log, 0, MS);
        let [(left, Some(0), PrevState::Running, None), (back, None, _, Some(0))] = turns[..] else {
            panic!("{kernel}: {turns:?}");
        };
        let stopper = simulation.kernel_time(cpu(0)).find(|row| row.0 == Section::Stopper).map(|row| row.2.0).unwrap();
        assert!(left >= 7 * MS + 300 * US && stopper > 0, "{kernel}");
        assert!(back - left >= 1 && back - left <= stopper + 1_000, "{kernel}: away for {} ns, stopper {stopper}", back - left);
        assert_eq!(simulation.op_total(Op::LbDetach), 0, "{kernel}: nothing is pushed away");
    }
}

/// Who comes behind the stopper is for the fair class to say; the CPU does not idle beside tasks that wait.
#[test]
fn the_fair_class_picks_anew_behind_the_stopper() {
    for kernel in KERNELS {
        let mut set = hogs(&[0, 0]);
        let at = 13 * MS + 300 * US;
        watchdog(&mut set, at, 0);
        let log = Log::of(setup(free_machine(1, 1000), kernel, set, 60 * MS));
        let turns = switches(&log, 0, at);
        let [first, second, ..] = turns[..] else { panic!("{kernel}: {turns:?}") };
        assert_eq!((first.0, first.2, first.3), (at, PrevState::Running, None), "{kernel}");
        assert_eq!((second.0, second.1), (at, None), "{kernel}");
        assert!(second.3.is_some(), "{kernel}: the CPU does not idle beside two hogs");
        let shares = [0, 1].map(|row| log.runtime(TaskId::new(row)));
        assert_eq!(shares[0] + shares[1], 60 * MS, "{kernel}");
    }
}

/// On an idle CPU the stopper runs for an instant too, and the CPU idles on.
#[test]
fn an_idle_cpu_goes_on_idling() {
    for kernel in KERNELS {
        for prices in ["zero", "unit", "xeon-spr"] {
            let mut set = TaskSet::default();
            let sleeper = set.pinned("sleeper", 0, vec![work(MS), sleep(9 * MS), Instr::Jump { to: 0 }]);
            watchdog(&mut set, 5 * MS, 0);
            let (log, simulation, end) = Log::and_simulation(setup(priced_machine(1, prices), kernel, set, 15 * MS));
            assert_eq!(end.at.ns(), 15 * MS, "{kernel}, {prices}");
            let woken = log.wakeups(sleeper);
            assert_eq!(woken.len(), 1, "{kernel}, {prices}: {woken:?}");
            let between = switches(&log, 0, 5 * MS).into_iter().take_while(|row| row.0 < 10 * MS).count();
            assert_eq!(between, 0, "{kernel}, {prices}: the stopper shows as the idle task does");
            assert!(!simulation.sched().stop_work_due(cpu(0)), "{kernel}, {prices}: it has run");
        }
    }
}

/// A CPU that is off line has no watchdog: nothing happens, then or when it is back.
#[test]
fn off_line_nothing_happens() {
    for kernel in KERNELS {
        let run = |watched: bool| {
            let mut set = hogs(&[0, 0, 0]);
            set.at(5 * MS, Change::Hotplug { cpu: cpu(1), online: false });
            if watched {
                watchdog(&mut set, 7 * MS, 1);
            }
            set.at(9 * MS, Change::Hotplug { cpu: cpu(1), online: true });
            Log::of(setup(free_machine(2, 1000), kernel, set, 20 * MS))
        };
        let (with, without) = (run(true), run(false));
        assert_eq!(with.digest, without.digest, "{kernel}");
        assert_eq!(with.events.len(), without.events.len(), "{kernel}");
    }
}

#[test]
fn a_cpu_that_the_machine_does_not_have_is_refused() {
    let mut set = hogs(&[0]);
    watchdog(&mut set, MS, 2);
    let wrong = Simulation::new(setup(free_machine(2, 1000), "v6.12", set, 20 * MS)).err().unwrap().to_string();
    assert!(wrong.contains("the watchdog of CPU 2 at 1ms cannot be run"), "{wrong}");
}

/// Stoppers of all CPUs between all that tasks do; invariants hold in between, as in every set-up of these tests.
#[test]
fn both_queues_give_one_run() {
    for kernel in KERNELS {
        for prices in ["zero", "unit", "xeon-spr"] {
            let set = || {
                let mut set = hogs(&[0, 3, 0, -5, 0]);
                for row in 0..4 {
                    set.task("sleeper", vec![work((90 + 37 * row) * US), sleep((60 + 53 * row) * US), Instr::Jump { to: 0 }]);
                }
                set.tasks[TaskId::new(1)].affinity = Some(CpuMask::only(cpu(2)));
                for step in 0..60 {
                    watchdog(&mut set, MS / 2 * step + 77 * US * (step % 7), step as u32 % 4);
                }
                set
            };
            let setup = || setup(priced_machine(4, prices), kernel, set(), 40 * MS);
            let mut fast = Simulation::with_queue(QueueKind::Fast, setup()).unwrap();
            let mut heap = Simulation::with_queue(QueueKind::Heap, setup()).unwrap();
            fast.run(&mut fairground_model::NullSink).unwrap();
            heap.run(&mut fairground_model::NullSink).unwrap();
            assert_eq!((fast.digest(), fast.counts()), (heap.digest(), heap.counts()), "{kernel}, {prices}");
            let switches = fast.counts().switches;
            assert!(switches > 100, "{kernel}, {prices}: {switches}");
        }
    }
}
