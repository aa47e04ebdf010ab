//! Small recordings made by hand.

use super::{Lockstep, Setup};
use crate::outcome::{Kind, Outcome};
use crate::recording::Recording;
use fairground_model::machine_view::CpuView;
use fairground_model::{MachineView, PrevState, Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, CpuMask, IndexVec, Instant, Ns, TaskId, Vruntime};

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
    let only = CpuMask::first_n(1);
    let mut cpus = IndexVec::new();
    cpus.push(CpuView { capacity: 1024, freq_capacity: 1024, smt: only, llc: only });
    let machine = MachineView { cpus, online: only, tick: Ns(TICK), irq_time_accounting: false };
    let profile = Profile::parse(kernel).expect("a modelled kernel");
    let setup = Setup { profile, machine, tick: Some(Ns(TICK)), keep: 10, lags: Vec::new() };
    let mut lockstep = Lockstep::new(recording, &setup);
    lockstep.advance(usize::MAX);
    lockstep.finish()
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
