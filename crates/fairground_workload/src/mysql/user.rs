//! A virtual user: it sends the statements of a transaction, one after the other, and begins the next one at once (no keying and thinking time).

use super::{ANSWER, DELIVERY, KINDS, Link, Markers, STATEMENT};
use crate::build::land;
use crate::database::stretch;
use crate::param::Values;
use fairground_model::{Instr, Program, Test, Value};
use fairground_stdx::Distribution;

const KIND: u8 = 0;
const BEGAN: u8 = 1;

/// Its program.
pub(super) fn code(link: &Link, markers: &Markers, values: &Values) -> Program {
    let mut program = Program::default();
    let statement = |program: &mut Program| {
        program.push(Instr::Send { sock: link.ends[0], bytes: STATEMENT });
        program.push(Instr::Recv { sock: link.ends[0], bytes: ANSWER });
        stretch(program, values.time("think"));
    };
    program.push(Instr::Draw { reg: KIND, from: Distribution::Uniform(KINDS.0, KINDS.1) });
    program.push(Instr::Store { word: link.kind.into(), value: Value::Reg(KIND) });
    program.push(Instr::Now { reg: BEGAN });
    statement(&mut program);
    statement(&mut program);
    let over = program.push(Instr::JumpIf { reg: KIND, is: Test::Equal, value: Value::Const(DELIVERY), to: 0 });
    statement(&mut program);
    land(&mut program, over);
    program.push(Instr::MarkValue { marker: markers.transactions, value: 1 });
    program.push(Instr::MarkSince { marker: markers.latency, reg: BEGAN });
    program.push(Instr::Jump { to: 0 });
    program
}
