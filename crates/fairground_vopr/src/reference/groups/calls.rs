//! Random calls on a few CPUs with groups.

use super::rules::KERNELS;
use crate::dice::Dice;
use fairground_sched::profile::Profile;

/// A call. One that cannot be made as things are is passed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call {
    /// Time passes, in ns.
    Wait(u64),
    /// The tick of a CPU.
    Tick(usize),
    /// A task begins on a CPU.
    Fork(usize, usize),
    /// A task that sleeps is woken on a CPU.
    Wake(usize, usize),
    /// A CPU picks.
    Schedule(usize),
    /// The current task of a CPU goes to sleep.
    Sleep(usize),
    /// The current task of a CPU ends.
    Exit(usize),
    /// A task that waits goes to another CPU.
    Migrate(usize, usize),
    /// Another nice value.
    Nice(usize, i8),
    /// A task goes to a group, or to the root.
    Move(usize, Option<usize>),
    /// A group gets other shares.
    Shares(usize, u64),
    /// A group becomes idle, or is not any more.
    Idle(usize, bool),
    /// A group is removed.
    Remove(usize),
    /// A CPU is aged from outside.
    Blocked(usize),
}

/// A kernel, groups, tasks and what is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Calls {
    /// The kernel by name.
    pub(super) kernel: &'static str,
    /// How many CPUs there are.
    pub(super) cpus: usize,
    /// Groups: the one in which each lies, its shares, whether it is idle.
    pub(super) groups: Vec<(Option<usize>, u64, bool)>,
    /// Tasks: the group, nice value, and whether it is of policy SCHED_IDLE.
    pub(super) tasks: Vec<(Option<usize>, i8, bool)>,
    /// The calls.
    pub(super) calls: Vec<Call>,
}

/// Most levels of groups.
const LEVELS: usize = 3;

impl Calls {
    /// The calls of a seed.
    pub(super) fn random(seed: u64) -> Calls {
        let mut dice = Dice::new(seed, 31);
        let kernel = dice.pick(&KERNELS);
        let cpus = dice.between(1, 3) as usize;
        let mut groups: Vec<(Option<usize>, u64, bool)> = Vec::new();
        let mut depths: Vec<usize> = Vec::new();
        for _ in 0..dice.between(1, 5) {
            let parents: Vec<usize> = (0..groups.len()).filter(|&group| depths[group] < LEVELS).collect();
            let parent = (!parents.is_empty() && !dice.once_in(3)).then(|| dice.pick(&parents));
            depths.push(1 + parent.map_or(0, |parent| depths[parent]));
            groups.push((parent, shares(&mut dice), idle_groups(kernel) && dice.once_in(8)));
        }
        let count = dice.between(1, 8) as usize;
        let tasks: Vec<_> = (0..count)
            .map(|_| {
                let group = some_group(&mut dice, groups.len());
                (group, nice(&mut dice), dice.once_in(12))
            })
            .collect();
        let mut calls: Vec<Call> = (0..count).map(|task| Call::Fork(task, dice.index(cpus))).collect();
        let rounds = dice.between(10, 80);
        calls.extend((0..rounds).flat_map(|_| call(&mut dice, kernel, count, groups.len(), cpus)));
        Calls { kernel, cpus, groups, tasks, calls }
    }

    fn without(&self, rows: std::ops::Range<usize>) -> Calls {
        let mut fewer = self.clone();
        fewer.calls.drain(rows);
        fewer
    }

    /// The fewest calls that were found of which `fails` still says so.
    pub(super) fn shrunk(mut self, fails: impl Fn(&Calls) -> bool) -> Calls {
        let mut length = self.calls.len();
        while length > 0 {
            let starts = (0..=self.calls.len() - length.min(self.calls.len())).rev();
            match starts.map(|start| self.without(start..(start + length).min(self.calls.len()))).find(|fewer| fails(fewer)) {
                Some(fewer) if fewer.calls.len() < self.calls.len() => self = fewer,
                _ => length /= 2,
            }
        }
        self
    }
}

/// Whether groups of that kernel may be idle as a whole.
fn idle_groups(kernel: &str) -> bool {
    Profile::parse(kernel).is_ok_and(|profile| profile.group_idle.has_file())
}

fn some_group(dice: &mut Dice, groups: usize) -> Option<usize> {
    (!dice.once_in(5)).then(|| dice.index(groups))
}

fn shares(dice: &mut Dice) -> u64 {
    dice.pick(&[1024, 1024, 1024, 2, 10, 15, 512, 2048, 10_240, 102_400, 1 << 18, 1, 1 << 20])
}

fn nice(dice: &mut Dice) -> i8 {
    dice.pick(&[0, 0, 0, 0, 1, -1, 5, -5, 13, 19, -20])
}

/// A call, mostly after some time.
fn call(dice: &mut Dice, kernel: &str, tasks: usize, groups: usize, cpus: usize) -> Vec<Call> {
    let (task, group, cpu) = (dice.index(tasks), dice.index(groups), dice.index(cpus));
    let call = match dice.index(24) {
        0..5 => Call::Wake(task, cpu),
        5..9 => Call::Schedule(cpu),
        9..12 => Call::Sleep(cpu),
        12..15 => Call::Tick(cpu),
        15 | 16 => Call::Migrate(task, cpu),
        17 => Call::Nice(task, nice(dice)),
        18 | 19 => Call::Move(task, some_group(dice, groups)),
        20 => Call::Shares(group, shares(dice)),
        21 => Call::Blocked(cpu),
        22 if idle_groups(kernel) && dice.once_in(2) => Call::Idle(group, dice.once_in(2)),
        _ if dice.once_in(8) => Call::Exit(cpu),
        _ if dice.once_in(6) => Call::Remove(group),
        _ => Call::Tick(cpu),
    };
    match dice.index(8) {
        0 | 1 => vec![call],
        2 => vec![Call::Wait(dice.between(1, 5) * 1_000_000), call],
        3 => vec![Call::Wait(dice.time(1, 400_000_000)), call],
        _ => vec![Call::Wait(dice.time(1, 10_000_000)), call],
    }
}
