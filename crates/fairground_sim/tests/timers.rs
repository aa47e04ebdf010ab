//! Sleeps, timer slack, and the tick of busy and idle CPUs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, asleep_until, busy_until, cpu, free_machine, setup, sleep, work};
use fairground_machine::machine::TICK_RATES;
use fairground_model::{Instr, Start, TaskSet, TimerMode, TraceEvent};
use fairground_stdx::{Instant, Ns};

/// The first wake-up of a task that is alone and sleeps for 1 ms with that slack.
fn wakes_at(slack: Ns) -> u64 {
    let mut set = TaskSet::default();
    let task = set.task("sleeper", vec![sleep(MS), work(US)]);
    set.tasks[task].timer_slack = slack;
    Log::of(setup(free_machine(1, 1000), "v5.19", set, 10 * MS)).wakeups(task)[0].0
}

#[test]
fn slack_delays_a_lone_timer() {
    assert_eq!(wakes_at(Ns(50 * US)), MS + 50 * US);
    assert_eq!(wakes_at(Ns(1)), MS + 1);
    assert_eq!(wakes_at(Ns(0)), MS);
}

/// Whatever lies beyond the end of time does not ring.
#[test]
fn endless_sleeps_and_slacks_are_no_overflow() {
    let mut set = TaskSet::default();
    set.task("sleeper", vec![sleep(u64::MAX)]);
    let slack = set.task("slack", vec![sleep(MS)]);
    set.tasks[slack].timer_slack = Ns(u64::MAX);
    let add = Instr::Add { reg: 0, time: Ns(u64::MAX) };
    set.task("sum", vec![add.clone(), add, Instr::SleepUntil { reg: 0 }]);
    let timer = Instr::TimerWait { reg: 0, period: Ns(u64::MAX), mode: TimerMode::Absolute };
    set.task("timer", vec![Instr::Now { reg: 0 }, work(MS), timer, Instr::Jump { to: 1 }]);
    set.task("until", vec![Instr::Set { reg: 0, at: Instant::from_ns(u64::MAX) }, Instr::RunUntil { reg: 0 }]);
    let (log, _, end) = Log::and_simulation(setup(free_machine(1, 1000), "v5.19", set, 100 * MS));
    // Only an interrupt for something else takes the patient one along.
    assert_eq!((end.at.ns(), log.exit_of(slack).is_some_and(|at| at % MS == 0)), (100 * MS, true));
}

#[test]
fn an_interrupt_takes_timers_along_whose_soft_expiry_has_passed() {
    let mut set = TaskSet::default();
    let sleeper = |set: &mut TaskSet, at, slack| {
        let mut code = asleep_until(at).to_vec();
        code.push(work(US));
        let task = set.task("sleeper", code);
        set.tasks[task].timer_slack = Ns(slack);
        task
    };
    let patient = sleeper(&mut set, 1_000 * US, 50 * US);
    let exact = sleeper(&mut set, 1_020 * US, 0);
    let later = sleeper(&mut set, 1_021 * US, 100 * US);
    let log = Log::of(setup(free_machine(1, 100), "v5.19", set, 5 * MS));
    assert_eq!(log.wakeups(exact)[0].0, 1_020 * US);
    assert_eq!(log.wakeups(patient)[0].0, 1_020 * US, "taken along before its hard expiry");
    assert_eq!(log.wakeups(later)[0].0, 1_121 * US, "its soft expiry had not passed");
}

#[test]
fn a_tick_takes_timers_along() {
    let mut set = TaskSet::default();
    let mut code = asleep_until(1_990 * US).to_vec();
    code.push(work(US));
    let task = set.task("sleeper", code);
    set.tasks[task].timer_slack = Ns(50 * US);
    set.task("hog", vec![work(u64::MAX)]);
    let log = Log::of(setup(free_machine(1, 1000), "v5.19", set, 5 * MS));
    assert_eq!(log.wakeups(task)[0].0, 2 * MS);
}

#[test]
fn a_sleep_until_the_past_goes_on_at_once() {
    let mut set = TaskSet::default();
    let mut code = vec![work(3 * MS)];
    code.extend(asleep_until(MS));
    code.push(work(MS));
    let task = set.task("late", code);
    let log = Log::of(setup(free_machine(1, 1000), "v5.19", set, 10 * MS));
    assert_eq!((log.exit_of(task), log.wakeups(task).len()), (Some(4 * MS), 0));
}

#[test]
fn the_tick_stops_in_idle_and_comes_back_on_the_grid() {
    let mut set = TaskSet::default();
    let mut code = vec![work(3_500 * US)];
    code.extend(asleep_until(10_200 * US));
    code.push(work(2 * MS));
    set.task("task", code);
    set.pinned("elsewhere", 1, vec![work(u64::MAX)]);
    let log = Log::of(setup(free_machine(2, 1000), "v5.19", set, 14 * MS));
    assert_eq!(log.busy_ticks(cpu(0)), [1, 2, 3, 11, 12].map(|ms| ms * MS));
}

#[test]
fn jiffies_count_ticks_also_when_the_keeper_goes_idle() {
    let mut set = TaskSet::default();
    set.pinned("short", 0, vec![work(4 * MS)]);
    set.pinned("long", 1, vec![work(9_500 * US), sleep(5_200 * US), work(4 * MS)]);
    let (_, simulation, _) = Log::and_simulation(setup(free_machine(2, 1000), "v5.19", set, 17_500 * US));
    assert_eq!((simulation.jiffies(), simulation.counts().ticks), (17, 3 + 9 + 3));
}

#[test]
fn ticks_coincide_unless_they_have_an_offset() {
    for offset in [0, 100 * US] {
        let mut set = TaskSet::default();
        for number in 0..3 {
            set.pinned("hog", number, vec![work(u64::MAX)]);
        }
        let mut machine = free_machine(3, 1000);
        machine.tick_offset = Ns(offset);
        let log = Log::of(setup(machine, "v5.19", set, 4_500 * US));
        for number in 0..3 {
            let expected: Vec<u64> =
                (0..=4).map(|k| k * MS + u64::from(number) * offset).filter(|&at| at > 0 && at < 4_500 * US).collect();
            assert_eq!(log.busy_ticks(cpu(number)), expected, "CPU {number}, offset {offset}");
        }
    }
}

#[test]
fn every_tick_rate_has_its_period() {
    for hz in TICK_RATES {
        let mut set = TaskSet::default();
        set.task("hog", vec![work(u64::MAX)]);
        let mut machine = free_machine(1, hz);
        machine.tick = fairground_machine::machine::tick_of(hz);
        let period = machine.tick.0;
        let log = Log::of(setup(machine, "v5.19", set, 1_000 * MS + 1));
        let ticks = log.busy_ticks(cpu(0));
        assert_eq!(ticks, (1..=u64::from(hz)).map(|k| k * period).collect::<Vec<_>>(), "HZ {hz}");
    }
}

#[test]
fn jitter_is_bounded_and_late_only() {
    let mut set = TaskSet::default();
    set.task("hog", vec![work(u64::MAX)]);
    let mut machine = free_machine(1, 1000);
    machine.tick_jitter = Ns(100 * US);
    let log = Log::of(setup(machine, "v5.19", set, 200 * MS));
    let late: Vec<u64> = log.busy_ticks(cpu(0)).iter().map(|at| at % MS).collect();
    assert!(late.iter().all(|&ns| ns < 100 * US), "{late:?}");
    assert!(late.iter().any(|&ns| ns > 50 * US) && late.iter().any(|&ns| ns < 50 * US));
}

#[test]
fn an_idle_cpu_that_keeps_its_tick_ticks_from_the_beginning() {
    let mut set = TaskSet::default();
    let mut code = busy_until(2_500 * US).to_vec();
    code.extend([sleep(3 * MS), work(MS), Instr::Exit]);
    set.task("task", code);
    let mut machine = free_machine(2, 1000);
    machine.nohz_idle = false;
    let (_, simulation, end) = Log::and_simulation(setup(machine, "v5.19", set, 20 * MS));
    assert_eq!(end.at.ns(), 6_500 * US);
    assert_eq!((simulation.counts().ticks, simulation.jiffies()), (12, 6), "two CPUs, six ticks each");
}

/// A thread that sleeps as the run begins is woken at the instant with which its program begins, and is on no CPU before.
#[test]
fn who_sleeps_as_a_run_begins_was_never_started() {
    for name in ["v5.10", "v6.12"] {
        let mut set = TaskSet::default();
        let code = asleep_until(3 * MS).into_iter().chain([work(MS)]).collect();
        let thread = set.task("kworker", code);
        let spec = &mut set.tasks[thread];
        (spec.start, spec.first_cpu, spec.kthread, spec.timer_slack) = (Start::Asleep, Some(cpu(1)), true, Ns::ZERO);
        let log = Log::of(setup(free_machine(2, 250), name, set, 10 * MS));
        assert_eq!(log.wakeups(thread), [(3 * MS, cpu(1))], "{name}");
        let runs = |event: &TraceEvent| matches!(event, TraceEvent::SchedSwitch { next, .. } if *next == Some(thread));
        let first = log.events.iter().find(|row| runs(&row.2)).map(|row| (row.0, row.1));
        assert_eq!(first, Some((3 * MS, cpu(1))), "{name}");
        assert_eq!(log.exit_of(thread), Some(4 * MS), "{name}");
    }
}
