//! Shares of groups, the load that makes them, and the CPU time that follows from them, without the engine.

use crate::fair::group::Tell;
use crate::fair::tests::bench::{Bench, MS};
use crate::fair::weight::LoadWeight;
use crate::pelt::{PELT_MIN_DIVIDER, PeltFamily, Scale, SchedAvg, SeLoad};
use crate::{Profile, Waking};
use fairground_model::{PrevState, WakeContext};
use fairground_stdx::{CfsRqId, CpuId, CpuMask, Instant, SeId, TaskId, TgId};

const KERNELS: [&str; 9] = ["v4.12", "v4.12+independent-runnable", "v4.20", "v5.1", "v5.19", "v6.1", "v6.6", "v6.14", "v6.18"];
/// cpu.weight 10000 and 100 as shares.
const MOST: u64 = 102_400;
const DEFAULT: u64 = 1024;

fn bench(kernel: &str, cpus: usize) -> Bench {
    Bench::with_cpus(Profile::parse(kernel).unwrap(), cpus)
}

/// A group that was used on CPU 0, with its queue and entity there.
fn used_group(bench: &mut Bench, parent: Option<TgId>, shares: u64) -> (TgId, CfsRqId, SeId) {
    let group = bench.group(parent, shares);
    bench.sched.group_queue(Some(group), CpuId::new(0));
    let (queue, se) = bench.sched.group_on(group, CpuId::new(0)).unwrap();
    (group, queue, se)
}

/// Model: 03 T01
#[test]
fn the_shares_of_a_cpu_follow_its_part_of_the_groups_load() {
    // Shares, load here, load everywhere, what of that was told from here: weight.
    let table = [
        (1024, 1024, 2048, 1024, 524_288),
        (1024, 2048, 2048, 2048, 1_048_576),
        (1024, 1024, 4096, 0, 209_715),
        (1024, 0, 4096, 0, 2),
        (1024, 1024, 0, 0, 1_048_576),
        (1024, 3072, 4096, 3072, 786_432),
        (1024, 1024, 4096, 1024, 262_144),
        (15, 1024, 8192, 1024, 1920),
        (1024, 1024, 3174, 102, 262_144),
        (1024, 102, 3174, 102, 33_697),
    ];
    for (shares, load, everywhere, told, weight) in table {
        let mut bench = bench("v4.12", 1);
        let (group, queue, _) = used_group(&mut bench, None, shares);
        bench.sched.groups[group].load_avg = everywhere;
        bench.sched.cfs_rqs[queue].tg_load_avg_contrib = told;
        assert_eq!(bench.sched.calc_group_shares(queue, load), weight, "{shares} {load} {everywhere} {told}");
    }
}

/// A blocked load that is more than the weights counts from v4.15 on.
///
/// Model: 03 T01
#[test]
fn a_blocked_load_above_the_weights_counts_in_shares_from_v4_15_on() {
    for (kernel, weight) in [("v4.12", 260_364), ("v4.20", 515_693), ("v5.19", 515_693), ("v6.14", 515_693)] {
        let mut bench = bench(kernel, 1);
        let (group, queue, se) = used_group(&mut bench, None, 1024);
        bench.sched.groups[group].load_avg = 6000;
        bench.sched.cfs_rqs[queue].tg_load_avg_contrib = 2900;
        bench.sched.cfs_rqs[queue].load = LoadWeight::new(1024 << 10);
        bench.sched.pelt_cfs[queue].load_avg = 3000;
        bench.call(|sched, cx| sched.update_cfs_group(cx, se));
        assert_eq!(bench.sched.ses[se].load.weight(), weight, "{kernel}");
    }
}

/// Model: 03 T01
#[test]
fn the_runnable_weight_is_the_runnable_part_of_the_weight() {
    for (load, weights, runnable, runnable_weights, second) in [(2048, 1024, 1024, 1024, 262_144), (1024, 0, 0, 0, 2)] {
        let mut bench = bench("v4.20", 1);
        let (_, queue, _) = used_group(&mut bench, None, 1024);
        let avg = &mut bench.sched.pelt_cfs[queue];
        (avg.load_avg, avg.runnable_avg) = (load, runnable);
        let cfs_rq = &mut bench.sched.cfs_rqs[queue];
        cfs_rq.load = LoadWeight::new(weights << 10);
        cfs_rq.runnable_weight = runnable_weights << 10;
        assert_eq!(bench.sched.calc_group_runnable(queue, 524_288), second);
    }
}

/// Model: 03 T01
#[test]
fn the_hierarchical_load_is_scaled_down_level_by_level() {
    let mut bench = bench("v4.12", 1);
    let (outer, queue, se) = used_group(&mut bench, None, 1024);
    let (_, inner_queue, inner_se) = used_group(&mut bench, Some(outer), 1024);
    let task = bench.queued_in(Some(outer));
    let child = bench.queued_in(Some(TgId::new(1)));
    let root = bench.sched.rqs[CpuId::new(0)].cfs;
    let task_se = bench.sched.se_of(task);
    let child_se = bench.sched.se_of(child);
    for (avg, load) in [(root, 3072), (queue, 3072), (inner_queue, 511)] {
        bench.sched.pelt_cfs[avg].load_avg = load;
    }
    for (avg, load) in [(se, 2048), (task_se, 1024), (inner_se, 512), (child_se, 512)] {
        bench.sched.pelt_se[avg].load_avg = load;
    }
    assert_eq!(bench.call(|sched, cx| sched.task_h_load(cx, task)), 682);
    assert_eq!(bench.sched.cfs_rqs[queue].h_load, 2047);
    // The child's queue: 2047 * 512 / 3073; the child is all of it.
    assert_eq!(bench.call(|sched, cx| sched.task_h_load(cx, child)), 341);
    assert_eq!(bench.sched.cfs_rqs[inner_queue].h_load, 341);
}

/// Model: 03 T01
#[test]
fn a_queue_tells_its_group_changes_of_more_than_a_64th() {
    for (told, load, written) in
        [(6400, 6500, false), (6400, 6501, true), (6400, 6300, false), (6400, 6299, true), (63, 64, true)]
    {
        let mut bench = bench("v4.12", 1);
        let (group, queue, _) = used_group(&mut bench, None, 1024);
        bench.sched.groups[group].load_avg = 10_000;
        bench.sched.cfs_rqs[queue].tg_load_avg_contrib = told;
        bench.sched.pelt_cfs[queue].load_avg = load;
        bench.call(|sched, cx| sched.tell_group(cx, queue));
        let (contribution, sum) = if written { (load, 10_000 + load - told) } else { (told, 10_000) };
        assert_eq!(bench.sched.cfs_rqs[queue].tg_load_avg_contrib, contribution);
        assert_eq!(bench.sched.groups[group].load_avg, sum);
    }
}

/// Counts and loads on three levels with one, two and three tasks in the innermost group, and on the way back.
///
/// Model: 03 T02
#[test]
fn enqueue_and_dequeue_keep_counts_and_loads_on_three_levels() {
    for kernel in KERNELS {
        let mut bench = bench(kernel, 1);
        let outer = bench.group(None, DEFAULT);
        let middle = bench.group(Some(outer), DEFAULT);
        let inner = bench.group(Some(middle), DEFAULT);
        let levels = |bench: &Bench| {
            let queue = |group: TgId| bench.sched.group_on(group, CpuId::new(0)).unwrap().0;
            let queues = [bench.sched.rqs[CpuId::new(0)].cfs, queue(outer), queue(middle), queue(inner)];
            queues.map(|queue| {
                let cfs_rq = &bench.sched.cfs_rqs[queue];
                (cfs_rq.nr_running, cfs_rq.h_nr_running, cfs_rq.load.weight())
            })
        };
        // Alone in its parent, a group has all of its shares.
        let one = 1024 << 10;
        for tasks in 1..=3 {
            bench.queued_in(Some(inner));
            let above = (1, tasks, one);
            assert_eq!(levels(&bench), [above, above, above, (tasks, tasks, u64::from(tasks) * one)], "{kernel}");
            bench.sched.check().unwrap();
        }
        for tasks in (0..3).rev() {
            bench.schedule();
            bench.sched.set_current_state(CpuId::new(0), PrevState::Dead);
            bench.call(|sched, cx| sched.schedule(cx));
            let above = (u32::from(tasks > 0), tasks, if tasks > 0 { one } else { 0 });
            assert_eq!(levels(&bench).map(|row| row.1), [tasks; 4], "{kernel}");
            assert_eq!(levels(&bench)[..3].iter().map(|row| row.0).collect::<Vec<_>>(), [above.0; 3], "{kernel}");
            bench.sched.check().unwrap();
        }
    }
}

/// 32 CPUs, 32 tasks: two on CPU 0, none on CPU 31. The last to come is the one of `last`.
fn published(kernel: &str, shares: u64, last: u32) -> (Bench, TgId, Vec<TaskId>) {
    let mut bench = bench(kernel, 32);
    let group = bench.group(None, shares);
    let mut cpus: Vec<u32> = [0].into_iter().chain(0..31).collect();
    let at = cpus.iter().rposition(|&cpu| cpu == last).unwrap();
    let moved = cpus.remove(at);
    cpus.push(moved);
    let mut tasks = Vec::new();
    for cpu in cpus {
        bench.cpu = CpuId::new(cpu);
        tasks.push(bench.queued_in(Some(group)));
    }
    assert_eq!(bench.sched.groups[group].load_avg, 32 << 10);
    (bench, group, tasks)
}

/// The group's entities are brought up to date: its queues have told their loads at different times.
fn refresh(bench: &mut Bench, group: TgId) {
    for cpu in bench.sched.cpu_ids() {
        let Some((_, se)) = bench.sched.group_on(group, cpu) else { continue };
        bench.cpu = cpu;
        bench.call(|sched, cx| sched.update_load_avg(cx, se, Tell::Group));
    }
    bench.cpu = CpuId::new(0);
}

fn root_runnable(bench: &Bench, cpu: u32) -> u64 {
    bench.sched.cfs_avg(CpuId::new(cpu)).runnable_avg
}

fn sleep_and_wake(bench: &mut Bench) -> (u64, u64, u64) {
    bench.cpu = CpuId::new(0);
    bench.schedule();
    let before = root_runnable(bench, 0);
    let sleeper = bench.sched.rqs[CpuId::new(0)].curr.unwrap();
    bench.sched.set_current_state(CpuId::new(0), PrevState::Sleeping);
    bench.schedule();
    let asleep = root_runnable(bench, 0);
    let flags = crate::WakeFlags { sync: false, context: WakeContext::Hardirq };
    bench.call(|sched, cx| match sched.ttwu_select(cx, sleeper, flags) {
        Waking::Selected(_) => sched.ttwu_activate(cx, sleeper, CpuId::new(0)),
        other => panic!("{other:?}"),
    });
    (before, asleep, root_runnable(bench, 0))
}

/// Model: 03 T05
#[test]
fn runnable_load_is_right_at_once_with_the_patch() {
    for (shares, two, one) in [(MOST, 6400, 3200), (DEFAULT, 64, 32)] {
        let (mut bench, group, _) = published("v4.12+independent-runnable", shares, 1);
        refresh(&mut bench, group);
        assert_eq!([0, 1, 30, 31].map(|cpu| root_runnable(&bench, cpu)), [two, one, one, 0]);
        // While one sleeps the queue's told load still holds it, so that the others' part is 30 of 31 tasks.
        let asleep = shares * 1024 / (31 << 10);
        assert_eq!(sleep_and_wake(&mut bench), (two, asleep, two));
    }
}

/// Without the patch nothing shows at that instant, unless a task has come for good.
///
/// Model: 03 T05
#[test]
fn runnable_load_is_late_without_the_patch() {
    for (shares, two, one) in [(MOST, 2048, 1024), (DEFAULT, 63, 31)] {
        let (bench, _, _) = published("v4.12", shares, 1);
        assert_eq!(root_runnable(&bench, 1), one);
        let (mut bench, _, _) = published("v4.12", shares, 0);
        assert_eq!((root_runnable(&bench, 0), root_runnable(&bench, 31)), (two, 0));
        assert_eq!(sleep_and_wake(&mut bench), (two, two, two));
    }
}

/// Model: 01 T16
#[test]
fn two_runnable_tasks_of_a_group_count_twice_at_once_with_the_patch() {
    let (mut bench, group, _) = published("v4.12+independent-runnable", MOST, 1);
    refresh(&mut bench, group);
    let (_, _, woken) = sleep_and_wake(&mut bench);
    assert_eq!(woken, 2 * root_runnable(&bench, 1));
    let (mut bench, _, _) = published("v4.12", MOST, 1);
    let (two, one, again) = sleep_and_wake(&mut bench);
    assert_eq!((two, again), (one, one));
}

/// CPU 0 loses its second task to CPU 31: with the patch that shows at once.
///
/// Model: 03 T06
#[test]
fn a_task_that_leaves_shows_at_once_with_the_patch() {
    let (mut bench, group, tasks) = published("v4.12+independent-runnable", MOST, 1);
    refresh(&mut bench, group);
    bench.schedule();
    let waits =
        |task: &&TaskId| bench.sched.tasks[**task].cpu == CpuId::new(0) && bench.sched.rqs[CpuId::new(0)].curr != Some(**task);
    let second = *tasks.iter().find(waits).unwrap();
    bench.call(|sched, cx| sched.detach_task(cx, second, CpuId::new(31)));
    bench.cpu = CpuId::new(31);
    bench.call(|sched, cx| sched.attach_task(cx, second));
    assert_eq!(root_runnable(&bench, 0), 3303, "the part of one task of 31, as long as no other queue has told of the second");
    // The queue subtracts what was removed and tells its load; then all others look.
    bench.cpu = CpuId::new(0);
    bench.call(|sched, cx| sched.sched_tick(cx));
    refresh(&mut bench, group);
    assert_eq!([0, 1, 31].map(|cpu| root_runnable(&bench, cpu)), [3200; 3]);
}

/// Without the patch the entity ages towards its weight: the half of a change takes about 32 periods.
///
/// Model: 03 T06
#[test]
fn half_of_a_change_in_weight_shows_after_32_periods() {
    let mut avg = SchedAvg { last_update_time: 1 << 20, ..SchedAvg::default() };
    let mut periods = |count: usize, weight: u64| {
        for _ in 0..count {
            let now = avg.last_update_time + (1 << 20);
            let load = SeLoad { on_rq: true, running: false, runnable: 0, weight };
            PeltFamily::A.update_se(now, &mut avg, load, Scale::FULL);
        }
        avg.load_avg
    };
    assert_eq!(periods(499, 3200), 3134);
    let steps = [1, 3, 4, 8, 16, 32, 32, 32];
    assert_eq!(steps.map(|count| periods(count, 6400)), [3201, 3394, 3632, 4052, 4701, 5484, 5876, 6072]);
    assert_eq!(periods(71, 6400), 6226);
    assert_eq!(steps.map(|count| periods(count, 3200)), [6160, 5969, 5734, 5320, 4680, 3907, 3520, 3327]);
}

/// One hog of a group runs for a while, then the group gets twice the shares at once.
fn reweighted(kernel: &str) -> (Bench, SeId, u64) {
    let mut bench = bench(kernel, 1);
    let group = bench.group(None, DEFAULT);
    bench.queued_in(Some(group));
    bench.schedule();
    for tick in 1..100 {
        bench.tick(tick * MS);
    }
    let (_, se) = bench.sched.group_on(group, CpuId::new(0)).unwrap();
    let before = bench.sched.pelt_se[se].load_avg;
    bench.call(|sched, cx| sched.sched_group_set_shares(cx, group, 2 * DEFAULT));
    assert_eq!(bench.sched.ses[se].load.weight(), 2048 << 10);
    (bench, se, before)
}

/// Model: 03 T10
#[test]
fn a_new_weight_leaves_the_load_average_in_v4_12_and_scales_it_later() {
    let (bench, se, before) = reweighted("v4.12");
    assert_eq!(bench.sched.pelt_se[se].load_avg, before);
    for kernel in ["v4.20", "v5.1", "v5.19", "v6.6", "v6.14"] {
        let (bench, se, before) = reweighted(kernel);
        let avg = &bench.sched.pelt_se[se];
        assert_eq!(avg.load_avg, 2048 * avg.load_sum / (PELT_MIN_DIVIDER + u64::from(avg.period_contrib)), "{kernel}");
        assert!(avg.load_avg > before, "{kernel}");
    }
}

/// Model: 03 T11
#[test]
fn v6_14_tells_the_load_of_a_queue_at_most_once_a_millisecond() {
    for (kernel, again) in [("v6.6", true), ("v6.14", false)] {
        let mut bench = bench(kernel, 1);
        let (_, queue, _) = used_group(&mut bench, None, DEFAULT);
        let mut tell = |ns, load| {
            bench.now = Instant::from_ns(ns);
            bench.sched.pelt_cfs[queue].load_avg = load;
            bench.call(|sched, cx| sched.tell_group(cx, queue));
            bench.sched.cfs_rqs[queue].tg_load_avg_contrib
        };
        assert_eq!(tell(0, 1000), 1000);
        assert_eq!(tell(MS - 1, 2000), if again { 2000 } else { 1000 }, "{kernel}");
        assert_eq!(tell(MS, 3000), 3000, "{kernel}");
    }
}

/// The load of a sleeper that was woken elsewhere stays on its old queue until that is updated.
///
/// Model: 01 T20
#[test]
fn the_load_of_a_task_that_moved_leaves_its_old_queue_at_the_next_update() {
    for kernel in KERNELS {
        let mut bench = bench(kernel, 2);
        let group = bench.group(None, DEFAULT);
        let task = bench.queued_in(Some(group));
        bench.sched.tasks[task].cpus_allowed = CpuMask::first_n(2).into();
        bench.queued_in(Some(group));
        bench.schedule();
        let sleeper = bench.sched.rqs[CpuId::new(0)].curr.unwrap();
        bench.sched.tasks[sleeper].cpus_allowed = CpuMask::first_n(2).into();
        bench.sched.set_current_state(CpuId::new(0), PrevState::Sleeping);
        bench.schedule();
        let (queue, _) = bench.sched.group_on(group, CpuId::new(0)).unwrap();
        let before = bench.sched.pelt_cfs[queue];
        assert!(before.util_avg > 0, "{kernel}");
        bench.cpu = CpuId::new(1);
        let flags = crate::WakeFlags { sync: false, context: WakeContext::Hardirq };
        let util = u64::from(bench.sched.se_avg(sleeper).util_avg);
        let selected = bench.call(|sched, cx| {
            let selected = matches!(sched.ttwu_select(cx, sleeper, flags), Waking::Selected(_));
            if selected {
                sched.ttwu_activate(cx, sleeper, CpuId::new(1));
            }
            selected
        });
        assert!(selected, "{kernel}: with the same virtual time nobody's dequeue is delayed");
        assert_eq!(bench.sched.pelt_cfs[queue].util_avg, before.util_avg, "{kernel}");
        bench.call(|sched, cx| sched.update_cfs_rq_load_avg(cx, queue));
        assert_eq!(u64::from(bench.sched.pelt_cfs[queue].util_avg), u64::from(before.util_avg) - util, "{kernel}");
    }
}

/// Run times of hogs on the CPUs of `bench`, which all tick for `ms`.
fn run(bench: &mut Bench, ms: u64) -> Vec<u64> {
    let cpus: Vec<CpuId> = bench.sched.cpu_ids().collect();
    for &cpu in &cpus {
        bench.cpu = cpu;
        bench.schedule();
    }
    for tick in 1..=ms {
        for &cpu in &cpus {
            bench.cpu = cpu;
            bench.tick(tick * MS);
        }
    }
    for &cpu in &cpus {
        bench.cpu = cpu;
        bench.call(|sched, cx| sched.settle(cx));
    }
    bench.sched.task_ids().map(|task| bench.sched.se(task).sum_exec_runtime).collect()
}

fn per_mille(part: &[u64], whole: &[u64]) -> u64 {
    part.iter().sum::<u64>() * 1000 / whole.iter().sum::<u64>()
}

/// On each of four CPUs one hog of a group with cpu.weight 200 and one with 100.
///
/// Model: 03 T04
#[test]
fn cpu_time_of_groups_is_in_proportion_to_their_weights() {
    for kernel in KERNELS {
        let mut bench = bench(kernel, 4);
        let groups = [bench.group(None, 2048), bench.group(None, 1024)];
        for group in groups {
            for cpu in 0..4 {
                bench.cpu = CpuId::new(cpu);
                bench.queued_in(Some(group));
            }
        }
        let ran = run(&mut bench, 10_000);
        let heavy = per_mille(&ran[..4], &ran);
        assert!((660..=673).contains(&heavy), "{kernel}: {heavy}");
    }
}

/// Model: 03 T09
#[test]
fn an_idle_group_gets_what_others_leave() {
    for kernel in ["v5.19", "v6.1", "v6.6", "v6.14", "v6.18"] {
        let mut bench = bench(kernel, 1);
        let group = bench.group(None, DEFAULT);
        bench.call(|sched, cx| sched.sched_group_set_idle(cx, group, true));
        bench.queued_in(None);
        for _ in 0..3 {
            bench.queued_in(Some(group));
        }
        bench.call(|sched, cx| sched.sched_group_set_shares(cx, group, MOST));
        assert_eq!(bench.sched.shares_of(group), 3, "{kernel}: an idle group keeps its weight");
        let ran = run(&mut bench, 10_000);
        let normal = per_mille(&ran[..1], &ran);
        assert!(normal >= 990, "{kernel}: {normal}");
        bench.call(|sched, cx| sched.sched_group_set_idle(cx, group, false));
        assert_eq!(bench.sched.shares_of(group), DEFAULT, "{kernel}");
    }
}

/// One and nine hogs: as tasks of the root, and in a group for each session.
///
/// Model: 03 T12
#[test]
fn one_hog_gets_half_a_cpu_beside_nine_only_if_they_are_grouped() {
    for (grouped, first) in [(false, 95..=105), (true, 495..=505)] {
        for kernel in KERNELS {
            let mut bench = bench(kernel, 1);
            let sessions = [bench.group(None, DEFAULT), bench.group(None, DEFAULT)];
            for hog in 0..10 {
                let session = sessions[usize::from(hog > 0)];
                bench.queued_in(grouped.then_some(session));
            }
            let ran = run(&mut bench, 20_000);
            let share = per_mille(&ran[..1], &ran);
            assert!(first.contains(&share), "{kernel}: {share}");
        }
    }
}
