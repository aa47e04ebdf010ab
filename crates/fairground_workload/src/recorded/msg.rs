//! `wl msg`, after the habit of schbench: a worker asks its message task for a wake-up, waits for it, sleeps, computes.

use super::options::Msg;
use super::programs::{Common, DUE, EXEC, FIRST_TOUCH, Launch, SECOND_TOUCH, SLACK, START, common_start, load, work};
use crate::build::{marker, words};
use fairground_model::{Instr, MarkerUnit, Mode, Program, Start, TaskSet, TaskSpec, Test, Value, Word};
use fairground_stdx::{Ns, TaskId, WordId};

/// From the loading of the program to the instant at which its tasks begin.
pub(super) const MSG_LEAD: Ns = Ns::from_ms(100);
/// A message task goes on for so long after the workers' end.
const LINGER: Ns = Ns::from_ms(100);

/// Registers beside START, and DUE for the end of the workers.
const NOW: u8 = 2;
const SEEN: u8 = 3;
const LATER: u8 = 4;

/// What a message task and its workers share.
struct Shared {
    /// 1: a worker has asked since the message task last looked.
    asked: WordId,
    /// Of each worker, 1: it waits.
    waits: WordId,
    /// Of each worker: when it was answered.
    answered: WordId,
}

/// Builds a `wl msg`. Returns the tasks and the process that the shell starts.
pub(super) fn build(msg: &Msg, launch: Launch) -> (TaskSet, TaskId) {
    let mut set = TaskSet::default();
    let mut parent = Program::default();
    parent.push(Instr::Run { work: EXEC, mode: Mode::User });
    parent.code.extend(msg.group.map(|group| Instr::SetGroup { group }));
    let tasks = msg.names().count() as u32;
    let (start, loaded) = common_start(&mut set, &mut parent, launch, MSG_LEAD, 2 * tasks);
    let mut names = msg.names();
    for _ in 0..msg.messages {
        let shared = Shared {
            asked: set.words.push(0),
            waits: words(&mut set, u64::from(msg.workers), |_| 0),
            answered: words(&mut set, u64::from(msg.workers), |_| 0),
        };
        let mut programs = vec![message(msg, &shared, &start)];
        programs.extend((0..msg.workers).map(|row| worker(&mut set, msg, &shared, row, &start)));
        for (program, name) in programs.into_iter().zip(&mut names) {
            let program = set.programs.push(program);
            let mm = set.tasks.len() as u32 + 1;
            let task = set.tasks.push(TaskSpec { start: Start::Forked, mm, ..TaskSpec::new(name, program) });
            parent.push(Instr::Fork { task });
        }
    }
    parent.push(Instr::WaitChildren);
    let program = set.programs.push(parent);
    let parent = set.tasks.push(TaskSpec { measured: false, start: Start::At(loaded), ..TaskSpec::new("wl", program) });
    (set, parent)
}

fn nth(first: WordId, row: u32) -> Word {
    WordId::new(first.get() + row).into()
}

/// Sleeps until the common start; DUE is the end of the workers then.
fn begin(program: &mut Program, msg: &Msg, start: &Common) {
    program.push(load(START, start));
    program.push(load(DUE, start));
    program.push(Instr::Add { reg: DUE, time: msg.dur });
    program.push(Instr::SleepUntil { reg: START });
    program.push(Instr::Run { work: SECOND_TOUCH, mode: Mode::User });
}

/// Answers all who wait, then sleeps until somebody asks.
fn message(msg: &Msg, shared: &Shared, start: &Common) -> Program {
    let mut program = Program::default();
    program.push(Instr::Run { work: FIRST_TOUCH, mode: Mode::User });
    begin(&mut program, msg, start);
    program.push(Instr::Add { reg: DUE, time: LINGER });
    let top = program.push(Instr::Store { word: shared.asked.into(), value: Value::Const(0) });
    for row in 0..msg.workers {
        let waits = nth(shared.waits, row);
        program.push(Instr::Load { word: waits, into: SEEN });
        let behind = program.code.len() as u32 + 5;
        program.push(Instr::JumpIf { reg: SEEN, is: Test::Equal, value: Value::Const(0), to: behind });
        program.push(Instr::Now { reg: NOW });
        program.push(Instr::Store { word: nth(shared.answered, row), value: Value::Reg(NOW) });
        program.push(Instr::Store { word: waits, value: Value::Const(0) });
        program.push(Instr::FutexWake { word: waits, count: 1 });
    }
    program.push(Instr::Now { reg: NOW });
    let out = program.code.len() as u32 + 3;
    program.push(Instr::JumpIf { reg: DUE, is: Test::AtMost, value: Value::Reg(NOW), to: out });
    program.push(Instr::FutexWait { word: shared.asked.into(), value: Value::Const(0) });
    program.push(Instr::Jump { to: top });
    program.push(Instr::Exit);
    program
}

fn worker(set: &mut TaskSet, msg: &Msg, shared: &Shared, row: u32, start: &Common) -> Program {
    let answer = marker(set, "answer", MarkerUnit::Ns);
    let jobs = marker(set, "jobs", MarkerUnit::Count);
    let (waits, asked) = (nth(shared.waits, row), shared.asked.into());
    let mut program = Program::default();
    program.push(Instr::Run { work: FIRST_TOUCH, mode: Mode::User });
    program.push(Instr::SetTimerSlack { slack: SLACK });
    begin(&mut program, msg, start);
    let top = program.push(Instr::Store { word: waits, value: Value::Const(1) });
    ask(&mut program, asked);
    let wait = program.push(Instr::FutexWait { word: waits, value: Value::Const(1) });
    program.push(Instr::Load { word: waits, into: SEEN });
    program.push(Instr::JumpIf { reg: SEEN, is: Test::Equal, value: Value::Const(1), to: wait });
    program.push(Instr::Load { word: nth(shared.answered, row), into: LATER });
    program.push(Instr::MarkSince { marker: answer, reg: LATER });
    if msg.sleep > Ns::ZERO {
        program.push(Instr::Sleep { time: msg.sleep });
    }
    work(&mut program, msg.work);
    program.push(Instr::MarkValue { marker: jobs, value: 1 });
    program.push(Instr::Now { reg: NOW });
    program.push(Instr::JumpIf { reg: NOW, is: Test::AtMost, value: Value::Reg(DUE), to: top });
    // The real message task looks at its clock at least every 50 ms; here it is told that the time is over.
    program.push(Instr::Add { reg: DUE, time: LINGER });
    program.push(Instr::SleepUntil { reg: DUE });
    ask(&mut program, asked);
    program.push(Instr::Exit);
    program
}

fn ask(program: &mut Program, asked: Word) {
    program.push(Instr::Store { word: asked, value: Value::Const(1) });
    program.push(Instr::FutexWake { word: asked, count: 1 });
}
