//! Searches for an idle CPU in whole runs: their counters, and what becomes of a task that no search helps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, asleep_until, cpu, free_machine, priced_machine, repeat, setup, sleep, work};
use fairground_machine::Machine;
use fairground_model::{Change, Instr, SockKind, TaskSet, TraceEvent};
use fairground_sim::Simulation;
use fairground_stdx::{CpuMask, Instant};

/// Pairs that talk over sockets, sleepers and hogs: more tasks than CPUs, but not at any time.
fn crowd() -> TaskSet {
    let mut set = TaskSet::default();
    for row in 0..3 {
        let [client, server] = set.connect(SockKind::Stream);
        let [send, recv] = [|sock| Instr::Send { sock, bytes: 1 }, |sock| Instr::Recv { sock, bytes: 1 }];
        set.task("server", vec![recv(server), work(7_000), send(server), repeat(3_000)]);
        set.task("client", vec![send(client), recv(client), work(5_000 + 900 * row), repeat(3_000)]);
        set.task("sleeper", vec![work(400_000), sleep(150_000 + 70_000 * row), repeat(40)]);
    }
    for row in 0..3 {
        set.task("hog", vec![work((5 + 4 * row) * MS), sleep(9 * MS), repeat(4)]);
    }
    set
}

/// The counters add up at every moment of every run, as the scheduler's own check holds them against one another; here all kinds
/// of searches occur.
///
/// Model: 06 T15
#[test]
fn search_counters_add_up_in_every_run() {
    let mut kinds = [false; 3];
    for kernel in ["v4.12", "v4.20", "v5.10", "v5.19", "v5.19+sis-util", "v6.1", "v6.6", "v6.12", "v6.18"] {
        for prices in ["zero", "xeon-spr"] {
            let mut machine = Machine::preset("lap8").unwrap();
            machine.costs = priced_machine(1, prices).costs;
            let (_, simulation, _) = Log::and_simulation(setup(machine, kernel, crowd(), 60 * MS));
            let sis = simulation.sched().sis_stats();
            assert!(sis.sis_failed <= sis.sis_domain_search && sis.sis_domain_search <= sis.sis_search, "{kernel}: {sis:?}");
            assert!(sis.sis_search <= sis.sis_scanned, "{kernel}: {sis:?}");
            let by_name = sis.sis_search - sis.sis_domain_search;
            let seen = [by_name, sis.sis_domain_search - sis.sis_failed, sis.sis_failed].map(|count| count > 0);
            (0..3).for_each(|kind| kinds[kind] |= seen[kind]);
        }
    }
    assert_eq!(kinds, [true; 3], "known by name, found by search, not found");
}

/// For how long the task that wakes on CPU 0 at 1 s had waited there when CPU 7 pulled it.
///
/// ```text
/// CPU 0 to 6   a hog each, bound to it
/// CPU 7        idle
/// ```
fn waited(kernel: &str, nice: i8) -> u64 {
    let mut set = TaskSet::default();
    for number in 0..7 {
        set.pinned("hog", number, vec![work(u64::MAX)]);
    }
    let free = set.pinned("free", 0, [asleep_until(1_000 * MS).to_vec(), vec![work(u64::MAX)]].concat());
    set.tasks[free].nice = nice;
    set.at(900 * MS, Change::Affinity { task: free, cpus: CpuMask::first_n(8) });
    let mut simulation = Simulation::new(setup(free_machine(8, 1_000), kernel, set, 1_100 * MS)).unwrap();
    let mut log = Log::default();
    simulation.run_until(Instant::from_ns(999 * MS), &mut log).unwrap();
    // Utilisation is 7/8 of the capacity, 896 a CPU: nothing is searched from 820 on.
    assert_eq!(simulation.sched().nr_idle_scan(cpu(7)), Some(0), "{kernel}");
    simulation.run(&mut log).unwrap();
    assert_eq!(log.wakeups(free), [(1_000 * MS, cpu(0))], "{kernel}: no search finds the idle CPU");
    let mut since = 0;
    for &(at, _, event) in log.events.iter().filter(|row| row.0 >= 1_000 * MS) {
        match event {
            TraceEvent::SchedWakeup { task, .. } if task == free => since = at,
            TraceEvent::SchedSwitch { prev: Some(task), .. } if task == free => since = at,
            TraceEvent::SchedMigrateTask { task, dest_cpu, .. } if task == free => {
                assert_eq!(dest_cpu, cpu(7), "{kernel}");
                return at - since;
            }
            _ => {}
        }
    }
    panic!("{kernel}: it is never pulled");
}

/// An idle CPU balances every 8 ms among 8 CPUs.
///
/// Model: 07 T18
#[test]
fn an_idle_cpu_that_no_search_finds_pulls_the_waiting_task_within_8_ms() {
    for kernel in ["v5.19+sis-util", "v6.1", "v6.6", "v6.12", "v6.18"] {
        for nice in [0, 19] {
            let waited = waited(kernel, nice);
            assert!(waited <= 8 * MS, "{kernel}, nice {nice}: {waited} ns");
        }
    }
}
