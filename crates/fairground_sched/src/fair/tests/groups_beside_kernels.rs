//! What showed in groups when kernels' own schedulers ran beside this one: a test for each, without a kernel.

use super::bench::{Bench, CPU, MS};
use crate::Profile;
use crate::fair::{DequeueFlags, EnqueueFlags};
use fairground_model::{CpuMax, Policy, PrevState, TaskSpec};
use fairground_stdx::{CfsRqId, CpuId, CpuMask, Instant, Ns, ProgramId, SeId, TaskId, TgId, Vruntime};

const OTHER: CpuId = CpuId::new(1);

fn bench(kernel: &str, cpus: usize) -> Bench {
    Bench::with_cpus(Profile::parse(kernel).unwrap(), cpus)
}

impl Bench {
    /// The queue of a group on a CPU, and the entity that stands for it.
    fn on(&mut self, group: TgId, cpu: CpuId) -> (CfsRqId, SeId) {
        self.sched.group_queue(Some(group), cpu);
        self.sched.group_on(group, cpu).unwrap()
    }
}

/// Two tasks of a group, the second far ahead in virtual time: both go to sleep with negative lag, and leave in one schedule() only. The
/// root queue was aged last when the first fell asleep, and takes the one that leaves for runnable since then, as is right: the other
/// ran. From 1024 * 1 of 10 ms on it has what its group has.
#[test]
fn who_leaves_at_last_was_runnable_to_the_queues_above() {
    for kernel in ["v6.12", "v6.14", "v6.18", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        let tasks = [bench.queued_in(Some(group)), bench.queued_in(Some(group))];
        let (queue, _) = bench.on(group, CPU);
        let first = bench.schedule();
        let second = *tasks.iter().find(|&&task| task != first).unwrap();
        bench.leaves(3 * MS, PrevState::Sleeping);
        assert!(bench.sched.se(first).sched_delayed, "{kernel}");
        assert_eq!(bench.sched.rq(CPU).curr, Some(second), "{kernel}");
        bench.leaves(13 * MS, PrevState::Sleeping);
        assert_eq!(bench.sched.rq(CPU).curr, None, "{kernel}: both have left");
        let (root, below) = (bench.sched.cfs_avg(CPU).runnable_avg, bench.sched.pelt_cfs[queue].runnable_avg);
        assert!(root.abs_diff(below) < 80, "{kernel}: {root} above, {below} below");
    }
}

/// What a removed group has left is taken off the queue above, be it nothing: the queue then gives its entity anew what it has.
#[test]
fn a_removed_group_that_nobody_used_is_noted_above() {
    for kernel in ["v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let above = bench.group(None, 1024);
        let group = bench.group(Some(above), 1024);
        bench.queued_in(Some(above));
        let (queue, _) = bench.on(above, CPU);
        assert!(bench.sched.group_on(group, CPU).is_none(), "{kernel}");
        bench.call(|sched, cx| sched.remove_group(cx, group)).unwrap();
        assert_eq!(bench.sched.cfs_rqs[queue].removed.nr, 1, "{kernel}");
    }
}

/// A queue tells its group once in 1 ms: had it told before the task that goes to another CPU was taken off, that would stand.
#[test]
fn who_goes_to_another_cpu_is_off_what_the_queue_tells() {
    for kernel in ["v6.6", "v6.12", "v6.18", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        let tasks = [bench.queued_in(Some(group)), bench.queued_in(Some(group))];
        let (queue, _) = bench.on(group, CPU);
        let runs = bench.schedule();
        let waits = *tasks.iter().find(|&&task| task != runs).unwrap();
        bench.now = Instant::from_ns(3 * MS);
        bench.call(|sched, cx| {
            sched.update_rq_clock(cx, CPU);
            sched.deactivate_task(cx, waits, DequeueFlags::MIGRATING);
        });
        let load = bench.sched.pelt_cfs[queue].load_avg;
        assert!((900..1100).contains(&load), "{kernel}: {load} of one task is left");
        assert_eq!(bench.sched.cfs_rqs[queue].tg_load_avg_contrib, load, "{kernel}");
    }
}

/// All sums of the queue are 0. What it told last, or a queue below that is aged still, keeps it on the list.
#[test]
fn a_queue_is_aged_until_it_has_told_that_it_is_empty() {
    for (kernel, with_child, told) in [
        ("v4.12", true, true),
        ("v5.10", true, true),
        ("v5.19", false, true),
        ("v6.1", false, true),
        ("v6.12", false, false),
        ("v6.14", false, true),
        ("v6.18", false, false),
        ("v7.2", false, false),
    ] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        let child = bench.group(Some(group), 1024);
        let ((queue, _), (below, _)) = (bench.on(group, CPU), bench.on(child, CPU));
        assert!(bench.sched.cfs_rq_is_decayed(queue), "{kernel}");
        bench.sched.cfs_rqs[queue].tg_load_avg_contrib = 5;
        assert_eq!(bench.sched.cfs_rq_is_decayed(queue), told, "{kernel}");
        bench.sched.cfs_rqs[queue].tg_load_avg_contrib = 0;
        bench.sched.list_add_leaf_cfs_rq(below);
        assert_eq!(bench.sched.cfs_rq_is_decayed(queue), with_child, "{kernel}");
    }
}

/// A group's queue left the list while one below it was stopped, and both came back. A queue asks only the one right before
/// it on the list, so it finds the one below if that came with it, and not if a queue of another group stands between.
#[test]
fn a_queue_finds_one_below_it_only_right_before_it_on_the_list() {
    for kernel in ["v5.19", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let (group, other) = (bench.group(None, 1024), bench.group(None, 1024));
        let child = bench.group(Some(group), 1024);
        let [queue, other, below] = [group, other, child].map(|group| bench.on(group, CPU).0);
        let root = bench.sched.rqs[CPU].cfs;
        let listed = |bench: &Bench| bench.sched.rqs[CPU].leaf_cfs_rqs.clone();
        // From the leaf up, as an enqueue goes.
        [below, queue, root, other].into_iter().for_each(|queue| bench.sched.list_add_leaf_cfs_rq(queue));
        assert_eq!(listed(&bench), [below, queue, other], "{kernel}");
        assert!(!bench.sched.cfs_rq_is_decayed(queue), "{kernel}: the one below is right before it");
        bench.sched.list_del_leaf_cfs_rq(queue);
        bench.sched.list_add_leaf_cfs_rq(queue);
        assert_eq!(listed(&bench), [below, other, queue], "{kernel}: right before the root queue");
        assert!(bench.sched.cfs_rq_is_decayed(queue), "{kernel}: the one below is not found");
        assert!(!bench.sched.cfs_rq_is_decayed(root), "{kernel}: a queue of the root stands before it");
    }
}

/// A branch whose queue above is not on the list begins at the front, and who is taken off ends it.
#[test]
fn a_branch_goes_to_the_front_of_the_list_of_queues_to_age() {
    let mut bench = bench("v6.12", 1);
    let (group, other) = (bench.group(None, 1024), bench.group(None, 1024));
    let child = bench.group(Some(group), 1024);
    let [queue, other, below] = [group, other, child].map(|group| bench.on(group, CPU).0);
    let root = bench.sched.rqs[CPU].cfs;
    [other, root, below].into_iter().for_each(|queue| bench.sched.list_add_leaf_cfs_rq(queue));
    let rq = &bench.sched.rqs[CPU];
    assert_eq!((&rq.leaf_cfs_rqs[..], rq.leaf_branch), (&[below, other][..], Some(below)));
    bench.sched.list_add_leaf_cfs_rq(queue);
    let rq = &bench.sched.rqs[CPU];
    assert_eq!((&rq.leaf_cfs_rqs[..], rq.leaf_branch), (&[below, other, queue][..], None), "the root is on it");
    [queue, below].into_iter().for_each(|queue| bench.sched.list_del_leaf_cfs_rq(queue));
    bench.sched.list_add_leaf_cfs_rq(below);
    bench.sched.cfs_rqs[below].on_list = false;
    bench.sched.tidy_leaf_list(CPU);
    let rq = &bench.sched.rqs[CPU];
    assert_eq!((&rq.leaf_cfs_rqs[..], rq.leaf_branch), (&[other][..], None));
}

/// Hierarchical loads are kept for a jiffy, so nobody may ask for one too early: a new task has no part in any, one that runs has.
#[test]
fn the_choice_of_a_cpu_for_a_new_task_asks_for_no_hierarchical_load() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 2);
        let spec = TaskSpec::new("task", ProgramId::new(0));
        let task = bench.sched.add_task(&spec, CpuMask::first_n(2));
        bench.call(|sched, cx| sched.sched_fork(cx, None, task));
        bench.call(|sched, cx| sched.wake_up_new_task(cx, task, None));
        let kept = |bench: &Bench| bench.sched.rqs.iter().any(|rq| bench.sched.cfs_rqs[rq.cfs].last_h_load_update.is_some());
        assert!(!kept(&bench), "{kernel}");
        bench.cpu = bench.sched.task(task).cpu;
        bench.schedule();
        bench.call(|sched, cx| sched.sched_exec(cx));
        assert!(kept(&bench), "{kernel}");
    }
}

/// A balance in the middle of schedule() finds tasks while the CPU is to give way anyway, and asks that the clock be not read again.
/// Since v6.7 the schedule() after that heeds it.
#[test]
fn what_a_balance_within_schedule_asks_of_the_clock_holds_for_the_next_one() {
    for (kernel, keeps) in [("v5.10", false), ("v6.1", false), ("v6.6", false), ("v6.12", true), ("v6.18", true), ("v7.2", true)]
    {
        let mut bench = bench(kernel, 1);
        bench.normal(0);
        bench.schedule();
        bench.now = Instant::from_ns(5 * MS);
        let leaving = bench.call(|sched, cx| {
            sched.set_current_state(CPU, PrevState::Dead);
            sched.schedule_start(cx)
        });
        bench.sched.rq_clock_skip_update(CPU);
        bench.call(|sched, cx| sched.schedule_finish(cx, leaving));
        assert_eq!(bench.sched.skips_next_clock_update(CPU), keeps, "{kernel}");
        bench.now = Instant::from_ns(6 * MS);
        bench.call(|sched, cx| sched.schedule(cx));
        let read = bench.sched.rqs[CPU].clocks.clock == bench.now.ns() + crate::SCHED_CLOCK_AT_START;
        assert_eq!(read, !keeps, "{kernel}");
        assert!(!bench.sched.skips_next_clock_update(CPU), "{kernel}");
    }
}

/// An empty group gets the least weight, 2, when its weight or that of a group in it is written, and has the default of 1024 * 1024 until
/// then. From v6.12 on an empty group keeps what it has.
#[test]
fn written_weights_make_empty_groups_light() {
    for (kernel, written) in [("v4.12", 2), ("v5.10", 2), ("v6.1", 2), ("v6.6", 2), ("v6.12", 1 << 20), ("v7.2", 1 << 20)] {
        let mut bench = bench(kernel, 1);
        let default = bench.group(None, 1024);
        let parent = bench.group(None, 1024);
        let child = bench.group(Some(parent), 2048);
        let weight = |bench: &mut Bench, group| {
            let (_, se) = bench.on(group, CPU);
            bench.sched.ses[se].load.weight()
        };
        let weights = [default, parent, child].map(|group| weight(&mut bench, group));
        assert_eq!(weights, [1 << 20, written, written], "{kernel}");
    }
}

/// The kernel walks all CPUs, also those on which nobody of the group was.
#[test]
fn a_written_weight_ages_queues_above_on_all_cpus() {
    for kernel in ["v4.20", "v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel, 2);
        let group = bench.group(None, 1024);
        bench.cpu = OTHER;
        bench.queued_in(None);
        bench.schedule();
        let before = bench.sched.cfs_avg(OTHER).last_update_time;
        bench.cpu = CPU;
        bench.now = Instant::from_ns(5 * MS);
        bench.call(|sched, cx| sched.sched_group_set_shares(cx, group, 2048));
        let aged_ns = bench.sched.cfs_avg(OTHER).last_update_time - before;
        assert!(aged_ns > 4 * MS, "{kernel}: {aged_ns}");
    }
}

/// The first idle task that is forked on an empty queue: nobody there is idle, so it stands beside others.
#[test]
fn an_idle_task_has_the_floor_of_idle_tasks_on_an_empty_queue() {
    for (kernel, floor) in [("v5.19", 700), ("v6.1", 700)] {
        let mut bench = bench(kernel, 1);
        let tunables = &mut bench.sched.tunables;
        (tunables.latency_ns, tunables.min_granularity_ns, tunables.idle_min_granularity_ns) = (10, 9000, 700);
        let task = bench.forked(Policy::Idle, 0);
        assert_eq!(bench.slice(task), floor, "{kernel}");
    }
}

/// A group goes on with another of its tasks, and the CPU with it: from v5.14 on it stays the next buddy.
#[test]
fn a_group_that_goes_on_keeps_its_buddy_mark() {
    for (kernel, keeps) in [("v4.12", false), ("v5.10", false), ("v5.19", true), ("v6.1", true)] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        let waits = bench.normal(0);
        bench.queued_in(Some(group));
        bench.queued_in(Some(group));
        bench.set_vruntime(waits, 100 * MS);
        let (_, se) = bench.on(group, CPU);
        let first = bench.schedule();
        bench.leaves(MS, PrevState::Sleeping);
        let (curr, root) = (bench.sched.rq(CPU).curr.unwrap(), bench.sched.rqs[CPU].cfs);
        assert!(curr != first && curr != waits, "{kernel}");
        assert_eq!(bench.sched.cfs_rqs[root].next == Some(se), keeps, "{kernel}");
    }
}

/// A group with a quota, out of it, and a group in that with two tasks. One goes to the root group: the throttled queue loses its load
/// from v6.0 on.
#[test]
fn load_that_leaves_below_a_throttled_queue_leaves_that_too() {
    for (kernel, takes) in [("v4.20", false), ("v5.19", false), ("v6.1", true), ("v6.12", true)] {
        let mut bench = bench(kernel, 1);
        let outer = bench.group(None, 1024);
        let inner = bench.group(Some(outer), 1024);
        let limit = CpuMax { quota: Some(Ns(MS)), ..CpuMax::UNLIMITED };
        bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, outer, limit));
        let tasks: [TaskId; 2] = [bench.queued_in(Some(inner)), bench.queued_in(Some(inner))];
        let (queue, _) = bench.on(outer, CPU);
        bench.schedule();
        bench.now = Instant::from_ns(5 * MS);
        bench.call(|sched, cx| {
            sched.sched_tick(cx);
            sched.schedule(cx);
        });
        assert!(bench.sched.cfs_rq_throttled(queue), "{kernel}");
        let before = bench.sched.pelt_cfs[queue].util_avg;
        bench.now = Instant::from_ns(6 * MS);
        bench.call(|sched, cx| sched.sched_move_task(cx, tasks[0], None));
        let after = bench.sched.pelt_cfs[queue].util_avg;
        assert_eq!(after < before, takes, "{kernel}: {before} to {after}");
    }
}

/// Up to when the CPU counts as idle: to the wake-up that ends it, or to the switch away from the idle task.
#[test]
fn an_idle_time_ends_with_the_idle_task_in_v7_2() {
    for (kernel, at_switch) in [("v6.1", false), ("v6.12", false), ("v6.18", false), ("v7.2", true)] {
        let mut bench = bench(kernel, 1);
        bench.normal(0);
        bench.schedule();
        bench.leaves(5 * MS, PrevState::Dead);
        bench.sched.rqs[CPU].lb.idle_stamp = bench.sched.rqs[CPU].clocks.clock;
        let before = bench.sched.rqs[CPU].lb.avg_idle;
        bench.now = Instant::from_ns(6 * MS);
        // A new task comes without a wake-up.
        bench.normal(0);
        assert_eq!(bench.sched.rqs[CPU].lb.avg_idle, before, "{kernel}");
        bench.schedule();
        assert_eq!(bench.sched.rqs[CPU].lb.avg_idle != before, at_switch, "{kernel}");
        assert_eq!(bench.sched.rqs[CPU].lb.idle_stamp == 0, at_switch, "{kernel}");
    }
}

/// Three tasks wait at 0, 3 and 6 ms of virtual time. v6.18.15 moves zero to their average whenever one comes or goes; the mainline
/// before it stays at the smallest, v7.2 until it is asked.
#[test]
fn zero_follows_those_that_wait_in_v6_18() {
    for (kernel, follows) in [("v6.14", false), ("v6.18", true)] {
        let mut bench = bench(kernel, 1);
        let tasks = [bench.normal(0), bench.normal(0), bench.normal(0)];
        let root = bench.sched.rqs[CPU].cfs;
        for (task, at) in tasks.into_iter().zip([0, 3 * MS, 6 * MS]) {
            let se = bench.sched.se_of(task);
            bench.sched.level(se).dequeue_from_order();
            bench.sched.ses[se].vruntime = Vruntime(at);
            bench.sched.level(se).enqueue_in_order();
        }
        bench.sched.cfs_rqs[root].move_zero_of_averages(Vruntime(0));
        bench.sched.waiting_changed(root);
        let zero = bench.sched.cfs_rqs[root].min_vruntime;
        assert_eq!(zero, Vruntime(if follows { 3 * MS } else { 0 }), "{kernel}");
        assert_eq!(bench.sched.averages(root).avg_vruntime(), Vruntime(3 * MS), "{kernel}");
    }
}

/// A delayed sleeper with more negative lag than the limit is woken. In v7.2 its place is moved up to the limit; before, only what it
/// gained was looked at.
#[test]
fn a_woken_delayed_sleeper_over_the_limit_is_placed_anew_in_v7_2() {
    for (kernel, moves) in [("v6.12", false), ("v6.18", false), ("v7.2", true)] {
        let mut bench = bench(kernel, 1);
        let tasks = [bench.normal(0), bench.normal(0)];
        let first = bench.schedule();
        bench.leaves(3 * MS, PrevState::Sleeping);
        let se = bench.sched.se_of(first);
        assert!(tasks.contains(&first) && bench.sched.ses[se].sched_delayed, "{kernel}");
        // A second of virtual time ahead of the other.
        bench.sched.level(se).dequeue_from_order();
        bench.sched.ses[se].vruntime = bench.sched.ses[se].vruntime.plus(1000 * MS);
        bench.sched.level(se).enqueue_in_order();
        let before = bench.vruntime(first);
        bench.call(|sched, cx| sched.requeue_delayed_entity(cx, se));
        assert_eq!(bench.vruntime(first) != before, moves, "{kernel}");
    }
}

/// Without NO_HZ no clock of an idle CPU is estimated: who leaves one is aged up to the last reading.
#[test]
fn a_sleeper_is_aged_up_to_the_last_reading_without_nohz() {
    for (seam, ages) in [("estimated", true), ("as-read", false)] {
        let profile = Profile::parse("v6.12").unwrap().with_seam("sleeper_clock", seam).unwrap();
        let mut bench = Bench::new(profile);
        let task = bench.normal(0);
        bench.schedule();
        bench.leaves(20 * MS, PrevState::Sleeping);
        let (se, before) = (bench.sched.se_of(task), bench.sched.se_avg(task).util_avg);
        bench.now = Instant::from_ns(50 * MS);
        bench.call(|sched, cx| {
            sched.remove_entity_load_avg(cx, se);
            sched.migrate_se_pelt_lag(cx, se);
        });
        assert_eq!(bench.sched.se_avg(task).util_avg < before, ages, "{seam}");
    }
}

/// A task of nice 0 with a lag of 1 us comes to a queue with one of nice 19 only, which is at its average: the average will be near the
/// newcomer, and so is zero from then on in v7.2.
#[test]
fn zero_follows_a_newcomer_that_is_heavier_than_the_queue_in_v7_2() {
    for (kernel, follows) in [("v6.12", false), ("v7.2", true)] {
        let mut bench = bench(kernel, 1);
        let light = bench.normal(19);
        let heavy = bench.forked(Policy::Normal, 0);
        let (root, se) = (bench.sched.rqs[CPU].cfs, bench.sched.se_of(heavy));
        bench.sched.ses[se].vlag = 1000;
        bench.call(|sched, cx| sched.place_entity_by_lag(cx, root, se, false));
        let average = bench.sched.se(light).vruntime;
        assert!(bench.sched.ses[se].vruntime.since(average) < -1000, "{kernel}");
        let zero = bench.sched.cfs_rqs[root].min_vruntime;
        assert_eq!(zero, if follows { bench.sched.ses[se].vruntime } else { average }, "{kernel}");
    }
}

/// A task of a group sleeps without ever having run for any time and goes to another group: its virtual time was never made relative to a
/// queue, so it stays as it is, however far apart both queues are. From v6.6 on there is lag instead.
#[test]
fn who_has_never_run_keeps_its_virtual_time_in_another_group() {
    for (kernel, ran_ns, kept) in [("v4.12", 0, true), ("v5.10", 0, true), ("v6.1", 0, true), ("v6.1", 1, false)] {
        let mut bench = bench(kernel, 1);
        let groups = [bench.group(None, 1024), bench.group(None, 1024)];
        let task = bench.queued_in(Some(groups[0]));
        bench.schedule();
        bench.leaves(ran_ns, PrevState::Sleeping);
        let (queue, _) = bench.on(groups[1], CPU);
        bench.sched.cfs_rqs[queue].min_vruntime = Vruntime(1 << 40);
        let before = bench.vruntime(task);
        bench.call(|sched, cx| sched.sched_move_task(cx, task, Some(groups[1])));
        assert_eq!(bench.vruntime(task) == before, kept, "{kernel}");
    }
}

/// A task asks for its policy again while another one of its group waits. Its group, which is put down and stays queued, is accounted for
/// that, and has used up its request: the CPU is to choose again.
#[test]
fn a_group_that_is_put_down_may_end_its_turn() {
    for kernel in ["v6.12", "v6.18", "v7.2"] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        let tasks = [bench.queued_in(Some(group)), bench.queued_in(Some(group))];
        bench.queued_in(None);
        let (_, se) = bench.on(group, CPU);
        let mut runs = bench.schedule();
        while !tasks.contains(&runs) {
            bench.leaves(0, PrevState::Dead);
            bench.queued_in(None);
            runs = bench.sched.rq(CPU).curr.unwrap();
        }
        // The task is within the half of its request that a new one has; its group has used its own.
        bench.sched.ses[se].deadline = bench.sched.ses[se].vruntime.plus(1);
        let rq = &mut bench.sched.rqs[CPU];
        (rq.need_resched, rq.need_resched_lazy) = (false, false);
        bench.now = Instant::from_ns(bench.now.ns() + MS / 4);
        bench.call(|sched, cx| sched.sched_setscheduler(cx, runs, Policy::Normal)).unwrap();
        let rq = bench.sched.rq(CPU);
        assert!(rq.need_resched || rq.need_resched_lazy, "{kernel}");
    }
}

/// The mark of a picked entity lies where its lag does. A group leaves with its only task and comes back with another one within a newidle
/// balance, with the deadline that it had. It was not picked anew, and is not protected. From v6.17 on the mark is no deadline.
#[test]
fn who_left_its_queue_has_lost_the_mark() {
    for kernel in ["v6.6", "v6.12", "v6.14"] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, 1024);
        let task = bench.queued_in(Some(group));
        let (queue, se) = bench.on(group, CPU);
        bench.schedule();
        let root = bench.sched.ses[se].cfs_rq;
        assert!(bench.sched.ses[se].has_deadline_mark(), "{kernel}");
        let deadline = bench.sched.ses[se].deadline;
        bench.call(|sched, cx| {
            sched.update_rq_clock(cx, CPU);
            sched.dequeue_task(cx, task, DequeueFlags::SAVE);
            sched.enqueue_task(cx, task, EnqueueFlags::RESTORE);
        });
        assert_eq!((bench.sched.cfs_rqs[root].curr, bench.sched.cfs_rqs[queue].nr_running), (Some(se), 1), "{kernel}");
        bench.sched.ses[se].deadline = deadline;
        assert!(!bench.sched.ses[se].has_deadline_mark(), "{kernel}");
    }
}

/// A task of one group forks a child into another one, as clone3() can (CLONE_INTO_CGROUP). The parent is accounted for 2 ms, and the child
/// stands a slice after the minimum of the parent's queue, relative to that. Ten there have 0.75 ms each, of which the other group, with
/// nobody queued, would get half. Alone on its own queue, which counts from 100 ms, it would have half of 6 ms.
#[test]
fn a_child_of_another_group_is_placed_on_its_parents_queue() {
    for kernel in ["v5.1", "v5.10", "v6.1"] {
        let mut bench = bench(kernel, 1);
        let (group, other) = (bench.group(None, 1024), bench.group(None, 1024));
        let parent = bench.queued_in(Some(group));
        assert_eq!(bench.schedule(), parent, "{kernel}");
        for _ in 0..8 {
            bench.queued_in(Some(group));
        }
        let [queue, elsewhere] = [group, other].map(|group| bench.on(group, CPU).0);
        bench.sched.cfs_rqs[queue].min_vruntime = Vruntime(20 * MS);
        bench.sched.cfs_rqs[elsewhere].min_vruntime = Vruntime(100 * MS);
        let mut spec = TaskSpec::new("child", ProgramId::new(0));
        spec.group = Some(other);
        let child = bench.sched.add_task(&spec, CpuMask::only(CPU));
        bench.now = Instant::from_ns(2 * MS);
        bench.call(|sched, cx| sched.sched_fork(cx, Some(parent), child));
        assert_eq!(bench.sched.se(parent).sum_exec_runtime, 2 * MS, "{kernel}: the parent is accounted");
        let slice = 10 * MS * 3 / 4 / 2;
        assert!(bench.vruntime(child).abs_diff(slice) < 10, "{kernel}: {}", bench.vruntime(child));
    }
}
