//! A message thread: makes its workers, then answers their messages, or hands out requests on a timer.

use super::shared::{Flags, Shared, at, fixed};
use crate::build::land;
use crate::post_wait::{BLOCKED, post, wait};
use fairground_model::{Instr, Mode, Program, Reg, Test, Value};
use fairground_stdx::{Ns, TaskId};

const LIST: Reg = 0;
const NOW: Reg = 1;
const NEXT: Reg = 2;
const SCRATCH: Reg = 3;

pub(super) fn program(flags: &Flags, shared: &Shared, workers: &[TaskId]) -> Program {
    let mut program = Program::default();
    program.code.extend(workers.iter().map(|&task| Instr::Fork { task }));
    if flags.rps > 0 {
        hand_out_requests(&mut program, flags, shared);
    } else {
        answer_messages(&mut program, flags, shared);
    }
    (1..=flags.workers).for_each(|row| post(&mut program, fixed(shared.futex, row), SCRATCH));
    program.push(Instr::WaitChildren);
    program
}

/// Answers everyone who has left a message, waits for the next message, sleeps a while.
fn answer_messages(program: &mut Program, flags: &Flags, shared: &Shared) {
    let own = fixed(shared.futex, 0);
    let top = program.push(Instr::Store { word: own, value: Value::Const(BLOCKED) });
    wake_all(program, flags, shared);
    program.push(Instr::Load { word: shared.stopping.into(), into: SCRATCH });
    let go_on = program.push(Instr::JumpIf { reg: SCRATCH, is: Test::Equal, value: Value::Const(0), to: 0 });
    wake_all(program, flags, shared);
    let end = program.push(Instr::Jump { to: 0 });
    land(program, go_on);
    wait(program, own, SCRATCH);
    if flags.fill == Ns::ZERO && flags.sleep_us > 0 {
        // rand() % (sleeptime / 4) more.
        let (low, more) = (Ns::from_us(flags.sleep_us), Ns::from_us(flags.sleep_us / 4 - 1));
        program.push(Instr::SleepBetween { low, high: low + more });
    }
    program.push(Instr::Jump { to: top });
    land(program, end);
}

/// Wakes everyone on the list, who came last first. All of a batch get one time stamp, but in pipe mode.
fn wake_all(program: &mut Program, flags: &Flags, shared: &Shared) {
    let list = fixed(shared.next, 0);
    program.push(Instr::Load { word: list, into: LIST });
    program.push(Instr::Store { word: list, value: Value::Const(0) });
    program.push(Instr::TimeOfDay { reg: NOW });
    let top = program.push(Instr::JumpIf { reg: LIST, is: Test::Equal, value: Value::Const(0), to: 0 });
    program.push(Instr::Load { word: at(shared.next, LIST), into: NEXT });
    if flags.fill > Ns::ZERO {
        program.push(Instr::Run { work: flags.fill, mode: Mode::User });
        program.push(Instr::TimeOfDay { reg: NOW });
    }
    program.push(Instr::Store { word: at(shared.wake_time, LIST), value: Value::Reg(NOW) });
    post(program, at(shared.futex, LIST), SCRATCH);
    program.push(Instr::Let { reg: LIST, value: Value::Reg(NEXT) });
    program.push(Instr::Jump { to: top });
    land(program, top);
}

/// Every so often makes a request for each of two thirds of the workers, who take turns.
fn hand_out_requests(program: &mut Program, flags: &Flags, shared: &Shared) {
    let (worker, request, start) = (4, 5, 6);
    let batch = flags.workers * 2 / 3;
    let pause = Ns::from_us(1_000_000 / flags.rps.div_ceil(batch));
    program.push(Instr::Let { reg: worker, value: Value::Const(1) });
    let top = program.push(Instr::Sleep { time: pause });
    program.push(Instr::TimeOfDay { reg: start });
    let each = program.push(Instr::Load { word: fixed(shared.earlier, 0), into: request });
    // No memory: the request is lost.
    let lost = program.push(Instr::JumpIf { reg: request, is: Test::Equal, value: Value::Const(0), to: 0 });
    program.push(Instr::Load { word: at(shared.earlier, request), into: NEXT });
    program.push(Instr::Store { word: fixed(shared.earlier, 0), value: Value::Reg(NEXT) });
    program.push(Instr::TimeOfDay { reg: NOW });
    program.push(Instr::Store { word: at(shared.made, request), value: Value::Reg(NOW) });
    program.push(Instr::Load { word: at(shared.request, worker), into: NEXT });
    program.push(Instr::Store { word: at(shared.earlier, request), value: Value::Reg(NEXT) });
    program.push(Instr::Store { word: at(shared.request, worker), value: Value::Reg(request) });
    land(program, lost);
    program.push(Instr::Store { word: at(shared.wake_time, worker), value: Value::Reg(start) });
    post(program, at(shared.futex, worker), SCRATCH);
    program.push(Instr::Load { word: at(shared.next, worker), into: worker });
    program.push(Instr::Repeat { counter: 0, times: batch, to: each });
    program.push(Instr::Load { word: shared.stopping.into(), into: SCRATCH });
    program.push(Instr::JumpIf { reg: SCRATCH, is: Test::Equal, value: Value::Const(0), to: top });
}
