//! A worker: spins, leaves a message, waits, and measures how long ago it was woken.

use super::shared::{Flags, Shared, at, fixed};
use crate::build::land;
use crate::post_wait::{BLOCKED, RUNNING, post, wait};
use fairground_model::{Instr, Mode, Program, Reg, Test, Value};
use fairground_stdx::Ns;

const NOW: Reg = 0;
const THEN: Reg = 1;
const SCRATCH: Reg = 2;
const REQUEST: Reg = 3;
const OTHER: Reg = 4;
const HEAD: Reg = 5;

/// The program of the worker in row `row` of its message thread's arrays.
pub(super) fn program(flags: &Flags, shared: &Shared, row: u64) -> Program {
    let mut program = Program::default();
    let stopping = shared.stopping.into();
    program.push(Instr::Load { word: stopping, into: SCRATCH });
    let exit = program.push(Instr::JumpIf { reg: SCRATCH, is: Test::Equal, value: Value::Const(1), to: 0 });
    if flags.rps > 0 {
        serve_requests(&mut program, flags, shared);
    } else {
        spin(&mut program, flags.spin_us);
    }
    if flags.fill > Ns::ZERO {
        program.push(Instr::Run { work: flags.fill, mode: Mode::User });
    }
    let own = fixed(shared.futex, row);
    program.push(Instr::Store { word: own, value: Value::Const(BLOCKED) });
    program.push(Instr::TimeOfDay { reg: NOW });
    program.push(Instr::Store { word: fixed(shared.wake_time, row), value: Value::Reg(NOW) });
    if flags.rps > 0 {
        take_requests(&mut program, shared, row);
    } else {
        let (mine, last) = (fixed(shared.next, row), fixed(shared.next, 0));
        program.push(Instr::Load { word: last, into: OTHER });
        program.push(Instr::Store { word: mine, value: Value::Reg(OTHER) });
        program.push(Instr::Store { word: last, value: Value::Const(row) });
    }
    post(&mut program, fixed(shared.futex, 0), SCRATCH);
    program.push(Instr::Load { word: stopping, into: SCRATCH });
    let no_wait = program.push(Instr::JumpIf { reg: SCRATCH, is: Test::Equal, value: Value::Const(1), to: 0 });
    wait(&mut program, own, SCRATCH);
    land(&mut program, no_wait);
    if flags.rps == 0 {
        program.push(Instr::Load { word: fixed(shared.wake_time, row), into: THEN });
        program.push(Instr::TimeOfDay { reg: NOW });
        program.push(Instr::JumpIf { reg: NOW, is: Test::AtMost, value: Value::Reg(THEN), to: 0 });
        program.push(Instr::MarkBetween { marker: shared.latency, early: THEN, late: NOW });
    }
    program.push(Instr::Jump { to: 0 });
    land(&mut program, exit);
    program.push(Instr::Exit);
    program
}

/// Spins until the clock, which shows whole us, is more than `us` ahead. It is no CPU work: time off the CPU counts too.
fn spin(program: &mut Program, us: u64) {
    if us > 0 {
        program.push(Instr::TimeOfDay { reg: NOW });
        program.push(Instr::Add { reg: NOW, time: Ns::from_us(us + 1) });
        program.push(Instr::RunUntil { reg: NOW });
    }
}

/// Serves all requests in hand, the oldest first. What is reported is how much longer than its spin one took.
fn serve_requests(program: &mut Program, flags: &Flags, shared: &Shared) {
    let top = program.push(Instr::JumpIf { reg: REQUEST, is: Test::Equal, value: Value::Const(0), to: 0 });
    spin(program, flags.spin_us);
    program.push(Instr::TimeOfDay { reg: NOW });
    program.push(Instr::Load { word: at(shared.made, REQUEST), into: THEN });
    program.push(Instr::Add { reg: THEN, time: Ns::from_us(flags.spin_us) });
    let late = program.here() + 3;
    program.push(Instr::JumpIf { reg: NOW, is: Test::AtMost, value: Value::Reg(THEN), to: late });
    program.push(Instr::MarkBetween { marker: shared.latency, early: THEN, late: NOW });
    program.push(Instr::Jump { to: late + 1 });
    program.push(Instr::MarkValue { marker: shared.latency, value: Ns::from_us(1).0 });
    // Back to the free ones, and on to the next.
    let free = fixed(shared.earlier, 0);
    program.push(Instr::Load { word: at(shared.earlier, REQUEST), into: OTHER });
    program.push(Instr::Load { word: free, into: HEAD });
    program.push(Instr::Store { word: at(shared.earlier, REQUEST), value: Value::Reg(HEAD) });
    program.push(Instr::Store { word: free, value: Value::Reg(REQUEST) });
    program.push(Instr::Let { reg: REQUEST, value: Value::Reg(OTHER) });
    program.push(Instr::Jump { to: top });
    land(program, top);
}

/// Takes all requests that wait for the worker and turns their list round. If there are any it goes on at once.
fn take_requests(program: &mut Program, shared: &Shared, row: u64) {
    let mine = fixed(shared.request, row);
    program.push(Instr::Let { reg: REQUEST, value: Value::Const(0) });
    program.push(Instr::Load { word: mine, into: OTHER });
    program.push(Instr::Store { word: mine, value: Value::Const(0) });
    let top = program.push(Instr::JumpIf { reg: OTHER, is: Test::Equal, value: Value::Const(0), to: 0 });
    program.push(Instr::Load { word: at(shared.earlier, OTHER), into: HEAD });
    program.push(Instr::Store { word: at(shared.earlier, OTHER), value: Value::Reg(REQUEST) });
    program.push(Instr::Let { reg: REQUEST, value: Value::Reg(OTHER) });
    program.push(Instr::Let { reg: OTHER, value: Value::Reg(HEAD) });
    program.push(Instr::Jump { to: top });
    land(program, top);
    let none = program.push(Instr::JumpIf { reg: REQUEST, is: Test::Equal, value: Value::Const(0), to: 0 });
    program.push(Instr::Store { word: fixed(shared.futex, row), value: Value::Const(RUNNING) });
    program.push(Instr::Jump { to: 0 });
    land(program, none);
}
