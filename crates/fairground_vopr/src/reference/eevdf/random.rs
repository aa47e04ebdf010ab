//! Random workloads for the comparison, and smaller ones that still differ.

use super::compare::Workload;
use super::workload::{Act, Change, Habit, What};
use crate::dice::Dice;
use fairground_machine::machine::TICK_RATES;
use fairground_model::Policy;
use fairground_model::features::Feat;
use fairground_sched::profile::Profile;

pub(super) const KERNELS: [&str; 5] = ["v6.6", "v6.12", "v6.14", "v6.18", "v7.2"];
pub(super) const SWITCHES: [&str; 10] = [
    "NO_PLACE_LAG",
    "NO_PLACE_DEADLINE_INITIAL",
    "NO_PLACE_REL_DEADLINE",
    "NO_RUN_TO_PARITY",
    "NO_PREEMPT_SHORT",
    "NEXT_BUDDY",
    "NO_PICK_BUDDY",
    "NO_DELAY_DEQUEUE",
    "NO_DELAY_ZERO",
    "NO_WAKEUP_PREEMPTION",
];

impl Workload {
    /// The workload of a seed.
    pub fn random(seed: u64) -> Workload {
        let mut dice = Dice::new(seed, 7);
        let kernel = dice.pick(&KERNELS);
        let switches = turned(&mut dice, kernel);
        let base_slice = dice.once_in(4).then(|| dice.time(100_000, 20_000_000));
        let cpus = dice.pick(&[1, 1, 1, 1, 2, 3, 4, 8]);
        let (hz, tick_offset) = (dice.pick(&TICK_RATES), dice.pick(&[0, 0, 777, 100_000]));
        let duration = dice.between(10_000_000, 200_000_000);
        let tasks = if dice.once_in(20) { dice.between(30, 100) } else { dice.between(1, 10) };
        let mut habits: Vec<Habit> = (0..tasks).map(|_| habit(&mut dice, cpus)).collect();
        give_birth(&mut dice, &mut habits);
        let slices = profile(kernel).task_slice.is_custom() && dice.once_in(2);
        if slices {
            habits.iter_mut().for_each(|habit| give_slices(&mut dice, habit));
        }
        let mut changes: Vec<Change> = Vec::new();
        for _ in 0..dice.between(0, 6) {
            changes.extend(change(&mut dice, &habits, cpus, duration, slices));
        }
        changes.sort_by_key(|change| change.at);
        Workload { kernel, switches, base_slice, cpus, hz, tick_offset, habits, changes, duration }
    }

    /// The smallest workload that was found of which `fails` still says so.
    pub(super) fn shrunk(&self, fails: impl Fn(&Workload) -> bool) -> Workload {
        let mut small = self.clone();
        loop {
            let Some(smaller) = small.smaller().into_iter().find(|smaller| fails(smaller)) else { return small };
            small = smaller;
        }
    }

    /// Workloads with one thing less.
    fn smaller(&self) -> Vec<Workload> {
        let mut all = Vec::new();
        let mut with = |change: &dyn Fn(&mut Workload)| {
            let mut smaller = self.clone();
            change(&mut smaller);
            if smaller != *self {
                all.push(smaller);
            }
        };
        with(&|workload| workload.duration /= 2);
        with(&|workload| workload.duration = workload.duration / 8 * 7);
        for row in 0..self.habits.len() {
            with(&|workload| workload.remove(row));
        }
        for row in 0..self.changes.len() {
            with(&|workload| take(&mut workload.changes, row));
        }
        for row in 0..self.switches.len() {
            with(&|workload| take(&mut workload.switches, row));
        }
        with(&|workload| workload.base_slice = None);
        with(&|workload| workload.tick_offset = 0);
        for row in 0..self.habits.len() {
            with(&|workload| workload.habits[row].nice = 0);
            with(&|workload| workload.habits[row].policy = Policy::Normal);
            with(&|workload| workload.habits[row].slice = None);
            with(&|workload| workload.habits[row].start = self.habits[row].start.map(|_| 0));
            for act in 0..self.habits[row].once.len() {
                with(&|workload| take(&mut workload.habits[row].once, act));
            }
            // The first act of a round is a run, without which time would not pass.
            for act in 1..self.habits[row].rounds.len() {
                with(&|workload| take(&mut workload.habits[row].rounds, act));
            }
        }
        all
    }

    /// Takes a task away; those behind it move up.
    fn remove(&mut self, row: usize) {
        self.habits.remove(row);
        self.changes.retain(|change| change.task != row);
        let moved_up = |task: &mut usize| *task -= usize::from(*task > row);
        self.changes.iter_mut().for_each(|change| moved_up(&mut change.task));
        for habit in &mut self.habits {
            habit.once.retain(|act| *act != Act::Fork(row));
            for act in &mut habit.once {
                if let Act::Fork(task) = act {
                    moved_up(task);
                }
            }
        }
    }
}

fn profile(kernel: &str) -> Profile {
    Profile::parse(kernel).expect("invariant: the kernels of the comparison can be run")
}

/// A few switches of a kernel that do something there, turned.
pub(super) fn turned(dice: &mut Dice, kernel: &str) -> Vec<&'static str> {
    let mut switches: Vec<&str> = SWITCHES.into_iter().filter(|_| dice.once_in(8)).collect();
    let profile = profile(kernel);
    switches.retain(|name| profile.clone().with_feature(name).is_ok());
    // The model has no timer that ends requests.
    switches.extend(profile.feats.has(Feat::HRTICK).then_some("NO_HRTICK"));
    switches
}

fn take<T>(rows: &mut Vec<T>, row: usize) {
    rows.remove(row);
}

/// Half of the times are round, so that bursts, timers and ticks meet.
fn time(dice: &mut Dice, high: u64) -> u64 {
    match dice.once_in(2) {
        true => dice.between(1, high / 1_000_000) * 1_000_000,
        false => dice.time(1_000, high),
    }
}

fn nice(dice: &mut Dice) -> i8 {
    dice.pick(&[0, 0, 0, 0, 1, -1, 5, -5, 13, 19, -20])
}

fn habit(dice: &mut Dice, cpus: usize) -> Habit {
    let (once, rounds) = match dice.index(6) {
        0 | 1 => (Vec::new(), vec![Act::Run(u64::MAX)]),
        2 | 3 => (Vec::new(), vec![Act::Run(time(dice, 10_000_000)), Act::Sleep(time(dice, 40_000_000))]),
        4 => (Vec::new(), anything(dice)),
        _ => (anything(dice), Vec::new()),
    };
    Habit {
        nice: nice(dice),
        policy: dice.pick(&[Policy::Normal, Policy::Normal, Policy::Normal, Policy::Normal, Policy::Batch, Policy::Idle]),
        slice: None,
        cpu: dice.index(cpus),
        start: Some(if dice.once_in(2) { 0 } else { time(dice, 20_000_000) }),
        once,
        rounds,
    }
}

fn anything(dice: &mut Dice) -> Vec<Act> {
    let mut acts = vec![Act::Run(time(dice, 6_000_000))];
    for _ in 0..dice.between(1, 6) {
        acts.push(match dice.index(6) {
            0 | 1 => Act::Run(time(dice, 6_000_000)),
            2 | 3 => Act::Sleep(time(dice, 10_000_000)),
            4 => Act::Yield,
            _ => Act::Nice(nice(dice)),
        });
    }
    acts
}

/// A slice that a task asks for, also one that it may not have or that it has already.
pub(super) fn slice(dice: &mut Dice) -> Option<u64> {
    match dice.index(4) {
        0 => None,
        1 => Some(dice.pick(&[100_000, 700_000, 750_000, 3_000_000])),
        _ => Some(dice.time(1, 200_000_000)),
    }
}

/// Some tasks have slices of their own, or ask for them.
fn give_slices(dice: &mut Dice, habit: &mut Habit) {
    match dice.index(4) {
        0 => habit.slice = slice(dice),
        1 => habit.once.insert(0, Act::Slice(slice(dice))),
        2 => habit.rounds.extend((!habit.rounds.is_empty()).then(|| Act::Slice(slice(dice)))),
        _ => {}
    }
}

/// Some tasks are not started from outside, but by one before them.
fn give_birth(dice: &mut Dice, habits: &mut [Habit]) {
    for child in 1..habits.len() {
        if dice.once_in(6) {
            let parent = dice.index(child);
            let place = dice.index(habits[parent].once.len() + 1);
            habits[child].start = None;
            habits[parent].once.insert(place, Act::Fork(child));
        }
    }
}

/// A change to a task that has been started by then, if the one that was drawn is started from outside.
fn change(dice: &mut Dice, habits: &[Habit], cpus: usize, duration: u64, slices: bool) -> Option<Change> {
    let task = dice.index(habits.len());
    let at = habits[task].start? + time(dice, duration.max(1_000_000));
    let what = match dice.index(3) {
        0 if slices => What::Slice(slice(dice)),
        0 | 1 => What::Nice(nice(dice)),
        _ => What::Move(dice.index(cpus)),
    };
    Some(Change { at, task, what })
}
