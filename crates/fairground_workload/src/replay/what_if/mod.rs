//! A recording of some threads under one CPU limit, made ready to run under another.
//!
//! ```text
//! recorded   woken ▏run▕░░ throttled ░░▏run▕   sleeps   ▏woken …
//! rebuilt    woken ▏run▕run▕      sleeps                ▏woken …     at the same time (open), or after as long a sleep (closed)
//! ```
//!
//! Time in which a thread could run and did not is no demand, whether it waited for a CPU or for quota: it is dropped. What is left
//! are the pieces of work between two sleeps. A piece arrives when its thread is woken and is done when the thread sleeps again: that
//! is its response time, measured by the same rule in the recording and in every run.

use super::follow::{Counts, Follower, took_part};
use super::track::{Act, Origin, Sleep, State, Track};
use super::{Builder, Charges, Facts, mode, notes, pipes, run};
use crate::build::marker;
use fairground_model::{Instr, MarkerUnit, Program, Reg, TaskInfo, TaskSet, TraceEvent};
use fairground_stdx::{CpuId, IndexVec, Instant, MarkerId, Ns, TaskId};
use std::collections::BTreeMap;

/// What becomes of wake-ups from outside the threads that are looked at, when these run faster or slower than recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Loop {
    /// They come at their recorded times, as those of clients that do not wait for answers.
    #[default]
    Open,
    /// They come as long after the thread went to sleep as recorded, as those of clients that do.
    Closed,
}

/// Threads of a recording as tasks without what a limit did to them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WhatIf {
    /// The tasks. Time 0 is the recording's first record.
    pub tasks: TaskSet,
    /// Response times in the recording.
    pub recorded: Vec<Ns>,
    /// How many response times a whole run has.
    pub pieces: u64,
    /// Threads that never slept in the recording: their demand is at least what they got.
    pub endless: Vec<String>,
    /// Wake-ups from outside, which keep their times or distances.
    pub outside: u64,
    /// Wake-ups by one of the threads.
    pub inside: u64,
    /// Pieces of work that were due at an unknown time before their thread was done with the one before.
    pub overdue: u64,
    /// What was odd in the recording, as sentences with counts.
    pub notes: Vec<String>,
    /// From the first record to the last.
    pub length: Ns,
}

/// The name of the marker with response times.
pub const RESPONSE: &str = "response";
/// Register for when the present piece of work arrived.
const ARRIVED: Reg = 0;

/// Makes tasks of the threads for which `members` says so, to run on a machine with `cpus` CPUs.
pub fn what_if(
    records: &[(Instant, CpuId, TraceEvent)],
    infos: &IndexVec<TaskId, TaskInfo>,
    members: &IndexVec<TaskId, bool>,
    cpus: usize,
    arrivals: Loop,
) -> WhatIf {
    let mut follower = Follower::of_members(infos, members);
    records.iter().for_each(|(at, cpu, event)| follower.record(*at, *cpu, event));
    follower.finish();
    let is_member = |task: TaskId| members.get(task).is_some_and(|is_member| *is_member);
    let chosen: Vec<(TaskId, &Track)> = took_part(&follower.tracks).filter(|row| is_member(row.0)).collect();
    let mut task_of = IndexVec::filled(None, infos.len());
    chosen.iter().enumerate().for_each(|(row, (task, _))| task_of[*task] = Some(TaskId::new(row as u32)));
    let pipe_of = IndexVec::filled(None, infos.len());
    let (set, messages, facts) = (TaskSet::default(), BTreeMap::new(), Facts::default());
    let (inserts, charges) = (BTreeMap::new(), Charges::default());
    let mut builder = Builder { set, task_of: &task_of, pipe_of, messages, inserts, charges, cpus, facts };
    pipes(&follower.tracks, &mut builder);
    let marker = marker(&mut builder.set, RESPONSE, MarkerUnit::Ns);
    let mut found = WhatIf {
        tasks: TaskSet::default(),
        recorded: Vec::new(),
        pieces: 0,
        endless: Vec::new(),
        outside: 0,
        inside: 0,
        overdue: 0,
        notes: Vec::new(),
        length: follower.now.since(Instant::ZERO),
    };
    for &(task, track) in &chosen {
        let sleeps = sleeps(track);
        let due = due(&sleeps);
        found.count(track, &sleeps, &due, &infos[task]);
        let piece = Piece { marker, sleeps: &sleeps, due: &due, arrivals };
        let program = piece.program(&builder, task, track, &infos[task]);
        builder.task(track, &infos[task], program);
    }
    found.notes = notes::odd(&Counts { awake: 0, ..follower.counts }, &builder.facts);
    found.tasks = builder.set;
    found
}

impl WhatIf {
    fn count(&mut self, track: &Track, sleeps: &[Sleep], due: &[Instant], info: &TaskInfo) {
        for sleep in sleeps {
            match track.acts[sleep.place] {
                Act::Await => self.inside += 1,
                _ => self.outside += 1,
            }
            self.overdue += u64::from(!sleep.is_known);
        }
        let ends = sleeps.iter().skip(1).map(|sleep| Some(sleep.from)).chain([track.ended_at()]);
        let times: Vec<Ns> = due.iter().zip(ends).filter_map(|(due, end)| Some(end?.saturating_since(*due))).collect();
        self.pieces += times.len() as u64;
        if times.is_empty() && track.acts.iter().any(|act| matches!(act, Act::Run(_))) {
            self.endless.push(info.name.clone());
        }
        self.recorded.extend(times);
    }
}

impl Track {
    /// When its last piece of work was done, if it was.
    fn ended_at(&self) -> Option<Instant> {
        matches!(self.state, State::Asleep | State::Dead).then_some(self.left)
    }
}

/// A sleep that an interrupt ends within this time after its beginning was that of a timer whose time had passed. The kernel does not promise
/// to be more exact than 50 us (timer_slack_ns); as long again is left for the interrupt to get through.
const AT_ONCE: Ns = Ns::from_us(100);

/// The sleeps of a track; the arrival of those that were over as they began is not known.
fn sleeps(track: &Track) -> Vec<Sleep> {
    let is_over_at_once = |sleep: &Sleep| {
        let is_interrupt = matches!(track.acts[sleep.place], Act::Until { .. } | Act::Device(_)) && !sleep.by_task;
        is_interrupt && sleep.from > Instant::ZERO && sleep.until.saturating_since(sleep.from) < AT_ONCE
    };
    let known = |sleep: &Sleep| Sleep { is_known: sleep.is_known && !is_over_at_once(sleep), ..*sleep };
    track.sleeps.iter().map(known).collect()
}

/// When what ended each sleep came.
///
/// Of a wake-up that is exact. A sleep that was over as it began was that of a timer whose time had passed: such timers go on from the
/// wake-up before with the median distance of wake-ups that follow one another without such a sleep, or with a shorter one, evenly, where
/// they would not fit before the next wake-up. So they are exact where a regular timer fired. None is later than when it was found.
fn due(sleeps: &[Sleep]) -> Vec<Instant> {
    let mut due: Vec<Instant> = sleeps.iter().map(|sleep| sleep.until).collect();
    let distance = distance(sleeps);
    let known: Vec<usize> = (0..sleeps.len()).filter(|&row| sleeps[row].is_known).collect();
    for (place, &first) in known.iter().enumerate() {
        let start = sleeps[first].until;
        let next = known.get(place + 1).copied();
        for row in first + 1..next.unwrap_or(sleeps.len()) {
            let steps = (row - first) as u64;
            let even = next.map(|next| part(sleeps[next].until.saturating_since(start).0, steps, (next - first) as u64));
            let regular = distance.map(|distance| distance.0.saturating_mul(steps));
            if let Some(after) = even.into_iter().chain(regular).min() {
                due[row] = Instant::from_ns(start.ns().saturating_add(after)).min(sleeps[row].until);
            }
        }
    }
    due
}

/// The median distance of wake-ups with nothing between; none without two such.
fn distance(sleeps: &[Sleep]) -> Option<Ns> {
    let pairs = sleeps.windows(2).filter(|pair| pair[0].is_known && pair[1].is_known);
    let mut distances: Vec<Ns> = pairs.map(|pair| pair[1].until.saturating_since(pair[0].until)).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied()
}

/// `place` of `parts` equal parts of a length, rounded down.
fn part(length: u64, place: u64, parts: u64) -> u64 {
    u64::try_from(u128::from(length) * u128::from(place) / u128::from(parts.max(1))).unwrap_or(u64::MAX)
}

/// How a piece of work is written.
struct Piece<'a> {
    marker: MarkerId,
    sleeps: &'a [Sleep],
    due: &'a [Instant],
    arrivals: Loop,
}

impl Piece<'_> {
    fn program(&self, builder: &Builder<'_>, task: TaskId, track: &Track, info: &TaskInfo) -> Program {
        let (mut program, mut work, mode) = (Program::default(), 0, mode(info));
        let mut sleeps = self.sleeps.iter().zip(self.due);
        let mut has_arrived = false;
        for act in &track.acts {
            if let Act::Run(ns) = *act {
                work += ns;
                continue;
            }
            run(&mut program, &mut work, mode);
            match *act {
                // Messages are not looked for among chosen threads.
                Act::Run(_) | Act::Send(_) => {}
                Act::Wake(wakee) => {
                    if builder.task_of[wakee].is_some() {
                        program.push(Instr::Write { pipe: builder.own_pipe(wakee), value: None });
                    }
                }
                Act::Fork(child) => {
                    if let Some(task) = builder.task_of[child] {
                        program.push(Instr::Fork { task });
                    }
                }
                Act::Until { .. } | Act::Device(_) | Act::Await | Act::Message { .. } | Act::Again => {
                    let (sleep, due) = sleeps.next().expect("invariant: each sleep among the acts is listed");
                    if has_arrived {
                        program.push(Instr::MarkSince { marker: self.marker, reg: ARRIVED });
                    }
                    has_arrived = true;
                    match *act {
                        // The token says when it was written.
                        Act::Await => {
                            program.push(Instr::Read { pipe: builder.own_pipe(task), into: ARRIVED });
                        }
                        _ => self.sleep(&mut program, sleep, *due, track),
                    }
                }
            }
        }
        run(&mut program, &mut work, mode);
        if has_arrived && track.ended_at().is_some() {
            program.push(Instr::MarkSince { marker: self.marker, reg: ARRIVED });
        }
        program
    }
    /// A sleep that is ended from outside.
    fn sleep(&self, program: &mut Program, sleep: &Sleep, due: Instant, track: &Track) {
        // The first one has nothing before it from which it could be counted.
        let is_first = sleep.from == Instant::ZERO && track.origin == Origin::Before;
        match self.arrivals {
            Loop::Closed if !is_first => {
                program.push(Instr::Now { reg: ARRIVED });
                program.push(Instr::Add { reg: ARRIVED, time: due.saturating_since(sleep.from) });
            }
            Loop::Open | Loop::Closed => {
                program.push(Instr::Set { reg: ARRIVED, at: due });
            }
        }
        program.push(Instr::SleepUntil { reg: ARRIVED });
    }
}

#[cfg(test)]
mod tests;
