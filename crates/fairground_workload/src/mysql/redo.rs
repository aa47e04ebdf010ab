//! The redo log of InnoDB 8.0: its threads, and who waits for them.
//!
//! ```text
//! a statement ── inserts ──► buffer ── log_writer ──► file ── log_flusher ──► disk ── log_flush_notifier ──► leader of a group
//! ```
//!
//! The writer writes whatever is there, again and again. After each write it wakes the flusher, and the write notifier, if these sleep. The
//! flusher flushes for as long as something is written.

use super::SCRATCH;
use crate::build::land;
use crate::database::{add, call, fsync};
use fairground_model::{Instr, Mode, Program, Reg, TaskSet, Test, Value};
use fairground_stdx::{Ns, WordId};

/// How long log_writer sleeps if there is nothing to write (INNODB_LOG_WRITER_TIMEOUT_DEFAULT), beside the slack of timers.
const WRITER_TIMEOUT: Ns = Ns::from_us(10);
/// A write of some blocks into the page cache; a guess.
pub(super) const WRITE: (Ns, Ns) = (Ns::from_us(4), Ns::from_us(8));
/// What a notifier does: it looks whether anybody waits for the blocks; a guess.
const NOTIFY: (Ns, Ns) = (Ns(500), Ns(1500));

const UP_TO: Reg = SCRATCH[0];
const SEEN: Reg = SCRATCH[1];

/// The state of the log. Its first words count mini-transactions.
pub(super) struct Redo {
    inserted: WordId,
    written: WordId,
    flushed: WordId,
    /// Those of which the flush notifier has told.
    told: WordId,
    /// How often the write notifier was told.
    notices: WordId,
    /// Whether each sleeps: log_flusher, log_flush_notifier, log_write_notifier, and the leader of a group.
    sleeps: [WordId; 4],
}

const FLUSHER: usize = 0;
const FLUSH_NOTIFIER: usize = 1;
const WRITE_NOTIFIER: usize = 2;
const LEADER: usize = 3;

impl Redo {
    pub(super) fn new(set: &mut TaskSet) -> Redo {
        let mut word = || set.words.push(0);
        Redo {
            inserted: word(),
            written: word(),
            flushed: word(),
            told: word(),
            notices: word(),
            sleeps: [word(), word(), word(), word()],
        }
    }

    /// A statement has changed something.
    pub(super) fn insert(&self, program: &mut Program) {
        add(program, self.inserted, SEEN);
    }

    /// Waits until all that is in the buffer now is on the disk (log_write_up_to()). Only the leader of a group does so.
    pub(super) fn wait(&self, program: &mut Program) {
        program.push(Instr::Load { word: self.inserted.into(), into: UP_TO });
        let again = program.push(Instr::Load { word: self.flushed.into(), into: SEEN });
        let done = program.push(Instr::JumpIf { reg: UP_TO, is: Test::AtMost, value: Value::Reg(SEEN), to: 0 });
        self.sleep(program, self.told, LEADER);
        program.push(Instr::Jump { to: again });
        land(program, done);
    }

    /// Sleeps until the word changes from what it holds now.
    fn sleep(&self, program: &mut Program, word: WordId, who: usize) {
        program.push(Instr::Load { word: word.into(), into: SEEN });
        program.push(Instr::Store { word: self.sleeps[who].into(), value: Value::Const(1) });
        program.push(Instr::FutexWait { word: word.into(), value: Value::Reg(SEEN) });
        program.push(Instr::Store { word: self.sleeps[who].into(), value: Value::Const(0) });
    }

    /// Wakes who sleeps on the word, if somebody does (os_event_set()).
    fn wake(&self, program: &mut Program, word: WordId, who: usize) {
        program.push(Instr::Load { word: self.sleeps[who].into(), into: SEEN });
        let nobody = program.push(Instr::JumpIf { reg: SEEN, is: Test::Equal, value: Value::Const(0), to: 0 });
        program.push(Instr::FutexWake { word: word.into(), count: 1 });
        land(program, nobody);
    }

    /// Its threads.
    pub(super) fn threads(&self, takes: Ns) -> [(&'static str, Program); 4] {
        let notices = |word, who| self.notifier(word, who);
        [
            ("log_writer", self.writer()),
            ("log_flusher", self.flusher(takes)),
            ("log_write_notifier", notices(self.notices, WRITE_NOTIFIER)),
            ("log_flush_notifier", notices(self.flushed, FLUSH_NOTIFIER)),
        ]
    }

    fn writer(&self) -> Program {
        let mut program = Program::default();
        program.push(Instr::Load { word: self.inserted.into(), into: UP_TO });
        program.push(Instr::Load { word: self.written.into(), into: SEEN });
        let nothing = program.push(Instr::JumpIf { reg: UP_TO, is: Test::Equal, value: Value::Reg(SEEN), to: 0 });
        call(&mut program, WRITE);
        program.push(Instr::Store { word: self.written.into(), value: Value::Reg(UP_TO) });
        self.wake(&mut program, self.written, FLUSHER);
        add(&mut program, self.notices, SEEN);
        self.wake(&mut program, self.notices, WRITE_NOTIFIER);
        program.push(Instr::Jump { to: 0 });
        land(&mut program, nothing);
        program.push(Instr::Sleep { time: WRITER_TIMEOUT });
        program.push(Instr::Jump { to: 0 });
        program
    }

    fn flusher(&self, takes: Ns) -> Program {
        let mut program = Program::default();
        program.push(Instr::Load { word: self.written.into(), into: UP_TO });
        program.push(Instr::Load { word: self.flushed.into(), into: SEEN });
        let flushes = program.push(Instr::JumpIf { reg: UP_TO, is: Test::Equal, value: Value::Reg(SEEN), to: 0 });
        let skip = program.push(Instr::Jump { to: 0 });
        land(&mut program, flushes);
        self.sleep(&mut program, self.written, FLUSHER);
        program.push(Instr::Jump { to: 0 });
        land(&mut program, skip);
        fsync(&mut program, takes);
        program.push(Instr::Store { word: self.flushed.into(), value: Value::Reg(UP_TO) });
        self.wake(&mut program, self.flushed, FLUSH_NOTIFIER);
        program.push(Instr::Jump { to: 0 });
        program
    }

    /// Sleeps until the word changes; looks; tells the leader, if it waits for a flush.
    fn notifier(&self, word: WordId, who: usize) -> Program {
        let mut program = Program::default();
        program.push(Instr::Let { reg: UP_TO, value: Value::Const(0) });
        let again = program.push(Instr::Load { word: word.into(), into: SEEN });
        let nothing = program.push(Instr::JumpIf { reg: SEEN, is: Test::AtMost, value: Value::Reg(UP_TO), to: 0 });
        program.push(Instr::Let { reg: UP_TO, value: Value::Reg(SEEN) });
        program.push(Instr::RunBetween { low: NOTIFY.0, high: NOTIFY.1, mode: Mode::User });
        if who == FLUSH_NOTIFIER {
            program.push(Instr::Store { word: self.told.into(), value: Value::Reg(UP_TO) });
            self.wake(&mut program, self.told, LEADER);
        }
        program.push(Instr::Jump { to: again });
        land(&mut program, nothing);
        self.sleep(&mut program, word, who);
        program.push(Instr::Jump { to: again });
        program
    }
}
