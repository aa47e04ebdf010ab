//! A backend: it takes a statement, works on it, and answers.

use super::table_pages::MILLION;
use super::{ANSWER, Link, STATEMENT, Script, Shared, wal};
use crate::build::land;
use crate::database;
use crate::param::Values;
use fairground_model::{Arithmetic, Instr, LockMode, Mode, Program, Value};
use fairground_stdx::Ns;

/// A system call of the backend takes so long beside its entry and exit; a guess.
const CALL: (Ns, Ns) = (Ns::from_us(1), Ns::from_us(2));
/// Reading a buffer from the page cache takes so long, a copy of 8 KiB; a guess.
const PREAD: (Ns, Ns) = (Ns::from_us(3), Ns::from_us(5));
/// What is done under the lock, before and after the descriptor is touched; a guess.
const UNDER_LOCK: Ns = Ns(100);
/// The first register of the number of a buffer.
const BUFFER: u8 = 0;

/// Its program.
pub(super) fn code(link: &Link, shared: &Shared, script: &Script, misses: &[u32], values: &Values) -> Program {
    let mut program = Program::default();
    for statement in 0..script.statements {
        program.push(Instr::Recv { sock: link.statements[1], bytes: STATEMENT });
        let misses = if statement == script.reads { misses } else { &[] };
        work(&mut program, values, misses, shared);
        let is_last = statement + 1 == script.statements;
        if let Some(flush) = script.flush.filter(|_| is_last) {
            wal::flush(&mut program, &shared.wal, flush);
        }
        program.push(Instr::Store { word: link.answered.into(), value: Value::Const(1) });
        program.push(Instr::Send { sock: link.answers[1], bytes: ANSWER });
    }
    program.push(Instr::Jump { to: 0 });
    program
}

/// Computing and system calls in turn. A stretch of computing is drawn between two and four thirds of its mean. Buffers are taken one after
/// another from the middle on, each behind a stretch of its own. `misses`: the chance of each that its page is not in memory, of a million.
fn work(program: &mut Program, values: &Values, misses: &[u32], shared: &Shared) {
    let stretches = values.count("calls") + 1;
    let mean = values.time("statement").0 / stretches;
    let chances = |stretch: u64| {
        let is_there = move |row: &(u64, &u32)| *row.1 > 0 && (stretches / 2 + row.0) % stretches == stretch;
        (0..).zip(misses).filter(is_there).map(|row| *row.1)
    };
    let mut stretch = 0;
    while stretch < stretches {
        // Stretches without a buffer, each with a call behind it, are a loop: a thousand backends have programs of their own.
        let plain = (stretch..stretches - 1).take_while(|&stretch| chances(stretch).next().is_none()).count() as u64;
        let begin = program.here();
        database::stretch(program, Ns(mean));
        if plain > 0 {
            database::call(program, CALL);
            program.push(Instr::Repeat { counter: 0, times: plain, to: begin });
            stretch += plain;
            continue;
        }
        for chance in chances(stretch) {
            let skip = program.push(Instr::JumpByChance { hits: MILLION - chance, of: MILLION, to: 0 });
            extend(program, values, true);
            victim(program, shared);
            extend(program, values, false);
            database::call(program, PREAD);
            land(program, skip);
        }
        if stretch + 1 < stretches {
            database::call(program, CALL);
        }
        stretch += 1;
    }
}

/// StrategyGetBuffer() of PostgreSQL up to 18 as long as the free list has buffers: under the lock it reads and writes the descriptor of
/// the first one.
fn victim(program: &mut Program, shared: &Shared) {
    let word = shared.first_free.into();
    program.push(Instr::Lock { lock: shared.lock, mode: LockMode::Write });
    program.push(Instr::Load { word, into: BUFFER });
    program.push(Instr::Calculate { reg: BUFFER, by: Arithmetic::Plus, value: Value::Const(1) });
    program.push(Instr::Store { word, value: Value::Reg(BUFFER) });
    program.push(Instr::Run { work: UNDER_LOCK, mode: Mode::User });
    for write in [false, true] {
        program.push(Instr::Touch { pool: shared.descriptors, entry: Value::Reg(BUFFER), write });
    }
    program.push(Instr::Run { work: UNDER_LOCK, mode: Mode::User });
    program.push(Instr::Unlock { lock: shared.lock });
}

/// Asks for a slice extension from here on, or no longer.
fn extend(program: &mut Program, values: &Values, request: bool) {
    if values.switch("slice-extension") {
        program.push(Instr::SliceExt { request });
    }
}
