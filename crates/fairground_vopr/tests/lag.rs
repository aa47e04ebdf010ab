//! What EEVDF promises: nobody gets far ahead of its share or far behind, lag outlives a sleep, and whoever
//! waits is served in time.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use fairground_machine::machine::{TICK_RATES, tick_of};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Instr, Mode, NullSink, Program, Sink, TaskSet, TaskSpec, TraceEvent};
use fairground_sched::{Profile, Sched, TaskState};
use fairground_sim::{Flow, Setup, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, RngStream, StreamKind, TaskId};

const KERNELS: [&str; 4] = ["v6.6", "v6.12", "v6.14", "v6.18"];
const CPU: CpuId = CpuId::new(0);

/// Tasks of `(nice, run, sleep)` in ns; without a sleep one runs for ever.
fn tasks(habits: &[(i8, u64, u64)]) -> TaskSet {
    let mut set = TaskSet::default();
    for &(nice, run, sleep) in habits {
        let run = Instr::Run { work: Ns(if sleep == 0 { u64::MAX } else { run }), mode: Mode::User };
        let code = vec![run, Instr::Sleep { time: Ns(sleep) }, Instr::Jump { to: 0 }];
        let mut task = TaskSpec::new("task", set.programs.push(Program::from(code)));
        (task.nice, task.timer_slack) = (nice, Ns::ZERO);
        set.tasks.push(task);
    }
    set
}

fn run_of(profile: Profile, hz: u32, habits: &[(i8, u64, u64)]) -> Simulation {
    let mut machine = Machine::preset("smp-1").unwrap();
    (machine.hz, machine.tick) = (hz, tick_of(hz));
    machine.costs = CostModel::preset("zero").unwrap();
    Simulation::new(Setup { machine, profile, tasks: tasks(habits), seed: 1, duration: Ns::from_ms(3_000), paranoid: false })
        .unwrap()
}

fn weight(sched: &Sched, task: TaskId) -> i128 {
    i128::from(sched.se(task).load.weight() >> 10)
}

/// Who is queued, or runs, or sleeps in delayed dequeue, with its lag in virtual ns.
fn lags(sched: &Sched) -> Vec<(TaskId, i128)> {
    let zero = sched.cfs_rq(CPU).min_vruntime;
    let queued: Vec<(TaskId, i128)> = sched
        .task_ids()
        .filter(|&task| sched.se(task).on_rq)
        .map(|task| (task, i128::from(sched.se(task).vruntime.since(zero))))
        .collect();
    let weights: i128 = queued.iter().map(|row| weight(sched, row.0)).sum();
    let moment: i128 = queued.iter().map(|row| weight(sched, row.0) * row.1).sum();
    queued.into_iter().map(|(task, vruntime)| (task, moment.div_euclid(weights) - vruntime)).collect()
}

/// A turn of a task is at most a request and, as only ticks end it, a tick more: that far it gets ahead. All lags
/// together cancel out, so it falls behind by the turns of the others at most; by no more than one of them if
/// requests are long beside ticks.
///
/// ```text
/// -turn * 1024 / w  <=  lag  <=  (n - 1) * turn * 1024 / w           turn = slice + tick
///                       lag  <=            turn * 1024 / w           if slice >= 10 ticks
/// ```
#[test]
fn nobody_is_more_than_a_turn_ahead_or_far_behind() {
    let mut dice = RngStream::new(1, StreamKind::Vopr, 9);
    for case in 0..300 {
        let habits: Vec<_> = (0..dice.between(1, 10)).map(|_| (dice.between(0, 39) as i8 - 20, 0, 0)).collect();
        let (kernel, hz) = (KERNELS[dice.below(4) as usize], TICK_RATES[dice.below(4) as usize]);
        let (tick, long) = (tick_of(hz).0, dice.below(2) == 0);
        let mut profile = Profile::parse(kernel).unwrap();
        if long {
            profile = profile.with_tunable("base_slice_ns", &(10 * tick).to_string()).unwrap();
        }
        let mut simulation = run_of(profile, hz, &habits);
        let turn = i128::from(simulation.sched().se(TaskId::new(0)).slice + tick);
        let behind = turn * if long { 1 } else { habits.len() as i128 - 1 };
        for step_ms in 1..=30 {
            simulation.run_until(Instant::from_ns(step_ms * 100_000_000), &mut NullSink).unwrap();
            for (task, lag) in lags(simulation.sched()) {
                let virtual_time = |time: i128| time * 1024 / weight(simulation.sched(), task) + 2;
                let range = -virtual_time(turn)..=virtual_time(behind);
                assert!(
                    range.contains(&lag),
                    "case {case}, {kernel}, HZ {hz}, {habits:?}: {task:?} has lag {lag}, not in {range:?}"
                );
            }
        }
    }
}

/// Membership of the queue is the same when it wakes as it was when it left, so is its lag.
///
/// Model: 02 T13
#[test]
fn lag_outlives_a_sleep() {
    let mut dice = RngStream::new(1, StreamKind::Vopr, 10);
    let mut kept = 0;
    for case in 0..300 {
        let mut habits: Vec<_> = (0..dice.between(1, 6)).map(|_| (dice.between(0, 39) as i8 - 20, 0, 0)).collect();
        habits.push((dice.between(0, 39) as i8 - 20, dice.between(10_000, 5_000_000), dice.between(1_000_000, 30_000_000)));
        let sleeper = TaskId::new(habits.len() as u32 - 1);
        let kernel = KERNELS[dice.below(4) as usize];
        let mut simulation = run_of(Profile::parse(kernel).unwrap(), TICK_RATES[dice.below(4) as usize], &habits);
        let mut left_with = None;
        for _ in 0..3_000 {
            if simulation.step(&mut NullSink).unwrap() == Flow::Done {
                break;
            }
            let sched = simulation.sched();
            if !sched.se(sleeper).on_rq {
                left_with = (sched.task(sleeper).state == TaskState::Asleep).then_some(i128::from(sched.se(sleeper).vlag));
            } else if let Some(vlag) = left_with.take() {
                let lag = lags(sched).into_iter().find(|row| row.0 == sleeper).unwrap().1;
                // The average is rounded down, before and after; so is the inflated lag.
                assert!((lag - vlag).abs() <= 2, "case {case}, {kernel}, {habits:?}: left with {vlag}, came back with {lag}");
                kept += 1;
            }
        }
    }
    assert!(kept > 3_000, "{kept} wake-ups are few");
}

/// The longest time that each task waited for the CPU.
#[derive(Default)]
struct Waits {
    since: Vec<Option<u64>>,
    longest: Vec<u64>,
}

impl Waits {
    fn row(&mut self, task: TaskId) -> usize {
        let row = task.get() as usize;
        if self.since.len() <= row {
            self.since.resize(row + 1, None);
            self.longest.resize(row + 1, 0);
        }
        row
    }
}

impl Sink for Waits {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWakeup { task, .. } | TraceEvent::SchedWakeupNew { task, .. } => {
                let row = self.row(task);
                self.since[row] = Some(at.ns());
            }
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                if let Some(prev) = prev {
                    let row = self.row(prev);
                    self.since[row] = (prev_state == fairground_model::PrevState::Running).then_some(at.ns());
                }
                if let Some(next) = next {
                    let row = self.row(next);
                    let waited = self.since[row].take().map_or(0, |since| at.ns() - since);
                    self.longest[row] = self.longest[row].max(waited);
                }
            }
            _ => {}
        }
    }
}

/// A request is served by its deadline, which is a request's share away from where the task stood. It may stand
/// behind by its limit of lag, each of the others may be late by a turn, and so may wakers that come in between.
///
/// ```text
/// wait  <=  (limit + request) * W / 1024  +  2 * n * (slice + tick)      limit = max(2 * slice, tick) * 1024 / w
/// ```
#[test]
fn whoever_waits_is_served_in_time() {
    let mut dice = RngStream::new(1, StreamKind::Vopr, 11);
    for case in 0..200 {
        let mut habits: Vec<_> = (0..dice.between(1, 5)).map(|_| (dice.between(0, 20) as i8 - 10, 0, 0)).collect();
        for _ in 0..dice.between(0, 5) {
            habits.push((dice.between(0, 20) as i8 - 10, dice.between(10_000, 5_000_000), dice.between(100_000, 20_000_000)));
        }
        let (kernel, hz) = (KERNELS[dice.below(4) as usize], TICK_RATES[dice.below(4) as usize]);
        let mut simulation = run_of(Profile::parse(kernel).unwrap(), hz, &habits);
        let mut waits = Waits::default();
        simulation.run(&mut waits).unwrap();
        let sched = simulation.sched();
        let (slice, tick) = (i128::from(sched.se(TaskId::new(0)).slice), i128::from(tick_of(hz).0));
        let all: i128 = sched.task_ids().map(|task| weight(sched, task)).sum();
        for task in sched.task_ids() {
            let behind = (slice + tick.max(2 * slice)) * all / weight(sched, task);
            let most = behind + 2 * habits.len() as i128 * (slice + tick);
            let waited = i128::from(waits.longest[task.get() as usize]);
            assert!(waited <= most, "case {case}, {kernel}, HZ {hz}, {habits:?}: {task:?} waited {waited} ns, at most {most}");
        }
    }
}
