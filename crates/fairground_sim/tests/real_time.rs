//! The real-time class: who runs when, where, and for how long beside fair tasks.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::common::classes::{Log, fifo, with};
use crate::common::picture::check;
use crate::common::quota::{HOG, shares, simulation};
use crate::common::{Build, MS, cpu, profile, repeat, run_to, sleep, work};
use expect_test::expect;
use fairground_model::{Change, Instr, Op, Policy, Reason, RtPriority, Start, TaskSet};
use fairground_sched::seam::{PushOverload, PushReach};
use fairground_sim::Simulation;
use fairground_stdx::{CpuMask, Instant, Ns, TaskId};

const KERNELS: [&str; 8] = ["v4.12", "v4.20", "v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.18"];

fn rr(priority: i64) -> Policy {
    Policy::RoundRobin(RtPriority::new(priority).unwrap())
}

fn at(set: &mut TaskSet, task: TaskId, ms: u64) {
    set.tasks[task].start = Start::At(Instant::from_ns(ms * MS));
}

#[test]
fn a_real_time_task_preempts_at_once_and_runs_until_it_sleeps() {
    let mut set = TaskSet::default();
    let fair = set.pinned("fair", 0, vec![work(HOG)]);
    let task = set.pinned("fifo", 0, vec![sleep(10 * MS), work(25 * MS), sleep(5 * MS), work(10 * MS)]);
    with(&mut set, task, fifo(1));
    at(&mut set, fair, 1);
    check(
        &KERNELS,
        &set,
        1,
        Ns(MS),
        60,
        &expect![[r#"
              0         10        20        30        40        50
        fair   000000000.........................00000..........0000000000
        fifo            0000000000000000000000000     0000000000
    "#]],
    );
}

#[test]
fn timers_of_real_time_tasks_have_no_slack() {
    let woken = |policy: Policy| {
        let mut set = TaskSet::default();
        let task = set.pinned("task", 0, vec![sleep(10 * MS), work(HOG)]);
        with(&mut set, task, policy);
        set.tasks[task].timer_slack = Ns::from_ms(2);
        Log::of(&mut simulation(set, 1, 1000, profile("v6.6"), 20)).turns().last().map(|row| row.0)
    };
    assert_eq!((woken(fifo(1)), woken(Policy::Normal)), (Some(10), Some(12)));
}

/// Model: 02 T16
#[test]
fn two_round_robin_tasks_take_turns_of_100_ms() {
    for (name, hz) in KERNELS.iter().flat_map(|name| [(*name, 250), (*name, 1000)]) {
        let mut set = TaskSet::default();
        let tasks = ["a", "b"].map(|name| {
            let task = set.pinned(name, 0, vec![work(HOG)]);
            with(&mut set, task, rr(10))
        });
        let mut simulation = simulation(set, 1, hz, profile(name), 900);
        let log = Log::of(&mut simulation);
        let turns: Vec<_> = (0..9).map(|turn| (turn * 100, Some(tasks[turn as usize % 2].get()))).collect();
        assert_eq!(log.turns(), turns, "{name}, {hz} Hz");
    }
}

#[test]
fn a_round_robin_task_alone_at_its_priority_goes_on() {
    let mut set = TaskSet::default();
    let tasks = [rr(10), rr(9), fifo(8)].map(|policy| {
        let task = set.pinned("task", 0, vec![work(HOG)]);
        with(&mut set, task, policy)
    });
    let log = Log::of(&mut simulation(set, 1, 1000, profile("v6.18"), 500));
    assert_eq!(log.turns(), [(0, Some(tasks[0].get()))]);
    assert_eq!(log.count(Reason::TickRrExpired), 0);
}

/// FIFO: first come, first served; who is preempted is the first of its priority still, who yields the last.
#[test]
fn a_preempted_task_keeps_its_place_and_one_that_yields_does_not() {
    let mut set = TaskSet::default();
    let a = set.pinned("a", 0, vec![work(20 * MS), Instr::Yield, work(20 * MS)]);
    let b = set.pinned("b", 0, vec![work(20 * MS)]);
    let high = set.pinned("high", 0, vec![sleep(10 * MS), work(5 * MS)]);
    for (task, priority) in [(a, 5), (b, 5), (high, 6)] {
        set.tasks[task].policy = fifo(priority);
    }
    check(
        &KERNELS,
        &set,
        1,
        Ns(MS),
        70,
        &expect![[r#"
              0         10        20        30        40        50        60
        a     0000000000.....0000000000....................00000000000000000000
        b     .........................00000000000000000000
        high            00000
    "#]],
    );
}

/// Model: 02 T16
#[test]
fn fair_tasks_get_50_ms_of_each_second_up_to_v6_11() {
    for name in ["v4.12", "v4.20", "v5.10", "v5.19", "v6.1", "v6.6"] {
        for policy in [fifo(50), rr(50)] {
            let mut set = TaskSet::default();
            let hog = set.pinned("hog", 0, vec![work(HOG)]);
            with(&mut set, hog, policy);
            let fair = set.pinned("fair", 0, vec![work(HOG)]);
            let mut simulation = simulation(set, 1, 1000, profile(name), 5_000);
            let rows = shares(&mut simulation, &[hog, fair], 1_000, 5);
            for row in rows {
                // What ran is cut to microseconds; the first period timer fires after 1 ns.
                assert!(row[1].abs_diff(50_000) <= 1_000 && 1_000_000 - row[0] - row[1] <= 1, "{name}: {row:?}");
            }
        }
    }
}

/// A hog of 1200 ms begins 500 ms after a task that ended at once, for which a period had begun: 500 ms later it has its time anew, and nobody
/// stops it.
#[test]
fn a_real_time_period_goes_on_behind_its_last_task() {
    let stopped = |first: bool| {
        let mut set = TaskSet::default();
        let short = set.pinned("short", 0, vec![]);
        with(&mut set, short, fifo(1));
        if !first {
            at(&mut set, short, 4_000);
        }
        let hog = set.pinned("hog", 0, vec![work(1_200 * MS)]);
        with(&mut set, hog, fifo(1));
        at(&mut set, hog, 500);
        Log::of(&mut simulation(set, 1, 1000, profile("v6.1"), 3_000)).count(Reason::RtThrottle)
    };
    assert_eq!([stopped(true), stopped(false)], [0, 1]);
}

#[test]
fn with_runtime_share_a_hog_borrows_from_cpus_without_real_time_tasks() {
    let fair_ran = |feature: &str| {
        let mut set = TaskSet::default();
        let hog = set.pinned("hog", 0, vec![work(HOG)]);
        with(&mut set, hog, fifo(50));
        let fair = set.pinned("fair", 0, vec![work(HOG)]);
        let profile = profile("v5.10").with_feature(feature).unwrap();
        shares(&mut simulation(set, 2, 1000, profile, 3_000), &[fair], 1_000, 3)
    };
    assert_eq!(fair_ran("RT_RUNTIME_SHARE"), [[0], [0], [0]]);
    assert!(fair_ran("NO_RT_RUNTIME_SHARE").iter().all(|row| row[0].abs_diff(50_000) <= 1_000));
}

/// Without RT_RUNTIME_SHARE. As long as the period is no limit, also where its timer comes late.
#[test]
fn what_real_time_tasks_may_run_is_set_by_sysctl() {
    let fair_ran = |runtime: &str, period: &str| {
        let mut set = TaskSet::default();
        let hog = set.pinned("hog", 0, vec![work(HOG)]);
        with(&mut set, hog, fifo(50));
        let fair = set.pinned("fair", 0, vec![work(HOG)]);
        let profile = profile("v5.10").with_tunable("sched_rt_period_us", period).unwrap();
        let profile = profile.with_tunable("sched_rt_runtime_us", runtime).unwrap();
        let mut simulation = simulation(set, 1, 1000, profile, 3_000);
        let throttled = simulation.clone();
        (shares(&mut simulation, &[fair], 1_000, 3).concat(), Log::of(&mut { throttled }).count(Reason::RtThrottle))
    };
    assert_eq!(fair_ran("1000000", "1000000"), (vec![0; 3], 0));
    assert_eq!(fair_ran("-1", "1000000"), (vec![0; 3], 0));
    // Its timer waits for the end of the stretch with interrupts off, so more than a period has been used by then.
    let mut set = TaskSet::default();
    let deaf = Instr::Run { work: Ns(3 * MS + 100_000), mode: fairground_model::Mode::IrqOff };
    let hog = set.pinned("hog", 0, vec![deaf, Instr::Jump { to: 0 }]);
    with(&mut set, hog, fifo(50));
    let whole = profile("v5.10").with_tunable("sched_rt_runtime_us", "1000000").unwrap();
    assert_eq!(Log::of(&mut simulation(set, 1, 1000, whole, 5_000)).count(Reason::RtThrottle), 0);
    let (ran, throttled) = fair_ran("700000", "1000000");
    assert!(ran.iter().all(|ran| ran.abs_diff(300_000) <= 1_000) && throttled == 3, "{ran:?} {throttled}");
    let (ran, throttled) = fair_ran("950000", "2000000");
    assert!(ran[0] <= 51_000 && ran[1] > 900_000 && throttled >= 1, "{ran:?} {throttled}");
}

/// Four tasks that are woken on one CPU of four; a fifth of a higher priority comes later.
#[test]
fn tasks_are_pushed_to_cpus_of_lower_priority() {
    let mut set = TaskSet::default();
    for row in 0..4 {
        let fair = set.pinned("fair", row, vec![work(HOG)]);
        set.tasks[fair].nice = -20;
    }
    for priority in [10, 20, 30, 40] {
        let task = set.task(&format!("fifo{priority}"), vec![sleep(10 * MS), work(HOG)]);
        set.tasks[task].first_cpu = Some(cpu(0));
        with(&mut set, task, fifo(priority));
    }
    let late = set.pinned("fifo99", 2, vec![sleep(50 * MS), work(HOG)]);
    with(&mut set, late, fifo(99));
    check(
        &KERNELS,
        &set,
        4,
        Ns(MS),
        60,
        &expect![[r#"
                0         10        20        30        40        50
        fair    0000000000..................................................
        fair    1111111111..................................................
        fair    2222222222..................................................
        fair    3333333333..................................................
        fifo10            2222222222222222222222222222222222222222..........
        fifo20            33333333333333333333333333333333333333333333333333
        fifo30            11111111111111111111111111111111111111111111111111
        fifo40            00000000000000000000000000000000000000000000000000
        fifo99                                                    2222222222
    "#]],
    );
}

/// A lone real-time task yields every 2 ms: up to v6.11 its time is accounted at each of its picks, and counts in its period.
#[test]
fn a_real_time_task_that_is_picked_again_is_set_anew_up_to_v6_11() {
    let time_at_5_ms = |name: &str| {
        let mut set = TaskSet::default();
        let task = set.pinned("fifo", 0, vec![work(2 * MS), Instr::Yield, repeat(100)]);
        with(&mut set, task, fifo(1));
        // The first tick comes at 10 ms.
        let mut simulation = simulation(set, 1, 100, profile(name), 30);
        run_to(&mut simulation, 5_000);
        simulation.sched().se(task).sum_exec_runtime / MS
    };
    for (name, accounted) in [("v4.12", 4), ("v5.10", 4), ("v6.1", 4), ("v6.6", 4), ("v6.12", 0), ("v6.18", 0)] {
        assert_eq!(time_at_5_ms(name), accounted, "{name}");
    }
}

/// Three tasks wake on CPU 0 one after the other, each for 2 ms, where a more urgent one runs: three CPUs are as good. From v5.11 on
/// they take turns.
#[test]
fn of_cpus_that_are_equally_good_the_next_one_is_taken_from_v5_11_on() {
    let mut set = TaskSet::default();
    for row in 1..4 {
        let task = set.task("fifo10", vec![sleep(10 * row * MS), work(2 * MS)]);
        set.tasks[task].first_cpu = Some(cpu(0));
        with(&mut set, task, fifo(10));
        at(&mut set, task, row);
    }
    let hog = set.pinned("fifo90", 0, vec![work(HOG)]);
    with(&mut set, hog, fifo(90));
    at(&mut set, hog, 5);
    let ran_on = |name: &str| {
        let log = Log::of(&mut simulation(set.clone(), 4, 1000, profile(name), 40));
        let first_three = |row: &(u64, u32, Option<u32>)| row.0 > 5_000 && row.2.is_some_and(|task| task < 3);
        log.switches.iter().filter(|row| first_three(row)).map(|row| row.1).collect::<Vec<_>>()
    };
    for name in ["v4.12", "v5.10"] {
        assert_eq!(ran_on(name), [1, 1, 1], "{name}");
    }
    for name in ["v5.19", "v6.1", "v6.12", "v7.2"] {
        assert_eq!(ran_on(name), [1, 2, 3], "{name}");
    }
}

#[test]
fn a_cpu_whose_priority_drops_pulls_what_waits_elsewhere() {
    let moved = |name: &str, feature: &str, reason: Reason| {
        let mut set = TaskSet::default();
        let other = set.pinned("other", 1, vec![work(20 * MS), sleep(1_000 * MS)]);
        with(&mut set, other, fifo(30));
        let first = set.pinned("first", 0, vec![work(HOG)]);
        with(&mut set, first, fifo(20));
        let waits = set.task("waits", vec![work(HOG)]);
        set.tasks[waits].first_cpu = Some(cpu(0));
        with(&mut set, waits, fifo(10));
        at(&mut set, waits, 5);
        let mut simulation = simulation(set, 2, 1000, profile(name).with_feature(feature).unwrap(), 50);
        let log = Log::of(&mut simulation);
        let moved = log.decided.iter().filter(|row| row.1 == reason).map(|row| (row.0, row.2 == waits.get(), row.3));
        (moved.collect::<Vec<_>>(), simulation.op_total(Op::IpiSend))
    };
    for name in KERNELS {
        let (pulled, ipis) = moved(name, "NO_RT_PUSH_IPI", Reason::MigrateRtPull);
        assert_eq!(pulled, [(20_000, true, 1)], "{name}");
        // With RT_PUSH_IPI it asks for that: the other CPU pushes, when the interrupt is there.
        let (pushed, more_ipis) = moved(name, "RT_PUSH_IPI", Reason::MigrateRtPush);
        assert_eq!(pushed, [(20_000, true, 1)], "{name}");
        // One to the CPU that pushes, one back so that the task is run. From v6.7 on the CPU that has got it is overloaded until it
        // looks: the round comes by there, and once more, as somebody had asked since the round began, but not where it passes over
        // the CPU that hands it on.
        let round = match (profile(name).push_overload, profile(name).push_reach) {
            (PushOverload::NrMigratory, _) => 0,
            (PushOverload::Pushable, PushReach::All) => 2,
            (PushOverload::Pushable, PushReach::Others) => 1,
        };
        assert_eq!(more_ipis, ipis + 2 + round, "{name}");
        assert_eq!(moved(name, "RT_PUSH_IPI", Reason::MigrateRtPull).0, []);
    }
}

#[test]
fn a_cpu_is_asked_in_vain_where_the_running_task_makes_it_overloaded() {
    for name in KERNELS {
        let ipis = |feature: &str| {
            let mut set = TaskSet::default();
            let other = set.pinned("other", 1, vec![work(20 * MS), sleep(1_000 * MS)]);
            with(&mut set, other, fifo(30));
            let runs = set.task("runs", vec![work(HOG)]);
            set.tasks[runs].first_cpu = Some(cpu(0));
            with(&mut set, runs, fifo(20));
            let bound = set.pinned("bound", 0, vec![work(HOG)]);
            with(&mut set, bound, fifo(10));
            let mut simulation = simulation(set, 2, 1000, profile(name).with_feature(feature).unwrap(), 50);
            run_to(&mut simulation, 50_000);
            simulation.op_total(Op::IpiSend)
        };
        // Twice, since the first ask is one that has come since the last round; once where the CPU does not ask itself again.
        let in_vain = match (profile(name).push_overload, profile(name).push_reach) {
            (PushOverload::NrMigratory, PushReach::All) => 2,
            (PushOverload::NrMigratory, PushReach::Others) => 1,
            (PushOverload::Pushable, _) => 0,
        };
        assert_eq!(ipis("RT_PUSH_IPI"), ipis("NO_RT_PUSH_IPI") + in_vain, "{name}");
    }
}

#[test]
fn real_time_tasks_take_from_the_capacity_for_fair_ones() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        set.pinned("fair", 1, vec![work(HOG)]);
        let task = set.pinned("rt", 0, vec![work(5 * MS), sleep(5 * MS), repeat(1_000)]);
        with(&mut set, task, fifo(50));
        set.pinned("beside", 0, vec![work(HOG)]);
        let mut simulation = simulation(set, 2, 1000, profile(name), 2_000);
        run_to(&mut simulation, 1_900_000);
        let capacity = |number| simulation.sched().capacity_for_fair(cpu(number));
        assert_eq!(capacity(1), 1024, "{name}");
        assert!((400..=620).contains(&capacity(0)), "{name}: {}", capacity(0));
    }
}

#[test]
fn tasks_change_between_the_classes_and_keep_their_share() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        let tasks = [0, 1].map(|_| set.pinned("hog", 0, vec![work(HOG)]));
        let sleeper = set.pinned("sleeper", 0, vec![sleep(3 * MS), work(MS), repeat(1_000)]);
        for (ms, task, policy) in [
            (100, tasks[0], fifo(10)),
            (200, tasks[1], rr(20)),
            (300, tasks[1], Policy::Batch),
            (350, sleeper, fifo(1)),
            (380, sleeper, Policy::Normal),
            (400, tasks[0], Policy::Normal),
            (410, tasks[1], Policy::Normal),
        ] {
            set.at(ms * MS, Change::Policy { task, policy });
        }
        let mut simulation = simulation(set, 1, 1000, profile(name), 1_000);
        let rows = shares(&mut simulation, &tasks, 100, 10);
        assert_eq!(
            (rows[1].as_slice(), rows[2].as_slice(), rows[3].as_slice()),
            (&[100_000, 0][..], &[0, 100_000][..], &[100_000, 0][..]),
            "{name}"
        );
        // Who was away begins anew beside the other: none of them makes up for what it missed for long.
        for row in &rows[6..] {
            assert!(row[0].abs_diff(row[1]) <= 12_000, "{name}: {rows:?}");
        }
    }
}

#[test]
fn a_lower_priority_of_the_running_task_lets_another_one_run() {
    let mut set = TaskSet::default();
    let tasks = [20, 10].map(|priority| {
        let task = set.pinned(&format!("fifo{priority}"), 0, vec![work(HOG)]);
        with(&mut set, task, fifo(priority))
    });
    set.at(10 * MS, Change::Policy { task: tasks[0], policy: fifo(5) });
    set.at(20 * MS, Change::Policy { task: tasks[0], policy: fifo(10) });
    set.at(30 * MS, Change::Policy { task: tasks[0], policy: rr(11) });
    check(
        &KERNELS,
        &set,
        1,
        Ns(MS),
        50,
        &expect![[r#"
                0         10        20        30        40
        fifo20  0000000000....................00000000000000000000
        fifo10  ..........00000000000000000000....................
    "#]],
    );
}

#[test]
fn children_of_real_time_tasks_are_real_time_tasks() {
    let mut set = TaskSet::default();
    let child = set.pinned("child", 0, vec![work(5 * MS)]);
    set.tasks[child].start = Start::Forked;
    let parent = set.pinned("parent", 0, vec![Instr::Fork { task: child }, work(10 * MS)]);
    with(&mut set, parent, rr(40));
    set.pinned("fair", 0, vec![work(HOG)]);
    check(
        &["v6.18"],
        &set,
        1,
        Ns(MS),
        30,
        &expect![[r#"
                0         10        20
        child   ..........00000
        parent  0000000000
        fair    ...............000000000000000
    "#]],
    );
    let mut simulation = simulation(set, 1, 1000, profile("v6.18"), 30);
    run_to(&mut simulation, 5_000);
    assert_eq!(simulation.sched().task(child).policy, rr(40));
}

#[test]
fn they_leave_a_cpu_that_goes_off_line_and_one_that_they_may_not_use() {
    let mut set = TaskSet::default();
    let tasks = [10, 11, 12].map(|priority| {
        let task = set.task(&format!("fifo{priority}"), vec![work(HOG)]);
        with(&mut set, task, fifo(priority))
    });
    set.at(10 * MS, Change::Hotplug { cpu: cpu(1), online: false });
    set.at(20 * MS, Change::Hotplug { cpu: cpu(1), online: true });
    set.at(40 * MS, Change::Affinity { task: tasks[2], cpus: CpuMask::only(cpu(1)) });
    check(
        &KERNELS,
        &set,
        2,
        Ns(MS),
        50,
        &expect![[r#"
                0         10        20        30        40
        fifo10  ..................................................
        fifo11  1111111111..............................0000000000
        fifo12  00000000000000000000000000000000000000001111111111
    "#]],
    );
}

/// The load of a fair queue is that of its fair tasks: who leaves the class takes its own along, and brings back what is left of it.
#[test]
fn load_leaves_with_a_task_and_comes_back_with_it() {
    for name in KERNELS {
        let mut set = TaskSet::default();
        let [a, b] = ["a", "b"].map(|name| set.pinned(name, 0, vec![work(HOG)]));
        set.at(500 * MS, Change::Policy { task: a, policy: fifo(10) });
        set.at(520 * MS, Change::Policy { task: a, policy: Policy::Normal });
        let mut simulation = simulation(set, 1, 1000, profile(name), 600);
        let loads = |simulation: &mut Simulation, us: u64| {
            run_to(simulation, us);
            let of = |task| simulation.sched().se_avg(task).load_avg;
            (simulation.sched().cfs_avg(cpu(0)).load_avg, of(a), of(b))
        };
        let close = |sum: u64, parts: u64| sum.abs_diff(parts) * 20 <= parts;
        let (sum, own, other) = loads(&mut simulation, 499_900);
        assert!(close(sum, own + other), "{name}: {sum}, {own} + {other}");
        let (sum, _, other) = loads(&mut simulation, 500_100);
        assert!(close(sum, other), "{name}: {sum}, {other}");
        let (sum, back, other) = loads(&mut simulation, 520_100);
        assert!(close(sum, back + other), "{name}: {sum}, {back} + {other}");
        // 20 ms are 0.63 of a half life.
        assert!((own * 55..own * 80).contains(&(back * 100)), "{name}: {own} became {back}");
    }
}
