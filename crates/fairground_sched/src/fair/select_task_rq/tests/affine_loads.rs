//! The choice between this CPU and the previous one: when a waker is alone, and which loads are brought up to date.

use super::machine::{TestMachine, cpu, flat8};
use crate::deadline::{DlSe, DlTimer};
use fairground_model::{Policy, RtPriority};
use fairground_stdx::Instant;

/// A waker that will sleep counts with 1998 on a queue of 1000, so this CPU wins before the task is asked for its load. The load of the
/// queue on which that was stays as old as it is. With a waker of 99 it is brought up to date.
#[test]
fn a_waker_that_is_more_than_its_cpu_leaves_the_load_of_the_previous_queue_old() {
    for kernel in ["v4.20", "v5.10", "v6.1", "v6.12", "v7.2"] {
        for (load, is_old) in [(2000, true), (100, false)] {
            let mut machine = TestMachine::new(kernel, flat8());
            let (waker, sleeper) = (machine.running(0), machine.sleeper(1));
            let (se, queue) = (machine.sched.se_of(waker), machine.sched.rqs[cpu(0)].cfs);
            machine.sched.pelt_se[se].load_avg = load;
            machine.sched.pelt_cfs[queue].load_avg = 1000;
            machine.sched.rqs[cpu(0)].lb.cpu_load = [1000; 5];
            let (placing, sd) = (machine.placing(sleeper, 0, true), machine.sched.topology.cpus[cpu(0)].base.unwrap());
            let previous = machine.sched.rqs[cpu(1)].cfs;
            machine.sched.cfs_rqs[previous].last_h_load_update = None;
            let this = machine.on(0, |sched, cx| sched.wake_affine_weight(cx, &placing, sd));
            assert_eq!(machine.sched.cfs_rqs[previous].last_h_load_update.is_none(), is_old, "{kernel}");
            assert!(this || !is_old, "{kernel}");
        }
    }
}

/// A waker that will sleep leaves its CPU empty if it is the only task there. While the server of the fair class is queued it is not, as
/// far as that counts as a task.
#[test]
fn a_waker_is_not_alone_beside_a_server_that_counts() {
    for (kernel, alone) in [("v6.12", false), ("v6.18", true)] {
        let mut machine = TestMachine::new(kernel, flat8());
        machine.sched.expect_policy(Policy::Fifo(RtPriority::new(1).unwrap()));
        machine.running(0);
        let sleeper = machine.sleeper(1);
        let (placing, sd) = (machine.placing(sleeper, 0, true), machine.sched.topology.cpus[cpu(0)].base.unwrap());
        let is_alone = |machine: &mut TestMachine| machine.on(0, |sched, cx| sched.wake_affine(cx, &placing, sd)) == cpu(0);
        assert!(is_alone(&mut machine), "{kernel}");
        machine.now = Instant::from_ns(2_000_000_000);
        machine.on(0, |sched, cx| sched.dl_timer(cx, DlTimer::Replenish(DlSe::FairServer(cpu(0)))));
        assert!(machine.sched.rqs[cpu(0)].dl.is_runnable(), "{kernel}");
        assert_eq!(is_alone(&mut machine), alone, "{kernel}");
    }
}
