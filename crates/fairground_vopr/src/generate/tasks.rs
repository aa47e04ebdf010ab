//! Random sets of tasks, and what happens to them from outside.

use super::profile::switches;
use super::programs::{
    anything, burst, hog, link, locker, periodic, rhythm, sleeper, some_cpus, some_nice, some_policy, some_slice,
};
use crate::dice::Dice;
use fairground_machine::Machine;
use fairground_model::features::FeatWrite;
use fairground_model::{Change, Instr, PipeSpec, Program, Start, TaskSet, TaskSpec, TimedChange};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, Instant, Ns, PipeId, TaskId};

/// The parts of one set.
struct Maker<'a> {
    dice: &'a mut Dice,
    set: TaskSet,
    cpus: usize,
    duration: Ns,
    /// Whether the kernel knows slices of tasks' own.
    own_slices: bool,
}

pub(crate) fn tasks(dice: &mut Dice, machine: &Machine, profile: &Profile, duration: Ns) -> TaskSet {
    let own_slices = profile.task_slice.is_custom();
    let mut maker = Maker { dice, set: TaskSet::default(), cpus: machine.cpus.len(), duration, own_slices };
    for _ in 0..maker.dice.between(0, 3) {
        maker.pipe();
    }
    for _ in 0..maker.dice.between(0, 2) {
        let held = maker.dice.between(0, 1);
        maker.set.words.push(held);
    }
    for _ in 0..maker.dice.between(1, 6) {
        maker.unit();
    }
    if maker.dice.once_in(3) {
        maker.load();
    }
    for _ in 0..maker.dice.between(0, 5) {
        maker.change(profile);
    }
    if maker.dice.once_in(6) {
        maker.storm();
    }
    maker.set.changes.sort_by_key(|timed| timed.at);
    maker.set
}

impl Maker<'_> {
    fn pipe(&mut self) -> PipeId {
        let capacity = self.dice.between(1, 3) as u32;
        self.set.pipes.push(PipeSpec::new(capacity))
    }

    /// One task, or a few that belong together.
    fn unit(&mut self) {
        match self.dice.index(9) {
            8 => self.lockers(),
            0 | 1 => {
                self.task(hog());
            }
            2 => {
                let code = sleeper(self.dice);
                self.task(code);
            }
            3 => {
                let code = periodic(self.dice);
                self.task(code);
            }
            4 => self.ring(),
            5 => self.family(),
            6 if self.dice.once_in(2) => self.wave(),
            _ => {
                let code = anything(self.dice, self.set.pipes.len(), self.set.words.len(), self.cpus, self.own_slices);
                self.task(code);
            }
        }
    }

    fn ring(&mut self) {
        let pipes: Vec<PipeId> = (0..self.dice.between(2, 3)).map(|_| self.pipe()).collect();
        for (row, &from) in pipes.iter().enumerate() {
            let to = pipes[(row + 1) % pipes.len()];
            let code = link(self.dice, from, to, row == 0);
            self.task(code);
        }
    }

    /// Tasks that compute under one lock: some sleep while they wait for it, some go round.
    fn lockers(&mut self) {
        let lock = self.set.words.push(0);
        for _ in 0..self.dice.between(2, 5) {
            let asleep = !self.dice.once_in(3);
            let code = locker(self.dice, lock, asleep);
            self.task(code);
        }
    }

    /// Tasks that all wake at the same instants.
    fn wave(&mut self) {
        let code = rhythm(self.dice);
        let start = Start::At(Instant::from_ns(self.dice.time(0, self.duration.0 / 2)));
        for _ in 0..self.dice.between(2, 2 + 2 * self.cpus as u64) {
            let task = self.task(code.clone());
            self.set.tasks[task].start = start;
        }
    }

    /// More hogs, or tasks that sleep now and then, than there are CPUs: work for the balancer.
    fn load(&mut self) {
        let sleeps = self.dice.once_in(2);
        for _ in 0..self.dice.between(1, 3 * self.cpus as u64) {
            let code = if sleeps { sleeper(self.dice) } else { hog() };
            self.task(code);
        }
    }

    /// Many changes of affinity at one instant.
    fn storm(&mut self) {
        let at = Instant::from_ns(self.dice.between(0, self.duration.0 - 1));
        let cpus = some_cpus(self.dice, self.cpus);
        for task in self.set.tasks.ids().collect::<Vec<_>>() {
            if !self.dice.once_in(4) {
                self.set.changes.push(TimedChange { at, change: Change::Affinity { task, cpus } });
            }
        }
    }

    /// A parent that forks each of its children once, and perhaps waits for them.
    fn family(&mut self) {
        let children: Vec<TaskId> = (0..self.dice.between(1, 3))
            .map(|_| {
                let code = anything(self.dice, self.set.pipes.len(), self.set.words.len(), self.cpus, self.own_slices);
                let child = self.task(code);
                self.set.tasks[child].start = Start::Forked;
                child
            })
            .collect();
        let mut code = vec![burst(self.dice)];
        for task in children {
            code.push(Instr::Fork { task });
            if self.dice.once_in(2) {
                code.push(burst(self.dice));
            }
        }
        if self.dice.once_in(2) {
            code.push(Instr::WaitChildren);
        }
        code.push(burst(self.dice));
        self.task(code);
    }

    fn task(&mut self, code: Vec<Instr>) -> TaskId {
        let program = self.set.programs.push(Program::from(code));
        let mut spec = TaskSpec::new(format!("task{}", self.set.tasks.len()), program);
        if self.dice.once_in(3) {
            spec.start = Start::At(Instant::from_ns(self.dice.time(0, self.duration.0 / 2)));
        }
        (spec.nice, spec.policy) = (some_nice(self.dice), some_policy(self.dice));
        if self.own_slices && self.dice.once_in(3) {
            spec.slice = some_slice(self.dice);
        }
        spec.timer_slack = Ns(self.dice.pick(&[0, 1, 50_000, 1_000_000]));
        spec.mm = self.dice.between(0, 2) as u32;
        spec.working_set_kib = self.dice.pick(&[0, 12, 256, 4096]);
        if self.dice.once_in(3) {
            spec.affinity = Some(some_cpus(self.dice, self.cpus));
        }
        let wanted = CpuId::new(self.dice.index(self.cpus) as u32);
        if spec.affinity.is_none_or(|cpus| cpus.contains(wanted)) && self.dice.once_in(2) {
            spec.first_cpu = Some(wanted);
        }
        self.set.tasks.push(spec)
    }

    /// Something happens from outside, often at a round time, when ticks and timers do too.
    fn change(&mut self, profile: &Profile) {
        let mut at = self.dice.between(0, self.duration.0 - 1);
        if self.dice.once_in(2) {
            at -= at % 1_000_000;
        }
        let task = TaskId::new(self.dice.index(self.set.tasks.len()) as u32);
        let change = match self.dice.index(6) {
            5 if self.own_slices => Change::Slice { task, slice: some_slice(self.dice) },
            0 => Change::Nice { task, nice: some_nice(self.dice) },
            1 => Change::Policy { task, policy: some_policy(self.dice) },
            2 => Change::FreqCapacity {
                cpu: CpuId::new(self.dice.index(self.cpus) as u32),
                freq_capacity: self.dice.between(1, 1024) as u32,
            },
            3 => {
                let feat = self.dice.pick(&switches(profile));
                Change::Feature(FeatWrite { feat, on: !self.dice.once_in(2) })
            }
            _ => Change::Affinity { task, cpus: some_cpus(self.dice, self.cpus) },
        };
        self.set.changes.push(TimedChange { at: Instant::from_ns(at), change });
    }
}
