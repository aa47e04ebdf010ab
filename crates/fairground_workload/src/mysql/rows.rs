//! Row locks of InnoDB: a row that is released goes to the one that has waited longest, who is woken and has it from then on.
//!
//! ```text
//! next      the number that the next one to come will get
//! serving   the number of the one that has the row
//! slots     where each one that waits sleeps: 0, and 1 when the row is its own
//! ```
//!
//! So a row stays taken while its new owner waits for a CPU.

use super::SCRATCH;
use crate::build::{land, words};
use crate::database::add;
use fairground_model::{Arithmetic, Instr, Program, Reg, TaskSet, Test, Value, Word};
use fairground_stdx::WordId;

/// Districts of a warehouse (TPC-C).
pub(super) const DISTRICTS: u64 = 10;

/// The rows of `warehouse` first, then those of `district`.
pub(super) struct Rows {
    next: WordId,
    serving: WordId,
    slots: WordId,
    pub(super) warehouses: u64,
    users: u64,
}

const TICKET: Reg = SCRATCH[0];
const SEEN: Reg = SCRATCH[1];
const SLOT: Reg = SCRATCH[2];
const REST: Reg = SCRATCH[3];

impl Rows {
    pub(super) fn new(set: &mut TaskSet, warehouses: u64, users: u64) -> Rows {
        let rows = warehouses * (1 + DISTRICTS);
        let mut zeros = |count| words(set, count, |_| 0);
        Rows { next: zeros(rows), serving: zeros(rows), slots: zeros(rows * users), warehouses, users }
    }

    /// Takes the row whose number is in the register; sleeps until it is its own.
    pub(super) fn take(&self, program: &mut Program, row: Reg) {
        let of = |first| Word { first, plus: Some(row) };
        program.push(Instr::Load { word: of(self.next), into: TICKET });
        program.push(Instr::Let { reg: SEEN, value: Value::Reg(TICKET) });
        program.push(Instr::Calculate { reg: SEEN, by: Arithmetic::Plus, value: Value::Const(1) });
        program.push(Instr::Store { word: of(self.next), value: Value::Reg(SEEN) });
        program.push(Instr::Load { word: of(self.serving), into: SEEN });
        let free = program.push(Instr::JumpIf { reg: SEEN, is: Test::Equal, value: Value::Reg(TICKET), to: 0 });
        self.slot(program, row);
        let slot = Word { first: self.slots, plus: Some(SLOT) };
        let again = program.push(Instr::Load { word: slot, into: SEEN });
        let own = program.push(Instr::JumpIf { reg: SEEN, is: Test::Equal, value: Value::Const(1), to: 0 });
        program.push(Instr::FutexWait { word: slot, value: Value::Const(0) });
        program.push(Instr::Jump { to: again });
        land(program, own);
        program.push(Instr::Store { word: slot, value: Value::Const(0) });
        land(program, free);
    }

    /// Hands the row whose number is in the register over to who waits for it.
    pub(super) fn release(&self, program: &mut Program, row: Reg) {
        let of = |first| Word { first, plus: Some(row) };
        add(program, of(self.serving), TICKET);
        program.push(Instr::Load { word: of(self.next), into: SEEN });
        let nobody = program.push(Instr::JumpIf { reg: SEEN, is: Test::Equal, value: Value::Reg(TICKET), to: 0 });
        self.slot(program, row);
        let slot = Word { first: self.slots, plus: Some(SLOT) };
        program.push(Instr::Store { word: slot, value: Value::Const(1) });
        program.push(Instr::FutexWake { word: slot, count: 1 });
        land(program, nobody);
    }

    /// Where the one with this ticket sleeps: row * users + ticket mod users. A user waits for one row at a time, so no two share a slot.
    fn slot(&self, program: &mut Program, row: Reg) {
        modulo(program, TICKET, self.users, SLOT, REST);
        program.push(Instr::Let { reg: REST, value: Value::Reg(row) });
        program.push(Instr::Calculate { reg: REST, by: Arithmetic::Times, value: Value::Const(self.users) });
        program.push(Instr::Calculate { reg: SLOT, by: Arithmetic::Plus, value: Value::Reg(REST) });
    }
}

/// into = of mod n.
pub(super) fn modulo(program: &mut Program, of: Reg, n: u64, into: Reg, scratch: Reg) {
    program.push(Instr::Let { reg: scratch, value: Value::Reg(of) });
    program.push(Instr::Calculate { reg: scratch, by: Arithmetic::Over, value: Value::Const(n) });
    program.push(Instr::Calculate { reg: scratch, by: Arithmetic::Times, value: Value::Const(n) });
    program.push(Instr::Let { reg: into, value: Value::Reg(of) });
    program.push(Instr::Calculate { reg: into, by: Arithmetic::Minus, value: Value::Reg(scratch) });
}
