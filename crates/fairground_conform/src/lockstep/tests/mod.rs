//! Small recordings made by hand.

use super::{Lockstep, Setup};
use crate::outcome::{Kind, Outcome};
use crate::recording::{QuotaChange, Recording};
use fairground_model::{CpuMax, MachineView, PrevState, Sink, TaskGroupSpec, TaskInfo, TaskSpec, TraceEvent, WakeContext};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TaskId, TgId, Vruntime};

mod past;

const TICK: u64 = 4_000_000;

fn task(row: u32) -> TaskId {
    TaskId::new(row)
}

/// A recording of one CPU with so many tasks at nice 0.
fn recording(tasks: u32, events: &[(u64, TraceEvent)]) -> Recording {
    let mut recording = Recording::default();
    for row in 0..tasks {
        recording.task(task(row), &TaskInfo { name: format!("t{row}"), pid: 100 + row, prio: 120 });
    }
    events.iter().for_each(|(at, event)| recording.record(Instant::from_ns(*at), CpuId::new(0), event));
    recording
}

fn ran(row: u32, runtime: u64, vruntime: u64) -> TraceEvent {
    TraceEvent::SchedStatRuntime { task: task(row), runtime: Ns(runtime), vruntime: Some(Vruntime(vruntime)) }
}

fn switch(prev: Option<u32>, prev_state: PrevState, next: Option<u32>) -> TraceEvent {
    TraceEvent::SchedSwitch { prev: prev.map(task), prev_state, next: next.map(task) }
}

fn wake(row: u32) -> [TraceEvent; 2] {
    let cpu = CpuId::new(0);
    let waking = TraceEvent::SchedWaking { task: task(row), target_cpu: cpu, waker: None, context: WakeContext::Hardirq };
    [waking, TraceEvent::SchedWakeup { task: task(row), target_cpu: cpu }]
}

fn compare(recording: &Recording, kernel: &str) -> Outcome {
    compare_on(1, recording, kernel)
}

fn compare_on(nr_cpus: usize, recording: &Recording, kernel: &str) -> Outcome {
    let mut lockstep = Lockstep::new(recording, &setup_on(nr_cpus, kernel));
    lockstep.advance(usize::MAX);
    lockstep.finish()
}

fn setup_on(nr_cpus: usize, kernel: &str) -> Setup {
    Setup {
        profile: Profile::parse(kernel).expect("a modelled kernel"),
        machine: MachineView::flat(nr_cpus, Ns(TICK)),
        tick: Some(Ns(TICK)),
        keep: 10,
        lags: Vec::new(),
        specs: Vec::new(),
        allowed: Vec::new(),
        groups: IndexVec::new(),
        members: Vec::new(),
        begins: Vec::new(),
        moves: Vec::new(),
        learns: false,
    }
}

#[test]
fn virtual_time_wraps() {
    let start = u64::MAX - 10_000_000;
    let mut events = vec![(1_000, switch(None, PrevState::Running, Some(0)))];
    events.extend((1..=10).map(|tick| (tick * TICK, ran(0, TICK, start.wrapping_add(tick * TICK)))));
    let outcome = compare(&recording(1, &events), "v5.10");
    assert_eq!((outcome.vruntimes.compared, outcome.vruntimes.exact, outcome.vruntimes.largest), (10, 10, 0));
}

#[test]
fn a_wrong_virtual_time_is_compared_and_not_followed() {
    let mut events = vec![(1_000, switch(None, PrevState::Running, Some(0)))];
    events.extend((1..=10).map(|tick| (tick * TICK, ran(0, TICK, tick * TICK + if tick > 5 { 7 } else { 0 }))));
    let outcome = compare(&recording(1, &events), "v5.10");
    assert_eq!((outcome.vruntimes.compared, outcome.vruntimes.exact, outcome.vruntimes.largest), (10, 5, 7));
    assert_eq!(outcome.vruntime_errors.len(), 5);
}

/// A hog that wakes another task half a tick after the 20th; `after` follows the wake-up.
fn wakes(after: &[(u64, TraceEvent)]) -> Recording {
    let at = TICK * 20 + TICK / 2;
    let mut events = vec![(1_000, switch(None, PrevState::Running, Some(0)))];
    events.extend((1..=20).map(|tick| (tick * TICK, ran(0, TICK, tick * TICK))));
    let [waking, wakeup] = wake(1);
    events.extend([(at, waking), (at + 1_000, ran(0, TICK / 2, at)), (at + 2_000, wakeup)]);
    events.extend(after.iter().map(|(later, event)| (at + later, *event)));
    recording(2, &events)
}

/// Two hogs in groups of one CPU; that of group 0 is throttled at the second tick and released at the fourth, by a recorder's probes.
fn throttled(kernel: &str, tells: bool) -> Outcome {
    let mut events = vec![(1_000, switch(None, PrevState::Running, Some(0)))];
    let [waking, wakeup] = wake(1);
    events.extend([(2_000, waking), (3_000, wakeup)]);
    events.extend([(TICK, ran(0, TICK, TICK)), (2 * TICK, ran(0, TICK, 2 * TICK))]);
    events.push((2 * TICK + 9_000, switch(Some(0), PrevState::Running, Some(1))));
    events.extend((3..=9).map(|tick| (tick * TICK, ran(1, TICK, tick * TICK))));
    events.push((9 * TICK + 5_000, switch(Some(1), PrevState::Sleeping, None)));
    let mut recording = recording(2, &events);
    let (group, cpu) = (TgId::new(0), CpuId::new(0));
    if tells {
        let acts = [(2 * TICK + 8_000, QuotaChange::Throttle(group, Some(cpu))), (20 * TICK, QuotaChange::Release(group, cpu))];
        recording.add_quota_probes(acts.map(|(at, what)| (Instant::from_ns(at), cpu, what)));
    }
    let limit = CpuMax { quota: Some(Ns::from_ms(10)), period: Ns::from_ms(100), burst: Ns::ZERO };
    let groups = ["/a", "/b"].map(|name| TaskGroupSpec { limit, ..TaskGroupSpec::new(name, None) });
    let spec = |row: u32| TaskSpec { group: Some(TgId::new(row)), ..TaskSpec::new("hog", fairground_stdx::ProgramId::new(0)) };
    let setup = Setup {
        specs: vec![(task(0), spec(0)), (task(1), spec(1))],
        groups: groups.into_iter().collect(),
        ..setup_on(1, kernel)
    };
    let mut lockstep = Lockstep::new(&recording, &setup);
    lockstep.advance(usize::MAX);
    lockstep.finish()
}

#[test]
fn a_throttled_queue_is_no_candidate() {
    for kernel in ["v5.10", "v6.1", "v6.6", "v6.12"] {
        let (followed, not) = (throttled(kernel, true), throttled(kernel, false));
        assert!(followed.mismatches.is_empty(), "{kernel}: {:?}", followed.mismatches);
        // All ticks after the first switch find two candidates, if the first group is not throttled.
        let asked =
            |outcome: &Outcome| outcome.kinds[&Kind::TickPreempt].all.decisions + outcome.kinds[&Kind::TickPreempt].unclear;
        assert!(asked(&followed) + 5 < asked(&not), "{kernel}: {} and {}", asked(&followed), asked(&not));
    }
}

#[test]
fn a_wakeup_that_preempts_is_one_that_did() {
    // Latency 6 ms on one CPU: a long sleeper is placed 3 ms before the floor, more than the granularity of 1 ms.
    let placed = TICK * 20 + TICK / 2 - 3_000_000;
    let after = [
        (4_000, switch(Some(0), PrevState::Running, Some(1))),
        (9_000, ran(1, 5_000, placed + 5_000)),
        (10_000, switch(Some(1), PrevState::Sleeping, Some(0))),
    ];
    let outcome = compare(&wakes(&after), "v5.10");
    let row = outcome.kinds[&Kind::WakeupPreempt];
    assert_eq!((row.did.decisions, row.did.agree, row.did_not.decisions), (1, 1, 0));
    assert_eq!(outcome.kinds[&Kind::Pick].all.agree, 1);
    assert!(outcome.mismatches.is_empty());
}

#[test]
fn a_wakeup_that_should_preempt_and_did_not_is_told_with_its_state() {
    let placed = TICK * 20 + TICK / 2 - 3_000_000;
    let end = TICK * 21 + TICK / 2;
    let after = [
        (TICK / 2, ran(0, TICK / 2, TICK * 21)),
        (TICK, ran(0, TICK / 2, end)),
        (TICK + 1_000, switch(Some(0), PrevState::Sleeping, Some(1))),
        (TICK + 9_000, ran(1, 8_000, placed + 8_000)),
    ];
    let outcome = compare(&wakes(&after), "v5.10");
    let row = outcome.kinds[&Kind::WakeupPreempt];
    assert_eq!((row.did_not.decisions, row.did_not.agree), (1, 0));
    let first = &outcome.mismatches[0];
    assert_eq!((first.kind, first.queue.len()), (Kind::WakeupPreempt, 2));
    assert_eq!(first.unknown_lag.len(), 2, "both were there before the recording began");
}

const MS: u64 = 1_000_000;

/// Tasks t0, t1 and t2 on one CPU of v5.10. t0 forks t2, wakes t1 at `woken` ns and is preempted by it; t1 has run until
/// the tick at 44 ms. There are three tasks then, so that slices are 2 ms, and t1 is the one that is furthest behind if
/// it ran for less than 3 ms. `after` follows, by time since that tick.
fn three(woken: u64, after: &[(u64, TraceEvent)]) -> Recording {
    let placed = woken - 3 * MS;
    let forked = 41 * MS;
    let [waking, wakeup] = wake(1);
    let mut events = vec![(1_000, switch(None, PrevState::Running, Some(0)))];
    events.extend((1..=10).map(|tick| (tick * TICK, ran(0, TICK, tick * TICK))));
    events.extend([
        (forked, ran(0, MS, forked)),
        (forked + 1_000, TraceEvent::SchedProcessFork { parent: Some(task(0)), child: task(2) }),
        (forked + 2_000, ran(0, 1_000, forked + 1_000)),
        (forked + 3_000, TraceEvent::SchedWakeupNew { task: task(2), target_cpu: CpuId::new(0) }),
        (woken, waking),
        (woken + 1_000, ran(0, woken - forked - 1_000, woken)),
        (woken + 2_000, wakeup),
        (woken + 4_000, switch(Some(0), PrevState::Running, Some(1))),
        (11 * TICK, ran(1, 11 * TICK - woken, placed + 11 * TICK - woken)),
    ]);
    events.extend(after.iter().map(|(later, event)| (11 * TICK + later, *event)));
    recording(4, &events)
}

/// t1 forks t3 20 us after the tick; nothing shows until the next tick.
fn forks_after_the_tick(placed: u64) -> Vec<(u64, TraceEvent)> {
    vec![
        (20_000, ran(1, 20_000, placed + 20_000)),
        (21_000, TraceEvent::SchedProcessFork { parent: Some(task(1)), child: task(3) }),
        (22_000, ran(1, 2_000, placed + 22_000)),
        (23_000, TraceEvent::SchedWakeupNew { task: task(3), target_cpu: CpuId::new(0) }),
        (TICK, ran(1, TICK - 22_000, placed + TICK)),
        (TICK + 2_000, ran(1, 2_000, placed + TICK + 2_000)),
        (TICK + 3_000, switch(Some(1), PrevState::Running, Some(0))),
    ]
}

#[test]
fn a_reschedule_that_leaves_no_line_is_an_agreement_and_unclear() {
    // t1 ran for 2.5 ms of 2: the tick wants a reschedule. The birth leaves the clock as it is, and t1 is still first.
    let woken = 41_500_000;
    let outcome = compare(&three(woken, &forks_after_the_tick(11 * TICK - 3 * MS)), "v5.10");
    let row = outcome.kinds[&Kind::Shared];
    assert_eq!((row.did_not.decisions, row.did_not.agree, row.unclear), (1, 1, 1), "{:?}", outcome.mismatches);
}

#[test]
fn a_reschedule_that_would_read_the_clock_and_did_not_is_a_disagreement() {
    let placed = 11 * TICK - 3 * MS;
    let after = [
        (TICK, ran(1, TICK, placed + TICK)),
        (TICK + 2_000, ran(1, 2_000, placed + TICK + 2_000)),
        (TICK + 3_000, switch(Some(1), PrevState::Running, Some(0))),
    ];
    let outcome = compare(&three(41_500_000, &after), "v5.10");
    let row = outcome.kinds[&Kind::TickPreempt];
    assert_eq!((row.did_not.decisions, row.did_not.agree, row.unclear), (1, 0, 0));
    assert_eq!(outcome.mismatches[0].kind, Kind::TickPreempt);
}

/// t3 is woken `gap` after a tick at which t1 has time left (1.5 ms of 2), and preempts t1.
fn wakes_after_the_tick(gap: u64) -> Outcome {
    let (woken, placed) = (42_500_000, 11 * TICK - 3 * MS);
    let [waking, wakeup] = wake(3);
    let credited = woken - 3 * MS;
    let after = [
        (gap, waking),
        (gap + 1_000, ran(1, gap, placed + gap)),
        (gap + 2_000, wakeup),
        (gap + 4_000, switch(Some(1), PrevState::Running, Some(3))),
        (gap + 9_000, ran(3, 5_000, credited + 5_000)),
        (gap + 10_000, switch(Some(3), PrevState::Sleeping, Some(1))),
    ];
    compare(&three(woken, &after), "v5.10")
}

#[test]
fn a_tick_and_a_wakeup_close_by_are_one_decision_of_a_class_of_its_own() {
    let close = wakes_after_the_tick(20_000);
    let row = close.kinds[&Kind::Shared];
    assert_eq!((row.did.decisions, row.did.agree, row.did_not.decisions), (1, 1, 0));
    assert_eq!(close.kinds[&Kind::TickPreempt].all.decisions, 0);

    let apart = wakes_after_the_tick(70_000);
    let (tick, wakeup) = (apart.kinds[&Kind::TickPreempt], apart.kinds[&Kind::WakeupPreempt]);
    assert_eq!(apart.kinds[&Kind::Shared].all.decisions, 0);
    assert_eq!((tick.did_not.decisions, tick.did_not.agree, tick.did.decisions), (1, 1, 0));
    assert_eq!(wakeup.did.decisions, close.kinds[&Kind::WakeupPreempt].did.decisions + 1);
}

/// A hog that should give way to the task that it wakes sleeps `gap` ns after.
fn sleeps_after_its_wakeup(gap: u64) -> Outcome {
    let at = TICK * 20 + TICK / 2;
    let after = [
        (gap, ran(0, gap - 1_000, at + gap - 1_000)),
        (gap + 1_000, switch(Some(0), PrevState::Sleeping, Some(1))),
        (gap + 9_000, ran(1, 8_000, at - 3 * MS + 8_000)),
    ];
    compare(&wakes(&after), "v5.10")
}

#[test]
fn a_question_just_before_its_task_sleeps_is_counted_and_unclear() {
    let outcome = sleeps_after_its_wakeup(5_000);
    let row = outcome.kinds[&Kind::WakeupPreempt];
    assert_eq!((row.all.decisions, row.all.agree, row.unclear), (1, 1, 1));
    assert!(outcome.facts.keys().all(|what| !what.contains("questions")), "{:?}", outcome.facts);
}

#[test]
fn a_task_that_sleeps_long_after_a_question_went_on() {
    let outcome = sleeps_after_its_wakeup(MS);
    let row = outcome.kinds[&Kind::WakeupPreempt];
    assert_eq!((row.did_not.decisions, row.did_not.agree, row.unclear), (1, 0, 0));
}

#[test]
fn with_one_cpu_there_is_no_choice_of_one() {
    let at = TICK * 20 + TICK / 2;
    let [waking, wakeup] = wake(1);
    let after = [
        (4_000, switch(Some(0), PrevState::Running, Some(1))),
        (9_000, ran(1, 5_000, at - 3 * MS + 5_000)),
        (10_000, switch(Some(1), PrevState::Sleeping, Some(0))),
        (MS, waking),
        (MS + 1_000, ran(0, MS - 10_000, at + MS - 10_000)),
        (MS + 2_000, wakeup),
    ];
    let choices = |nr_cpus| compare_on(nr_cpus, &wakes(&after), "v5.10").kinds[&Kind::SelectCpu].all.decisions;
    assert_eq!((choices(1), choices(2)), (0, 2));
}

#[test]
fn an_account_that_no_kernel_makes_is_noted() {
    for runtime in [1 << 42, u64::MAX >> 4, u64::MAX] {
        let events =
            [(1_000, switch(None, PrevState::Running, Some(0))), (TICK, ran(0, runtime, 0)), (2 * TICK, ran(0, TICK, TICK))];
        let outcome = compare(&recording(1, &events), "v6.12");
        assert!(outcome.facts.keys().any(|what| what.contains("more than an hour")), "{:?}", outcome.facts);
    }
}

#[test]
fn a_task_that_ran_on_two_cpus_at_the_start_shows_that_records_are_missing() {
    let mut recording = recording(2, &[(1_000, switch(Some(0), PrevState::Sleeping, None))]);
    recording.record(Instant::from_ns(TICK), CpuId::new(1), &switch(Some(0), PrevState::Running, Some(1)));
    for kernel in ["v4.12", "v6.1", "v6.18"] {
        let outcome = compare_on(2, &recording, kernel);
        assert!(outcome.facts.keys().any(|what| what.contains("records are missing")), "{:?}", outcome.facts);
    }
}

#[test]
fn tasks_that_waited_at_the_start_have_the_virtual_time_that_their_first_account_tells() {
    let (running, waiting) = (100 * MS, 103 * MS);
    let events = [
        (1_000, switch(None, PrevState::Running, Some(0))),
        (TICK, ran(0, TICK, running + TICK)),
        (2 * TICK, ran(0, TICK, running + 2 * TICK)),
        (2 * TICK + 2_000, ran(0, 2_000, running + 2 * TICK + 2_000)),
        (2 * TICK + 3_000, switch(Some(0), PrevState::Running, Some(1))),
        (3 * TICK, ran(1, TICK, waiting + TICK)),
        (4 * TICK, ran(1, TICK, waiting + 2 * TICK)),
    ];
    let outcome = compare(&recording(2, &events), "v6.1");
    let vruntimes = outcome.vruntimes;
    assert_eq!((vruntimes.compared, vruntimes.exact, vruntimes.adopted), (5, 5, 2), "{:?}", outcome.vruntime_errors);
}

#[test]
fn a_switch_from_a_task_to_itself_is_noted() {
    let events = [
        (1_000, wake(0)[0]),
        (2_000, switch(Some(0), PrevState::Running, Some(0))),
        (3_000, switch(Some(0), PrevState::Sleeping, None)),
    ];
    for kernel in ["v5.10", "v6.12"] {
        let outcome = compare(&recording(1, &events), kernel);
        assert!(outcome.facts.keys().any(|what| what.contains("to itself")), "{:?}", outcome.facts);
    }
}
