//! What showed in the deadline class when kernels' own schedulers ran beside this one: a test for each, without a kernel.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::common::classes::{Log, with};
use crate::common::quota::{HOG, simulation};
use crate::common::{Build, MS, cpu, profile, repeat, run_to, sleep, work};
use fairground_model::{Change, DlParams, NullSink, Policy, Reason, Sink, Start, TaskSet, TraceEvent};
use fairground_stdx::{CpuId, Instant, Ns};

fn dl(runtime_us: u64, period_us: u64) -> Policy {
    let (runtime, period) = (Ns::from_us(runtime_us), Ns::from_us(period_us));
    Policy::Deadline(DlParams { runtime, deadline: period, period, reclaim: false })
}

fn reclaiming(policy: Policy) -> Policy {
    policy.deadline().map_or(policy, |params| Policy::Deadline(DlParams { reclaim: true, ..params }))
}

/// Its 0-lag timer has rung in the class, and nothing else gives the share back.
#[test]
fn who_leaves_the_class_in_a_long_sleep_keeps_its_share_for_good() {
    for (name, admitted) in [("v4.12", true), ("v6.1", false), ("v6.12", false)] {
        let mut set = TaskSet::default();
        let task = set.task("sleeps", vec![work(MS), sleep(400 * MS)]);
        with(&mut set, task, dl(60_000, 100_000));
        let next = set.task("next", vec![work(HOG)]);
        set.at(250 * MS, Change::Policy { task, policy: Policy::Normal });
        set.at(260 * MS, Change::Policy { task: next, policy: dl(60_000, 100_000) });
        let ended = simulation(set, 1, 1000, profile(name), 300).run(&mut NullSink);
        assert_eq!(ended.is_ok(), admitted, "{name}: {:?}", ended.err());
    }
}

/// It leaves after 10 of 30 ms, its share is free at 100 - 20 * 100 / 30 = 33 ms, and its deadline of 100 ms is still to come.
#[test]
fn who_comes_back_before_its_deadline_goes_on_with_it() {
    for name in ["v6.1", "v6.12"] {
        let mut set = TaskSet::default();
        let task = set.task("back", vec![work(HOG)]);
        with(&mut set, task, dl(30_000, 100_000));
        set.at(10 * MS, Change::Policy { task, policy: Policy::Normal });
        set.at(50 * MS, Change::Policy { task, policy: dl(30_000, 100_000) });
        let mut simulation = simulation(set, 1, 1000, profile(name), 200);
        run_to(&mut simulation, 50_001);
        let (left, _) = simulation.sched().dl_state(task).unwrap();
        assert!((19_900_000..=20_000_000).contains(&left), "{name}: {left}");
    }
}

#[test]
fn the_new_share_of_a_sleeper_counts_on_its_cpu_at_once() {
    let mut set = TaskSet::default();
    let task = set.task("sleeps", vec![work(MS), sleep(400 * MS)]);
    with(&mut set, task, dl(60_000, 100_000));
    set.at(200 * MS, Change::Policy { task, policy: dl(25_000, 100_000) });
    let mut simulation = simulation(set, 1, 1000, profile("v6.1"), 300);
    run_to(&mut simulation, 201_000);
    assert_eq!(simulation.sched().dl_queue_state(cpu(0)).this_bw, (1 << 20) / 4);
}

/// It has used 0.9 ms by then. Half a CPU is granted before that is accounted, so 0.95 - 0.5 are left to share: it pays 0.55 of the time.
#[test]
fn what_ran_before_a_change_is_accounted_with_the_shares_after_it() {
    let mut set = TaskSet::default();
    let task = set.task("reclaims", vec![work(HOG)]);
    with(&mut set, task, reclaiming(dl(2_000, 10_000)));
    set.at(MS * 9 / 10, Change::Policy { task, policy: reclaiming(dl(5_000, 10_000)) });
    let mut simulation = simulation(set, 1, 1000, profile("v6.1"), 300);
    run_to(&mut simulation, 901);
    let (left, _) = simulation.sched().dl_state(task).unwrap();
    assert!((left - 1_505_000).abs() < 5_000, "{left}");
}

/// At 32 ms the second task wakes and gets its next period, and the runtime of the first, which has the earliest deadline, is used up
/// without a tick. Up to v6.11 that is accounted before the pick.
#[test]
fn who_has_used_up_its_runtime_is_not_picked_again() {
    let mut set = TaskSet::default();
    let first = set.task("first", vec![work(HOG)]);
    with(&mut set, first, dl(3_000, 10_000));
    let second = set.task("second", vec![work(MS), sleep(7 * MS), repeat(u64::MAX)]);
    with(&mut set, second, dl(2_000, 20_000));
    let mut simulation = simulation(set, 1, 250, profile("v6.1"), 40);
    run_to(&mut simulation, 32_001);
    assert_eq!(simulation.sched().rq(cpu(0)).curr, Some(second));
}

/// Whether a deadline task was pushed before anybody ran.
#[derive(Default)]
struct Pushed {
    ran: bool,
    before: bool,
}

impl Sink for Pushed {
    fn record(&mut self, _: Instant, _: CpuId, event: &TraceEvent) {
        self.ran |= matches!(event, TraceEvent::SchedSwitch { .. });
        self.before |= !self.ran && matches!(event, TraceEvent::Decision(row) if row.reason == Reason::MigrateDlPush);
    }
}

/// Two are born on a CPU that still idles. With the second deadline it has one too many, and pushes at once.
#[test]
fn a_cpu_that_idles_pushes_when_a_waiting_task_joins_the_class() {
    let mut set = TaskSet::default();
    for row in 0..3 {
        let task = set.task("task", vec![work(HOG)]);
        with(&mut set, task, if row == 1 { Policy::Normal } else { dl(10_000, 100_000 + row * 1_000) });
    }
    let mut pushed = Pushed::default();
    simulation(set, 2, 1000, profile("v6.12"), 1).run(&mut pushed).unwrap();
    assert!(pushed.ran && pushed.before);
}

/// A policy that is written before a task is born takes the place of that which it was to ask for.
#[test]
fn a_policy_before_the_birth_counts_instead_of_the_deadline() {
    let mut set = TaskSet::default();
    let task = set.task("task", vec![work(HOG)]);
    with(&mut set, task, dl(60_000, 100_000));
    set.tasks[task].start = Start::At(Instant::from_ns(5 * MS));
    set.at(0, Change::Policy { task, policy: Policy::Normal });
    let mut simulation = simulation(set, 1, 1000, profile("v6.12"), 20);
    run_to(&mut simulation, 10_000);
    assert_eq!(simulation.sched().rq(cpu(0)).curr, Some(task));
    assert_eq!(simulation.sched().task(task).policy, Policy::Normal);
}

/// The second waits behind the first, whose deadline is earlier, and gets other parameters at 5 ms. Up to v6.2 the CPU chooses again, for
/// nothing; after that the same happens only if the second one could go first.
#[test]
fn new_parameters_of_one_that_waits_interrupt_no_earlier_deadline_from_v6_3_on() {
    for (name, chooses) in [("v6.1", true), ("v6.12", false)] {
        let mut set = TaskSet::default();
        let first = set.task("first", vec![work(HOG)]);
        with(&mut set, first, dl(20_000, 50_000));
        let second = set.task("second", vec![work(HOG)]);
        with(&mut set, second, dl(20_000, 100_000));
        set.at(5 * MS, Change::Policy { task: second, policy: dl(25_000, 100_000) });
        let mut log = Log::default();
        simulation(set, 1, 100, profile(name), 9).run(&mut log).unwrap();
        let chosen = log.decided.iter().any(|row| (5_000..5_100).contains(&row.0) && row.1 == Reason::PickDl);
        assert_eq!(chosen, chooses, "{name}: {:?}", log.decided);
    }
}

/// It has used 4 ms instead of 2 by the tick, so it is throttled until 15 ms. It is in the fair class then, and the timer takes nothing off
/// it. With new parameters at 16 ms it is throttled still and stands on no queue. It runs on, nobody accounts that, and a fair task that wakes
/// asks for no schedule(): 14 ms are on its account for good. Up to v4.12 it begins anew.
#[test]
fn who_is_in_another_class_as_its_timer_fires_stays_throttled() {
    for (name, stays) in [("v4.12", false), ("v4.20", true), ("v6.1", true), ("v6.12", true), ("v6.18", true)] {
        let mut set = TaskSet::default();
        let task = set.task("back", vec![work(HOG)]);
        with(&mut set, task, dl(2_000, 15_000));
        set.at(6 * MS, Change::Policy { task, policy: Policy::Normal });
        set.at(16 * MS, Change::Policy { task, policy: dl(17_000, 140_000) });
        let other = set.task("other", vec![sleep(40 * MS), work(HOG)]);
        let mut simulation = simulation(set, 1, 250, profile(name), 1000);
        run_to(&mut simulation, 900_000);
        let ran = |task| simulation.sched().se(task).sum_exec_runtime;
        assert_eq!((ran(task), ran(other)) == (14 * MS, 0), stays, "{name}: {} and {} ns", ran(task), ran(other));
    }
}
