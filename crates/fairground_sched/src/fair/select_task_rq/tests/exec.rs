//! What the stopper that moves a task at its `exec` changes for its CPU.

use super::machine::{TestMachine, cpu, flat8};

/// Two tasks were born on an idle CPU, one runs there, and nobody has been woken there yet: the idle time ends as its `exec` wakes the stopper,
/// and up to v6.18 a wake-up is what ends it.
#[test]
fn the_stopper_of_an_exec_ends_an_idle_time() {
    for (kernel, ends) in [("v5.10", true), ("v6.1", true), ("v6.12", true), ("v7.2", false)] {
        let mut machine = TestMachine::new(kernel, flat8());
        let task = machine.running(0);
        machine.running(0);
        let began = machine.sched.rqs[cpu(0)].clocks.clock;
        let lb = &mut machine.sched.rqs[cpu(0)].lb;
        (lb.avg_idle, lb.idle_stamp) = (1_000_000, began);
        machine.now = fairground_stdx::Instant::from_ns(machine.now.ns() + 200_000);
        machine.on(0, |sched, cx| sched.sched_exec(cx));
        assert!(machine.sched.tasks[task].migration_pending.is_some(), "{kernel}: it goes to another CPU");
        let lb = &machine.sched.rqs[cpu(0)].lb;
        assert_eq!((lb.avg_idle, lb.idle_stamp == 0), (if ends { 900_000 } else { 1_000_000 }, ends), "{kernel}");
    }
}

/// The other thread of its core is busy, so a task goes to the other core as it becomes another program. The stopper that moves it is the
/// second task of its CPU, which tells all others that somebody waits.
#[test]
fn the_stopper_of_an_exec_has_its_cpu_tell_that_somebody_waits() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut view = fairground_model::MachineView::flat(4, fairground_stdx::Ns(4_000_000));
        for number in 0..4 {
            let core = number / 2 * 2;
            view.cpus[cpu(number)].smt = (core..core + 2).map(cpu).collect();
        }
        let mut machine = TestMachine::new(kernel, view);
        let task = machine.running(0);
        machine.running(1);
        assert!(!machine.sched.topology.overload, "{kernel}");
        machine.on(0, |sched, cx| sched.sched_exec(cx));
        assert!(machine.sched.tasks[task].migration_pending.is_some(), "{kernel}: it goes to another CPU");
        assert!(machine.sched.topology.overload, "{kernel}");
    }
}
