//! The core in its engine beside the slow model, on random workloads.

use super::{Fact, Habit, Reference};
use crate::dice::Dice;
use fairground_machine::machine::{TICK_RATES, tick_of};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Instr, Mode, Program, Sink, Start, TaskSet, TaskSpec, TraceEvent};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, TaskId, Vruntime};

/// A random workload of hogs and sleepers on one CPU.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The kernel.
    pub profile: Profile,
    /// Ticks per second.
    pub hz: u32,
    /// The tasks.
    pub habits: Vec<Habit>,
    /// How long it runs.
    pub duration: Ns,
}

const KERNELS: [&str; 6] = ["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.1"];
const SWITCHES: [&str; 6] =
    ["NO_GENTLE_FAIR_SLEEPERS", "NO_START_DEBIT", "NEXT_BUDDY", "NO_LAST_BUDDY", "NO_WAKEUP_PREEMPTION", "NO_BASE_SLICE"];
const TIMES: [(&str, u64); 3] =
    [("sched_latency_ns", 24_000_000), ("sched_min_granularity_ns", 5_000_000), ("sched_wakeup_granularity_ns", 5_000_000)];

impl Workload {
    /// The workload of a seed.
    pub fn random(seed: u64) -> Workload {
        let mut dice = Dice::new(seed, 5);
        let mut profile = Profile::parse(dice.pick(&KERNELS)).expect("invariant: a known kernel");
        for switch in SWITCHES {
            if dice.once_in(4) {
                profile = profile.clone().with_feature(switch).unwrap_or(profile);
            }
        }
        for (name, high) in TIMES {
            if dice.once_in(2) {
                let value = dice.time(100, high).to_string();
                profile = profile.with_tunable(name, &value).expect("invariant: a tunable of every CFS kernel");
            }
        }
        let habits = (0..dice.between(1, 12)).map(|_| habit(&mut dice)).collect();
        Workload { profile, hz: dice.pick(&TICK_RATES), habits, duration: Ns(dice.between(10_000_000, 300_000_000)) }
    }

    fn setup(&self) -> Setup {
        let mut machine = Machine::preset("smp-1").expect("invariant: smp-N is a preset");
        (machine.hz, machine.tick) = (self.hz, tick_of(self.hz));
        machine.costs = CostModel::preset("zero").expect("invariant: a price list that comes with us");
        Setup {
            machine,
            profile: self.profile.clone(),
            tasks: task_set(&self.habits),
            seed: 1,
            duration: self.duration,
            paranoid: true,
        }
    }
}

/// Half of the times are round, so that bursts, timers and ticks meet.
fn habit(dice: &mut Dice) -> Habit {
    let time = |dice: &mut Dice, high| match dice.once_in(2) {
        true => dice.between(1, high / 1_000_000) * 1_000_000,
        false => dice.time(1_000, high),
    };
    let start = if dice.once_in(2) { 0 } else { time(dice, 20_000_000) };
    let (run, sleep) = (time(dice, 10_000_000), time(dice, 40_000_000));
    let nice = dice.pick(&[0, 0, 0, 0, 1, -1, 5, -5, 13, 19, -20]);
    match dice.once_in(3) {
        true => Habit { nice, start, run: u64::MAX, sleep: None },
        false => Habit { nice, start, run, sleep: Some(sleep) },
    }
}

fn task_set(habits: &[Habit]) -> TaskSet {
    let mut set = TaskSet::default();
    for (row, habit) in habits.iter().enumerate() {
        let mut code = vec![Instr::Run { work: Ns(habit.run), mode: Mode::User }];
        code.extend(habit.sleep.map(|time| Instr::Sleep { time: Ns(time) }));
        code.push(Instr::Jump { to: 0 });
        let mut spec = TaskSpec::new(format!("task{row}"), set.programs.push(Program::from(code)));
        (spec.nice, spec.start, spec.timer_slack) = (habit.nice, Start::At(Instant::from_ns(habit.start)), Ns::ZERO);
        set.tasks.push(spec);
    }
    set
}

/// Keeps the facts of the core.
struct Facts {
    zero: Vruntime,
    facts: Vec<Fact>,
}

impl Sink for Facts {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        let row = |task: TaskId| task.get() as usize;
        match *event {
            TraceEvent::SchedSwitch { prev, next, .. } => {
                self.facts.push(Fact::Switch { at: at.ns(), prev: prev.map(row), next: next.map(row) });
            }
            TraceEvent::SchedStatRuntime { task, runtime, vruntime: Some(vruntime) } => {
                let vruntime = i128::from(vruntime.since(self.zero));
                self.facts.push(Fact::Ran { task: row(task), runtime: runtime.0, vruntime });
            }
            _ => {}
        }
    }
}

/// Runs both on the workload of a seed; the number of facts, or where they part.
pub fn compare(seed: u64) -> Result<usize, String> {
    let workload = Workload::random(seed);
    let mut simulation = Simulation::new(workload.setup()).map_err(|mistakes| format!("refused: {mistakes:?}"))?;
    let mut core = Facts { zero: simulation.sched().cfs_rq(CpuId::new(0)).min_vruntime, facts: Vec::new() };
    simulation.run(&mut core).map_err(|stopped| stopped.to_string())?;
    let reference = Reference::new(&workload.profile, 1, tick_of(workload.hz).0, &workload.habits).run(workload.duration.0);
    let differs = (0..core.facts.len().max(reference.len())).find(|&row| core.facts.get(row) != reference.get(row));
    match differs {
        None => Ok(reference.len()),
        Some(row) => {
            let before = &reference[row.saturating_sub(10)..row];
            let (core, slow) = (core.facts.get(row), reference.get(row));
            Err(format!("seed {seed}, fact {row}: the core has {core:?}, the model {slow:?}\nbefore: {before:?}\n{workload:#?}"))
        }
    }
}
