//! The deadline class: who runs when, where, and for how long; and the server of the fair class.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::common::classes::{Log, fifo, with};
use crate::common::picture::check;
use crate::common::quota::{HOG, shares, simulation};
use crate::common::{self, Build, MS, cpu, profile, repeat, run_to, sleep, work};
use expect_test::expect;
use fairground_model::{Change, DlParams, Instr, NullSink, Policy, Reason, Start, TaskSet};
use fairground_sched::{Refused, TaskState};
use fairground_sim::{Flow, Stopped};
use fairground_stdx::{CpuMask, Instant, Ns, TaskId};

const KERNELS: [&str; 9] = ["v4.12", "v4.20", "v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.14", "v6.18"];

fn dl_constrained(runtime_us: u64, deadline_us: u64, period_us: u64) -> Policy {
    let us = Ns::from_us;
    Policy::Deadline(DlParams { runtime: us(runtime_us), deadline: us(deadline_us), period: us(period_us), reclaim: false })
}

fn dl(runtime_us: u64, period_us: u64) -> Policy {
    dl_constrained(runtime_us, period_us, period_us)
}

fn reclaiming(policy: Policy) -> Policy {
    policy.deadline().map_or(policy, |params| Policy::Deadline(DlParams { reclaim: true, ..params }))
}

/// Model: 02 T17
#[test]
fn a_deadline_hog_gets_its_runtime_in_each_period() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        let hog = set.task("hog", vec![work(HOG)]);
        with(&mut set, hog, dl(10_000, 100_000));
        let fair = set.task("fair", vec![work(HOG)]);
        let rows = shares(&mut simulation(set, 1, 1000, profile(name), 1_000), &[hog, fair], 100, 10);
        assert!(rows.iter().all(|row| row[..] == [10_000, 90_000]), "{name}: {rows:?}");
    }
}

/// At 250 Hz a tick comes up to 4 ms late, and the next period pays for that.
///
/// Model: 02 T17
#[test]
fn what_a_tick_comes_late_is_taken_from_the_next_period() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        let hog = set.task("hog", vec![work(HOG)]);
        with(&mut set, hog, dl(10_000, 100_000));
        let fair = set.task("fair", vec![work(HOG)]);
        let rows = shares(&mut simulation(set, 1, 250, profile(name), 10_000), &[hog, fair], 100, 100);
        assert!(rows.iter().all(|row| (6_000..=14_000).contains(&row[0])), "{name}: {rows:?}");
        let all: u64 = rows.iter().map(|row| row[0]).sum();
        assert!(all.abs_diff(1_000_000) <= 4_000, "{name}: {all}");
    }
}

#[test]
fn with_hrtick_dl_a_runtime_ends_at_its_end() {
    for name in ["v5.19", "v6.6", "v6.12"] {
        let mut set = TaskSet::default();
        let hog = set.task("hog", vec![work(HOG)]);
        with(&mut set, hog, dl(10_500, 100_000));
        let fair = set.task("fair", vec![work(HOG)]);
        let profile = profile(name).with_feature("HRTICK_DL").unwrap();
        let rows = shares(&mut simulation(set, 1, 250, profile, 1_000), &[hog, fair], 100, 10);
        assert!(rows.iter().all(|row| row[..] == [10_500, 89_500]), "{name}: {rows:?}");
    }
}

#[test]
fn the_earliest_deadline_runs_first_before_real_time_and_fair_tasks() {
    let mut set = TaskSet::default();
    set.task("fair", vec![work(HOG)]);
    let rt = set.task("fifo99", vec![work(30 * MS)]);
    with(&mut set, rt, fifo(99));
    let late = set.task("by 80", vec![sleep(5 * MS), work(10 * MS)]);
    with(&mut set, late, dl(20_000, 80_000));
    let soon = set.task("by 40", vec![sleep(10 * MS), work(5 * MS)]);
    with(&mut set, soon, dl(10_000, 40_000));
    check(
        &KERNELS,
        &set,
        1,
        Ns(MS),
        60,
        &expect![[r#"
                0         10        20        30        40        50
        fair    .............................................000000000000000
        fifo99  00000...............0000000000000000000000000
        by 80        00000.....00000
        by 40             00000
    "#]],
    );
}

#[test]
fn who_yields_waits_for_its_next_period() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        let task = set.task("task", vec![work(5 * MS), Instr::Yield, repeat(100)]);
        with(&mut set, task, dl(20_000, 50_000));
        let rows = shares(&mut simulation(set, 1, 1000, profile(name), 500), &[task], 50, 10);
        assert!(rows.iter().all(|row| row[0] == 5_000), "{name}: {rows:?}");
    }
}

/// A job of 4 ms within 10 ms, once in 100 ms; it sleeps 30 ms after each, so that it wakes up between deadline and period.
#[test]
fn a_constrained_task_that_wakes_up_too_soon_waits_for_its_period() {
    let mut set = TaskSet::default();
    let task = set.task("task", vec![work(4 * MS), sleep(30 * MS), repeat(100)]);
    with(&mut set, task, dl_constrained(5_000, 10_000, 100_000));
    check(
        &KERNELS,
        &set,
        1,
        Ns(2 * MS),
        120,
        &expect![[r#"
              0         10        20        30        40        50        60        70        80        90        100       110
        task  00               .................................00               .................................00               ...
    "#]],
    );
}

/// Three tasks of half a CPU on two: they do not fit at once, and each has its runtime in each period all the same.
#[test]
fn tasks_are_pushed_and_pulled_to_where_they_can_run() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        let tasks: Vec<TaskId> = (0..3)
            .map(|row| {
                let task = set.task("dl", vec![work(HOG)]);
                set.tasks[task].first_cpu = Some(cpu(0));
                with(&mut set, task, dl(10_000, 20_000 + row))
            })
            .collect();
        (0..2).for_each(|row| {
            set.pinned("fair", row, vec![work(HOG)]);
        });
        let mut simulation = simulation(set, 2, 1000, profile(name), 1_000);
        let mut log = Log::default();
        while simulation.run_until(Instant::MAX, &mut log).unwrap() == Flow::More {}
        assert!(log.count(Reason::MigrateDlPush) > 0, "{name}");
        for task in tasks {
            let ran = simulation.sched().se(task).sum_exec_runtime / 1_000;
            assert!(ran.abs_diff(500_000) <= 12_000, "{name}: {ran}");
        }
    }
}

#[test]
fn a_cpu_whose_deadline_task_sleeps_pulls_one_that_waits() {
    let mut set = TaskSet::default();
    let first = set.task("first", vec![work(30 * MS), sleep(1_000 * MS)]);
    with(&mut set, first, dl(60_000, 100_000));
    let other = set.task("other", vec![work(20 * MS), sleep(1_000 * MS)]);
    set.tasks[other].first_cpu = Some(cpu(1));
    with(&mut set, other, dl(60_000, 101_000));
    let waits = set.task("waits", vec![work(10 * MS)]);
    with(&mut set, waits, dl(20_000, 200_000));
    (set.tasks[waits].start, set.tasks[waits].first_cpu) = (Start::At(Instant::from_ns(5 * MS)), Some(cpu(0)));
    check(
        &KERNELS,
        &set,
        2,
        Ns(MS),
        40,
        &expect![[r#"
               0         10        20        30
        first  000000000000000000000000000000
        other  11111111111111111111
        waits       ...............1111111111
    "#]],
    );
    for name in KERNELS {
        let log = Log::of(&mut simulation(set.clone(), 2, 1000, profile(name), 50));
        assert_eq!(log.count(Reason::MigrateDlPull), 1, "{name}");
    }
}

/// GRUB: up to v6.4 runtime is consumed at 1 - (0.95 - shares): a share of 0.2 lasts for 20 / 0.25 = 80 of 100 ms, and beside another
/// one of 0.2 for 20 / 0.45. Then at (0.95 - unused) / 0.95: 20 / 0.2105, 20 / 0.421; with the server of 0.05 20 / 0.263, 20 / 0.474.
#[test]
fn a_task_that_reclaims_uses_what_others_leave() {
    let ran = |name: &str, policies: &[Policy]| {
        let mut set = TaskSet::default();
        let tasks: Vec<TaskId> = policies
            .iter()
            .map(|&policy| {
                let task = set.task("dl", vec![work(HOG)]);
                with(&mut set, task, policy)
            })
            .collect();
        set.task("fair", vec![work(HOG)]);
        let mut simulation = simulation(set, 1, 1000, profile(name), 10_000);
        run_to(&mut simulation, 10_000_000);
        tasks.iter().map(|&task| simulation.sched().se(task).sum_exec_runtime / 10_000_000).collect::<Vec<_>>()
    };
    let (plain, reclaims) = (dl(20_000, 100_000), reclaiming(dl(20_000, 100_000)));
    for (name, alone, beside) in [("v4.20", 800, 444), ("v5.19", 800, 444), ("v6.6", 950, 475), ("v6.12", 760, 422)] {
        let near = |ran: u64, expected: u64| ran.abs_diff(expected) <= 6;
        assert!(near(ran(name, &[plain])[0], 200), "{name}");
        assert!(near(ran(name, &[reclaims])[0], alone), "{name}: {:?}", ran(name, &[reclaims]));
        let both = ran(name, &[reclaims, plain]);
        assert!(near(both[0], beside) && near(both[1], 200), "{name}: {both:?}");
    }
    assert!(ran("v4.12", &[reclaims])[0].abs_diff(200) <= 1);
}

#[test]
fn tasks_change_between_the_classes_and_shares_are_free_at_the_0_lag_time() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        let task = set.task("task", vec![work(HOG)]);
        let fair = set.task("fair", vec![work(HOG)]);
        set.at(100 * MS, Change::Policy { task, policy: dl(60_000, 100_000) });
        set.at(305 * MS, Change::Policy { task, policy: fifo(1) });
        set.at(410 * MS, Change::Policy { task, policy: dl(30_000, 100_000) });
        set.at(600 * MS, Change::Policy { task, policy: dl(50_000, 100_000) });
        set.at(900 * MS, Change::Policy { task, policy: Policy::Normal });
        let mut simulation = simulation(set, 1, 1000, profile(name), 1_200);
        let rows = shares(&mut simulation, &[task, fair], 100, 12);
        assert_eq!((rows[1][0], rows[2][0]), (60_000, 60_000), "{name}: {rows:?}");
        assert_eq!(rows[4][0] + rows[5][0], 10_000 + 30_000 + 30_000, "{name}: {rows:?}");
        assert!(rows[7..9].iter().all(|row| row[0] == 50_000), "{name}: {rows:?}");
        assert!(rows[10][0].abs_diff(50_000) <= 5_000, "{name}: {rows:?}");
        assert_eq!(simulation.sched().dl_running_bw(cpu(0)) >> 16, 0, "{name}");
    }
}

#[test]
fn who_is_not_admitted_ends_the_run_with_the_sums() {
    let stopped = |cpus: usize, name: &str, change: Change| {
        let mut set = TaskSet::default();
        for _ in 0..2 {
            let task = set.task("dl", vec![work(HOG)]);
            with(&mut set, task, dl(40_000, 100_000));
        }
        set.task("fair", vec![work(HOG)]);
        set.at(10 * MS, change);
        let mut simulation = simulation(set, cpus, 1000, profile(name), 50);
        simulation.run(&mut NullSink).err()
    };
    let asks = |us: u64| Change::Policy { task: TaskId::new(2), policy: dl(us, 100_000) };
    assert_eq!(stopped(1, "v5.19", asks(14_000)), None);
    let Some(Stopped::NotAdmitted { task, why, at }) = stopped(1, "v5.19", asks(16_000)) else { panic!("it is admitted") };
    assert_eq!((task.as_str(), at.ns()), ("fair", 10 * MS));
    assert_eq!(
        why.to_string(),
        "a deadline task asks for 15.99 % of a CPU, others have 79.99 %, and all may have 94.99 % (EBUSY)"
    );
    assert_eq!(stopped(2, "v5.19", asks(90_000)), None);
    let Some(Stopped::NotAdmitted { why, .. }) = stopped(1, "v6.12", asks(14_000)) else { panic!("it is admitted") };
    assert!(why.to_string().contains("servers of fair tasks 4.99 %"), "{why}");
    // A task of the class may ask for less, and for more if that is left.
    assert_eq!(stopped(1, "v5.19", Change::Policy { task: TaskId::new(0), policy: dl(54_000, 100_000) }), None);
    assert!(stopped(1, "v5.19", Change::Policy { task: TaskId::new(0), policy: dl(56_000, 100_000) }).is_some());
    assert!(stopped(1, "v5.19", asks(1)).is_some(), "1 us is less than 1024 ns");
}

#[test]
fn affinity_is_that_of_all_cpus() {
    let mut set = TaskSet::default();
    let task = set.pinned("dl", 0, vec![work(HOG)]);
    with(&mut set, task, dl(10_000, 100_000));
    let mut pinned = simulation(set, 2, 1000, profile("v6.6"), 50);
    let Err(Stopped::NotAdmitted { why, .. }) = pinned.run(&mut NullSink) else { panic!("it is admitted") };
    assert_eq!(why, Refused::Affinity);
    // Nor may it give CPUs up later: EBUSY, and nothing changes.
    let mut set = TaskSet::default();
    let task = set.task("dl", vec![work(HOG)]);
    with(&mut set, task, dl(10_000, 100_000));
    set.at(10 * MS, Change::Affinity { task, cpus: CpuMask::only(cpu(0)) });
    let mut simulation = simulation(set, 2, 1000, profile("v6.6"), 50);
    run_to(&mut simulation, 20_000);
    assert_eq!(simulation.sched().task(task).cpus_allowed.weight(), 2);
}

#[test]
fn a_task_that_ends_gives_its_share_back_at_its_0_lag_time() {
    for (name, at_once) in [("v4.12", true), ("v5.19", false), ("v6.12", false)] {
        for (ms, admitted) in [(20, at_once), (120, true)] {
            let mut set = TaskSet::default();
            // It ends after 10 of 60 ms: its pace is paid at 100 - 50 * 100 / 60 = 17 ms. The second job ends at 80 of 90 ms.
            let task = set.task("ends", vec![work(16 * MS)]);
            with(&mut set, task, dl(60_000, 100_000));
            let next = set.task("next", vec![work(HOG)]);
            set.at(ms * MS, Change::Policy { task: next, policy: dl(60_000, 100_000) });
            let ended = simulation(set, 1, 1000, profile(name), 200).run(&mut NullSink);
            assert_eq!(ended.is_ok(), admitted, "{name}, {ms}: {:?}", ended.err());
        }
    }
}

/// Model: 02 T16
#[test]
fn from_v6_12_on_the_fair_server_leaves_fair_tasks_50_ms_of_each_second() {
    for (name, hz) in [("v6.12", 1000), ("v6.14", 1000), ("v6.18", 1000), ("v6.12", 250)] {
        let mut set = TaskSet::default();
        let hog = set.task("hog", vec![work(HOG)]);
        with(&mut set, hog, fifo(50));
        let fair = set.task("fair", vec![work(HOG)]);
        let rows = shares(&mut simulation(set, 1, hz, profile(name), 10_000), &[hog, fair], 1_000, 10);
        let tick = 1_000_000 / u64::from(hz);
        for row in &rows {
            assert!(row[1].abs_diff(50_000) <= tick && row[0] + row[1] == 1_000_000, "{name}: {rows:?}");
        }
    }
}

/// A real-time task that leaves fair tasks more than their part: the server never runs.
#[test]
fn the_fair_server_is_not_needed_where_fair_tasks_run_by_themselves() {
    for name in ["v6.12", "v6.18"] {
        let mut set = TaskSet::default();
        let rt = set.task("rt", vec![work(90 * MS), sleep(10 * MS), repeat(1_000)]);
        with(&mut set, rt, fifo(50));
        set.task("fair", vec![work(HOG)]);
        let log = Log::of(&mut simulation(set, 1, 1000, profile(name), 5_000));
        assert_eq!((log.count(Reason::ServerRuns), log.count(Reason::PickServed)), (0, 0), "{name}");
    }
}

/// Fair tasks that come 2 s after the real-time hog have their part too, and so have those that were there before.
#[test]
fn the_fair_server_serves_whoever_comes_first() {
    for rt_first in [true, false] {
        let mut set = TaskSet::default();
        let rt = set.task("rt", vec![work(HOG)]);
        let fair = set.task("fair", vec![work(HOG)]);
        if rt_first {
            with(&mut set, rt, fifo(50));
            set.tasks[fair].start = Start::At(Instant::from_ns(2_000 * MS));
        } else {
            set.at(2_000 * MS, Change::Policy { task: rt, policy: fifo(50) });
        }
        let rows = shares(&mut simulation(set, 1, 1000, profile("v6.12"), 6_000), &[rt, fair], 1_000, 6);
        for row in &rows[2..] {
            assert!(row[1].abs_diff(50_000) <= 2_000, "{rt_first}: {rows:?}");
        }
    }
}

#[test]
fn the_server_and_deadline_tasks_share_by_their_deadlines() {
    let mut set = TaskSet::default();
    let tasks = [0, 1].map(|row| {
        let task = set.task("dl", vec![work(HOG)]);
        with(&mut set, task, dl(45_000, 100_000 + row))
    });
    let fair = set.task("fair", vec![work(HOG)]);
    let rt = set.task("rt", vec![work(HOG)]);
    with(&mut set, rt, fifo(50));
    let all = [tasks[0], tasks[1], fair, rt];
    let rows = shares(&mut simulation(set, 1, 1000, profile("v6.12"), 5_000), &all, 1_000, 5);
    let sums: Vec<u64> = (0..4).map(|task| rows.iter().map(|row| row[task]).sum()).collect();
    assert!(sums[0].abs_diff(2_250_000) <= 45_000 && sums[1].abs_diff(2_250_000) <= 45_000, "{rows:?}");
    // At 950 ms the first period of the server begins, and deadline tasks come first in it. Periods do not begin with the seconds.
    assert!(rows[0][2] < 50_000 && rows[1..].iter().all(|row| row[2].abs_diff(50_000) <= 15_000), "{rows:?}");
}

#[test]
fn deadline_tasks_leave_a_cpu_that_goes_off_line() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        let tasks: Vec<TaskId> = (0..2)
            .map(|row| {
                let task = set.task("dl", vec![work(HOG)]);
                with(&mut set, task, dl(20_000, 50_000 + 1_000 * row))
            })
            .collect();
        set.task("fair", vec![work(HOG)]);
        set.at(11 * MS, Change::Hotplug { cpu: cpu(1), online: false });
        set.at(250 * MS, Change::Hotplug { cpu: cpu(1), online: true });
        let mut simulation = simulation(set, 2, 1000, profile(name), 500);
        run_to(&mut simulation, 200_000);
        for &task in &tasks {
            let row = simulation.sched().task(task);
            assert!(matches!(row.state, TaskState::Running | TaskState::Queued) && row.cpu == cpu(0), "{name}: {row:?}");
        }
        run_to(&mut simulation, 500_000);
        for &task in &tasks {
            let ran = simulation.sched().se(task).sum_exec_runtime / 1_000;
            assert!((180_000..=220_000).contains(&ran), "{name}: {ran}");
        }
    }
}

/// Periodic jobs of their whole runtime, with random phases, on one CPU beside hogs of the other classes: with HRTICK_DL none is done
/// after its deadline, up to what admission lets in. Without it a runtime may last a tick longer, but jobs end before: they are done too,
/// and only who asks for more than its runtime is late.
#[test]
fn an_admitted_set_of_tasks_on_one_cpu_never_misses() {
    use proptest::prelude::*;
    let task = (1_000u64..100_000, 20u64..=100, 0u64..50_000);
    let sets = (
        proptest::collection::vec(task, 1..8),
        any::<bool>(),
        prop::sample::select(vec![("v4.12", 95), ("v5.19", 95), ("v6.6", 95), ("v6.12", 90), ("v6.18", 90)]),
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 60, ..ProptestConfig::default() });
    runner
        .run(&sets, |(tasks, hrtick, (kernel, percent))| {
            // Weights become shares of what admission lets in, each at least 20 us of its period.
            let weights: u64 = tasks.iter().map(|task| task.1).sum();
            let mut set = TaskSet::default();
            let rows: Vec<(TaskId, u64, u64, u64)> = tasks
                .iter()
                .map(|&(period, weight, phase)| {
                    let runtime = period * percent * weight / weights / 100;
                    let round = [
                        Instr::SleepUntil { reg: 0 },
                        work(runtime * 1_000),
                        Instr::Add { reg: 0, time: Ns::from_us(period) },
                        Instr::Jump { to: 1 },
                    ];
                    let begin = [Instr::Set { reg: 0, at: Instant::from_ns(phase * 1_000) }];
                    let task = set.task("dl", begin.into_iter().chain(round).collect());
                    with(&mut set, task, dl(runtime, period));
                    set.tasks[task].start = Start::At(Instant::from_ns(phase * 1_000));
                    (task, runtime, period, phase)
                })
                .collect();
            set.task("fair", vec![work(HOG)]);
            let rt = set.task("rt", vec![work(HOG)]);
            with(&mut set, rt, fifo(99));
            let mut profile = profile(kernel);
            if hrtick && kernel != "v4.12" {
                profile = profile.with_feature("HRTICK_DL").unwrap();
            }
            let mut simulation = simulation(set, 1, 250, profile, 600);
            // At each deadline all work of the jobs before is done.
            for us in (0..600_000).step_by(500) {
                prop_assert!(simulation.run_until(Instant::from_ns(us * 1_000), &mut NullSink).is_ok());
                for &(task, runtime, period, phase) in &rows {
                    let due = us.saturating_sub(phase) / period;
                    let ran = common::quota::ran(&simulation, task, Instant::from_ns(us * 1_000)) / 1_000;
                    prop_assert!(ran >= due * runtime, "{kernel}, {us} us: {task:?} ran {ran} of {due} jobs of {runtime} us");
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn deadline_tasks_take_from_the_capacity_for_fair_ones() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        let task = set.task("dl", vec![work(HOG)]);
        with(&mut set, task, dl(5_000, 10_000));
        (0..2).for_each(|row| {
            set.pinned("beside", row, vec![work(HOG)]);
        });
        let mut simulation = simulation(set, 2, 1000, profile(name), 2_000);
        run_to(&mut simulation, 1_900_000);
        // With its runtime back it is pushed to the CPU without deadline tasks: both give a part.
        let both: u64 = (0..2).map(|number| simulation.sched().capacity_for_fair(cpu(number))).sum();
        assert!((1_424..=1_644).contains(&both), "{name}: {both}");
    }
}
