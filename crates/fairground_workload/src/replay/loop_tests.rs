//! Loops with a planted truth: what a replay makes of request and answer, of timers, and of arrivals from outside.

use super::tests::{Record, at, infos, run_alone, switch, task, waking};
use super::{Charges, Making, Replay, build};
use crate::testing;
use fairground_model::PrevState::{DiskSleep, Running, Sleeping};
use fairground_model::{Instr, PrevState, Sink, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Ns};

/// A wake-up in a soft interrupt while `current` is on the CPU.
fn soft(wakee: u32, current: Option<u32>) -> TraceEvent {
    TraceEvent::SchedWaking {
        task: task(wakee),
        target_cpu: CpuId::new(0),
        waker: current.map(task),
        context: WakeContext::Softirq,
    }
}
fn made(records: &[Record], names: &[&str]) -> Replay {
    let replay = build(records, &infos(names), 2);
    testing::check(&replay.tasks);
    run_alone(&replay.tasks);
    replay
}
fn code(replay: &Replay, row: u32) -> Vec<&Instr> {
    replay.tasks.programs[replay.tasks.tasks[task(row)].program].code.iter().collect()
}
fn count(replay: &Replay, row: u32, is_it: fn(&Instr) -> bool) -> usize {
    code(replay, row).into_iter().filter(|instr| is_it(instr)).count()
}

/// One CPU. Each round of 100 us: the client runs 20 us, sends, runs 10 us, sleeps; the server runs 30 us, answers, runs 10 us. Where
/// `preempted` says so the client takes the CPU at the answer, and its next request finds the server awake.
fn request_and_answer(rounds: u64, preempted: impl Fn(u64) -> bool) -> Vec<Record> {
    let mut records = vec![at(0, 0, switch(None, Running, Some(0)))];
    let mut finds_it_awake = false;
    for round in 0..rounds {
        let begin = round * 100;
        if !finds_it_awake {
            records.push(at(begin + 20, 0, soft(1, Some(0))));
        }
        records.push(at(begin + 30, 0, switch(Some(0), Sleeping, Some(1))));
        records.push(at(begin + 60, 0, soft(0, Some(1))));
        finds_it_awake = preempted(round);
        let (left, state) = if finds_it_awake { (begin + 60, Running) } else { (begin + 70, Sleeping) };
        records.push(at(left, 0, switch(Some(1), state, Some(0))));
        // Its first run of the next round begins here.
        records.push(at(begin + 100, 0, TraceEvent::SchedStatRuntime { task: task(0), runtime: Ns::from_us(1), vruntime: None }));
    }
    records
}

#[test]
fn request_and_answer_through_soft_interrupts_wait_for_one_another() {
    let replay = made(&request_and_answer(100, |_| false), &["client", "server"]);
    assert_eq!((replay.causes.message, replay.causes.outside, replay.causes.timer), (200, 0, 0));
    assert!(replay.causes.confidence_permille >= 970, "{:?}", replay.causes);
    for row in 0..2 {
        assert_eq!(count(&replay, row, |instr| matches!(instr, Instr::Read { .. })), 100);
        assert_eq!(count(&replay, row, |instr| matches!(instr, Instr::Write { .. })), 100);
        assert_eq!(
            count(&replay, row, |instr| matches!(instr, Instr::SleepUntil { .. })),
            0,
            "no end of a sleep is at a fixed time"
        );
    }
}

#[test]
fn a_request_that_found_the_server_awake_is_put_in_before_the_sleep_and_the_answer() {
    let replay = made(&request_and_answer(100, |round| round % 4 == 1), &["client", "server"]);
    // A quarter of the requests has no record; the last of them has no answer in the recording.
    let (told, hidden) = (75, 25);
    assert_eq!(replay.causes.message, told + 100);
    assert!(replay.notes.iter().any(|note| note.starts_with(&format!("{hidden} messages between tasks"))), "{:?}", replay.notes);
    assert_eq!(count(&replay, 0, |instr| matches!(instr, Instr::Write { .. })), 100, "each round has a request");
    assert_eq!(count(&replay, 1, |instr| matches!(instr, Instr::Read { .. })), 100, "and each answer waits for one");
    // Sent 10 us before the sleep, and needed 30 us before the answer, as where wake-ups tell it.
    let around = |row: u32, pipe| {
        let code = code(&replay, row);
        let place = code
            .iter()
            .position(|instr| matches!(instr, Instr::Read { pipe: at, .. } | Instr::Write { pipe: at, .. } if *at == pipe))
            .unwrap();
        (code[place - 1].clone(), code[place + 1].clone())
    };
    let pipe = replay
        .tasks
        .pipes
        .ids()
        .find(|pipe| replay.tasks.pipes[*pipe].capacity == hidden)
        .expect("a pipe for what left no record");
    let us = |instr: Instr| if let Instr::Run { work, .. } = instr { work.0 / 1000 } else { panic!("{instr:?}") };
    assert_eq!(us(around(0, pipe).1), 10);
    assert_eq!(us(around(1, pipe).1), 30);
}

/// A soft interrupt every millisecond, whoever is current: `busy` for 300 us of it, else nobody.
#[test]
fn arrivals_from_outside_stay_where_they_were() {
    let mut records = Vec::new();
    for round in 0..200u64 {
        let begin = round * 1000;
        // The place of the interrupt in the millisecond goes through all of it.
        let arrival = begin + round * 37 % 900;
        let is_busy = arrival < begin + 300;
        let back = switch(Some(0), Sleeping, is_busy.then_some(1));
        let mut round = vec![
            (begin, waking(1, None)),
            (begin, switch(None, Running, Some(1))),
            (begin + 300, switch(Some(1), Sleeping, None)),
            (arrival, soft(0, is_busy.then_some(1))),
            (arrival + 1, switch(is_busy.then_some(1), Running, Some(0))),
            (arrival + 2, back),
        ];
        round.sort_by_key(|row| row.0);
        records.extend(round.into_iter().map(|(us, event)| at(us, 0, event)));
    }
    let replay = made(&records, &["server", "busy"]);
    assert_eq!((replay.causes.message, replay.causes.outside), (0, 200), "{:?}", replay.causes);
    assert_eq!(count(&replay, 0, |instr| matches!(instr, Instr::SleepUntil { .. })), 200);
}

/// Timers of one task: `work` and then `sleep` so many us, by round.
fn timers(state: PrevState, work: impl Fn(u64) -> u64, sleep: impl Fn(u64) -> u64) -> Replay {
    let (mut now, mut records) = (0, vec![at(0, 0, switch(None, Running, Some(0)))]);
    for round in 0..50 {
        now += work(round);
        records.push(at(now, 0, switch(Some(0), state, None)));
        now += sleep(round);
        records.push(at(now, 0, waking(0, None)));
        records.push(at(now, 0, switch(None, Running, Some(0))));
    }
    made(&records, &["a"])
}

#[test]
fn timers_on_a_grid_keep_their_times_and_those_set_at_the_sleep_their_lengths() {
    let work = |round: u64| 100 + round * 13 % 70;
    let grid = timers(Sleeping, work, |round| 1000 - work(round));
    assert_eq!((grid.causes.timer, grid.causes.timeout), (50, 0));
    let lengths = timers(Sleeping, work, |_| 500);
    assert_eq!((lengths.causes.timer, lengths.causes.timeout), (0, 50));
    assert_eq!(count(&lengths, 0, |instr| *instr == Instr::Sleep { time: Ns::from_us(500) }), 50);
    let device = timers(DiskSleep, work, |round| 80 + round);
    assert_eq!(device.causes.device, 50);
    assert_eq!(count(&device, 0, |instr| matches!(instr, Instr::Io { .. })), 50);
}

#[test]
fn what_a_replay_charges_is_taken_off_the_recorded_run_time() {
    let names = ["client", "server"];
    let run = |charges| {
        let mut making = Making::charging(charges);
        infos(&names).iter_enumerated().for_each(|(task, info)| making.task(task, info));
        request_and_answer(100, |_| false).iter().for_each(|(at, cpu, event)| making.record(*at, *cpu, event));
        run_alone(&making.finish(2).tasks)
    };
    let free = run(Charges::default());
    let us = Ns::from_us;
    let charges = Charges { switch: us(1), wait: us(2), wake: us(1), woken: us(1), ..Charges::default() };
    // 100 waits with a switch back each, and 100 wake-ups.
    let charged = run(charges);
    for (free, charged) in free.iter().zip(charged) {
        let taken = (free - charged) / 1000;
        assert!((490..=500).contains(&taken), "{taken} us");
    }
}
