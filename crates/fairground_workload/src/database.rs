//! What servers of databases have in common: what they compute, call, count, and write to disk.

use fairground_model::{Arithmetic, Instr, Mode, Program, Reg, Value, Word};
use fairground_stdx::Ns;

/// Computes in user mode for a length that is drawn between two and four thirds of its mean.
pub(crate) fn stretch(program: &mut Program, mean: Ns) {
    let (low, high) = (Ns((mean.0 * 2 / 3).max(1)), Ns((mean.0 * 4 / 3).max(1)));
    program.push(Instr::RunBetween { low, high, mode: Mode::User });
}

/// A system call that takes so long beside its entry and exit.
pub(crate) fn call(program: &mut Program, (low, high): (Ns, Ns)) {
    program.push(Instr::Enter);
    program.push(Instr::RunBetween { low, high, mode: Mode::Kernel });
    program.push(Instr::Leave);
}

/// fsync: waits until a disk has what was written.
pub(crate) fn fsync(program: &mut Program, takes: Ns) {
    program.push(Instr::Enter);
    program.push(Instr::Io { time: takes });
    program.push(Instr::Leave);
}

/// One more in a word; the register has what is there then.
pub(crate) fn add(program: &mut Program, word: impl Into<Word>, reg: Reg) {
    let word = word.into();
    program.push(Instr::Load { word, into: reg });
    program.push(Instr::Calculate { reg, by: Arithmetic::Plus, value: Value::Const(1) });
    program.push(Instr::Store { word, value: Value::Reg(reg) });
}

/// Takes what a word holds, and leaves 0.
pub(crate) fn take(program: &mut Program, word: impl Into<Word>, into: Reg) {
    let word = word.into();
    program.push(Instr::Load { word, into });
    program.push(Instr::Store { word, value: Value::Const(0) });
}
