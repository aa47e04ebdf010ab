//! Which loads the choice between this CPU and the previous one brings up to date.

use super::machine::{TestMachine, cpu, flat8};

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
