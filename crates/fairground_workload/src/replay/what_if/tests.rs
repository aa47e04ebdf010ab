use super::super::build;
use super::*;
use crate::testing;
use PrevState::{Dead, Running, Sleeping};
use fairground_model::{PrevState, WakeContext};

type Record = (Instant, CpuId, TraceEvent);

fn task(row: u32) -> TaskId {
    TaskId::new(row)
}
fn at(ms: u64, event: TraceEvent) -> Record {
    (Instant::from_ns(ms * 1_000_000), CpuId::new(0), event)
}
fn switch(prev: Option<u32>, prev_state: PrevState, next: Option<u32>) -> TraceEvent {
    TraceEvent::SchedSwitch { prev: prev.map(task), prev_state, next: next.map(task) }
}
fn waking(wakee: u32, waker: Option<u32>) -> TraceEvent {
    let context = if waker.is_some() { WakeContext::Task } else { WakeContext::Hardirq };
    TraceEvent::SchedWaking { task: task(wakee), target_cpu: CpuId::new(0), waker: waker.map(task), context }
}
fn of(records: &[Record], members: &[bool], arrivals: Loop) -> WhatIf {
    let infos = ["web", "db", "other"].map(|name| TaskInfo { name: name.to_string(), pid: 1, prio: 120 }).into_iter().collect();
    let made = what_if(records, &infos, &members.iter().copied().collect(), 4, arrivals);
    testing::check(&made.tasks);
    made
}
/// Instructions of the first task in short.
fn code(made: &WhatIf) -> Vec<String> {
    let ms = |ns: u64| ns / 1_000_000;
    made.tasks.programs[made.tasks.tasks[task(0)].program]
        .code
        .iter()
        .map(|instr| match instr {
            Instr::Run { work, .. } => format!("run {}", ms(work.0)),
            Instr::Set { at, .. } => format!("due {}", ms(at.ns())),
            Instr::Add { time, .. } => format!("after {}", ms(time.0)),
            Instr::MarkSince { .. } => "done".to_string(),
            Instr::Read { .. } => "token".to_string(),
            Instr::Write { .. } => "wake".to_string(),
            Instr::SleepUntil { .. } => "sleep".to_string(),
            Instr::Now { .. } => "now".to_string(),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Woken at 10 and 200 ms; the first piece of 5 ms is throttled for 90 ms in its middle.
fn throttled() -> Vec<Record> {
    vec![
        at(0, switch(None, Running, Some(2))),
        at(1, switch(Some(2), Sleeping, None)),
        at(10, waking(0, None)),
        at(10, switch(None, Running, Some(0))),
        at(12, switch(Some(0), Running, None)),
        at(102, switch(None, Running, Some(0))),
        at(105, switch(Some(0), Sleeping, None)),
        at(200, waking(0, None)),
        at(201, switch(None, Running, Some(0))),
        at(203, switch(Some(0), Dead, None)),
    ]
}

#[test]
fn waiting_for_quota_is_no_demand_and_arrivals_keep_their_times() {
    let made = of(&throttled(), &[true, false, false], Loop::Open);
    assert_eq!(code(&made), ["due 10", "sleep", "run 5", "done", "due 200", "sleep", "run 2", "done"]);
    assert_eq!(made.recorded, [Ns::from_ms(95), Ns::from_ms(3)]);
    assert_eq!((made.pieces, made.outside, made.inside, made.overdue), (2, 2, 0, 0));
    assert_eq!((made.tasks.tasks.len(), made.endless.len()), (1, 0));
}

#[test]
fn in_a_closed_loop_sleeps_keep_their_lengths() {
    let made = of(&throttled(), &[true, false, false], Loop::Closed);
    // The first wake-up has no sleep before it that was seen to begin.
    assert_eq!(code(&made), ["due 10", "sleep", "run 5", "done", "now", "after 95", "sleep", "run 2", "done"]);
}

#[test]
fn only_wake_ups_within_the_set_are_made_by_its_tasks() {
    let mut records = throttled();
    // 2 wakes 0, and 0 wakes 1, each while it runs.
    records[0] = at(0, switch(None, Running, Some(2)));
    records[2] = at(10, waking(0, None));
    records.insert(7, at(104, waking(1, Some(0))));
    let (both, one) = (of(&records, &[true, true, false], Loop::Open), of(&records, &[true, false, false], Loop::Open));
    assert!(code(&both).contains(&"wake".to_string()) && !code(&one).contains(&"wake".to_string()));
    assert_eq!((both.inside, one.inside), (1, 0));
    let outer = vec![
        at(0, switch(None, Running, Some(2))),
        at(1, waking(0, Some(2))),
        at(2, switch(Some(2), Sleeping, Some(0))),
        at(7, switch(Some(0), Sleeping, None)),
    ];
    assert_eq!(code(&of(&outer, &[true, false, false], Loop::Open)), ["due 1", "sleep", "run 5", "done"]);
}

/// A timer each 20 ms, work of 5 ms, and a wait of 70 ms for quota in the second piece: three sleeps are over before they begin.
fn late() -> Vec<Record> {
    let mut records = vec![at(0, switch(None, Running, None))];
    for (from, to) in [(20, 25), (40, 45)] {
        records.extend([
            at(from, waking(0, None)),
            at(from, switch(None, Running, Some(0))),
            at(to, switch(Some(0), Sleeping, None)),
        ]);
    }
    records.extend([at(60, waking(0, None)), at(60, switch(None, Running, Some(0)))]);
    records.extend([at(62, switch(Some(0), Running, None)), at(132, switch(None, Running, Some(0)))]);
    records.extend([135, 140].map(|ms| at(ms, waking(0, Some(0)))));
    // The last interrupt comes after the switch to the idle task.
    let (slept, woken) = (Instant::from_ns(145_000_000), Instant::from_ns(145_001_000));
    records.push((slept, CpuId::new(0), switch(Some(0), Sleeping, None)));
    records.push((woken, CpuId::new(0), waking(0, None)));
    records.push((woken, CpuId::new(0), switch(None, Running, Some(0))));
    records
}
fn dues(made: &WhatIf) -> Vec<String> {
    code(made).into_iter().filter(|instr| instr.starts_with("due")).collect()
}

#[test]
fn a_timer_that_was_late_goes_on_at_its_distance() {
    let made = of(&late(), &[true, false, false], Loop::Open);
    assert_eq!(dues(&made), ["due 20", "due 40", "due 60", "due 80", "due 100", "due 120"]);
    assert_eq!((made.overdue, made.pieces), (3, 5));
    let recorded: Vec<u64> = made.recorded.iter().map(|time| time.0 / 1_000_000).collect();
    assert_eq!(recorded, [5, 5, 75, 60, 45]);
}

#[test]
fn what_was_due_lies_before_the_next_wake_up_and_before_it_was_found() {
    // The next wake-up comes at 120 already: three at 15 ms.
    let mut early = late();
    early.extend([at(148, switch(Some(0), Sleeping, None)), at(150, waking(0, None)), at(151, switch(None, Running, Some(0)))]);
    let shorter: Vec<Record> = early
        .into_iter()
        .map(|(at, cpu, event)| (if at.ns() == 150_000_000 { Instant::from_ns(149_000_000) } else { at }, cpu, event))
        .collect();
    let made = of(&shorter, &[true, false, false], Loop::Open);
    assert_eq!(dues(&made), ["due 20", "due 40", "due 60", "due 80", "due 100", "due 120", "due 149"]);
    // A timer of 50 ms would be due after it was found, and does not fit.
    let mut slow = vec![at(0, switch(None, Running, None))];
    for (from, to) in [(0, 5), (50, 55)] {
        slow.extend([
            at(from, waking(0, None)),
            at(from, switch(None, Running, Some(0))),
            at(to, switch(Some(0), Sleeping, None)),
        ]);
    }
    slow.extend([at(100, waking(0, None)), at(100, switch(None, Running, Some(0))), at(110, waking(0, Some(0)))]);
    assert_eq!(dues(&of(&slow, &[true, false, false], Loop::Open)), ["due 0", "due 50", "due 100", "due 110"]);
    slow.extend([at(120, waking(0, Some(0))), at(125, switch(Some(0), Sleeping, None)), at(130, waking(0, None))]);
    let made = dues(&of(&slow, &[true, false, false], Loop::Open));
    assert_eq!(made, ["due 0", "due 50", "due 100", "due 110", "due 120", "due 130"]);
}

/// A sleep of 50 us that a task outside ends is no timer whose time had passed: that task came then.
#[test]
fn a_short_sleep_that_a_task_ends_is_exact() {
    let us = |us: u64, cpu: u32, event| (Instant::from_ns(us * 1000), CpuId::new(cpu), event);
    let woken_by = |waker| {
        vec![
            us(0, 1, switch(None, Running, Some(2))),
            us(1, 0, waking(0, None)),
            us(1, 0, switch(None, Running, Some(0))),
            us(5000, 0, switch(Some(0), Sleeping, None)),
            us(5050, 1, waking(0, waker)),
            us(5060, 0, switch(None, Running, Some(0))),
            us(9000, 0, switch(Some(0), Sleeping, None)),
        ]
    };
    let overdue = |waker| of(&woken_by(waker), &[true, false, false], Loop::Open).overdue;
    assert_eq!((overdue(Some(2)), overdue(None)), (0, 1));
}

#[test]
fn a_thread_that_never_sleeps_is_named() {
    let records = vec![at(0, switch(None, Running, Some(0))), at(50, switch(Some(0), Running, None))];
    let made = of(&records, &[true, false, false], Loop::Open);
    assert_eq!((made.endless, made.pieces, made.recorded.len()), (vec!["web".to_string()], 0, 0));
}

/// In every recorded set that has periodic tasks with and without a quota.
#[test]
fn what_is_rebuilt_of_a_recording_is_all_its_run_time() {
    let records = throttled();
    let infos = ["web", "db", "other"].map(|name| TaskInfo { name: name.to_string(), pid: 1, prio: 120 }).into_iter().collect();
    let sum = |set: &TaskSet| -> u64 {
        let code = set.programs.iter().flat_map(|program| &program.code);
        code.map(|instr| if let Instr::Run { work, .. } = instr { work.0 } else { 0 }).sum()
    };
    let all = what_if(&records, &infos, &[true; 3].into_iter().collect(), 4, Loop::Open);
    assert_eq!(sum(&all.tasks), sum(&build(&records, &infos, 4).tasks));
}
