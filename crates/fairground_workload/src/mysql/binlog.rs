//! The group commit of the binary log (MYSQL_BIN_LOG::ordered_commit()): three stages, each with a queue and a mutex.
//!
//! ```text
//! stage    mutex         its leader, for all that are in its queue
//! flush    LOCK_log      waits for the redo log, and writes what they did into the binary log
//! sync     LOCK_sync     flushes that
//! commit   LOCK_commit   commits each in the engine, which releases its rows; then wakes all followers
//! ```
//!
//! Who comes to an empty queue leads that stage, else it follows. Transactions have numbers in the order in which they come, so a group is all
//! numbers from that of the group before it on. All followers wait for one condition, and look for their own number when it is broadcast.

use super::SCRATCH;
use super::redo::{Redo, WRITE};
use super::rows::{Rows, modulo};
use crate::build::{land, words};
use crate::database::{add, call, fsync, stretch, take};
use fairground_model::{Arithmetic, Instr, LockKind, LockMode, LockSpec, Mode, Program, Reg, TaskSet, Test, Value, Word};
use fairground_stdx::{LockId, Ns, WordId};

/// Copies what a transaction did into the binary log; a guess.
const COPY: (Ns, Ns) = (Ns::from_us(1), Ns::from_us(3));
/// As many as there are.
const ALL: u32 = u32::MAX;
/// A row or a transaction of a loop.
const ROW: Reg = 0;
const ONE: Reg = 1;
/// Its own number, and the end of its group.
const NUMBER: Reg = 2;
const END: Reg = 3;
const COUNT: Reg = SCRATCH[0];
const PLACE: Reg = SCRATCH[2];
const REST: Reg = SCRATCH[3];

/// A stage.
struct Stage {
    lock: LockId,
    /// How many are in its queue.
    queued: WordId,
    /// The number behind the last of them.
    end: WordId,
}

pub(super) struct Binlog {
    flush: Stage,
    sync: Stage,
    commit: Stage,
    /// Transactions that are written, committed in the engine, and over.
    written: WordId,
    committed: WordId,
    over: WordId,
    /// How often the condition was broadcast.
    broadcasts: WordId,
    /// Two rows of each transaction, by its number: row + 1, or 0.
    rows: WordId,
    users: u64,
}

impl Binlog {
    pub(super) fn new(set: &mut TaskSet, users: u64) -> Binlog {
        let mut stage = |name: &str| Stage {
            lock: set.locks.push(LockSpec::new(name, LockKind::Futex)),
            queued: set.words.push(0),
            end: set.words.push(0),
        };
        let (flush, sync, commit) = (stage("LOCK_log"), stage("LOCK_sync"), stage("LOCK_commit"));
        let rows = words(set, users * 2, |_| 0);
        let mut word = || set.words.push(0);
        Binlog { flush, sync, commit, written: word(), committed: word(), over: word(), broadcasts: word(), rows, users }
    }

    /// Commits a transaction that has these rows (registers 0 and 1, or fewer). No register but the scratch ones is read behind it.
    pub(super) fn commit(&self, program: &mut Program, held: &[Reg], rows: &Rows, redo: &Redo, times: Times) {
        program.push(Instr::Load { word: self.flush.end.into(), into: NUMBER });
        for (which, place) in [0, 1].into_iter().zip(0..) {
            self.place(program, NUMBER, place);
            program.push(Instr::Let { reg: COUNT, value: held.get(which).map_or(Value::Const(0), |&row| Value::Reg(row)) });
            if held.get(which).is_some() {
                program.push(Instr::Calculate { reg: COUNT, by: Arithmetic::Plus, value: Value::Const(1) });
            }
            program.push(Instr::Store { word: Word { first: self.rows, plus: Some(PLACE) }, value: Value::Reg(COUNT) });
        }
        add(program, self.flush.end, END);
        let mut follows = vec![self.enter(program, &self.flush, None)];
        redo.wait(program);
        self.each(program, self.written, |program| {
            program.push(Instr::RunBetween { low: COPY.0, high: COPY.1, mode: Mode::User });
        });
        call(program, WRITE);
        follows.push(self.hand_on(program, &self.flush, &self.sync));
        if times.fsync > Ns::ZERO {
            fsync(program, times.fsync);
        }
        follows.push(self.hand_on(program, &self.sync, &self.commit));
        self.each(program, self.committed, |program| {
            stretch(program, times.engine);
            for place in [0, 1] {
                self.place(program, ONE, place);
                program.push(Instr::Load { word: Word { first: self.rows, plus: Some(PLACE) }, into: ROW });
                let none = program.push(Instr::JumpIf { reg: ROW, is: Test::Equal, value: Value::Const(0), to: 0 });
                program.push(Instr::Calculate { reg: ROW, by: Arithmetic::Minus, value: Value::Const(1) });
                rows.release(program, ROW);
                land(program, none);
            }
        });
        program.push(Instr::Unlock { lock: self.commit.lock });
        self.end_of_group(program);
        let done = program.push(Instr::Jump { to: 0 });
        for follow in follows {
            land(program, follow);
        }
        self.follow(program);
        land(program, done);
    }

    /// Goes into the queue of a stage, behind the mutex of the one before; a jump that has to land where followers wait. Who leads takes the
    /// mutex of the stage, and all that are in its queue then.
    fn enter(&self, program: &mut Program, stage: &Stage, before: Option<&Stage>) -> u32 {
        add(program, stage.queued, COUNT);
        if let Some(before) = before {
            program.push(Instr::Unlock { lock: before.lock });
        }
        let leads = program.push(Instr::JumpIf { reg: COUNT, is: Test::Equal, value: Value::Const(1), to: 0 });
        let follow = program.push(Instr::Jump { to: 0 });
        land(program, leads);
        program.push(Instr::Lock { lock: stage.lock, mode: LockMode::Write });
        take(program, stage.queued, COUNT);
        program.push(Instr::Load { word: stage.end.into(), into: END });
        follow
    }

    fn hand_on(&self, program: &mut Program, from: &Stage, to: &Stage) -> u32 {
        program.push(Instr::Store { word: to.end.into(), value: Value::Reg(END) });
        self.enter(program, to, Some(from))
    }

    /// For each transaction from what the word says up to the end of the group.
    fn each(&self, program: &mut Program, from: WordId, body: impl FnOnce(&mut Program)) {
        program.push(Instr::Load { word: from.into(), into: ONE });
        let again = program.push(Instr::JumpIf { reg: END, is: Test::AtMost, value: Value::Reg(ONE), to: 0 });
        body(program);
        program.push(Instr::Calculate { reg: ONE, by: Arithmetic::Plus, value: Value::Const(1) });
        program.push(Instr::Jump { to: again });
        land(program, again);
        program.push(Instr::Store { word: from.into(), value: Value::Reg(END) });
    }

    /// Where a row of a transaction stands: twice its number modulo the users, who have one transaction each.
    fn place(&self, program: &mut Program, number: Reg, which: u64) {
        modulo(program, number, self.users, PLACE, REST);
        program.push(Instr::Calculate { reg: PLACE, by: Arithmetic::Times, value: Value::Const(2) });
        program.push(Instr::Calculate { reg: PLACE, by: Arithmetic::Plus, value: Value::Const(which) });
    }

    /// Says that the group is over, and wakes all who follow (signal_done()). A later group may have said so before.
    fn end_of_group(&self, program: &mut Program) {
        program.push(Instr::Load { word: self.over.into(), into: COUNT });
        let later = program.push(Instr::JumpIf { reg: END, is: Test::AtMost, value: Value::Reg(COUNT), to: 0 });
        program.push(Instr::Store { word: self.over.into(), value: Value::Reg(END) });
        land(program, later);
        add(program, self.broadcasts, COUNT);
        program.push(Instr::FutexWake { word: self.broadcasts.into(), count: ALL });
    }

    /// Sleeps until its own number is over.
    fn follow(&self, program: &mut Program) {
        program.push(Instr::Calculate { reg: NUMBER, by: Arithmetic::Plus, value: Value::Const(1) });
        let again = program.push(Instr::Load { word: self.over.into(), into: COUNT });
        let over = program.push(Instr::JumpIf { reg: NUMBER, is: Test::AtMost, value: Value::Reg(COUNT), to: 0 });
        program.push(Instr::Load { word: self.broadcasts.into(), into: COUNT });
        program.push(Instr::FutexWait { word: self.broadcasts.into(), value: Value::Reg(COUNT) });
        program.push(Instr::Jump { to: again });
        land(program, over);
    }
}

/// How long things take.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) fsync: Ns,
    pub(super) engine: Ns,
}
