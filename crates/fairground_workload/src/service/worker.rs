//! A worker: takes the request that has waited longest, does its work in equal parts, and answers.

use super::plan::{Arrivals, Service, Shared};
use fairground_model::{Arithmetic, Instr, Mode, Program, Reg, Test, Value, Word};
use fairground_stdx::WordId;

const ROW: Reg = 0;
const ARRIVED: Reg = 1;
const DEMAND: Reg = 2;
const WAIT: Reg = 3;
const UNTIL: Reg = 4;

fn at(first: WordId) -> Word {
    Word { first, plus: Some(ROW) }
}

/// The program that all workers follow.
pub(super) fn program(service: &Service, shared: &Shared) -> Program {
    let mut program = Program::default();
    let markers = shared.markers;
    let top = program.push(Instr::Read { pipe: shared.queue, into: ROW });
    program.push(Instr::Load { word: at(shared.arrived), into: ARRIVED });
    program.push(Instr::Load { word: at(shared.demand), into: DEMAND });
    if service.waits > 0 {
        program.push(Instr::Load { word: at(shared.wait), into: WAIT });
        program.push(Instr::Calculate { reg: DEMAND, by: Arithmetic::Over, value: Value::Const(service.waits + 1) });
        let part = program.push(Instr::RunReg { reg: DEMAND, mode: Mode::User });
        program.push(Instr::Now { reg: UNTIL });
        program.push(Instr::Calculate { reg: UNTIL, by: Arithmetic::Plus, value: Value::Reg(WAIT) });
        program.push(Instr::SleepUntil { reg: UNTIL });
        program.push(Instr::Repeat { counter: 0, times: service.waits, to: part });
    }
    program.push(Instr::RunReg { reg: DEMAND, mode: Mode::User });
    program.push(Instr::MarkSince { marker: markers.latency, reg: ARRIVED });
    match service.timeout {
        None => {
            program.push(Instr::MarkValue { marker: markers.good, value: 1 });
        }
        Some(timeout) => {
            program.push(Instr::Now { reg: UNTIL });
            program.push(Instr::Calculate { reg: UNTIL, by: Arithmetic::Minus, value: Value::Reg(ARRIVED) });
            let in_time = program.here() + 3;
            program.push(Instr::JumpIf { reg: UNTIL, is: Test::AtMost, value: Value::Const(timeout.0), to: in_time });
            program.push(Instr::MarkValue { marker: markers.timeouts, value: 1 });
            program.push(Instr::Jump { to: in_time + 1 });
            program.push(Instr::MarkValue { marker: markers.good, value: 1 });
        }
    }
    if matches!(service.arrivals, Arrivals::Closed { .. }) {
        program.push(Instr::Store { word: at(shared.answered), value: Value::Const(1) });
        program.push(Instr::FutexWake { word: at(shared.answered), count: 1 });
    }
    program.push(Instr::Jump { to: top });
    program
}
