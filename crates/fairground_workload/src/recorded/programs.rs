//! What wl.c does, as byte code.

use super::groups::Groups;
use super::msg;
use super::options::{Command, HogTask, PeriodicTask};
use crate::build::marker;
use crate::press::{Press, press};
use fairground_model::{Arithmetic, Instr, MarkerUnit, Mode, PipeSpec, Program, Start, TaskSet, TaskSpec, Test, Value};
use fairground_stdx::{Instant, Ns, PipeId, TaskId};

/// What a `wl` computes before its first system call: exec, page faults, the C library. Recorded: 547 us
/// in 5.10, 652 us in 6.1.
pub(super) const EXEC: Ns = Ns::from_us(550);
/// What a new child computes beside its system calls: page faults. Recorded: from the switch to it to its sleep 25 to
/// 30 us in 5.10, 34 us in 6.1 and 6.12, of which four system calls are 6 us and the sleep itself 2 us.
pub(super) const FIRST_TOUCH: Ns = Ns::from_us(22);
/// What it computes more than later when it begins, at its first look at the thread clock. Recorded: 7.3 us from the
/// switch to that look, later 2.1 us (6.12); the other kernels likewise.
pub(super) const SECOND_TOUCH: Ns = Ns::from_us(5);
/// From the end of that to the instant at which hogs and periodic tasks begin.
pub(super) const LEAD: Ns = Ns::from_ms(50);
/// From the end of the forking to a press's first round.
pub(super) const PRESS_LEAD: Ns = Ns::from_ms(100);
/// How long a ramp sleeps before it computes, and afterwards.
pub(super) const RAMP_SLEEP: Ns = Ns::from_secs(2);
pub(super) const RAMP_REST: Ns = Ns::from_ms(300);
/// The timer slack that `wl` sets for hogs and periodic tasks.
pub(super) const SLACK: Ns = Ns(1);

/// Register: the instant at which the workload begins.
pub(super) const START: u8 = 0;
/// Register: when the loop ends, or the present job was due.
pub(super) const DUE: u8 = 1;
/// Registers that [`work`] uses: when it ends by the thread clock, what that shows, what is lacking.
const WORK_REGS: [u8; 3] = [5, 6, 7];
/// What may be lacking where `wl` ends its work.
const NEAR_ENOUGH: Ns = Ns(200);

/// When a `wl` starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Launch {
    /// At the start of the run. The tasks begin at this instant, or after their usual lead.
    AtZero(Option<Instant>),
    /// By the shell's fork, some time later.
    ByShell,
}

/// Builds one `wl` on a machine with these groups. Returns the tasks and the process that the shell starts.
pub(super) fn build(command: &Command, launch: Launch, groups: &Groups) -> (TaskSet, TaskId) {
    let (mut set, first) = match command {
        Command::Hog { tasks, dur } => {
            let loops = tasks.iter().map(|task| (task, Body::Hog { dur: *dur })).collect::<Vec<_>>();
            crew(&loops, launch)
        }
        Command::Periodic { tasks, dur } => {
            let body =
                |task: &PeriodicTask| Body::Periodic { run: task.run, period: task.period, jobs: dur.0.div_ceil(task.period.0) };
            let loops = tasks.iter().map(|task| (&task.hog, body(task))).collect::<Vec<_>>();
            crew(&loops, launch)
        }
        Command::Press { n, cpus, work, period, rounds } => {
            let first_round = match launch {
                Launch::AtZero(start) => Some(start.unwrap_or(Instant::ZERO + PRESS_LEAD)),
                Launch::ByShell => None,
            };
            let set = press(&Press {
                processes: *n,
                affinity: *cpus,
                every: *period,
                futex: false,
                work: *work,
                by_clock: true,
                rounds: Some(*rounds),
                first_round,
            });
            let main = set.tasks.ids().next_back().expect("invariant: a press has a parent");
            (set, main)
        }
        Command::Msg(msg) => msg::build(msg, launch),
        Command::Ramp { name, cpus, dur } => {
            let mut set = TaskSet::default();
            let recorded = if let Launch::AtZero(start) = launch { start } else { None };
            let mut program = Program::default();
            program.push(Instr::Run { work: EXEC, mode: Mode::User });
            program.code.extend(cpus.map(|cpus| Instr::SetAffinity { cpus: Box::new(cpus) }));
            ramp(&mut set, &mut program, recorded, *dur);
            let program = set.programs.push(program);
            let spec = TaskSpec::new(name.clone(), program);
            // A recorded waking has the timer's slack in it.
            let timer_slack = if recorded.is_some() { SLACK } else { spec.timer_slack };
            let task = set.tasks.push(TaskSpec { timer_slack, ..spec });
            (set, task)
        }
    };
    if launch == Launch::ByShell {
        set.tasks[first].start = Start::Forked;
    }
    set.groups = groups.clone();
    (set, first)
}

/// Sleeps until the recorded waking, or for its usual time; computes; rests.
fn ramp(set: &mut TaskSet, program: &mut Program, recorded: Option<Instant>, dur: Ns) {
    let wall = marker(set, "wall", MarkerUnit::Ns);
    if let Some(at) = recorded {
        program.push(Instr::Set { reg: DUE, at });
    } else {
        program.push(Instr::Now { reg: DUE });
        program.push(Instr::Add { reg: DUE, time: RAMP_SLEEP });
    }
    program.push(Instr::SleepUntil { reg: DUE });
    program.push(Instr::Now { reg: START });
    work(program, dur);
    program.push(Instr::MarkSince { marker: wall, reg: START });
    program.push(Instr::Now { reg: DUE });
    program.push(Instr::Add { reg: DUE, time: RAMP_REST });
    program.push(Instr::SleepUntil { reg: DUE });
}

/// What a forked child does between the common start and its exit.
enum Body {
    Hog { dur: Ns },
    Periodic { run: Ns, period: Ns, jobs: u64 },
}

/// A parent that forks children which all begin at the same instant.
fn crew(children: &[(&HogTask, Body)], launch: Launch) -> (TaskSet, TaskId) {
    let mut set = TaskSet::default();
    let mut parent = Program::default();
    parent.push(Instr::Run { work: EXEC, mode: Mode::User });
    let (start, loaded_from) = common_start(&mut set, &mut parent, launch, LEAD, 2 * children.len() as u32);
    for (index, (task, body)) in children.iter().enumerate() {
        let program = child(&mut set, task, body, &start);
        let program = set.programs.push(program);
        let spec = TaskSpec::new(task.name.clone(), program);
        let task = set.tasks.push(TaskSpec { start: Start::Forked, mm: index as u32 + 1, ..spec });
        parent.push(Instr::Fork { task });
    }
    parent.push(Instr::WaitChildren);
    let program = set.programs.push(parent);
    let start = Start::At(loaded_from);
    let parent = set.tasks.push(TaskSpec { measured: false, start, ..TaskSpec::new("wl", program) });
    (set, parent)
}

/// The parent computes the common start, `lead` after it was loaded, before it forks. Where that is not known in advance the
/// children get it through a pipe, one message per register, `copies` in all. Returns when the parent is to be loaded, too.
pub(super) fn common_start(set: &mut TaskSet, parent: &mut Program, launch: Launch, lead: Ns, copies: u32) -> (Common, Instant) {
    match launch {
        Launch::AtZero(start) => {
            let start = start.unwrap_or(Instant::ZERO + EXEC + lead);
            (Common::Known(start), Instant::from_ns(start.ns().saturating_sub((EXEC + lead).0)))
        }
        Launch::ByShell => {
            let pipe = set.pipes.push(PipeSpec::new(copies));
            parent.push(Instr::Now { reg: START });
            parent.push(Instr::Add { reg: START, time: lead });
            let write = parent.push(Instr::Write { pipe, value: Some(START) });
            parent.push(Instr::Repeat { counter: 0, times: u64::from(copies), to: write });
            (Common::From(pipe), Instant::ZERO)
        }
    }
}

/// How children learn the instant at which they begin.
pub(super) enum Common {
    /// It is part of their program.
    Known(Instant),
    /// They read it from the parent's pipe.
    From(PipeId),
}

pub(super) fn load(reg: u8, start: &Common) -> Instr {
    match *start {
        Common::Known(at) => Instr::Set { reg, at },
        Common::From(pipe) => Instr::Read { pipe, into: reg },
    }
}

fn child(set: &mut TaskSet, task: &HogTask, body: &Body, start: &Common) -> Program {
    let wall = marker(set, "wall", MarkerUnit::Ns);
    let mut program = Program::default();
    program.push(Instr::Run { work: FIRST_TOUCH, mode: Mode::User });
    program.push(Instr::SetTimerSlack { slack: SLACK });
    program.push(Instr::SetNice { nice: task.nice });
    program.code.extend(task.cpus.map(|cpus| Instr::SetAffinity { cpus: Box::new(cpus) }));
    program.code.extend(task.group.map(|group| Instr::SetGroup { group }));
    program.push(load(START, start));
    program.push(load(DUE, start));
    match *body {
        Body::Hog { dur } => {
            program.push(Instr::Add { reg: DUE, time: dur });
            program.push(Instr::SleepUntil { reg: START });
            program.push(Instr::Run { work: SECOND_TOUCH, mode: Mode::User });
            program.push(Instr::ThreadClock { into: None });
            program.push(Instr::RunUntil { reg: DUE });
        }
        Body::Periodic { run, period, jobs } => periodic(set, &mut program, run, period, jobs),
    }
    program.push(Instr::MarkSince { marker: wall, reg: START });
    program
}

/// Computes until its own CPU time has gone on by `time`. What it lacks is waited for by the clock on the wall, then it looks
/// again: after the first stretch a few times, the more the more others run beside it.
///
/// Looking brings the scheduler's account up to date, so a request that has been served is noticed there and not at the next tick.
///
/// ```text
/// end = thread clock + time
/// top: c = thread clock;  c + 200 ns >= end: done
///      until (now + end - c);  again from top
/// ```
pub(crate) fn work(program: &mut Program, time: Ns) {
    let (end, shown, lacks) = (WORK_REGS[0], WORK_REGS[1], WORK_REGS[2]);
    program.push(Instr::ThreadClock { into: Some(end) });
    program.push(Instr::Calculate { reg: end, by: Arithmetic::Plus, value: Value::Const(time.0) });
    let top = program.push(Instr::ThreadClock { into: Some(shown) });
    program.push(Instr::Let { reg: lacks, value: Value::Reg(end) });
    program.push(Instr::Calculate { reg: lacks, by: Arithmetic::Minus, value: Value::Reg(shown) });
    // Five instructions further on the loop is over.
    let done = top + 8;
    program.push(Instr::JumpIf { reg: lacks, is: Test::AtMost, value: Value::Const(NEAR_ENOUGH.0), to: done });
    program.push(Instr::Now { reg: shown });
    program.push(Instr::Calculate { reg: shown, by: Arithmetic::Plus, value: Value::Reg(lacks) });
    program.push(Instr::RunUntil { reg: shown });
    program.push(Instr::Jump { to: top });
}

/// Jobs are due at start + k * period. A late job begins at once, so their number is known.
fn periodic(set: &mut TaskSet, program: &mut Program, run: Ns, period: Ns, times: u64) {
    let latency = marker(set, "latency", MarkerUnit::Ns);
    let response = marker(set, "response", MarkerUnit::Ns);
    let jobs = marker(set, "jobs", MarkerUnit::Count);
    program.push(Instr::SleepUntil { reg: START });
    program.push(Instr::Run { work: SECOND_TOUCH, mode: Mode::User });
    let top = program.push(Instr::MarkSince { marker: latency, reg: DUE });
    work(program, run);
    program.push(Instr::MarkSince { marker: response, reg: DUE });
    program.push(Instr::MarkValue { marker: jobs, value: 1 });
    program.push(Instr::Add { reg: DUE, time: period });
    program.push(Instr::SleepUntil { reg: DUE });
    program.push(Instr::Repeat { counter: 0, times, to: top });
}
