//! What lies before the record, and tasks that change their class.

use super::{recording, switch, task, wake};
use crate::lockstep::{Lockstep, Setup};
use crate::outcome::{Kind, Outcome};
use crate::recording::Recording;
use fairground_model::{MachineView, PrevState, Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, IndexVec, Instant, Ns};
use proptest::prelude::*;

const US: u64 = 1_000;

fn learn(recording: &Recording, nr_cpus: usize, kernel: &str) -> Outcome {
    let setup = Setup {
        profile: Profile::parse(kernel).expect("a modelled kernel"),
        machine: MachineView::flat(nr_cpus, Ns(4_000_000)),
        tick: None,
        keep: 10,
        lags: Vec::new(),
        specs: Vec::new(),
        allowed: Vec::new(),
        groups: IndexVec::new(),
        members: Vec::new(),
        begins: Vec::new(),
        moves: Vec::new(),
        learns: true,
    };
    let mut lockstep = Lockstep::new(recording, &setup);
    lockstep.advance(usize::MAX);
    lockstep.finish()
}

/// t0 gets an idle CPU, and t1 wakes beside it so often. Each time t1 preempts after `lead` and sleeps 10 us later.
fn preempted(times: u64, lead: u64) -> Vec<(u64, TraceEvent)> {
    let mut events = Vec::from(wake(0).map(|event| (0, event)));
    events.push((US, switch(None, PrevState::Running, Some(0))));
    for time in 1..=times {
        let at = time * (lead + 20 * US);
        events.extend(wake(1).map(|event| (at, event)));
        events.push((at + US, switch(Some(0), PrevState::Running, Some(1))));
        events.push((at + 10 * US, switch(Some(1), PrevState::Sleeping, Some(0))));
    }
    events
}

/// t0 had run before the record, so that it is further on than a long sleeper. The first wake-up tells that.
#[test]
fn the_first_wakeup_that_preempts_tells_where_the_running_task_stood() {
    let outcome = learn(&recording(2, &preempted(8, 100 * US)), 1, "v5.10");
    let row = outcome.kinds[&Kind::WakeupPreempt];
    assert_eq!((row.lessons, row.did.decisions, row.did.agree), (1, 7, 7), "{:?}", outcome.mismatches);
    assert_eq!(row.told.decisions, 0, "all of these rest on where t0 stood");
    assert_eq!(outcome.kinds[&Kind::Pick].all.decisions, outcome.kinds[&Kind::Pick].all.agree);
}

/// A record in which each wake-up does the opposite of the one before agrees with no place at all: few of them may be lessons.
#[test]
fn what_contradicts_itself_is_not_learnt_away() {
    let mut events = preempted(1, 100 * US);
    for time in 2..=60u64 {
        let at = time * 1_000 * US;
        events.extend(wake(1).map(|event| (at, event)));
        let after = if time % 2 == 0 { 500 * US } else { US };
        let prev_state = if time % 2 == 0 { PrevState::Sleeping } else { PrevState::Running };
        events.push((at + after, switch(Some(0), prev_state, Some(1))));
        events.push((at + after + 10 * US, switch(Some(1), PrevState::Sleeping, (time % 2 == 1).then_some(0))));
        if time % 2 == 0 {
            events.extend(wake(0).map(|event| (at + after + 20 * US, event)));
            events.push((at + after + 30 * US, switch(None, PrevState::Running, Some(0))));
        }
    }
    let outcome = learn(&recording(2, &events), 1, "v5.10");
    let row = outcome.kinds[&Kind::WakeupPreempt];
    assert!(row.lessons <= 12, "{row:?}");
    assert!(row.all.decisions - row.all.agree >= 10, "{row:?}");
}

/// Of three that wait the record takes the last one first: that is learnt, and nothing is left to disagree with.
#[test]
fn the_first_pick_tells_who_was_behind() {
    for kernel in ["v5.10", "v6.6", "v6.12"] {
        let mut events = Vec::from(wake(0).map(|event| (0, event)));
        events.push((US, switch(None, PrevState::Running, Some(0))));
        (1..4).for_each(|row| events.extend(wake(row).map(|event| (2 * US, event))));
        events.push((10 * US, switch(Some(0), PrevState::Sleeping, Some(3))));
        events.push((20 * US, switch(Some(3), PrevState::Sleeping, Some(2))));
        events.push((30 * US, switch(Some(2), PrevState::Sleeping, Some(1))));
        let outcome = learn(&recording(4, &events), 1, kernel);
        let row = outcome.kinds[&Kind::Pick];
        assert_eq!(row.all.decisions, row.all.agree, "{kernel}: {:?}", outcome.mismatches);
        assert!((1..=2).contains(&row.lessons), "{kernel}: {row:?}");
    }
}

fn of_prio(tasks: &[i32], events: &[(u64, TraceEvent)], lent: &[(u64, u32, i32)]) -> Recording {
    let mut recording = Recording::default();
    let info = |row: u32, prio| TaskInfo { name: format!("t{row}"), pid: 100 + row, prio };
    tasks.iter().zip(0..).for_each(|(&prio, row)| recording.task(task(row), &info(row, prio)));
    for (at, event) in events {
        lent.iter().filter(|row| row.0 == *at).for_each(|&(_, row, prio)| recording.task(task(row), &info(row, prio)));
        recording.record(Instant::from_ns(*at), CpuId::new(0), event);
    }
    recording
}

/// t1 is lent a real-time priority while it runs, so that t2 does not get the CPU, and is a fair task again when it gives it back.
#[test]
fn a_task_with_a_lent_priority_is_out_of_the_fair_class() {
    let mut events = Vec::from(wake(1).map(|event| (0, event)));
    events.push((US, switch(None, PrevState::Running, Some(1))));
    events.extend(wake(2).map(|event| (2 * US, event)));
    let [waking, wakeup] = wake(0);
    events.extend([
        (10 * US, waking),
        (11 * US, wakeup),
        (12 * US, switch(Some(1), PrevState::Running, Some(0))),
        // t0 waits for what t1 holds, and lends its priority.
        (13 * US, switch(Some(0), PrevState::Sleeping, Some(1))),
        (50_000 * US, waking),
        (50_001 * US, wakeup),
        (50_002 * US, switch(Some(1), PrevState::Running, Some(0))),
        (50_003 * US, switch(Some(0), PrevState::Sleeping, Some(2))),
        (50_100 * US, switch(Some(2), PrevState::Sleeping, Some(1))),
        (50_110 * US, switch(Some(1), PrevState::Sleeping, None)),
    ]);
    let lent = [(13 * US, 1, 49), (50_001 * US, 1, 120)];
    for kernel in ["v4.12", "v5.10", "v6.12", "v7.2"] {
        let outcome = learn(&of_prio(&[49, 120, 120], &events, &lent), 1, kernel);
        assert_eq!(outcome.facts.get("changes between the fair class and others: followed"), Some(&2), "{kernel}");
        let disagreements = &outcome.mismatches;
        assert!(disagreements.is_empty(), "{kernel}: {disagreements:?}");
        assert_eq!((outcome.classes.decisions, outcome.classes.agree), (3, 3), "{kernel}");
    }
}

#[test]
fn a_real_time_task_that_is_passed_over_and_stays_is_a_disagreement() {
    let mut events = Vec::from(wake(1).map(|event| (0, event)));
    events.extend(wake(0).map(|event| (0, event)));
    events.extend([
        (US, switch(None, PrevState::Running, Some(1))),
        (2 * US, switch(Some(1), PrevState::Sleeping, Some(0))),
        (3 * US, switch(Some(0), PrevState::Sleeping, None)),
    ]);
    let outcome = learn(&of_prio(&[49, 120], &events, &[]), 1, "v5.10");
    assert_eq!((outcome.classes.decisions, outcome.classes.agree), (1, 0));
    assert_eq!(outcome.kinds[&Kind::Pick].all.decisions, 0);
}

/// Where one of the tasks of [`walked`] is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Asleep,
    Waits(u32),
    Runs(u32),
}

/// What a system of two CPUs and four tasks may record: whoever waits gets a CPU, whoever sleeps wakes, and priorities are lent at any time.
fn walked(steps: &[(u8, u32, u32, bool, Option<i32>)]) -> Recording {
    let mut recording = Recording::default();
    let info = |row: u32, prio| TaskInfo { name: format!("t{row}"), pid: 100 + row, prio };
    (0..4).for_each(|row| recording.task(task(row), &info(row, 120)));
    let mut places = [Place::Asleep; 4];
    for (number, &(kind, cpu, one, sleeps, lent)) in steps.iter().enumerate() {
        let (at, here) = (Instant::from_ns(number as u64 * 10_000), CpuId::new(cpu));
        if let Some(prio) = lent {
            recording.task(task(one), &info(one, prio));
        }
        let place = places[one as usize];
        match (kind, place) {
            (0, Place::Asleep) => {
                let by = CpuId::new(number as u32 % 2);
                let waking =
                    TraceEvent::SchedWaking { task: task(one), target_cpu: here, waker: None, context: WakeContext::Hardirq };
                recording.record(at, by, &waking);
                recording.record(at, by, &TraceEvent::SchedWakeup { task: task(one), target_cpu: here });
                places[one as usize] = Place::Waits(cpu);
            }
            (1, Place::Waits(from)) if from != cpu => {
                let (orig_cpu, dest_cpu) = (CpuId::new(from), here);
                recording.record(at, here, &TraceEvent::SchedMigrateTask { task: task(one), orig_cpu, dest_cpu });
                places[one as usize] = Place::Waits(cpu);
            }
            (2 | 3, _) => {
                let running = (0..4).find(|&row| places[row as usize] == Place::Runs(cpu));
                let next = (place == Place::Waits(cpu)).then_some(one);
                if running.is_none() && next.is_none() {
                    continue;
                }
                let sleeps = sleeps || next.is_none();
                let prev_state = if sleeps { PrevState::Sleeping } else { PrevState::Running };
                recording.record(at, here, &switch(running, prev_state, next));
                if let Some(row) = running {
                    places[row as usize] = if sleeps { Place::Asleep } else { Place::Waits(cpu) };
                }
                if let Some(row) = next {
                    places[row as usize] = Place::Runs(cpu);
                }
            }
            _ => {}
        }
    }
    recording
}

proptest! {
    #[test]
    fn whatever_is_lent_when_the_comparison_comes_to_its_end(
        steps in prop::collection::vec(
            (0..4u8, 0..2u32, 0..4u32, any::<bool>(), prop::option::weighted(0.2, prop::sample::select(vec![0, 49, 98, 110, 120, 139]))),
            0..200,
        ),
        kernel in 0..4usize,
    ) {
        let recording = walked(&steps);
        let records = recording.records.len() as u64;
        prop_assert_eq!(learn(&recording, 2, ["v4.12", "v5.10", "v6.12", "v7.2"][kernel]).records, records);
    }
}
