//! CPUs with their ticks and timers, and tasks that follow their habits, around the slow queues.
//!
//! At one instant: what comes from outside, ends of bursts, interrupts (timers, requests from other
//! CPUs), ticks; each in order of the CPUs.

use super::super::rules::Weight;
use super::queue::{Entity, Fair, Leave, Queue};
use super::workload::{Act, Change, Habit};
use super::{Fact, Setting};
use fairground_model::Policy;

/// What a task is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Not forked yet.
    New,
    /// Queued or running.
    Awake,
    /// Asleep; the timer is that of a CPU.
    Asleep { until: u64, timer_of: usize },
    /// Ended.
    Dead,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) habit: Habit,
    pub(super) nice: i8,
    state: State,
    /// On whose queue it is, or was last.
    pub(super) cpu: usize,
    /// The one CPU that it may use.
    pub(super) pinned: usize,
    /// It runs where it must not, and moves at the next schedule().
    pub(super) moves: bool,
    /// What is left of the present burst.
    left: Option<u64>,
    /// The number of its next act.
    next_act: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Cpu {
    next_tick: Option<u64>,
    interrupt: Option<u64>,
    pub(super) resched: bool,
    /// As `resched`, but nobody hurries.
    pub(super) resched_lazy: bool,
    /// Up to when the current task is charged.
    charged_until: u64,
    /// Since when it computes.
    since: u64,
}

/// A machine with its tasks, none of which is forked yet.
#[derive(Clone, Debug)]
pub struct Reference {
    pub(super) now: u64,
    pub(super) setting: Setting,
    pub(super) fair: Fair,
    pub(super) cpus: Vec<Cpu>,
    pub(super) tasks: Vec<Task>,
    changes: Vec<Change>,
    facts: Vec<Fact>,
}

/// What comes next; in this order at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Fork(usize),
    Change(usize),
    BurstEnds(usize),
    Interrupt(usize),
    Tick(usize),
}

pub(super) fn weight_of(policy: Policy, nice: i8) -> Weight {
    if policy == Policy::Idle { Weight::of_idle_policy() } else { Weight::of_nice(nice) }
}

/// Of 100 us to 100 ms, or that of all.
pub(super) fn granted(slice: Option<u64>, setting: &Setting) -> u64 {
    slice.map_or(setting.slice(), |slice| slice.clamp(100_000, 100_000_000))
}

impl Reference {
    /// A machine of `setting` that knows these tasks and changes.
    pub fn new(setting: &Setting, habits: &[Habit], changes: &[Change]) -> Reference {
        let entity = |habit: &Habit| {
            let mut entity = Entity::new(weight_of(habit.policy, habit.nice), setting.slice());
            entity.divides = setting.kernel.divides;
            if setting.kernel.has_own_slices {
                (entity.slice, entity.own_slice) = (granted(habit.slice, setting), habit.slice.is_some());
            }
            entity
        };
        let task = |habit: &Habit| Task {
            habit: habit.clone(),
            nice: habit.nice,
            state: State::New,
            cpu: habit.cpu,
            pinned: habit.cpu,
            moves: false,
            left: None,
            next_act: 0,
        };
        Reference {
            now: 0,
            fair: Fair {
                kernel: setting.kernel,
                has: setting.has,
                tick: setting.tick,
                entities: habits.iter().map(entity).collect(),
                queues: vec![Queue::default(); setting.cpus],
            },
            setting: setting.clone(),
            cpus: vec![Cpu::default(); setting.cpus],
            tasks: habits.iter().map(task).collect(),
            changes: changes.to_vec(),
            facts: Vec::new(),
        }
    }

    /// Everything that happens before `end`, and the last charge at it.
    pub fn run(&mut self, end: u64) -> &[Fact] {
        while self.step(end) {}
        &self.facts
    }

    /// The next thing that happens before `end`; false if that was the last.
    pub fn step(&mut self, end: u64) -> bool {
        let Some((at, event)) = self.next_event().filter(|event| event.0 < end) else {
            self.now = end;
            (0..self.cpus.len()).for_each(|cpu| self.update_curr(cpu));
            return false;
        };
        self.now = at;
        match event {
            Event::Fork(task) => {
                self.fork(task, None);
                self.interrupt_all(self.tasks[task].pinned);
            }
            Event::Change(row) => {
                let change = self.changes.remove(row);
                self.change(change);
                self.interrupt_all(0);
            }
            Event::BurstEnds(cpu) => {
                self.pause(cpu);
                self.go_on(cpu, false);
            }
            Event::Interrupt(cpu) => {
                self.cpus[cpu].interrupt = None;
                self.pause(cpu);
                self.wake_all(cpu);
                self.go_on(cpu, true);
            }
            Event::Tick(cpu) => {
                self.pause(cpu);
                self.cpus[cpu].next_tick = Some(self.tick_after_now(cpu));
                self.tick(cpu);
                self.go_on(cpu, true);
            }
        }
        true
    }

    /// What has happened so far.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Queues and tasks, for people.
    pub fn state(&self) -> String {
        let queues = self.fair.queues.iter().enumerate().map(|(cpu, queue)| format!("  CPU {cpu}: {queue:?}\n"));
        let tasks = self.tasks.iter().zip(&self.fair.entities).enumerate().filter(|row| row.1.0.state != State::New);
        queues.chain(tasks.map(|(row, (task, entity))| format!("  task {row}: {:?} {entity:?}\n", task.state))).collect()
    }

    fn next_event(&self) -> Option<(u64, Event)> {
        let new = |task: &Task| task.habit.start.filter(|_| task.state == State::New);
        let forks = self.tasks.iter().enumerate().filter_map(|(row, task)| Some((new(task)?, Event::Fork(row))));
        let changes = self.changes.iter().enumerate().map(|(row, change)| (change.at, Event::Change(row)));
        let on_cpus = (0..self.cpus.len()).flat_map(|cpu| {
            let burst = || self.cpus[cpu].since.checked_add(self.tasks[self.fair.queues[cpu].curr?].left?);
            let interrupt = self.cpus[cpu].interrupt.into_iter().chain(self.timers(cpu).map(|timer| timer.0)).min();
            let events = [
                burst().map(|at| (at, Event::BurstEnds(cpu))),
                interrupt.map(|at| (at, Event::Interrupt(cpu))),
                self.cpus[cpu].next_tick.map(|at| (at, Event::Tick(cpu))),
            ];
            events.into_iter().flatten()
        });
        forks.chain(changes).chain(on_cpus).min()
    }

    /// Timers of a CPU with their tasks.
    fn timers(&self, cpu: usize) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.tasks.iter().enumerate().filter_map(move |(row, task)| match task.state {
            State::Asleep { until, timer_of } if timer_of == cpu => Some((until, row)),
            _ => None,
        })
    }

    fn tick_after_now(&self, cpu: usize) -> u64 {
        let offset = self.setting.tick_offset * cpu as u64;
        match self.now.checked_sub(offset) {
            Some(since) => offset + (since / self.setting.tick + 1) * self.setting.tick,
            None => offset,
        }
    }

    /// Whoever acts from outside makes every CPU look at its flag, and the one on which it acts return to user mode.
    fn interrupt_all(&mut self, acts_on: usize) {
        self.interrupt_others(acts_on);
        if self.cpus[acts_on].resched || self.cpus[acts_on].resched_lazy {
            self.cpus[acts_on].interrupt = Some(self.now);
        }
    }

    /// What the current task has computed is taken off its burst.
    fn pause(&mut self, cpu: usize) {
        let ran = self.now - std::mem::replace(&mut self.cpus[cpu].since, self.now);
        if let Some(curr) = self.fair.queues[cpu].curr {
            let left = &mut self.tasks[curr].left;
            *left = left.map(|left| left - ran).filter(|&left| left > 0);
        }
    }

    /// Lets the current task act until it computes. Who comes from the kernel `looks` at the flags first; between two stretches of
    /// user mode nobody does.
    fn go_on(&mut self, cpu: usize, mut looks: bool) {
        loop {
            if looks && (self.cpus[cpu].resched || self.cpus[cpu].resched_lazy) {
                self.schedule(cpu, None);
                continue;
            }
            let Some(curr) = self.fair.queues[cpu].curr else {
                self.cpus[cpu].next_tick = None;
                return;
            };
            if self.cpus[cpu].next_tick.is_none() {
                self.cpus[cpu].next_tick = Some(self.tick_after_now(cpu));
            }
            let task = &mut self.tasks[curr];
            if task.left.is_some() {
                self.cpus[cpu].since = self.now;
                return;
            }
            let act = task.habit.act(task.next_act);
            task.next_act += 1;
            looks |= !matches!(act, Some(Act::Run(_)));
            self.act(cpu, curr, act);
        }
    }

    fn act(&mut self, cpu: usize, task: usize, act: Option<Act>) {
        match act {
            Some(Act::Run(time)) => self.tasks[task].left = Some(time),
            Some(Act::Sleep(time)) => {
                self.tasks[task].state = State::Asleep { until: self.now + time, timer_of: cpu };
                self.schedule(cpu, Some(Leave::Sleep));
            }
            Some(Act::Yield) => {
                self.yields(cpu, task);
                self.schedule(cpu, None);
            }
            Some(Act::Nice(nice)) => self.set_nice(cpu, task, nice),
            Some(Act::Slice(slice)) => self.set_slice(cpu, task, slice),
            Some(Act::Fork(child)) => {
                if self.fair.kernel.fork_charges {
                    self.update_curr(cpu);
                }
                self.fork(child, Some(task));
                self.interrupt_others(cpu);
            }
            None => {
                self.tasks[task].state = State::Dead;
                self.schedule(cpu, Some(Leave::Exit));
            }
        }
    }

    /// The tick: who did not give way in time must now.
    pub(super) fn tick(&mut self, cpu: usize) {
        let Cpu { resched, resched_lazy, .. } = &mut self.cpus[cpu];
        *resched |= *resched_lazy;
        self.update_curr(cpu);
    }

    pub(super) fn yields(&mut self, cpu: usize, task: usize) {
        if self.fair.on_queue(cpu).len() > 1 {
            self.update_curr(cpu);
            self.fair.yields(cpu, task);
        }
    }

    /// What a CPU asks of others reaches them at once.
    fn interrupt_others(&mut self, from: usize) {
        let now = self.now;
        let others = self.cpus.iter_mut().enumerate().filter(|row| row.0 != from && row.1.resched);
        others.for_each(|row| row.1.interrupt = Some(now));
    }

    pub(super) fn update_curr(&mut self, cpu: usize) {
        let Some(curr) = self.fair.queues[cpu].curr.filter(|&curr| self.fair.entities[curr].on_rq) else { return };
        let runtime = self.now - std::mem::replace(&mut self.cpus[cpu].charged_until, self.now);
        if runtime == 0 {
            return;
        }
        if self.fair.charge(cpu, curr, runtime) {
            self.resched_in_time(cpu);
        }
        self.facts.push(Fact::Ran { task: curr, runtime, vruntime: self.fair.entities[curr].vruntime });
    }

    /// A task begins; it has its parent's own slice, if it has none itself.
    pub(super) fn fork(&mut self, task: usize, parent: Option<usize>) {
        let cpu = self.tasks[task].pinned;
        if let Some(parent) = parent.map(|parent| self.fair.entities[parent]).filter(|parent| parent.own_slice)
            && !self.fair.entities[task].own_slice
        {
            (self.fair.entities[task].slice, self.fair.entities[task].own_slice) = (parent.slice, true);
        }
        self.enqueue(task, cpu, true);
        self.check_preempt(cpu, task, true);
    }

    pub(super) fn enqueue(&mut self, task: usize, cpu: usize, initial: bool) {
        if self.tasks[task].state == State::New {
            self.tasks[task].state = State::Awake;
        }
        self.tasks[task].cpu = cpu;
        self.update_curr(cpu);
        self.fair.enqueue(cpu, task, initial);
    }

    pub(super) fn dequeue(&mut self, task: usize, how: Leave) -> bool {
        let cpu = self.tasks[task].cpu;
        self.update_curr(cpu);
        self.fair.dequeue(cpu, task, how)
    }

    fn wake_all(&mut self, cpu: usize) {
        let mut due: Vec<(u64, usize)> = self.timers(cpu).filter(|timer| timer.0 <= self.now).collect();
        due.sort_unstable();
        for (_, task) in due {
            self.wake(task);
            self.interrupt_others(cpu);
        }
    }

    pub(super) fn wake(&mut self, task: usize) {
        self.tasks[task].state = State::Awake;
        if self.fair.entities[task].delayed {
            if self.fair.kernel.requeue_charges {
                self.update_curr(self.tasks[task].cpu);
            }
            self.fair.requeue(self.tasks[task].cpu, task);
        } else {
            self.enqueue(task, self.tasks[task].pinned, false);
        }
        self.check_preempt(self.tasks[task].cpu, task, false);
    }

    /// Whether a task that was just queued preempts the current one.
    pub(super) fn check_preempt(&mut self, cpu: usize, task: usize, fork: bool) {
        let Some(curr) = self.fair.queues[cpu].curr else {
            self.cpus[cpu].resched = true;
            return;
        };
        let idle = |row: usize| self.tasks[row].habit.policy == Policy::Idle;
        let (curr_idle, wakee_idle) = (idle(curr), idle(task));
        let has = self.fair.has;
        let forks_wait = self.fair.kernel.forks_wait;
        if has.next_buddy && !forks_wait && !fork && !wakee_idle && !self.fair.entities[task].delayed {
            self.fair.queues[cpu].next_buddy = Some(task);
        }
        if self.cpus[cpu].resched || (self.fair.kernel.idleness_after_feature && !has.wakeup_preemption) {
            return;
        }
        if curr_idle && !wakee_idle {
            if self.fair.kernel.idle_loses_protection {
                self.fair.cancel_protection(curr);
            }
            self.resched_in_time(cpu);
            return;
        }
        if wakee_idle != curr_idle || self.tasks[task].habit.policy != Policy::Normal || !has.wakeup_preemption {
            return;
        }
        self.update_curr(cpu);
        let wins = match forks_wait {
            true => self.wins_unless_new(cpu, task, curr, fork),
            false => self.fair.wins(cpu, task, curr),
        };
        if wins {
            self.resched_in_time(cpu);
        }
    }

    /// Whether a task that was just queued would be picked, with or without regard to protection and buddy; delayed sleepers
    /// that would be leave.
    fn wins_unless_new(&mut self, cpu: usize, task: usize, curr: usize, fork: bool) -> bool {
        let has = self.fair.has;
        let short = has.preempt_short && self.fair.entities[task].slice < self.fair.entities[curr].slice;
        if !short && (fork || self.fair.entities[task].delayed) {
            return false;
        }
        if !short && has.next_buddy {
            self.fair.offer_buddy(cpu, task);
        }
        let picked = loop {
            let picked = if short { self.fair.pick(cpu, false) } else { self.fair.pick_next(cpu) };
            match picked.filter(|&row| self.fair.entities[row].delayed) {
                Some(sleeper) => self.dequeue(sleeper, Leave::SleepAtLast),
                None => break picked,
            };
        };
        let wins = picked == Some(task);
        if wins && short {
            self.fair.cancel_protection(curr);
            self.fair.queues[cpu].next_buddy.take_if(|marked| *marked == curr);
        } else if !wins && has.run_to_parity {
            self.fair.shrink_protection(cpu, curr);
        }
        wins
    }

    /// Asks for a reschedule of a CPU that runs a task, lazily if the kernel does.
    fn resched_in_time(&mut self, cpu: usize) {
        let Cpu { resched, resched_lazy, .. } = &mut self.cpus[cpu];
        match self.fair.kernel.lazy {
            true => *resched_lazy |= !*resched,
            false => *resched = true,
        }
    }

    pub(super) fn set_next(&mut self, cpu: usize, task: usize) {
        self.fair.set_next(cpu, task);
        self.cpus[cpu].charged_until = self.now;
    }

    /// The current task leaves (or not), and the next one is picked. One that is called away gives its CPU to the stopper first, which is
    /// no task here; who follows is picked when it has been moved.
    pub(super) fn schedule(&mut self, cpu: usize, leaves: Option<Leave>) {
        let prev = self.fair.queues[cpu].curr;
        let moves = prev.filter(|&task| std::mem::take(&mut self.tasks[task].moves) && leaves.is_none());
        if let Some(task) = prev {
            self.update_curr(cpu);
            if let Some(how) = leaves.or(moves.map(|_| Leave::Move)) {
                self.dequeue(task, how);
            }
        }
        let next = if moves.is_some() { None } else { self.pick_awake(cpu) };
        if next != prev {
            self.fair.put_prev(cpu);
            if let Some(task) = next {
                self.set_next(cpu, task);
            }
            self.facts.push(Fact::Switch { at: self.now, cpu, prev, next });
        }
        (self.cpus[cpu].resched, self.cpus[cpu].resched_lazy) = (moves.is_some(), false);
        // A sleeper that stays queued may have been forbidden this CPU while it ran.
        let sleeper = prev.filter(|&task| leaves.is_some() && self.fair.entities[task].delayed && self.tasks[task].pinned != cpu);
        if let Some(task) = sleeper {
            self.dequeue(task, Leave::Move);
        }
        if let Some(task) = moves.or(sleeper) {
            let target = self.tasks[task].pinned;
            self.enqueue(task, target, false);
            self.check_preempt(target, task, false);
            self.interrupt_others(cpu);
        }
    }

    /// Picks until a task comes that is awake: what sleeps and is picked has used up its lag, and leaves.
    fn pick_awake(&mut self, cpu: usize) -> Option<usize> {
        loop {
            let task = self.fair.pick_next(cpu)?;
            if !self.fair.entities[task].delayed {
                return Some(task);
            }
            self.dequeue(task, Leave::SleepAtLast);
        }
    }
}
