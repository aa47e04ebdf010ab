//! What a task fetches when it is switched in on another core, or after others.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, busy_until, cpu, free_machine, hogs, setup, work};
use fairground_machine::Machine;
use fairground_model::{Change, Instr, Op, Section, TaskSet, TraceEvent};
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, CpuMask, TaskId};

/// Everything is free but to fetch what is not in the cache.
fn machine(cpus: usize) -> Machine {
    let mut machine = free_machine(cpus, 1000);
    for (op, ns) in [(Op::CacheRefill, 130), (Op::CacheRefillLlc, 300), (Op::CacheRefillSocket, 450)] {
        machine.costs.prices_ps[op as usize] = ns * 1000;
    }
    machine
}

fn refills(simulation: &Simulation, cpu: CpuId) -> (u64, u64) {
    let row = simulation.kernel_time(cpu).find(|row| row.0 == Section::CacheRefill).unwrap();
    (row.1, row.2.0)
}

/// A task with 12 KiB and 1 ms of work moves to CPU 1 in the middle of it.
fn moved(machine: Machine) -> (u64, (u64, u64)) {
    let mut set = TaskSet::default();
    let task = set.pinned("task", 0, vec![work(MS), Instr::Exit]);
    set.tasks[task].working_set_kib = 12;
    set.at(500 * US, Change::Affinity { task, cpus: CpuMask::only(cpu(1)) });
    let (log, simulation, _) = Log::and_simulation(setup(machine, "v5.19", set, 5 * MS));
    let exit = log.events.iter().find(|row| matches!(row.2, TraceEvent::SchedProcessExit { .. })).unwrap().0;
    assert_eq!(refills(&simulation, cpu(0)), (0, 0), "a new task has nothing to fetch");
    (exit, refills(&simulation, cpu(1)))
}

#[test]
fn on_another_core_a_task_fetches_its_working_set() {
    assert_eq!(moved(machine(2)), (MS + 12 * 130, (1, 12 * 130)));
    let mut caches = machine(2);
    caches.cpus[cpu(1)].llc = 1;
    assert_eq!(moved(caches).0, MS + 12 * 300);
    let mut sockets = machine(2);
    (sockets.cpus[cpu(1)].llc, sockets.cpus[cpu(1)].package) = (1, 1);
    assert_eq!(moved(sockets).0, MS + 12 * 450);
    let mut threads = machine(2);
    threads.cpus[cpu(1)].core = 0;
    assert_eq!(moved(threads), (MS, (0, 0)), "a sibling has the same cache");
    let mut small = machine(2);
    small.core_cache_kib = 4;
    assert_eq!(moved(small).0, MS + 4 * 130);
    assert_eq!(moved(free_machine(2, 1000)), (MS, (0, 0)));
}

/// Two hogs of 1024 KiB on a cache of 2048 KiB: what the other one does costs each 1 - 2^(-1/2) of its own.
#[test]
fn on_the_same_core_a_task_fetches_what_others_have_pushed_out() {
    let mut set = hogs(&[0, 0]);
    set.tasks.iter_mut().for_each(|task| task.working_set_kib = 1024);
    let (_, simulation, _) = Log::and_simulation(setup(machine(1), "v5.19", set, 100 * MS));
    let (count, time) = refills(&simulation, cpu(0));
    let each = 1024 * 130 * (65_536 - 46_341) / 65_536;
    assert!(count > 3 && count + 3 >= simulation.counts().switches, "{count} of {:?}", simulation.counts());
    assert_eq!(time, count * each);
}

/// A task that computes until an instant, or until a word changes, does so whether or not it had to fetch something.
#[test]
fn what_ends_at_its_own_time_is_not_delayed() {
    let mut set = TaskSet::default();
    let mut code = busy_until(700 * US).to_vec();
    code.push(Instr::Exit);
    let task: TaskId = set.pinned("task", 0, code);
    set.tasks[task].working_set_kib = 1000;
    set.at(500 * US, Change::Affinity { task, cpus: CpuMask::only(cpu(1)) });
    let log = Log::of(setup(machine(2), "v5.19", set, 5 * MS));
    let exit = log.events.iter().find(|row| matches!(row.2, TraceEvent::SchedProcessExit { .. })).unwrap().0;
    assert_eq!(exit, 700 * US);
}
