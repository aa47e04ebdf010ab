//! What showed when kernels' own schedulers ran beside this one: a test for each, without a kernel.

use super::bench::{Bench, CPU, MS};
use crate::Profile;
use fairground_model::{Policy, PrevState};
use fairground_stdx::{Instant, TaskId};

fn bench(kernel: &str) -> Bench {
    Bench::new(Profile::parse(kernel).unwrap())
}

impl Bench {
    /// The running task leaves in that state at `ns`.
    pub(super) fn leaves(&mut self, ns: u64, state: PrevState) {
        self.now = Instant::from_ns(ns);
        self.call(|sched, cx| {
            sched.set_current_state(CPU, state);
            sched.schedule(cx);
        });
    }

    /// How far the deadline of a task is ahead of it in virtual time.
    fn request_left(&self, task: TaskId) -> i64 {
        let se = self.sched.se(task);
        se.deadline.since(se.vruntime)
    }
}

#[test]
fn who_becomes_less_urgent_and_is_alone_has_nobody_to_give_way_to() {
    for (kernel, alone) in [("v5.1", true), ("v5.10", false), ("v6.1", false), ("v6.12", false), ("v7.2", false)] {
        let mut bench = bench(kernel);
        let task = bench.normal(0);
        bench.schedule();
        bench.call(|sched, cx| sched.set_user_nice(cx, task, 5));
        assert_eq!(bench.sched.rq(CPU).resched_on_user_return(), alone, "{kernel}");
        bench.normal(0);
        let rq = &mut bench.sched.rqs[CPU];
        (rq.need_resched, rq.need_resched_lazy) = (false, false);
        let running = rq.curr.unwrap();
        bench.call(|sched, cx| sched.set_user_nice(cx, running, 10));
        assert!(bench.sched.rq(CPU).resched_on_user_return(), "{kernel}");
    }
}

/// In v5.1 a queued task that becomes more urgent has the CPU choose again; from v5.6 on it must preempt as at a wake-up, and one of a
/// lower weight than the running task's does not.
#[test]
fn a_queued_task_that_becomes_more_urgent_preempts_as_if_woken_from_v5_6_on() {
    for (kernel, asks) in [("v5.1", true), ("v5.10", false), ("v6.1", false)] {
        let mut bench = bench(kernel);
        bench.normal(-20);
        bench.schedule();
        let waits = bench.normal(19);
        bench.sched.rqs[CPU].need_resched = false;
        bench.call(|sched, cx| sched.set_user_nice(cx, waits, 18));
        assert_eq!(bench.sched.rq(CPU).need_resched, asks, "{kernel}");
    }
}

/// Nice 0 to 5: the weight falls from 1024 to 335. What was left of the request in virtual time stays in v6.12, where nobody thought of
/// it, and grows with the inverse of the weight since.
#[test]
fn what_is_left_of_a_request_is_scaled_with_the_weight_from_v6_13_on() {
    for (kernel, scales) in [("v6.12", false), ("v6.14", true), ("v6.18", true), ("v7.2", true)] {
        let mut bench = bench(kernel);
        let task = bench.normal(0);
        bench.schedule();
        let before = bench.request_left(task);
        bench.call(|sched, cx| sched.set_user_nice(cx, task, 5));
        let expected = if scales { before * 1024 / 335 } else { before };
        assert_eq!(bench.request_left(task), expected, "{kernel}");
    }
}

/// In v4.12 the queue counts a little more than its only task, and keeps that.
#[test]
fn the_averages_of_who_has_ended_go_with_it() {
    for kernel in ["v4.12", "v5.1", "v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel);
        bench.normal(0);
        bench.schedule();
        bench.leaves(20 * MS, PrevState::Dead);
        let before = bench.sched.cfs_avg(CPU).util_avg;
        assert!(before > 100, "{kernel}");
        bench.now = Instant::from_ns(22 * MS);
        bench.call(|sched, cx| sched.update_blocked_averages(cx, CPU));
        let avg = bench.sched.cfs_avg(CPU);
        let most = if kernel == "v4.12" { before / 20 } else { 0 };
        assert!(avg.util_avg <= most && avg.load_avg <= 2 * u64::from(most), "{kernel}: {avg:?}");
    }
}

/// Jiffies here are of 1 ms.
#[test]
fn who_leaves_idle_tasks_only_has_their_cpu_balance_at_the_next_tick() {
    for (kernel, due) in [("v5.1", 100), ("v5.10", 20), ("v5.19", 20), ("v6.1", 20)] {
        let mut bench = bench(kernel);
        bench.normal(0);
        bench.schedule();
        bench.queued(Policy::Idle, 0);
        bench.sched.rqs[CPU].lb.next_balance = 100;
        bench.leaves(20 * MS, PrevState::Sleeping);
        assert_eq!(bench.sched.balance_state(CPU).next_balance, due, "{kernel}");
    }
}

/// A sleeper is taken off an idle CPU 30 ms after that CPU looked last: what its queue loses is what the queue counts, not what is left
/// of it by now.
#[test]
fn what_a_sleeper_takes_off_an_idle_cpu_is_what_the_queue_counts() {
    for kernel in ["v5.19", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel);
        let task = bench.normal(0);
        bench.schedule();
        bench.leaves(20 * MS, PrevState::Sleeping);
        let (se, root) = (bench.sched.se_of(task), bench.sched.rqs[CPU].cfs);
        let counted = bench.sched.cfs_avg(CPU).util_avg;
        bench.now = Instant::from_ns(50 * MS);
        bench.call(|sched, cx| {
            sched.remove_entity_load_avg(cx, se);
            sched.migrate_se_pelt_lag(cx, se);
        });
        let left = bench.sched.se_avg(task).util_avg;
        assert_eq!(bench.sched.cfs_rqs[root].removed.util_avg, u64::from(counted), "{kernel}");
        assert_eq!(left < counted, kernel != "v5.19", "{kernel}: {left} of {counted}");
    }
}

/// The policy that a task has, asked for again. From v6.12 on the call asks for a slice too, of 0, which differs from the one that the
/// task has: it leaves its queue for that and comes back, accounted.
#[test]
fn the_same_policy_again_accounts_who_runs_where_tasks_may_have_slices() {
    for (kernel, accounted) in [("v5.10", 0), ("v6.6", 0), ("v6.12", 2 * MS), ("v6.18", 2 * MS), ("v7.2", 2 * MS)] {
        let mut bench = bench(kernel);
        let task = bench.normal(0);
        bench.schedule();
        bench.now = Instant::from_ns(2 * MS);
        bench.call(|sched, cx| sched.sched_setscheduler(cx, task, Policy::Normal)).unwrap();
        assert_eq!(bench.sched.se(task).sum_exec_runtime, accounted, "{kernel}");
    }
}

/// A task sleeps for 30 ms, and its queue is looked at then. Its weight, given again, puts back what it had when it went to sleep.
#[test]
fn the_same_policy_again_gives_a_sleeper_its_load_back() {
    for (kernel, gains) in [("v5.10", false), ("v6.6", false), ("v6.12", true), ("v6.18", true), ("v7.2", true)] {
        let mut bench = bench(kernel);
        let task = bench.normal(0);
        bench.schedule();
        bench.leaves(20 * MS, PrevState::Sleeping);
        let had = bench.sched.se_avg(task).load_avg;
        bench.now = Instant::from_ns(50 * MS);
        let root = bench.sched.rqs[CPU].cfs;
        bench.call(|sched, cx| {
            sched.update_rq_clock(cx, CPU);
            sched.update_cfs_rq_load_avg(cx, root);
        });
        let left = bench.sched.cfs_avg(CPU).load_avg;
        assert!(left < had, "{kernel}: {left} of {had}");
        bench.call(|sched, cx| sched.sched_setscheduler(cx, task, Policy::Normal)).unwrap();
        assert_eq!(bench.sched.cfs_avg(CPU).load_avg, if gains { had } else { left }, "{kernel}");
    }
}

/// Newidle balance ended with tasks, and none of them can run: the CPU must not idle before it has looked again.
#[test]
fn what_is_found_and_cannot_run_has_the_cpu_balance_again() {
    for kernel in ["v4.12", "v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel);
        bench.normal(0);
        bench.schedule();
        bench.now = Instant::from_ns(5 * MS);
        let leaving = bench.call(|sched, cx| {
            sched.set_current_state(CPU, PrevState::Dead);
            sched.schedule_start(cx)
        });
        bench.sched.rqs[CPU].lb.newidle_found = true;
        assert_eq!(bench.call(|sched, cx| sched.schedule_finish(cx, leaving)), None, "{kernel}");
        let idles = bench.call(|sched, cx| sched.schedule_finish(cx, leaving)).expect("nothing was found this time");
        assert_eq!(idles.next, None, "{kernel}");
    }
}
