//! What showed when the scheduler of 5.10.223 ran beside this one: a test for each, without a kernel.

use super::bench::{Bench, CPU, MS};
use crate::{Profile, Request};
use fairground_model::Policy;
use fairground_stdx::{CpuId, CpuMask, Instant};

/// A hog of nice 0 that ran 20 ms takes SCHED_IDLE. Its average and that of its queue stay what they were in 5.10, and the queue's goes by
/// the new weight from 6.1 on.
#[test]
fn the_load_of_a_task_that_becomes_idle_stays_in_v5_10() {
    for (kernel, stays) in [("v5.10", true), ("v6.1", false), ("v6.12", false)] {
        let mut bench = Bench::new(Profile::parse(kernel).unwrap());
        let task = bench.normal(0);
        bench.schedule();
        bench.now = Instant::from_ns(20 * MS);
        bench.call(|sched, cx| sched.sched_setscheduler(cx, task, Policy::Idle).unwrap());
        let (task, queue) = (bench.sched.se_avg(task).load_avg, bench.sched.cfs_avg(CPU).load_avg);
        assert_eq!((task > 500, queue > 500), (stays, stays), "{kernel}: {task}, {queue}");
    }
}

/// The stopper of a CPU with another cache is due at once from v6.12 on; before, when that CPU has taken it off its wake list.
#[test]
fn a_stopper_of_another_cache_waits_on_the_wake_list_up_to_v6_11() {
    let other = CpuId::new(1);
    for (kernel, listed) in [("v4.12", true), ("v5.10", true), ("v6.1", true), ("v6.12", false)] {
        for same_cache in [false, true] {
            let listed = listed && !same_cache;
            let mut bench = Bench::with_cpus(Profile::parse(kernel).unwrap(), 2);
            if !same_cache {
                for cpu in [CPU, other] {
                    bench.machine.cpus[cpu].llc = CpuMask::only(cpu);
                }
                bench.sched = crate::Sched::new(Profile::parse(kernel).unwrap(), &bench.machine);
            }
            bench.sched.rqs[other].lb.push_cpu = Some(CPU);
            bench.call(|sched, cx| sched.ask_for_stopper(cx, other));
            let told = bench.requests.iter().any(|request| matches!(request, Request::WakeListIpi { cpu, .. } if *cpu == other));
            assert_eq!(told, listed, "{kernel}, same cache: {same_cache}");
            assert_eq!(bench.sched.ttwu_pending(other), listed, "{kernel}");
            assert_eq!(bench.sched.stop_work_due(other), !listed, "{kernel}");

            bench.cpu = other;
            bench.call(|sched, cx| sched.sched_ttwu_pending(cx));
            assert!(bench.sched.stop_work_due(other) && !bench.sched.ttwu_pending(other), "{kernel}");
            assert!(bench.sched.rqs[other].need_resched, "{kernel}");
        }
    }
}
