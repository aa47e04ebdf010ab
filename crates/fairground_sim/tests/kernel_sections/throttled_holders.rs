//! Locks whose holder is throttled.

use super::support::{fifo, for_ever, kern, kernel, read, setup, syscall, unlock, write};
use crate::common::quota::hog;
use crate::common::{Build, Log, MS, Stay, US, asleep_until, sleep, work};
use fairground_model::{
    CpuMax, Decision, Instr, LockKind, LockSpec, NullSink, RCU_SYNC_DELAY, Reason, TaskGroupSpec, TaskSet, TimerMode, TraceEvent,
};
use fairground_sched::Profile;
use fairground_sim::{HolderIs, LockReport, Setup, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, TaskId, TgId};

fn limited(set: &mut TaskSet) -> TgId {
    let limit = CpuMax { quota: Some(Ns::from_ms(20)), period: Ns::from_ms(100), burst: Ns::ZERO };
    set.groups.push(TaskGroupSpec { limit, ..TaskGroupSpec::new("/a", None) })
}

/// A task that does `body` at `first`, and again `period` later, or at once if it took longer.
fn every(first: u64, period: u64, mode: TimerMode, body: &[Instr]) -> Vec<Instr> {
    let begin = [Instr::Set { reg: 7, at: Instant::from_ns(first) }, Instr::SleepUntil { reg: 7 }];
    let again = [Instr::TimerWait { reg: 7, period: Ns(period), mode }, Instr::Jump { to: 2 }];
    [&begin, body, &again].concat()
}

/// A kernel in which a throttled queue is dequeued as a whole.
fn queues(preemption: &str) -> Profile {
    kernel("v6.12", preemption)
}

/// Where each task stops on its own way back to user mode: as merged, and as mailed before.
fn tasks(preemption: &str) -> [Profile; 2] {
    ["v6.18", "v6.14+task-throttle"].map(|name| kernel(name, preemption))
}

/// Variant P: a reader of limited CPU, a writer and another reader, each on a CPU of its own.
fn variant_p(user: u64, section: u64, profile: Profile) -> LockReport {
    let mut set = TaskSet::default();
    let lock = fifo(&mut set, "sem", LockKind::Rwsem);
    let group = limited(&mut set);
    let body = syscall(&[read(lock), kern(section), unlock(lock)]);
    let holder = set.pinned("H", 0, for_ever([vec![work(user)], body].concat()));
    set.tasks[holder].group = Some(group);
    let body = syscall(&[write(lock), kern(100 * US), unlock(lock)]);
    // Arrivals do not wait for each other: two tasks take turns, as no wait is longer than 100 ms.
    set.pinned("W", 1, every(50 * MS, 100 * MS, TimerMode::Absolute, &body));
    set.pinned("W", 1, every(100 * MS, 100 * MS, TimerMode::Absolute, &body));
    let body = syscall(&[read(lock), kern(50 * US), unlock(lock)]);
    set.pinned("R", 2, every(0, MS, TimerMode::Relative, &body));
    report(setup(set, 3, profile, 2000))
}

fn report(setup: Setup) -> LockReport {
    let mut simulation = Simulation::new(setup).unwrap();
    simulation.run(&mut NullSink).unwrap();
    assert!(simulation.deadlocks().is_empty());
    simulation.lock_reports().remove(0)
}

/// Holds during which the holder was throttled; in us the longest hold; how many waits to write, their mean and the longest; the longest wait to read.
fn figures(report: &LockReport) -> [u64; 6] {
    let (writes, reads) = (&report.writes.times, &report.reads.times);
    let us = |ns| ns / US;
    [report.throttled_holds, us(report.holds.max()), writes.count(), us(writes.mean()), us(writes.max()), us(reads.max())]
}

const CASES: [(u64, u64); 3] = [(900, 2200), (1000, 2000), (2900, 100)];

/// Model: 12 T08
#[test]
fn a_throttled_queue_keeps_a_lock_for_82_ms() {
    let figures = |user, section| figures(&variant_p(user * US, section * US, queues("full")));
    assert_eq!(figures(900, 2200), [14, 82_200, 39, 18_802, 52_100, 51_800]);
    assert_eq!(figures(1000, 2000), [13, 82_000, 38, 18_156, 52_000, 51_950]);
    assert_eq!(figures(2900, 100), [0, 100, 39, 0, 0, 100]);
    // All time of those 14 holds but their own 2.2 ms is that of a throttled queue: waits of 50 ms in each.
    assert_eq!(variant_p(900 * US, 2200 * US, queues("full")).throttled_hold_wait, Ns(14 * 50 * MS));
}

/// Model: 12 T08
#[test]
fn tasks_that_stop_on_their_way_back_keep_no_lock() {
    for (user, section) in CASES {
        for profile in tasks("full").into_iter().chain(tasks("lazy")) {
            let report = variant_p(user * US, section * US, profile);
            assert_eq!(figures(&report), [0, section, 39, 0, 0, 100], "{user}/{section}");
        }
    }
}

/// What quota asks for is a full request: lazy preemption delays it no more than full preemption.
///
/// Model: 12 T08
#[test]
fn a_throttled_queue_keeps_a_lock_as_long_with_lazy_preemption() {
    let [full, lazy] = ["full", "lazy"].map(|preemption| figures(&variant_p(900 * US, 2200 * US, queues(preemption))));
    assert_eq!(full, lazy);
}

/// Model: 12 T09
#[test]
fn without_preemption_in_the_kernel_no_hold_is_longer_than_its_section() {
    for (user, section) in CASES {
        for preemption in ["none", "voluntary"] {
            let [merged, mailed] = tasks(preemption);
            for profile in [queues(preemption), merged, mailed] {
                let report = variant_p(user * US, section * US, profile);
                assert_eq!(figures(&report), [0, section, 39, 0, 0, 100], "{user}/{section} {preemption}");
            }
        }
    }
}

/// Model: 12 T12
#[test]
fn waits_of_writers_are_those_for_a_throttled_holder() {
    let split = |profile| {
        let waits = variant_p(900 * US, 2200 * US, profile).writes;
        (waits.times.sum(), waits.while_holder.map(|time| u128::from(time.0)))
    };
    let (all, parts) = split(queues("full"));
    assert!(parts[HolderIs::Throttled as usize] * 100 >= all * 95);
    assert_eq!(parts.iter().sum::<u128>(), all);
    for profile in tasks("full") {
        assert_eq!(split(profile).1[HolderIs::Throttled as usize], 0);
    }
}

/// Variant S: the holder sleeps with the lock while a hog beside it uses up the quota. Its sleeps differ in length, as else each
/// period would be like the one before.
fn variant_s(profile: Profile) -> LockReport {
    let mut set = TaskSet::default();
    let lock = fifo(&mut set, "sem", LockKind::Rwsem);
    let group = limited(&mut set);
    let sleep = Instr::SleepBetween { low: Ns::from_ms(3), high: Ns::from_ms(7) };
    let body = syscall(&[read(lock), kern(200 * US), sleep.clone(), kern(200 * US), unlock(lock)]);
    let holder = set.pinned("H", 0, for_ever([vec![work(500 * US)], body, vec![sleep]].concat()));
    let hog = hog(&mut set, group, 0);
    set.tasks[holder].group = Some(group);
    assert_ne!(holder, hog);
    report(setup(set, 1, profile, 10_000))
}

/// Model: 12 T10
#[test]
fn a_holder_that_sleeps_is_caught_by_a_throttled_queue_in_every_preemption_model() {
    for preemption in ["none", "voluntary", "full", "lazy"] {
        let report = variant_s(queues(preemption));
        assert!((35..=65).contains(&report.throttled_holds), "{preemption}: {}", report.throttled_holds);
        assert!((75 * MS..90 * MS).contains(&report.holds.max()), "{preemption}: {}", report.holds.max());
        for profile in tasks(preemption) {
            let report = variant_s(profile);
            assert_eq!(report.throttled_holds, 0, "{preemption}");
            assert!(report.holds.max() <= 10 * MS, "{preemption}: {}", report.holds.max());
        }
    }
}

/// Model: 12 T10
#[test]
fn a_futex_is_held_in_user_mode_where_both_models_stop() {
    let [merged, mailed] = tasks("full");
    for profile in [queues("full"), merged, mailed] {
        let mut set = TaskSet::default();
        let lock = set.locks.push(LockSpec::new("f", LockKind::Futex));
        let group = limited(&mut set);
        let body = [write(lock), work(2 * MS), unlock(lock), work(MS)];
        let holder = set.pinned("H", 0, for_ever(body.to_vec()));
        set.tasks[holder].group = Some(group);
        set.pinned("W", 1, every(50 * MS, 100 * MS, TimerMode::Absolute, &[write(lock), work(100 * US), unlock(lock)]));
        let report = report(setup(set, 2, profile, 2000));
        assert!((11..=16).contains(&report.throttled_holds), "{}", report.throttled_holds);
        assert_eq!(report.holds.max(), 82 * MS);
    }
}

/// Variant C: 16 tasks of limited CPU that fork and end, one that attaches, 8 shells that fork.
fn variant_c(profile: Profile) -> Simulation {
    let mut set = TaskSet::default();
    let lock = set.locks.push(LockSpec::new("threadgroup", LockKind::PercpuRwsem { rcu_sync: RCU_SYNC_DELAY }));
    let group = limited(&mut set);
    let body = syscall(&[read(lock), kern(150 * US), sleep(200 * US), kern(150 * US), unlock(lock)]);
    for row in 0..16 {
        let task = set.task(&format!("job{row}"), for_ever([vec![work(300 * US)], body.clone()].concat()));
        set.tasks[task].group = Some(group);
    }
    let body = syscall(&[write(lock), kern(100 * US), unlock(lock)]);
    set.task("attach", every(30 * MS, 100 * MS, TimerMode::Absolute, &body));
    let body = syscall(&[read(lock), kern(100 * US), unlock(lock)]);
    for row in 0..8 {
        set.task(&format!("shell{row}"), every(0, 5 * MS, TimerMode::Relative, &body));
    }
    let mut simulation = Simulation::new(setup(set, 4, profile, 5000)).unwrap();
    simulation.run(&mut NullSink).unwrap();
    simulation
}

/// The shortest half of attaches, and the worst of the shells' 99th percentiles.
fn attach_and_shells(simulation: &Simulation) -> (u64, u64) {
    let p99 = |row| simulation.lock_waits_of(TaskId::new(row)).unwrap().quantile(990);
    (simulation.lock_reports()[0].writes.times.quantile(500), (17..25).map(p99).max().unwrap())
}

/// Model: 12 T10
#[test]
fn attaching_to_a_cgroup_waits_for_forks_of_a_throttled_queue() {
    let (attach, shells) = attach_and_shells(&variant_c(queues("full")));
    assert!(attach >= 50 * MS && (50 * MS..=100 * MS).contains(&shells), "{attach} {shells}");
    for profile in tasks("full") {
        let (attach, shells) = attach_and_shells(&variant_c(profile));
        assert!((10 * MS..=12 * MS).contains(&attach) && shells < 13 * MS, "{attach} {shells}");
    }
}

/// Both are due on the way back: first schedule(), then the work, then limbo.
///
/// Model: 12 T01
#[test]
fn schedule_comes_before_throttle_work() {
    for profile in tasks("none") {
        let mut set = TaskSet::default();
        let group = limited(&mut set);
        // The quota of 20 ms ends in the section; at its end a task without limit waits too.
        let body = [vec![work(19 * MS)], syscall(&[kern(3 * MS)]), vec![work(MS)]].concat();
        let limited = set.pinned("limited", 0, body);
        set.tasks[limited].group = Some(group);
        let other = set.pinned("other", 0, [asleep_until(21 * MS).to_vec(), vec![work(MS)]].concat());
        let log = Log::of(setup(set, 1, profile, 200));
        let order: Vec<(u64, &str)> = log
            .events
            .iter()
            .filter(|row| row.0 > 21 * MS)
            .filter_map(|row| match row.2 {
                TraceEvent::SchedSwitch { next: Some(next), .. } => {
                    Some((row.0 / MS, if next == other { "other" } else { "limited" }))
                }
                TraceEvent::Decision(Decision { reason: Reason::ThrottleWork, .. }) => Some((row.0 / MS, "work")),
                _ => None,
            })
            .collect();
        assert_eq!(order[..4], [(22, "other"), (23, "limited"), (23, "work"), (100, "limited")], "{order:?}");
    }
}

/// Model: 12 T13
#[test]
fn a_kernel_thread_with_a_lock_is_never_stopped() {
    for profile in tasks("full") {
        let mut set = TaskSet::default();
        let lock = fifo(&mut set, "sem", LockKind::Rwsem);
        let group = limited(&mut set);
        let holder = set.pinned("kthread", 0, vec![read(lock), kern(150 * MS), unlock(lock)]);
        set.tasks[holder].group = Some(group);
        set.tasks[holder].kthread = true;
        let report = report(setup(set, 1, profile, 500));
        assert_eq!((report.holds.max(), report.throttled_holds), (150 * MS, 0));
    }
}

/// What is run in the kernel beyond the quota is paid before the task sees user mode again.
#[test]
fn debts_of_a_section_are_paid_before_user_mode() {
    let [profile, _] = tasks("full");
    let mut set = TaskSet::default();
    let group = limited(&mut set);
    let hog = set.pinned("hog", 0, [vec![work(19 * MS)], syscall(&[kern(130 * MS)]), vec![work(50 * MS)]].concat());
    set.tasks[hog].group = Some(group);
    let log = Log::of(setup(set, 1, profile, 1000));
    // 149 ms are run at once: 129 ms of debt. Periods of 20 ms pay it off by 700 ms, when 11 ms are left of the seventh.
    assert_eq!(log.stays()[0].ns, 149 * MS);
    assert_eq!(log.stays()[1], Stay { task: hog.get(), from: 700 * MS, ns: 11 * MS });
}

/// Of 20 ms at 100 ms a task in a section on the other CPU owes more than there is: the queue of two in limbo is released with
/// 1 ns. Both are on their way back to user mode; the one that comes second finds the quota used up, and is in limbo again without
/// having run.
///
/// Model: 12 T14
#[test]
fn a_task_that_is_released_with_nothing_goes_back_to_limbo() {
    let [profile, _] = tasks("full");
    let mut set = TaskSet::default();
    let group = limited(&mut set);
    let hogs = [hog(&mut set, group, 0), hog(&mut set, group, 0)];
    let body = [vec![sleep(3 * MS)], syscall(&[kern(60 * MS)]), vec![work(50 * MS)]].concat();
    let second = set.pinned("section", 1, body);
    set.tasks[second].group = Some(group);
    let mut simulation = Simulation::new(setup(set, 2, profile, 1000)).unwrap();
    let mut log = Log::default();
    simulation.run_until(Instant::from_ns(99 * MS), &mut log).unwrap();
    assert_eq!(hogs.map(|hog| throttle_works(&log, hog)), [1, 1]);
    simulation.run_until(Instant::from_ns(199 * MS), &mut log).unwrap();
    assert_eq!(hogs.map(|hog| throttle_works(&log, hog)), [2, 2]);
    let mut ran = hogs.map(|hog| log.runtime_in(hog, 99 * MS..199 * MS));
    ran.sort_unstable();
    assert_eq!(ran, [0, MS], "one runs to the tick, the other not at all");
}

/// How often a task went to limbo.
fn throttle_works(log: &Log, task: TaskId) -> usize {
    let works = |row: &&(u64, CpuId, TraceEvent)| matches!(row.2, TraceEvent::Decision(decision) if decision.reason == Reason::ThrottleWork && decision.a == task.get());
    log.events.iter().filter(works).count()
}

/// Section 8.5: what a group runs beyond its quota in a period is at most a section and a tick, and less where its queue is taken off at once.
#[test]
fn the_debt_of_a_period_is_at_most_a_section_and_a_tick() {
    let debt = |profile: Profile| {
        let mut set = TaskSet::default();
        let lock = fifo(&mut set, "sem", LockKind::Rwsem);
        let group = limited(&mut set);
        let body = syscall(&[read(lock), kern(2200 * US), unlock(lock)]);
        let holder = set.pinned("H", 0, for_ever([vec![work(900 * US)], body].concat()));
        set.tasks[holder].group = Some(group);
        let mut simulation = Simulation::new(setup(set, 1, profile, 2000)).unwrap();
        simulation.run(&mut NullSink).unwrap();
        simulation.sched().cfs_bandwidth(group).unwrap().stats.debt_max.0
    };
    assert!(debt(queues("full")) <= MS);
    for profile in tasks("full") {
        let debt = debt(profile);
        assert!((MS..=2200 * US + MS).contains(&debt), "{debt}");
    }
}
