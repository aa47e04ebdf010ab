//! The two calls by which schbench's threads hand control to one another: a futex word that is either of two states.

use fairground_model::{Instr, Program, Reg, Test, Value, Word};

/// The owner of the word waits, or will.
pub(crate) const BLOCKED: u64 = 0;
/// The owner of the word need not wait.
pub(crate) const RUNNING: u64 = 1;

/// Lets the owner of `word` go on: a system call only if it was blocked. `scratch` is overwritten.
pub(crate) fn post(program: &mut Program, word: Word, scratch: Reg) {
    program.push(Instr::Load { word, into: scratch });
    let past = program.here() + 3;
    program.push(Instr::JumpIf { reg: scratch, is: Test::Equal, value: Value::Const(RUNNING), to: past });
    program.push(Instr::Store { word, value: Value::Const(RUNNING) });
    program.push(Instr::FutexWake { word, count: 1 });
}

/// Waits until `word` is RUNNING, and sets it to BLOCKED. `scratch` is overwritten.
pub(crate) fn wait(program: &mut Program, word: Word, scratch: Reg) {
    let top = program.push(Instr::Load { word, into: scratch });
    let (sleep, past) = (top + 4, top + 6);
    program.push(Instr::JumpIf { reg: scratch, is: Test::Equal, value: Value::Const(BLOCKED), to: sleep });
    program.push(Instr::Store { word, value: Value::Const(BLOCKED) });
    program.push(Instr::Jump { to: past });
    program.push(Instr::FutexWait { word, value: Value::Const(BLOCKED) });
    program.push(Instr::Jump { to: top });
}
