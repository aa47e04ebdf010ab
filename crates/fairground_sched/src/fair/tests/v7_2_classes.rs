//! Changes of class, and newidle balance beside other classes, in Linux 7.2 and before.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use super::bench::{Bench, CPU, MS};
use crate::Profile;
use fairground_model::{DlParams, Policy, PrevState, RtPriority};
use fairground_stdx::{Instant, Ns, TaskId};

fn bench(kernel: &str) -> Bench {
    Bench::new(Profile::parse(kernel).unwrap())
}

fn fifo(priority: i64) -> Policy {
    Policy::Fifo(RtPriority::new(priority).unwrap())
}

fn deadline() -> Policy {
    let [runtime, period] = [10, 100].map(|ms| Ns(ms * MS));
    Policy::Deadline(DlParams { runtime, deadline: period, period, reclaim: false })
}

fn change(bench: &mut Bench, task: TaskId, policy: Policy) {
    bench.call(|sched, cx| sched.sched_setscheduler(cx, task, policy)).unwrap();
}

/// The load of a task of nice 0 is 1024. It is off its queue when its weight is set in 7.2, and that adds it again.
#[test]
fn who_leaves_the_fair_class_leaves_its_load_on_the_queue_in_7_2() {
    for (kernel, left) in [("v6.12", 0), ("v6.18", 0), ("v7.2", 1024)] {
        for policy in [fifo(1), deadline()] {
            let mut bench = bench(kernel);
            let task = bench.normal(0);
            bench.schedule();
            assert_eq!(bench.sched.cfs_avg(CPU).load_avg, 1024);
            change(&mut bench, task, policy);
            assert_eq!(bench.sched.cfs_avg(CPU).load_avg, left, "{kernel} {policy:?}");
        }
    }
}

/// Changes of class of the running task, and whether its CPU is to choose anew: all in 7.2, to the fair class only before.
#[test]
fn a_running_task_that_changes_its_class_gives_way_in_7_2() {
    let steps = [(fifo(1), false), (deadline(), false), (fifo(1), false), (Policy::Normal, true)];
    for (kernel, always) in [("v6.18", false), ("v7.2", true)] {
        let mut bench = bench(kernel);
        let task = bench.normal(0);
        bench.schedule();
        for (policy, before) in steps {
            bench.sched.rqs[CPU].need_resched = false;
            change(&mut bench, task, policy);
            assert_eq!(bench.sched.rqs[CPU].need_resched, always || before, "{kernel} {policy:?}");
        }
        // Within a class nothing changes by that.
        bench.sched.rqs[CPU].need_resched = false;
        change(&mut bench, task, Policy::Batch);
        assert!(!bench.sched.rqs[CPU].need_resched, "{kernel}");
    }
}

/// A fair task runs, and one of the deadline class waits. Its parameters alone are no reason from v6.19 on, a new deadline is.
#[test]
fn parameters_without_a_new_deadline_ask_nobody() {
    for (kernel, without, with) in [("v6.1", false, false), ("v6.18", true, true), ("v7.2", false, true)] {
        let mut bench = bench(kernel);
        bench.normal(0);
        bench.schedule();
        let waits = bench.normal(0);
        change(&mut bench, waits, deadline());
        let now = bench.sched.dl_task_state(waits).unwrap().deadline;
        let mut asks = |old: u64| {
            bench.sched.rqs[CPU].need_resched = false;
            bench.call(|sched, cx| sched.prio_changed_dl(cx, waits, true, old));
            bench.sched.rqs[CPU].need_resched
        };
        assert_eq!([asks(now), asks(now - 1)], [without, with], "{kernel}");
    }
}

/// A real-time task leaves, and who stands on the fair queue sleeps. Up to 7.1 that was enough to spare the CPU a look elsewhere.
#[test]
fn after_a_real_time_task_7_2_looks_elsewhere_when_all_turn_out_to_sleep() {
    for (kernel, looks) in [("v6.12", false), ("v6.18", false), ("v7.2", true)] {
        let mut bench = bench(kernel);
        let tasks = [bench.normal(0), bench.normal(0)];
        let first = bench.schedule();
        bench.now = Instant::from_ns(8 * MS);
        bench.call(|sched, cx| sched.set_current_state(cx.cpu, PrevState::Sleeping));
        let second = bench.schedule();
        assert_ne!(first, second);
        assert!(tasks.contains(&first) && bench.sched.se(first).sched_delayed, "{kernel}");
        change(&mut bench, second, fifo(1));
        bench.now = Instant::from_ns(9 * MS);
        let leaving = bench.call(|sched, cx| {
            sched.set_current_state(CPU, PrevState::Sleeping);
            sched.schedule_start(cx)
        });
        assert!(leaving.found_nothing() && bench.sched.rqs[CPU].nr_running == 0, "{kernel}: the sleeper has left");
        assert_eq!(bench.sched.wants_newidle_balance(CPU, &leaving), looks, "{kernel}");
    }
}
