//! What showed when more random systems ran under the schedulers of 6.1.187 and 6.12.107 beside this one: a test for each, without a kernel.

use super::bench::{Bench, CPU, MS};
use crate::Profile;
use fairground_model::{CpuMax, Policy, PrevState, RtPriority, TaskSpec};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, ProgramId, Vruntime};

const OTHER: CpuId = CpuId::new(1);

fn bench(kernel: &str, cpus: usize) -> Bench {
    Bench::with_cpus(Profile::parse(kernel).unwrap(), cpus)
}

fn fifo(priority: i64) -> Policy {
    Policy::Fifo(RtPriority::new(priority).unwrap())
}

impl Bench {
    fn falls_asleep(&mut self, ns: u64) {
        self.now = Instant::from_ns(ns);
        self.call(|sched, cx| {
            sched.set_current_state(CPU, PrevState::Sleeping);
            sched.schedule(cx);
        });
    }

    fn becomes(&mut self, task: fairground_stdx::TaskId, policy: Policy) {
        self.call(|sched, cx| sched.sched_setscheduler(cx, task, policy)).unwrap();
    }
}

/// Two tasks of one weight; the first to run uses 3 ms, so that it has had more than its share, and sleeps on its queue. Its estimate is
/// 100, it has used 300 since, and its CPU expects 500. It becomes a real-time task.
#[test]
fn a_sleeper_on_its_queue_that_leaves_the_fair_class_is_sampled_once_more() {
    for (kernel, ewma, expected) in [("v6.12", 300, 400), ("v6.18", 300, 500), ("v7.2", 100, 500)] {
        let mut bench = bench(kernel, 1);
        bench.normal(0);
        bench.normal(0);
        let sleeper = bench.schedule();
        bench.falls_asleep(3 * MS);
        let (se, root) = (bench.sched.se_of(sleeper), bench.sched.rqs[CPU].cfs);
        assert!(bench.sched.ses[se].sched_delayed, "{kernel}");
        let avg = &mut bench.sched.pelt_se[se];
        (avg.util_avg, avg.util_est.ewma, avg.util_est.unchanged) = (300, 100, false);
        bench.sched.pelt_cfs[root].util_est.enqueued = 500;
        bench.becomes(sleeper, fifo(1));
        let est = (bench.sched.pelt_se[se].util_est.ewma, bench.sched.pelt_cfs[root].util_est.enqueued);
        assert_eq!(est, (ewma, expected), "{kernel}");
    }
}

/// A task sleeps, leaves the fair class and comes back 10 ms later: its utilisation counts as changed.
#[test]
fn who_comes_back_to_the_fair_class_asleep_is_sampled_at_its_next_sleep() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let task = bench.normal(0);
        bench.schedule();
        bench.falls_asleep(20 * MS);
        bench.becomes(task, fifo(1));
        let se = bench.sched.se_of(task);
        bench.sched.pelt_se[se].util_est.unchanged = true;
        bench.now = Instant::from_ns(30 * MS);
        bench.becomes(task, Policy::Normal);
        assert!(!bench.sched.pelt_se[se].util_est.unchanged, "{kernel}");
    }
}

/// Its virtual time is that of a new task still: the floor of the queue is not taken off as it leaves the class, and not added as it comes
/// back.
#[test]
fn a_sleeper_that_has_never_run_for_any_time_keeps_its_virtual_time_in_another_class() {
    for kernel in ["v5.10", "v6.1"] {
        for (ran, kept) in [(0, true), (1, false)] {
            let mut bench = bench(kernel, 1);
            let task = bench.normal(0);
            bench.schedule();
            bench.falls_asleep(0);
            let se = bench.sched.se_of(task);
            (bench.sched.ses[se].vruntime, bench.sched.ses[se].sum_exec_runtime) = (Vruntime(7000), ran);
            bench.set_min_vruntime(5000);
            bench.becomes(task, fifo(1));
            assert_eq!(bench.vruntime(task) == 7000, kept, "{kernel}, ran {ran} ns");
            bench.becomes(task, Policy::Normal);
            assert_eq!(bench.vruntime(task), 7000, "{kernel}, ran {ran} ns");
        }
    }
}

/// Somebody yields while CPUs have gone off line since its last request: in 6.12 stable and 7.2 the next one is as long as they are now.
#[test]
fn a_request_after_a_yield_is_as_long_as_the_base_slice_is_now() {
    for (kernel, renewed) in [("v6.12", true), ("v6.18", false), ("v7.2", true)] {
        let mut bench = bench(kernel, 1);
        bench.normal(0);
        bench.normal(0);
        let task = bench.schedule();
        let (se, slice) = (bench.sched.se_of(task), bench.sched.tunables.base_slice_ns);
        bench.sched.tunables.base_slice_ns = 2 * slice;
        bench.call(|sched, cx| sched.yield_task_fair(cx, task));
        assert_eq!(bench.sched.ses[se].slice, if renewed { 2 * slice } else { slice }, "{kernel}");
    }
}

/// A task that is called away by exec leaves a SCHED_IDLE task: with the stopper that moves it the CPU is not left to idle tasks, so it does
/// not balance at the next tick for that. When the stopper leaves an empty CPU it balances.
#[test]
fn the_stopper_that_moves_a_task_counts_as_one_and_balances_as_it_leaves() {
    for kernel in ["v6.1", "v6.12"] {
        for with_idle in [true, false] {
            let mut bench = bench(kernel, 2);
            let task = bench.normal(0);
            bench.schedule();
            if with_idle {
                bench.queued(Policy::Idle, 0);
            }
            bench.sched.rqs[CPU].lb.next_balance = 1000;
            bench.sched.tasks[task].cpus_allowed = fairground_stdx::CpuMask::first_n(2).into();
            bench.sched.tasks[task].migration_pending = Some(OTHER);
            let next = bench.call(|sched, cx| sched.schedule(cx)).next;
            assert_eq!((next, bench.sched.task(task).cpu), (None, OTHER), "{kernel}");
            assert_eq!(bench.sched.rqs[CPU].lb.next_balance, 1000, "{kernel}");
            let leaving = bench.call(|sched, cx| sched.schedule_start(cx));
            assert_eq!(bench.sched.wants_newidle_balance(CPU, &leaving), !with_idle, "{kernel}");
        }
    }
}

/// A task runs in a group in a group for 2 ms, and the upper group has no quota left. Its CPU finds that as it chooses, and a newidle balance
/// brings another task: in v6.12 the time of the first one counts as idle time of the server, and is lost.
#[test]
fn what_ran_below_a_queue_that_is_throttled_in_the_pick_is_lost_in_v6_12() {
    for (kernel, ran) in [("v6.1", 2 * MS), ("v6.12", 0)] {
        let mut bench = bench(kernel, 1);
        let upper = bench.group(None, 1024);
        let lower = bench.group(Some(upper), 1024);
        let limit = CpuMax { quota: Some(Ns(20 * MS)), period: Ns(100 * MS), burst: Ns::ZERO };
        bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, upper, limit));
        let task = bench.queued_in(Some(lower));
        bench.schedule();
        let pool = bench.sched.pool(upper).unwrap();
        pool.runtime = 0;
        pool.reset(CPU, 0);
        bench.now = Instant::from_ns(2 * MS);
        let leaving = bench.call(|sched, cx| sched.schedule_start(cx));
        assert!(leaving.found_nothing(), "{kernel}");
        let other = bench.normal(0);
        let switch = bench.call(|sched, cx| sched.schedule_finish(cx, leaving)).unwrap();
        assert_eq!((switch.prev, switch.next), (Some(task), Some(other)), "{kernel}");
        assert_eq!(bench.sched.se(task).sum_exec_runtime, ran, "{kernel}");
    }
}

/// A group has a task that waits, and a group whose task has run for 0.1 ms and has no quota left. The CPU chooses that group again, which
/// it throttles, and then the task. Up to v6.11 all levels are set anew, so the slice of the upper group begins.
#[test]
fn a_pick_that_throttles_a_queue_begins_the_slices_of_all_levels_up_to_v6_11() {
    for (kernel, anew) in [("v6.1", true), ("v6.12", false)] {
        let mut bench = bench(kernel, 1);
        let upper = bench.group(None, 1024);
        let lower = bench.group(Some(upper), 1024);
        let limit = CpuMax { quota: Some(Ns(20 * MS)), period: Ns(100 * MS), burst: Ns::ZERO };
        bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, lower, limit));
        let limited = bench.queued_in(Some(lower));
        assert_eq!(bench.schedule(), limited);
        let stays = bench.queued_in(Some(upper));
        let pool = bench.sched.pool(lower).unwrap();
        pool.runtime = 0;
        pool.reset(CPU, 0);
        bench.now = Instant::from_ns(MS / 10);
        assert_eq!(bench.schedule(), stays, "{kernel}");
        let (_, se) = bench.sched.group_on(upper, CPU).unwrap();
        let entity = &bench.sched.ses[se];
        assert_eq!(entity.prev_sum_exec_runtime == entity.sum_exec_runtime, anew, "{kernel}");
    }
}

/// A running task comes to a group whose queue is throttled at once, so the group above is not reached as it is queued. It is as the task
/// is set to go on: its queue takes a slice of 5 ms of the pool. v7.2 throttles at charges, and asks there.
#[test]
fn a_task_that_is_set_has_all_levels_ask_for_quota() {
    for kernel in ["v4.12", "v5.10", "v6.1", "v6.6", "v6.12"] {
        let mut bench = bench(kernel, 1);
        let upper = bench.group(None, 1024);
        let lower = bench.group(Some(upper), 1024);
        let limit = CpuMax { quota: Some(Ns(20 * MS)), period: Ns(100 * MS), burst: Ns::ZERO };
        for group in [upper, lower] {
            bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, group, limit));
        }
        let task = bench.normal(0);
        bench.schedule();
        bench.sched.group_queue(Some(lower), CPU);
        for (group, left) in [(lower, 0), (upper, 20 * MS)] {
            let pool = bench.sched.pool(group).unwrap();
            pool.runtime = left;
            pool.reset(CPU, 0);
        }
        bench.call(|sched, cx| sched.sched_move_task(cx, task, Some(lower)));
        let (queue, _) = bench.sched.group_on(lower, CPU).unwrap();
        assert!(bench.sched.cfs_rq_throttled(queue), "{kernel}");
        assert_eq!(bench.sched.pool(upper).unwrap().runtime, 15 * MS, "{kernel}");
    }
}

/// FIFO to round robin at one priority: who waits keeps its place.
#[test]
fn who_changes_its_real_time_policy_alone_keeps_its_place() {
    for kernel in ["v4.12", "v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let [first, _second] = [(); 2].map(|()| bench.queued(fifo(1), 0));
        bench.becomes(first, Policy::RoundRobin(RtPriority::new(1).unwrap()));
        assert_eq!(bench.schedule(), first, "{kernel}");
    }
}

/// A new weight of a group accounts the group's entity, and not the task that runs in it: the server is charged with the next account of that.
#[test]
fn a_server_is_charged_with_what_tasks_run() {
    for kernel in ["v6.12", "v6.18", "v7.2"] {
        let mut bench = bench(kernel, 1);
        bench.sched.expect_policy(fifo(1));
        let group = bench.group(None, 1024);
        bench.queued_in(Some(group));
        bench.schedule();
        let left = |bench: &Bench| bench.sched.fair_server(CPU).unwrap().0;
        let before = left(&bench);
        bench.now = Instant::from_ns(bench.now.ns() + MS);
        let root = bench.sched.rqs[CPU].cfs;
        bench.call(|sched, cx| {
            sched.update_rq_clock(cx, CPU);
            sched.update_curr(cx, root);
        });
        assert_eq!(left(&bench), before, "{kernel}");
        bench.call(|sched, cx| sched.update_curr_of_all_levels(cx));
        assert_eq!(left(&bench), before - MS as i64, "{kernel}");
    }
}

/// A queue's minimum begins 2^20 ns before 0, and a child of nice -20 is placed 69,219 ns behind the minimum. The parent is a real-time task, so
/// nobody of the queue runs from whom the child could have its virtual time: it is 0, and nobody is placed backwards.
#[test]
fn the_child_of_another_class_begins_at_0_on_a_new_queue() {
    for (kernel, nice, placed) in [("v5.10", -20, 1 << 20), ("v6.1", -20, 1 << 20), ("v6.1", 0, 5_999_998)] {
        let mut bench = bench(kernel, 1);
        let parent = bench.queued(fifo(1), 0);
        bench.schedule();
        let mut spec = TaskSpec::new("child", ProgramId::new(0));
        (spec.policy, spec.nice) = (Policy::Batch, nice);
        let child = bench.sched.add_task(&spec, CpuMask::only(CPU));
        bench.call(|sched, cx| sched.sched_fork(cx, Some(parent), child));
        assert_eq!(bench.vruntime(child), placed, "{kernel}, nice {nice}: relative to the minimum");
    }
}
