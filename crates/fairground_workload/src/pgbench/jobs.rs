//! A thread of pgbench: it waits for an answer to any of its clients, and sends the next statement of that one.

use super::{ANSWER, Link, STATEMENT, Script, Shared};
use crate::build::land;
use fairground_model::{Arithmetic, Instr, Mode, Program, Test, Value};
use fairground_stdx::Ns;

/// What it computes for a statement; a guess.
const PER_STATEMENT: (Ns, Ns) = (Ns::from_us(4), Ns::from_us(6));
const FLAG: u8 = 0;
const SENT: u8 = 1;
const STATEMENTS: u8 = 2;
const BEGAN: u8 = 3;

/// Its program. An answer says that there is one, and the words which client it is of: the first that has one. Words hold what a client has done: how many statements of its transaction it sent, and when the first one went.
pub(super) fn code(links: &[Link], shared: &Shared, script: &Script) -> Program {
    let mut program = Program::default();
    for link in links {
        send(&mut program, link);
        program.push(Instr::Store { word: link.sent.into(), value: Value::Const(1) });
        began(&mut program, link);
    }
    let waits = program.here();
    program.push(Instr::Recv { sock: links[0].answers[0], bytes: ANSWER });
    // What looks at all clients stands together: it is what a run reads most.
    let look = |link: &Link| {
        program.push(Instr::Load { word: link.answered.into(), into: FLAG });
        program.push(Instr::JumpIf { reg: FLAG, is: Test::Equal, value: Value::Const(1), to: 0 })
    };
    let looks: Vec<u32> = links.iter().map(look).collect();
    program.push(Instr::Jump { to: waits });
    for (link, look) in links.iter().zip(looks) {
        land(&mut program, look);
        program.push(Instr::Store { word: link.answered.into(), value: Value::Const(0) });
        program.push(Instr::RunBetween { low: PER_STATEMENT.0, high: PER_STATEMENT.1, mode: Mode::User });
        program.push(Instr::Load { word: link.sent.into(), into: SENT });
        program.push(Instr::Let { reg: STATEMENTS, value: Value::Const(script.statements) });
        let goes_on = program.push(Instr::JumpIf { reg: STATEMENTS, is: Test::AtMost, value: Value::Reg(SENT), to: 0 });
        let next = program.push(Instr::Jump { to: 0 });
        land(&mut program, goes_on);
        program.push(Instr::MarkValue { marker: shared.transactions, value: 1 });
        program.push(Instr::Load { word: link.began.into(), into: BEGAN });
        program.push(Instr::MarkSince { marker: shared.latency, reg: BEGAN });
        began(&mut program, link);
        program.push(Instr::Let { reg: SENT, value: Value::Const(0) });
        land(&mut program, next);
        program.push(Instr::Calculate { reg: SENT, by: Arithmetic::Plus, value: Value::Const(1) });
        program.push(Instr::Store { word: link.sent.into(), value: Value::Reg(SENT) });
        send(&mut program, link);
        program.push(Instr::Jump { to: waits });
    }
    program
}

fn send(program: &mut Program, link: &Link) {
    program.push(Instr::Send { sock: link.statements[0], bytes: STATEMENT });
}

fn began(program: &mut Program, link: &Link) {
    program.push(Instr::Now { reg: BEGAN });
    program.push(Instr::Store { word: link.began.into(), value: Value::Reg(BEGAN) });
}
