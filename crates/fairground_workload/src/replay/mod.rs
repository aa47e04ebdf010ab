//! `replay`: a recording becomes tasks that can run on another machine or under another kernel.
//!
//! Kept: how long each task computed between its sleeps, who woke or made whom after how much
//! work, and when timers fired. Dropped: how long tasks waited for a CPU, and where they ran.

mod cause;
mod charges;
mod follow;
#[cfg(test)]
mod loop_tests;
mod notes;
#[cfg(test)]
mod tests;
mod track;
mod turns;
mod what_if;

pub use cause::Causes;
pub use charges::Charges;
pub use what_if::{Loop, RESPONSE, WhatIf, what_if};

use cause::Messages;
use fairground_model::{Instr, Mode, PipeSpec, Program, Sink, Start, TaskInfo, TaskSet, TaskSpec, TraceEvent};
use fairground_stdx::{CpuId, CpuMask, Id, IndexVec, Instant, Ns, PipeId, TaskId};
use follow::{Follower, took_part};
use notes::Facts;
use std::collections::BTreeMap;
use track::{Act, Ender, Origin, State, Track};
use turns::{Insert, inserts};

/// A recording as tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    /// The tasks. Time 0 is the recording's first record.
    pub tasks: TaskSet,
    /// What was assumed and what was wrong with the recording, as sentences with counts.
    pub notes: Vec<String>,
    /// For each task of the recording its row in `tasks`, if it took part.
    pub task_of: IndexVec<TaskId, Option<TaskId>>,
    /// From the first record to the last.
    pub length: Ns,
    /// What the sleeps were taken for.
    pub causes: Causes,
}

/// Register for the instants of timers, and one for tokens.
const TIMER: u8 = 0;
const TOKEN: u8 = 1;

/// Distances of timers below which nothing is said of their regularity.
const FEWEST_TIMERS: usize = 4;

/// Kernel threads of which each CPU has its own: `NAME/CPU`.
const PER_CPU: &[&str] = &["migration", "ksoftirqd", "cpuhp", "rcuc", "idle_inject", "watchdog", "kworker"];
/// Names with which other kernel threads begin.
const KERNEL: &[&str] =
    &["kworker/", "rcu_", "kcompactd", "kthreadd", "khugepaged", "kswapd", "ksoftirqd/", "migration/", "jbd2/"];

/// Makes tasks of a recording, to run on a machine with `cpus` CPUs. Never fails: what is dirty is noted.
pub fn build(records: &[(Instant, CpuId, TraceEvent)], infos: &IndexVec<TaskId, TaskInfo>, cpus: usize) -> Replay {
    let mut follower = Follower::new(infos);
    records.iter().for_each(|(at, cpu, event)| follower.record(*at, *cpu, event));
    made(follower, infos, cpus)
}

/// Makes tasks of a recording while it is read, so that its records need not be in memory.
#[derive(Default)]
pub struct Making {
    infos: IndexVec<TaskId, TaskInfo>,
    follower: Follower<'static>,
}

impl Making {
    /// For a machine on which a replay charges so much beside the work of its tasks.
    pub fn charging(charges: Charges) -> Making {
        Making { infos: IndexVec::new(), follower: Follower::charging(charges) }
    }
    /// The tasks, to run on a machine with `cpus` CPUs, as [`build`] makes them.
    pub fn finish(self, cpus: usize) -> Replay {
        made(self.follower, &self.infos, cpus)
    }
}

impl Sink for Making {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.infos.extend_to(task.index() + 1, info.clone());
        self.infos[task] = info.clone();
        self.follower.introduce(task, info);
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.follower.record(at, cpu, event);
    }
}

/// Makes tasks of what was followed. What is told of a task is let go as soon as it has its program: both are long.
fn made(mut follower: Follower<'_>, infos: &IndexVec<TaskId, TaskInfo>, cpus: usize) -> Replay {
    follower.finish();
    let mut task_of = IndexVec::filled(None, infos.len());
    for (row, (task, _)) in took_part(&follower.tracks).enumerate() {
        task_of[task] = Some(TaskId::new(row as u32));
    }
    let length = follower.now.since(Instant::ZERO);
    let mut builder = Builder {
        set: TaskSet::default(),
        task_of: &task_of,
        pipe_of: IndexVec::filled(None, infos.len()),
        messages: follower.messages.judged(infos, &follower.tracks, length),
        inserts: BTreeMap::new(),
        charges: follower.charges,
        cpus,
        facts: Facts::default(),
    };
    let name = |task: TaskId| infos.get(task).filter(|info| mode(info) == Mode::User).map(|info| info.name.as_str());
    let exchanges = follower.turns.exchanges(|wakee, waker| builder.keeps(&follower.messages, wakee, waker), name);
    let hidden = exchanges.iter().map(|exchange| exchange.hidden.len() as u64).sum();
    builder.inserts = inserts(&exchanges, &mut builder.set.pipes);
    let causes = builder.causes(&follower.tracks);
    pipes(&follower.tracks, &mut builder);
    for task in infos.ids().filter(|task| task_of[*task].is_some()) {
        let track = std::mem::take(&mut follower.tracks[task]);
        let program = builder.program(task, &track, &infos[task]);
        builder.task(&track, &infos[task], program);
    }
    let (tasks, facts) = (builder.set, builder.facts);
    let mut notes = notes::kept(&causes, hidden, tasks.tasks.len());
    notes.extend(notes::odd(&follower.counts, &facts));
    Replay { tasks, notes, task_of, length, causes }
}

/// Each task that another one wakes has a pipe of its own: a token written before it sleeps is kept.
/// The pipe holds all tokens that will ever be written, so that no waker blocks.
fn pipes(tracks: &IndexVec<TaskId, Track>, builder: &mut Builder<'_>) {
    for (task, track) in took_part(tracks) {
        let tokens = track.acts.iter().filter(|act| builder.awaits(task, act)).count();
        if tokens > 0 {
            let capacity = u32::try_from(tokens).unwrap_or(u32::MAX);
            builder.pipe_of[task] = Some(builder.set.pipes.push(PipeSpec::new(capacity)));
        }
    }
}

struct Builder<'t> {
    set: TaskSet,
    task_of: &'t IndexVec<TaskId, Option<TaskId>>,
    pipe_of: IndexVec<TaskId, Option<PipeId>>,
    /// Whose soft interrupts are messages to whom (receiver, sender), with the confidence in thousandths.
    messages: BTreeMap<(TaskId, TaskId), u64>,
    /// What tasks do for messages without a record.
    inserts: BTreeMap<TaskId, Vec<Insert>>,
    charges: Charges,
    cpus: usize,
    facts: Facts,
}

impl Builder<'_> {
    fn task(&mut self, track: &Track, info: &TaskInfo, program: Program) {
        let kernel = mode(info) == Mode::Kernel;
        let program = self.set.programs.push(program);
        let mut spec = TaskSpec::new(info.name.clone(), program);
        spec.nice = self.nice(info);
        spec.affinity = self.affinity(track, info);
        spec.first_cpu = track
            .first_cpu
            .filter(|cpu| (cpu.get() as usize) < self.cpus && spec.affinity.is_none_or(|cpus| cpus.contains(*cpu)));
        spec.start = match track.origin {
            Origin::Before => Start::At(Instant::ZERO),
            Origin::Outside(at) => Start::At(at),
            Origin::Forked => Start::Forked,
        };
        if track.origin != Origin::Before {
            spec.first_cpu = None;
        }
        // The recorded times of timers have their slack in them.
        spec.timer_slack = Ns::ZERO;
        spec.mm = self.set.tasks.len() as u32;
        spec.measured = !kernel;
        let asleep = track.origin == Origin::Before
            && matches!(track.acts.first(), Some(Act::Await | Act::Message { .. } | Act::Until { .. }));
        self.facts.asleep_at_start += u64::from(asleep);
        self.facts.alive_at_end += u64::from(track.state != State::Dead);
        self.set.tasks.push(spec);
    }
    /// 120 + nice for fair tasks; smaller numbers belong to real-time classes.
    fn nice(&mut self, info: &TaskInfo) -> i8 {
        if info.prio < 100 {
            self.facts.real_time += 1;
            return -20;
        }
        i8::try_from(info.prio - 120).map_or(0, |nice| nice.clamp(-20, 19))
    }
    /// A per-CPU kernel thread stays on its CPU if it never ran elsewhere and the machine has that CPU.
    fn affinity(&mut self, track: &Track, info: &TaskInfo) -> Option<CpuMask> {
        let cpu = per_cpu(&info.name)?;
        let own = CpuMask::only(cpu);
        let stays = (cpu.get() as usize) < self.cpus && track.cpus.is_subset(&own);
        self.facts.pinned += u64::from(stays);
        self.facts.unpinned += u64::from(!stays);
        stays.then_some(own)
    }
    fn program(&self, task: TaskId, track: &Track, info: &TaskInfo) -> Program {
        let mut program = Program::default();
        let (mut work, mode) = (0, mode(info));
        let is_fixed = has_fixed_timers(track);
        let mut inserts = self.inserts.get(&task).into_iter().flatten().peekable();
        for (place, act) in track.acts.iter().enumerate() {
            while let Some(insert) = inserts.next_if(|insert| insert.place as usize <= place) {
                self.insert(&mut program, &mut work, mode, insert);
            }
            match *act {
                Act::Run(ns) => work += ns,
                // It went on at once.
                Act::Again => {}
                _ => run(&mut program, &mut work, mode),
            }
            match *act {
                Act::Run(_) | Act::Again => {}
                Act::Until { slept, by: Ender::Timer, .. } if !is_fixed && slept < u32::MAX => {
                    program.push(Instr::Sleep { time: Ns(u64::from(slept)) });
                }
                Act::Device(time) => {
                    program.push(Instr::Io { time: Ns(time) });
                }
                Act::Message { .. } | Act::Await if self.awaits(task, act) => {
                    program.push(Instr::Read { pipe: self.own_pipe(task), into: TOKEN });
                }
                Act::Until { at, .. } | Act::Message { at, .. } => {
                    program.push(Instr::Set { reg: TIMER, at: Instant::from_ns(at) });
                    program.push(Instr::SleepUntil { reg: TIMER });
                }
                Act::Send(wakee) if !self.messages.contains_key(&(wakee, task)) => {}
                Act::Wake(wakee) | Act::Send(wakee) => {
                    program.push(Instr::Write { pipe: self.own_pipe(wakee), value: None });
                }
                Act::Await => unreachable!("invariant: such a sleep waits for a token"),
                Act::Fork(child) => {
                    let task = self.task_of[child].expect("invariant: a forked task took part");
                    program.push(Instr::Fork { task });
                }
            }
        }
        run(&mut program, &mut work, mode);
        program.code.shrink_to_fit();
        program
    }
    /// A message without a record, so much run time before the end of `work`.
    fn insert(&self, program: &mut Program, work: &mut u64, mode: Mode, insert: &Insert) {
        let rest = insert.lead.0.min(*work);
        let charged = self.charges.wake.0;
        let mut first = *work - rest;
        *work = rest.saturating_sub(charged.saturating_sub(first));
        first = first.saturating_sub(charged);
        run(program, &mut first, mode);
        program.push(match insert.sends {
            true => Instr::Write { pipe: insert.pipe, value: None },
            false => Instr::Read { pipe: insert.pipe, into: TOKEN },
        });
    }
    /// Whether the wake-ups of a task by another are kept: those in soft interrupts are if they are messages.
    fn keeps(&self, messages: &Messages, wakee: TaskId, waker: TaskId) -> bool {
        !messages.has(wakee, waker) || self.messages.contains_key(&(wakee, waker))
    }
    /// Whether an act of a task is a sleep that a token of another task ends.
    fn awaits(&self, task: TaskId, act: &Act) -> bool {
        match act {
            Act::Await => true,
            Act::Message { sender, .. } => self.messages.contains_key(&(task, *sender)),
            _ => false,
        }
    }
    /// What all sleeps are taken for.
    fn causes(&self, tracks: &IndexVec<TaskId, Track>) -> Causes {
        let (mut causes, mut confidence) = (Causes::default(), 0);
        for (task, track) in took_part(tracks) {
            let is_fixed = has_fixed_timers(track);
            for act in &track.acts {
                let count = match act {
                    Act::Await => &mut causes.task,
                    Act::Message { sender, .. } => match self.messages.get(&(task, *sender)) {
                        Some(permille) => {
                            confidence += permille;
                            &mut causes.message
                        }
                        None => &mut causes.outside,
                    },
                    Act::Device(_) => &mut causes.device,
                    Act::Until { by: Ender::Timer, slept, .. } if !is_fixed && *slept < u32::MAX => &mut causes.timeout,
                    Act::Until { by: Ender::Timer, .. } => &mut causes.timer,
                    Act::Until { by: Ender::Outside, .. } => &mut causes.outside,
                    Act::Until { by: Ender::Unknown, .. } => &mut causes.unknown,
                    Act::Run(_) | Act::Again | Act::Wake(_) | Act::Send(_) | Act::Fork(_) => continue,
                };
                *count += 1;
            }
        }
        causes.confidence_permille = confidence.checked_div(causes.message).unwrap_or(0);
        causes
    }
    /// The pipe of a task that other tasks wake.
    fn own_pipe(&self, task: TaskId) -> PipeId {
        self.pipe_of[task].expect("invariant: a task that is woken by a task has a pipe")
    }
}

/// Whether a task's timers ring at fixed times, so that their distances are more alike than the lengths of the sleeps; else each is set as
/// the sleep begins. How much lengths differ is the distance of their quartiles.
fn has_fixed_timers(track: &Track) -> bool {
    let timers = track.acts.iter().filter_map(|act| match *act {
        Act::Until { at, slept, by: Ender::Timer } => Some((at, u64::from(slept))),
        _ => None,
    });
    let (times, mut lengths): (Vec<u64>, Vec<u64>) = timers.unzip();
    let mut distances: Vec<u64> = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    distances.len() >= FEWEST_TIMERS && spread(&mut distances) < spread(&mut lengths)
}

/// The distance of the quartiles.
fn spread(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values[values.len() * 3 / 4] - values[values.len() / 4]
}

/// Work that was put together, if there is any.
fn run(program: &mut Program, work: &mut u64, mode: Mode) {
    if *work > 0 {
        program.push(Instr::Run { work: Ns(*work), mode });
        *work = 0;
    }
}

/// Kernel threads run in the kernel.
fn mode(info: &TaskInfo) -> Mode {
    let is_kernel = KERNEL.iter().any(|name| info.name.starts_with(name)) || per_cpu(&info.name).is_some();
    if is_kernel { Mode::Kernel } else { Mode::User }
}

/// The CPU of a per-CPU kernel thread: `migration/3`, `kworker/3:1H`, but not `kworker/u8:2`.
fn per_cpu(name: &str) -> Option<CpuId> {
    let (kind, rest) = name.split_once('/')?;
    let digits = rest.split(':').next().unwrap_or(rest);
    let cpu: u32 = digits.parse().ok()?;
    (PER_CPU.contains(&kind) && (cpu as usize) < CpuMask::CAPACITY).then(|| CpuId::new(cpu))
}
