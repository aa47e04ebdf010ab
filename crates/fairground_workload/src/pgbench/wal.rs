//! The end of a transaction that writes: its record must be in the log, on the disk. One backend flushes for all.

use crate::build::land;
use crate::database::{add, fsync, take};
use fairground_model::{Arithmetic, Instr, Program, TaskSet, Test, Value};
use fairground_stdx::{Ns, WordId};

/// The state of the log. All that a backend does with it between two steps that take time happens at one instant.
pub(super) struct Wal {
    /// How many records there are.
    inserted: WordId,
    /// How many of them are on the disk.
    flushed: WordId,
    /// Whether a backend flushes (WALWriteLock).
    held: WordId,
    /// How many sleep until it has.
    waiting: WordId,
    /// How many flushes there were: what sleepers wait for.
    flushes: WordId,
}

const RECORD: u8 = 0;
const SEEN: u8 = 1;
const UP_TO: u8 = 2;
const SLEEPERS: u8 = 3;

impl Wal {
    pub(super) fn new(set: &mut TaskSet) -> Wal {
        let mut word = || set.words.push(0);
        Wal { inserted: word(), flushed: word(), held: word(), waiting: word(), flushes: word() }
    }
}

/// XLogFlush() and LWLockAcquireOrWait() of PostgreSQL: a record that is on the disk already needs nothing. Who finds that nobody flushes
/// does so, for all records that there are then, and wakes all who came meanwhile, in the order in which they came. The others sleep, and
/// look again.
pub(super) fn flush(program: &mut Program, wal: &Wal, takes: Ns) {
    add(program, wal.inserted, RECORD);
    let again = program.push(Instr::Load { word: wal.flushed.into(), into: SEEN });
    let done = program.push(Instr::JumpIf { reg: RECORD, is: Test::AtMost, value: Value::Reg(SEEN), to: 0 });
    program.push(Instr::Load { word: wal.held.into(), into: SEEN });
    let leads = program.push(Instr::JumpIf { reg: SEEN, is: Test::Equal, value: Value::Const(0), to: 0 });
    add(program, wal.waiting, SEEN);
    program.push(Instr::Load { word: wal.flushes.into(), into: SEEN });
    program.push(Instr::FutexWait { word: wal.flushes.into(), value: Value::Reg(SEEN) });
    program.push(Instr::Jump { to: again });
    land(program, leads);
    program.push(Instr::Store { word: wal.held.into(), value: Value::Const(1) });
    program.push(Instr::Load { word: wal.inserted.into(), into: UP_TO });
    fsync(program, takes);
    program.push(Instr::Store { word: wal.flushed.into(), value: Value::Reg(UP_TO) });
    program.push(Instr::Store { word: wal.held.into(), value: Value::Const(0) });
    add(program, wal.flushes, SEEN);
    take(program, wal.waiting, SLEEPERS);
    let next = program.here();
    let woken = program.push(Instr::JumpIf { reg: SLEEPERS, is: Test::Equal, value: Value::Const(0), to: 0 });
    program.push(Instr::FutexWake { word: wal.flushes.into(), count: 1 });
    program.push(Instr::Calculate { reg: SLEEPERS, by: Arithmetic::Minus, value: Value::Const(1) });
    program.push(Instr::Jump { to: next });
    land(program, done);
    land(program, woken);
}
