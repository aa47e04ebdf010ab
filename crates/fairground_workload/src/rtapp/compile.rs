//! From thread objects to tasks and byte code.

use super::event::{Event, TimerUse};
use super::fork::{self, Forks};
use super::group;
use super::notes::Notes;
use super::policy::RtPolicy;
use super::sync::Resources;
use super::task::{Loop, Phase, Thread};
use crate::build::marker;
use fairground_model::{Instr, MarkerUnit, Mistakes, Mode, Policy, Program, Start, TaskSet, TaskSpec, TimerMode, UtilClamp};
use fairground_stdx::{CpuMask, MarkerId, Ns, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// Register: when the present round of a phase began.
const ROUND: u8 = 0;
/// Register: for one event at a time.
const SCRATCH: u8 = 1;
/// The first of the registers that hold timers.
const TIMERS: u8 = 2;
const MAX_TIMERS: usize = fairground_model::program::REGS - TIMERS as usize;
/// Loop counters.
const PHASE_LOOP: u8 = 0;
const THREAD_LOOP: u8 = 1;

/// Makes the tasks: `instances` per thread object, named `NAME-INDEX` with one index over all
/// threads, as rt-app names them. They share the address space of the one process.
pub(super) fn compile(threads: &[Thread], default_policy: RtPolicy, mistakes: &mut Mistakes, notes: &mut Notes) -> TaskSet {
    shared_timers(threads, mistakes);
    let mut set = TaskSet::default();
    let markers = Markers {
        period: marker(&mut set, "period", MarkerUnit::Ns),
        timer_latency: marker(&mut set, "timer_latency", MarkerUnit::Ns),
        slack: marker(&mut set, "slack", MarkerUnit::Left),
        overrun: marker(&mut set, "overrun", MarkerUnit::Ns),
    };
    group::make(threads, &mut set, mistakes);
    let births = fork::births(threads, mistakes);
    let mut resources = Resources::default();
    for (thread, &users) in threads.iter().zip(&births.users) {
        resources.add(thread.phases.iter().flat_map(|phase| &phase.events), &thread.name, users, &mut set);
    }
    let mut forks = Forks::default();
    for (row, thread) in threads.iter().enumerate() {
        let policy = thread.attributes.policy.unwrap_or(default_policy);
        let moves = group::moves(thread, &mut set);
        let compiler = Compiler { thread, timers: timers(thread, mistakes), policy, markers, moves, resources: &resources };
        let group = group::at_start(thread, &mut set);
        compiler.slices_without_effect(notes);
        compiler.check_priorities(mistakes);
        let program = compiler.program();
        // A thread that forks others has a program of its own, as each of them is born once.
        let shared = (!fork::forks(thread)).then(|| set.programs.push(program.clone()));
        for instance in 0..births.users[row] {
            let id = shared.unwrap_or_else(|| set.programs.push(program.clone()));
            let name = format!("{}-{}", thread.name, set.tasks.len());
            let mut task = TaskSpec::new(name, id);
            (task.policy, task.nice) = compiler.at_start();
            task.clamp = thread.attributes.clamp;
            task.slice = thread.attributes.dl_runtime.filter(|_| takes_slice(task.policy));
            task.affinity = thread.phases.first().and_then(|phase| compiler.cpus(phase));
            task.group = group;
            if instance >= thread.instances {
                task.start = Start::Forked;
            }
            forks.add(row, task.start, set.tasks.push(task));
        }
    }
    forks.join(threads, &mut set);
    set
}

/// A timer whose name does not begin with `unique` is one for all threads that use it.
fn shared_timers(threads: &[Thread], mistakes: &mut Mistakes) {
    let mut users: BTreeMap<&str, u32> = BTreeMap::new();
    for thread in threads {
        let mut own = BTreeSet::new();
        for timer in uses(thread).filter(|timer| !timer.name.starts_with("unique")) {
            if !own.insert(timer.name.as_str()) {
                continue;
            }
            let all = users.entry(&timer.name).or_default();
            *all += thread.instances;
            if *all > 1 && thread.instances > 0 {
                let message = format!(
                    "timer `{}` is shared by threads: this is not modelled yet (needs timers with several users)",
                    timer.name
                );
                let hint = "Begin its name with `unique`: then each thread has its own.";
                mistakes.at(timer.span.clone(), message, hint);
            }
        }
    }
}

fn uses(thread: &Thread) -> impl Iterator<Item = &TimerUse> {
    thread.phases.iter().flat_map(|phase| &phase.events).filter_map(|event| match event {
        Event::Timer(timer) => Some(timer),
        _ => None,
    })
}

/// The timers of a thread. One use with `mode` absolute makes all its uses absolute, as in rt-app.
fn timers(thread: &Thread, mistakes: &mut Mistakes) -> Vec<(String, TimerMode)> {
    let mut timers: Vec<(String, TimerMode)> = Vec::new();
    for timer in uses(thread) {
        let full = timers.len() == MAX_TIMERS;
        match timers.iter_mut().find(|known| known.0 == timer.name) {
            Some(known) if timer.mode == TimerMode::Absolute => known.1 = TimerMode::Absolute,
            Some(_) => {}
            None if full => {
                let message = format!("more than {MAX_TIMERS} timers in one thread are not modelled yet (needs more registers)");
                mistakes.at(
                    timer.span.clone(),
                    message,
                    "Use one timer for several phases where their periods may follow one another.",
                );
                break;
            }
            None => timers.push((timer.name.clone(), timer.mode)),
        }
    }
    timers
}

#[derive(Clone, Copy)]
struct Markers {
    period: MarkerId,
    timer_latency: MarkerId,
    slack: MarkerId,
    overrun: MarkerId,
}

struct Compiler<'t> {
    thread: &'t Thread,
    timers: Vec<(String, TimerMode)>,
    /// The policy with which the thread starts.
    policy: RtPolicy,
    markers: Markers,
    /// What the phases begin with, where they go to other groups.
    moves: Vec<Option<Instr>>,
    resources: &'t Resources,
}

/// Notes that a thread's slice is not used, if that is so with its policy.
fn without_slice(name: &str, policy: Policy, notes: &mut Notes) {
    let policy = match policy {
        Policy::Normal | Policy::Batch | Policy::Deadline(_) => return,
        Policy::Idle => "SCHED_IDLE",
        Policy::Fifo(_) => "SCHED_FIFO",
        Policy::RoundRobin(_) => "SCHED_RR",
    };
    notes.add(&format!("thread `{name}`: `dl-runtime` has no effect, rt-app sets no slice with {policy}"));
}

/// Whether rt-app sets a slice with that policy.
fn takes_slice(policy: Policy) -> bool {
    matches!(policy, Policy::Normal | Policy::Batch)
}

impl Compiler<'_> {
    /// The policy and nice value with which the thread starts.
    fn at_start(&self) -> (Policy, i8) {
        self.policy.with(&self.thread.attributes)
    }
    /// Finds priorities that the policy does not have which holds where they stand.
    fn check_priorities(&self, mistakes: &mut Mistakes) {
        let mut policy = self.policy;
        policy.check(self.thread.attributes.priority.as_ref(), mistakes);
        for Phase { attributes, .. } in &self.thread.phases {
            policy = attributes.policy.unwrap_or(policy);
            policy.check(attributes.priority.as_ref(), mistakes);
        }
    }
    fn program(&self) -> Program {
        let mut program = Program::default();
        self.begin(&mut program);
        let changes = self.changes();
        // Set once where only the first phase has something to set: rt-app leaves out what is set already.
        let once = changes[1.min(changes.len())..].iter().all(Vec::is_empty);
        if once {
            program.code.extend(changes.first().cloned().unwrap_or_default());
        }
        if self.thread.repeat == Some(0) {
            return program;
        }
        let top = program.here();
        for (index, phase) in self.thread.phases.iter().enumerate() {
            self.affinity(index, &mut program);
            if !once {
                program.code.extend(changes[index].iter().cloned());
            }
            program.code.extend(self.moves[index].clone());
            let phase_top = program.push(Instr::Now { reg: ROUND });
            phase.events.iter().for_each(|event| self.event(event, &mut program));
            program.push(Instr::MarkSince { marker: self.markers.period, reg: ROUND });
            again(phase.repeat, PHASE_LOOP, phase_top, &mut program);
        }
        again(self.thread.repeat, THREAD_LOOP, top, &mut program);
        program
    }
    /// Timers count from the thread's start, which a delay moves.
    fn begin(&self, program: &mut Program) {
        for reg in (TIMERS..).take(self.timers.len()) {
            program.push(Instr::Now { reg });
            if self.thread.delay > Ns::ZERO {
                program.push(Instr::Add { reg, time: self.thread.delay });
            }
        }
        if self.thread.delay > Ns::ZERO {
            program.push(Instr::Now { reg: SCRATCH });
            program.push(Instr::Add { reg: SCRATCH, time: self.thread.delay });
            program.push(Instr::SleepUntil { reg: SCRATCH });
        }
    }
    /// The changes of policy, nice value, slice and utilization clamps with which each phase begins. A priority without a policy
    /// belongs to the policy that holds when the phase is reached for the first time; a policy
    /// without a priority means nice 0, or real-time priority 10. A slice is set beside one of them only, and kept where none is given.
    fn changes(&self) -> Vec<Vec<Instr>> {
        let mut policy = self.policy;
        let (mut resolved, mut clamps) = (Vec::new(), Vec::new());
        for Phase { attributes, .. } in &self.thread.phases {
            let any = attributes.sets_policy();
            policy = attributes.policy.unwrap_or(policy);
            let clamp = (attributes.clamp != UtilClamp::NONE).then_some(Instr::SetClamp { clamp: attributes.clamp });
            clamps.push(clamp);
            resolved.push(any.then(|| (policy.with(attributes), attributes.dl_runtime)));
        }
        let varies = resolved.iter().flatten().any(|row| row.0.0 != self.at_start().0);
        let change = |((policy, nice), slice): ((Policy, i8), Option<Ns>)| {
            let set_policy = varies.then_some(Instr::SetPolicy { policy });
            let fair = takes_slice(policy);
            let set_nice = fair.then_some(Instr::SetNice { nice });
            let set_slice = slice.filter(|_| fair).map(|slice| Instr::SetSlice { slice: Some(slice) });
            set_policy.into_iter().chain(set_nice).chain(set_slice).collect()
        };
        let all = |(row, clamp): (Option<_>, Option<Instr>)| row.map_or(Vec::new(), change).into_iter().chain(clamp).collect();
        resolved.into_iter().zip(clamps).map(all).collect()
    }
    /// Notes where rt-app would read `dl-runtime` and not use it.
    fn slices_without_effect(&self, notes: &mut Notes) {
        let name = &self.thread.name;
        if self.thread.attributes.dl_runtime.is_some() {
            without_slice(name, self.at_start().0, notes);
        }
        let mut policy = self.policy;
        for Phase { attributes, .. } in &self.thread.phases {
            policy = attributes.policy.unwrap_or(policy);
            if attributes.dl_runtime.is_none() {
                continue;
            }
            if attributes.sets_policy() {
                without_slice(name, policy.with(attributes).0, notes);
            } else {
                notes.add(&format!(
                    "thread `{name}`: the `dl-runtime` of a phase has no effect without `policy` or `priority` beside it, as in rt-app"
                ));
            }
        }
    }
    /// The CPUs of a phase: its own, else the thread's, else all.
    fn cpus(&self, phase: &Phase) -> Option<CpuMask> {
        phase.attributes.cpus.or(self.thread.attributes.cpus)
    }
    /// Sets the CPUs where the phase before had others. The first phase comes after the last.
    fn affinity(&self, index: usize, program: &mut Program) {
        let phases = &self.thread.phases;
        let before = if index == 0 { phases.len() - 1 } else { index - 1 };
        let (old, new) = (self.cpus(&phases[before]), self.cpus(&phases[index]));
        let from_start = index == 0 && self.thread.repeat == Some(1);
        if old != new && !from_start {
            let cpus = new.unwrap_or_else(|| CpuMask::first_n(CpuMask::CAPACITY));
            program.push(Instr::SetAffinity { cpus: Box::new(cpus) });
        }
    }
    fn event(&self, event: &Event, program: &mut Program) {
        match event {
            Event::Run(work) => {
                program.push(Instr::Run { work: *work, mode: Mode::User });
            }
            Event::Runtime(time) => {
                program.push(Instr::Now { reg: SCRATCH });
                program.push(Instr::Add { reg: SCRATCH, time: *time });
                program.push(Instr::RunUntil { reg: SCRATCH });
            }
            Event::Sleep(time) => {
                program.push(Instr::Sleep { time: *time });
            }
            Event::Yield => {
                program.push(Instr::Yield);
            }
            Event::Timer(timer) => self.timer(timer, program),
            Event::Sync(sync) => self.resources.compile(sync, &self.thread.name, SCRATCH, program),
            // Which task that is says Forks::join.
            Event::Fork(_) => {
                program.push(Instr::Fork { task: TaskId::new(0) });
            }
        }
    }
    fn timer(&self, timer: &TimerUse, program: &mut Program) {
        let found = (TIMERS..).zip(&self.timers).find(|row| row.1.0 == timer.name);
        // A timer that was refused has no register, and the program is not used.
        let Some((reg, &(_, mode))) = found else { return };
        program.push(Instr::Now { reg: SCRATCH });
        program.push(Instr::TimerWait { reg, period: timer.period, mode });
        program.push(Instr::MarkSince { marker: self.markers.timer_latency, reg });
        program.push(Instr::MarkBetween { marker: self.markers.slack, early: SCRATCH, late: reg });
        // rt-app's slack is negative where this is more than 0.
        program.push(Instr::MarkBetween { marker: self.markers.overrun, early: reg, late: SCRATCH });
    }
}

fn again(repeat: Loop, counter: u8, to: u32, program: &mut Program) {
    match repeat {
        None => {
            program.push(Instr::Jump { to });
        }
        Some(0 | 1) => {}
        Some(times) => {
            program.push(Instr::Repeat { counter, times, to });
        }
    }
}
