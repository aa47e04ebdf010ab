//! What showed when the schedulers of 6.1.187, 6.18.15 and 7.2.13 ran beside this one: a test for each, without a kernel.

use super::bench::{Bench, CPU, MS};
use crate::Profile;
use crate::core::Arrival;
use crate::fair::{DequeueFlags, EnqueueFlags};
use fairground_model::{Policy, PrevState, RtPriority, TaskSpec};
use fairground_stdx::{CpuMask, Instant, Ns, ProgramId, TaskId, TgId, Vruntime};

fn bench(kernel: &str, cpus: usize) -> Bench {
    Bench::with_cpus(Profile::parse(kernel).unwrap(), cpus)
}

impl Bench {
    /// Two tasks of nice 0. The first one that ran sleeps, and is queued still; the other one runs since 3 ms.
    fn delayed(&mut self) -> (TaskId, TaskId) {
        let tasks = [self.normal(0), self.normal(0)];
        let first = self.schedule();
        let second = *tasks.iter().find(|&&task| task != first).unwrap();
        self.leaves(3 * MS, PrevState::Sleeping);
        assert!(self.sched.se(first).sched_delayed);
        assert_eq!(self.sched.rq(CPU).curr, Some(second));
        (first, second)
    }

    fn group_se(&self, group: TgId) -> fairground_stdx::SeId {
        self.sched.group_on(group, CPU).unwrap().1
    }
}

/// A delayed sleeper is wanted again 1 ms after the last account: in v7.2 the running task is charged with that first.
#[test]
fn who_is_wanted_again_has_the_running_task_charged_in_v7_2() {
    for (kernel, charged) in [("v6.12", 0), ("v6.18", 0), ("v7.2", MS)] {
        let mut bench = bench(kernel, 1);
        let (sleeper, runs) = bench.delayed();
        let se = bench.sched.se_of(sleeper);
        bench.now = Instant::from_ns(4 * MS);
        bench.call(|sched, cx| {
            sched.update_rq_clock(cx, CPU);
            sched.requeue_delayed_entity(cx, se);
        });
        assert_eq!(bench.sched.se(runs).sum_exec_runtime, charged, "{kernel}");
    }
}

/// A task runs for 20 ms without a tick and goes to sleep. In v6.12 the sample is its utilisation before that, half of the CPU's as of any
/// new task; in v7.2 that of now, also if it stays queued.
#[test]
fn the_sample_of_a_sleeper_is_that_of_now_in_v7_2() {
    for (kernel, now) in [("v6.12", false), ("v6.18", false), ("v7.2", true)] {
        for alone in [true, false] {
            let mut bench = bench(kernel, 1);
            if !alone {
                bench.normal(0);
            }
            bench.normal(0);
            let task = bench.schedule();
            let before = bench.sched.se_avg(task).util_avg;
            bench.leaves(20 * MS, PrevState::Sleeping);
            let avg = bench.sched.se_avg(task);
            assert!(avg.util_avg > before, "{kernel}");
            assert_eq!(avg.util_est.ewma, if now { avg.util_avg } else { before }, "{kernel}, alone: {alone}");
        }
    }
}

/// A change reads the clock of the run queue on which its task was last, though the task sleeps, and also if it has that policy already.
#[test]
fn a_change_of_a_sleeper_reads_the_clock_of_its_cpu() {
    for kernel in ["v4.12", "v5.10", "v6.1", "v6.12", "v6.18", "v7.2"] {
        for (nice, policy) in [(5, Policy::Normal), (0, Policy::Batch), (0, Policy::Normal)] {
            let mut bench = bench(kernel, 1);
            let task = bench.normal(0);
            bench.schedule();
            bench.leaves(3 * MS, PrevState::Sleeping);
            bench.now = Instant::from_ns(10 * MS);
            bench.call(|sched, cx| match nice {
                0 => sched.sched_setscheduler(cx, task, policy).unwrap(),
                nice => sched.set_user_nice(cx, task, nice),
            });
            let read = bench.sched.rqs[CPU].clocks.clock - crate::SCHED_CLOCK_AT_START;
            assert_eq!(read, 10 * MS, "{kernel}, nice {nice}, {policy:?}");
        }
    }
}

/// An idle task goes to sleep, and while its CPU looks for work another task is queued there. In v6.18 the mark of who is on the CPU is the
/// lag of who sleeps: it becomes the virtual time.
#[test]
fn who_is_woken_beside_a_sleeper_on_its_way_loses_its_lag_in_v6_18() {
    for (kernel, loses) in [("v6.14", false), ("v6.18", true), ("v7.2", false)] {
        let mut bench = bench(kernel, 1);
        let idle = bench.queued(Policy::Idle, 0);
        bench.schedule();
        bench.call(|sched, cx| {
            sched.set_current_state(CPU, PrevState::Sleeping);
            sched.schedule_start(cx)
        });
        let (se, at) = (bench.sched.se_of(idle), Vruntime((-5 * MS as i64) as u64));
        bench.sched.ses[se].vruntime = at;
        assert_eq!(bench.sched.ses[se].vlag, 0, "{kernel}");
        let other = bench.forked(Policy::Normal, 0);
        bench.call(|sched, cx| {
            sched.wake_up_new_task(cx, other, Some(CPU));
            sched.rqs[CPU].need_resched = false;
            sched.check_preempt_wakeup(cx, CPU, other, Arrival::Plain);
        });
        assert_eq!(bench.sched.ses[se].vlag, if loses { at.0 as i64 } else { 0 }, "{kernel}");
    }
}

/// The entity of a group runs, protected, and gets another weight. In v6.18 its lag is what is left for a mark.
#[test]
fn another_weight_leaves_a_lag_for_a_mark_in_v6_18() {
    for (kernel, is_lag) in [("v6.18", true), ("v7.2", false)] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        bench.queued_in(Some(group));
        bench.queued_in(None);
        bench.schedule();
        let se = bench.group_se(group);
        let root = bench.sched.rqs[CPU].cfs;
        bench.sched.ses[se].vlag = 0;
        if bench.sched.cfs_rqs[root].curr != Some(se) {
            bench.leaves(MS, PrevState::Dead);
        }
        assert_eq!(bench.sched.cfs_rqs[root].curr, Some(se), "{kernel}");
        bench.sched.ses[se].set_vprot(bench.sched.profile.protection, Vruntime(MS));
        bench.call(|sched, cx| sched.sched_group_set_shares(cx, group, 2048));
        let entity = &bench.sched.ses[se];
        assert_eq!(entity.vprot.0 as i64 == entity.vlag, is_lag, "{kernel}: {:?} {}", entity.vprot, entity.vlag);
    }
}

/// Who goes on after a change of its nice value is protected anew in v6.18; in v7.2 the old mark stays.
#[test]
fn who_goes_on_after_a_change_keeps_its_mark_in_v7_2() {
    for (kernel, keeps) in [("v6.18", false), ("v7.2", true)] {
        let mut bench = bench(kernel, 1);
        let task = bench.normal(0);
        bench.schedule();
        let se = bench.sched.se_of(task);
        bench.sched.ses[se].set_vprot(bench.sched.profile.protection, Vruntime(77));
        bench.call(|sched, cx| sched.set_user_nice(cx, task, 5));
        let expected = if keeps { Vruntime(77) } else { bench.sched.ses[se].deadline };
        assert_eq!(bench.sched.ses[se].vprot, expected, "{kernel}");
    }
}

/// A wakee that is not shorter shortens nobody's protection in v6.18, though a shorter task waits.
#[test]
fn only_a_shorter_wakee_shortens_the_protection_in_v6_18() {
    for (kernel, shortens) in [("v6.18", false), ("v7.2", true)] {
        let mut bench = bench(kernel, 1);
        bench.normal(0);
        let runs = bench.schedule();
        let _short = bench.queued_with_slice(0, Ns(MS / 5));
        let wakee = bench.forked(Policy::Normal, 0);
        bench.call(|sched, cx| sched.wake_up_new_task(cx, wakee, Some(CPU)));
        let se = bench.sched.se_of(runs);
        let far = bench.sched.ses[se].vruntime.plus(50 * MS);
        bench.sched.ses[se].set_vprot(bench.sched.profile.protection, far);
        bench.sched.rqs[CPU].need_resched = false;
        bench.call(|sched, cx| sched.check_preempt_wakeup(cx, CPU, wakee, Arrival::Plain));
        assert_eq!(bench.sched.ses[se].vprot != far, shortens, "{kernel}");
    }
}

/// A queue told its group 1 ms ago, by a clock that has not been read since: in v7.2 it may not tell again.
#[test]
fn a_queue_tells_by_the_clock_as_it_was_read_in_v7_2() {
    for (kernel, tells) in [("v6.12", true), ("v6.18", true), ("v7.2", false)] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        bench.queued_in(Some(group));
        bench.schedule();
        let (queue, _) = bench.sched.group_on(group, CPU).unwrap();
        bench.sched.cfs_rqs[queue].last_update_tg_load_avg = bench.sched.rqs[CPU].clocks.clock;
        bench.sched.pelt_cfs[queue].load_avg = 7000;
        bench.now = Instant::from_ns(bench.now.ns() + MS);
        bench.call(|sched, cx| sched.tell_group(cx, queue));
        assert_eq!(bench.sched.cfs_rqs[queue].tg_load_avg_contrib == 7000, tells, "{kernel}");
    }
}

/// A task of nice -20 that waits in a light group goes to the root group: in v7.2 that preempts as a wake-up does.
#[test]
fn who_changes_its_group_while_it_waits_preempts_in_v7_2() {
    for (kernel, asks) in [("v6.12", false), ("v6.18", false), ("v7.2", true)] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 2);
        let idle = bench.queued(Policy::Idle, 0);
        assert_eq!(bench.schedule(), idle, "{kernel}");
        let waits = bench.queued_in(Some(group));
        let rq = &mut bench.sched.rqs[CPU];
        (rq.need_resched, rq.need_resched_lazy) = (false, false);
        bench.call(|sched, cx| sched.sched_move_task(cx, waits, None));
        assert_eq!(bench.sched.rq(CPU).resched_on_user_return(), asks, "{kernel}");
    }
}

/// An idle CPU that is to schedule and has nothing to run: up to v6.11 it looks for tasks, and an idle time begins.
#[test]
fn an_idle_cpu_without_tasks_goes_on_idling_from_v6_12_on() {
    for (kernel, begins) in [("v4.12", true), ("v6.1", true), ("v6.12", false), ("v7.2", false)] {
        let mut bench = bench(kernel, 1);
        bench.sched.rqs[CPU].lb.idle_stamp = 0;
        bench.now = Instant::from_ns(2 * MS);
        bench.call(|sched, cx| sched.schedule(cx));
        assert_eq!(bench.sched.rqs[CPU].lb.idle_stamp != 0, begins, "{kernel}");
    }
}

/// A task of a group is queued on an idle CPU, and another one has taken 300 of the group's 512 to another CPU. Up to v6.11 the group's
/// entity is aged before its queue has taken that off, so that the root queue hears of it the next time only.
#[test]
fn a_group_is_set_before_its_task_on_an_idle_cpu_up_to_v6_11() {
    for (kernel, hears) in [("v5.10", false), ("v6.1", false), ("v6.6", false), ("v6.12", true), ("v7.2", true)] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        bench.queued_in(Some(group));
        let (queue, _) = bench.sched.group_on(group, CPU).unwrap();
        bench.sched.cfs_rqs[queue].removed.nr = 1;
        bench.sched.cfs_rqs[queue].removed.util_avg = 300;
        let before = bench.sched.cfs_avg(CPU).util_avg;
        bench.schedule();
        let after = bench.sched.cfs_avg(CPU).util_avg;
        assert_eq!(after != before, hears, "{kernel}: {before} to {after}");
    }
}

/// The stopper is a runnable task: with one more there are two, and others may look for tasks.
#[test]
fn a_stopper_beside_a_task_makes_others_look() {
    for kernel in ["v4.12", "v6.1", "v7.2"] {
        for beside in [false, true] {
            let mut bench = bench(kernel, 2);
            if beside {
                bench.normal(0);
                bench.schedule();
            }
            bench.call(|sched, cx| sched.wake_stopper(cx, CPU));
            assert_eq!(bench.sched.topology.overload, beside, "{kernel}");
            assert_eq!(bench.sched.rqs[CPU].nr_counted(), 1 + u32::from(beside), "{kernel}");
        }
    }
}

/// Who wakes a stopper has read the clock: the schedule() that puts the running task down does not, however late it comes.
#[test]
fn a_woken_stopper_asks_that_the_clock_be_not_read_again() {
    for kernel in ["v4.12", "v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let task = bench.normal(0);
        bench.schedule();
        bench.now = Instant::from_ns(MS);
        bench.call(|sched, cx| sched.wake_stopper(cx, CPU));
        bench.now = Instant::from_ns(2 * MS);
        bench.call(|sched, cx| sched.schedule_stopper(cx, None));
        assert_eq!(bench.sched.se(task).sum_exec_runtime, MS, "{kernel}");
    }
}

/// A root queue in which nothing is left stands still until somebody comes.
#[test]
fn a_root_queue_without_load_stands_still() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let before = bench.sched.cfs_avg(CPU).last_update_time;
        let aged = |bench: &mut Bench, ms: u64| {
            bench.now = Instant::from_ns(ms * MS);
            bench.call(|sched, cx| sched.update_blocked_averages(cx, CPU));
            bench.sched.cfs_avg(CPU).last_update_time
        };
        assert_eq!(aged(&mut bench, 50), before, "{kernel}");
        bench.normal(0);
        bench.schedule();
        assert!(aged(&mut bench, 100) > before, "{kernel}");
    }
}

/// A CPU that runs its stopper beside tasks of policy SCHED_IDLE alone is not free for others, as one without it is.
#[test]
fn a_cpu_with_a_stopper_is_no_idle_one() {
    let mut bench = bench("v6.12", 2);
    let task = bench.normal(0);
    bench.call(|sched, cx| sched.sched_setscheduler(cx, task, Policy::Idle)).unwrap();
    bench.schedule();
    assert!(bench.sched.sched_idle_cpu(CPU));
    bench.call(|sched, cx| sched.wake_stopper(cx, CPU));
    assert!(!bench.sched.sched_idle_cpu(CPU));
}

/// A sleeper changes its group: what it used counts as changed, and its next sleep is a sample.
#[test]
fn who_changes_its_group_asleep_is_sampled_at_its_next_sleep() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        let task = bench.normal(0);
        bench.schedule();
        bench.leaves(20 * MS, PrevState::Sleeping);
        let se = bench.sched.se_of(task);
        bench.sched.pelt_se[se].util_est.unchanged = true;
        bench.now = Instant::from_ns(30 * MS);
        bench.call(|sched, cx| sched.sched_move_task(cx, task, Some(group)));
        assert!(!bench.sched.se_avg(task).util_est.unchanged, "{kernel}");
    }
}

/// The entity of a group that comes back while it is current is placed before it is charged: by then it has run for 2 ms at no weight that
/// counts.
#[test]
fn who_comes_back_as_the_current_one_is_charged_from_its_new_place() {
    for kernel in ["v6.6", "v6.12", "v6.18", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let task = bench.normal(0);
        bench.schedule();
        let se = bench.sched.se_of(task);
        let root = bench.sched.rqs[CPU].cfs;
        bench.now = Instant::from_ns(2 * MS);
        bench.call(|sched, cx| {
            sched.update_rq_clock(cx, CPU);
            sched.dequeue_entity(cx, se, DequeueFlags::SAVE);
        });
        assert_eq!(bench.sched.cfs_rqs[root].curr, Some(se), "{kernel}");
        let place = bench.sched.averages(root).avg_vruntime();
        bench.now = Instant::from_ns(5 * MS);
        bench.call(|sched, cx| {
            sched.update_rq_clock(cx, CPU);
            sched.enqueue_entity(cx, se, EnqueueFlags::empty());
        });
        assert_eq!(bench.sched.ses[se].vruntime.since(place), 3 * MS as i64, "{kernel}");
    }
}

/// A schedule() that was told not to read the clock goes idle: its newidle balance reads it, and in v7.2 it does not.
#[test]
fn a_newidle_balance_ages_by_the_clock_of_its_schedule_in_v7_2() {
    for (kernel, reads) in [("v6.12", true), ("v6.18", true), ("v7.2", false)] {
        let mut bench = bench(kernel, 2);
        bench.normal(0);
        bench.schedule();
        bench.sched.topology.overload = true;
        bench.sched.rq_clock_skip_update(CPU);
        let before = bench.sched.rqs[CPU].clocks.clock;
        bench.leaves(5 * MS, PrevState::Sleeping);
        assert_eq!(bench.sched.rq(CPU).curr, None);
        let expected = if reads { before + 5 * MS } else { before };
        assert_eq!(bench.sched.rqs[CPU].clocks.clock, expected, "{kernel}");
    }
}

/// A child is placed on its parent's queue up to v6.11, which reads the clock there.
#[test]
fn a_fork_reads_the_clock_only_where_it_places_the_child() {
    for (kernel, reads) in [("v6.1", true), ("v6.6", true), ("v6.12", false), ("v7.2", false)] {
        let mut bench = bench(kernel, 1);
        bench.normal(0);
        bench.schedule();
        let before = bench.sched.rq(CPU).clocks.clock;
        bench.now = Instant::from_ns(3 * MS);
        bench.forked(Policy::Normal, 0);
        assert_eq!(bench.sched.rq(CPU).clocks.clock > before, reads, "{kernel}");
    }
}

/// The nice value of a real-time task counts only when it is a fair one again. A new one has the clock of its CPU read all the same, up to v6.18.
#[test]
fn a_new_nice_value_of_a_real_time_task_reads_the_clock_of_its_cpu() {
    for (kernel, reads) in [("v5.10", true), ("v6.1", true), ("v6.18", true), ("v7.2", false)] {
        let mut bench = bench(kernel, 1);
        let task = bench.queued(Policy::Fifo(RtPriority::new(1).unwrap()), 0);
        bench.schedule();
        let mut read = |ms: u64, nice| {
            bench.now = Instant::from_ns(ms * MS);
            let before = bench.sched.rqs[CPU].clocks.clock;
            bench.call(|sched, cx| sched.set_user_nice(cx, task, nice));
            bench.sched.rqs[CPU].clocks.clock > before
        };
        assert_eq!([read(20, 5), read(21, 5), read(22, -5)], [reads, false, reads], "{kernel}");
    }
}

/// Who is not born yet has the weight and the load of the nice value that it will be born with, whatever its class: there is nothing that
/// could come later. 15 is the weight of nice 19, in units of 1024 for nice 0.
#[test]
fn a_new_nice_value_counts_at_once_for_who_is_not_born_yet() {
    for kernel in ["v4.12", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 1);
        for policy in [Policy::Normal, Policy::Fifo(RtPriority::new(1).unwrap())] {
            let mut spec = TaskSpec::new("task", ProgramId::new(0));
            spec.policy = policy;
            let task = bench.sched.add_task(&spec, CpuMask::only(CPU));
            bench.call(|sched, cx| sched.set_user_nice(cx, task, 19));
            let load = bench.sched.profile.scale_load_down.apply(bench.sched.se(task).load.weight());
            assert_eq!((load, bench.sched.se_avg(task).load_avg), (15, 15), "{kernel} {policy:?}");
        }
    }
}
