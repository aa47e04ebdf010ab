//! A thread of the server: it takes a statement, executes it, and answers.
//!
//! A user sends three statements for a transaction: SET of the parameters, EXECUTE of the procedure, SELECT of its results. A delivery has no
//! SELECT. By the source of HammerDB a procedure has these statements:
//!
//! | procedure | of 23 | statements | takes | changes by |
//! | --- | ---: | --- | --- | ---: |
//! | new order | 10 | 1, then 2, then 4 for each of 5 to 15 items, then 2 | a row of `district` with the second | 3 + 2 for each item |
//! | payment | 10 | 8 | a row of `warehouse` with the first, one of `district` with the third | 4 |
//! | delivery | 1 | 6 for each of 10 districts | | 40 |
//! | order status, stock level | 2 | 3 | | |
//!
//! Rows are kept up to the commit. Rows of customers, stock and orders are so many that nobody waits for one.

use super::binlog::Times;
use super::rows::DISTRICTS;
use super::{ANSWER, DELIVERY, LAST_NEW_ORDER, LAST_PAYMENT, Link, Markers, SCRATCH, STATEMENT, Server};
use crate::build::land;
use crate::database::stretch;
use crate::param::Values;
use fairground_model::{Arithmetic, Instr, Program, Reg, Test, Value};
use fairground_stdx::{Distribution, Ns};

/// The row of `warehouse`, and that of `district`.
const WAREHOUSE: Reg = 0;
const DISTRICT: Reg = 1;
/// Items that are still to come.
const LEFT: Reg = 2;
const KIND: Reg = SCRATCH[0];
/// Items of an order.
const ITEMS: Distribution = Distribution::Uniform(5, 15);

/// Its program.
pub(super) fn code(link: &Link, server: &Server, markers: &Markers, values: &Values) -> Program {
    let mut thread = Thread { program: Program::default(), link, server, values };
    thread.receive();
    thread.statement(false);
    thread.answer();
    thread.receive();
    thread.load_kind();
    let new_order = thread.if_at_most(LAST_NEW_ORDER);
    let payment = thread.if_at_most(LAST_PAYMENT);
    let delivery = thread.if_at_most(DELIVERY);
    (0..3).for_each(|_| thread.statement(false));
    let mut ends = vec![thread.program.push(Instr::Jump { to: 0 })];
    land(&mut thread.program, new_order);
    thread.new_order();
    thread.program.push(Instr::MarkValue { marker: markers.new_orders, value: 1 });
    ends.push(thread.program.push(Instr::Jump { to: 0 }));
    land(&mut thread.program, payment);
    thread.payment();
    ends.push(thread.program.push(Instr::Jump { to: 0 }));
    land(&mut thread.program, delivery);
    thread.delivery();
    for end in ends {
        land(&mut thread.program, end);
    }
    thread.answer();
    thread.load_kind();
    thread.program.push(Instr::JumpIf { reg: KIND, is: Test::Equal, value: Value::Const(DELIVERY), to: 0 });
    thread.receive();
    thread.statement(false);
    thread.answer();
    thread.program.push(Instr::Jump { to: 0 });
    thread.program
}

/// A program that is being written.
struct Thread<'t> {
    program: Program,
    link: &'t Link,
    server: &'t Server,
    values: &'t Values,
}

impl Thread<'_> {
    fn receive(&mut self) {
        self.program.push(Instr::Recv { sock: self.link.ends[1], bytes: STATEMENT });
    }
    fn answer(&mut self) {
        self.program.push(Instr::Send { sock: self.link.ends[1], bytes: ANSWER });
    }
    fn load_kind(&mut self) {
        self.program.push(Instr::Load { word: self.link.kind.into(), into: KIND });
    }
    fn if_at_most(&mut self, kind: u64) -> u32 {
        self.program.push(Instr::JumpIf { reg: KIND, is: Test::AtMost, value: Value::Const(kind), to: 0 })
    }
    /// A statement, which changes something or not.
    fn statement(&mut self, changes: bool) {
        stretch(&mut self.program, self.values.time("statement"));
        if changes {
            self.server.redo.insert(&mut self.program);
        }
    }
    /// A statement that takes a row in its middle.
    fn taking(&mut self, row: Reg, changes: bool) {
        let half = Ns(self.values.time("statement").0 / 2);
        stretch(&mut self.program, half);
        self.server.rows.take(&mut self.program, row);
        stretch(&mut self.program, half);
        if changes {
            self.server.redo.insert(&mut self.program);
        }
    }
    /// Draws a warehouse, and one of its districts.
    fn place(&mut self) {
        let warehouses = self.server.rows.warehouses;
        if self.values.switch("allwarehouse") {
            self.program.push(Instr::Draw { reg: WAREHOUSE, from: Distribution::Uniform(0, warehouses - 1) });
        } else {
            self.program.push(Instr::Let { reg: WAREHOUSE, value: Value::Const(self.link.user % warehouses) });
        }
        self.program.push(Instr::Draw { reg: DISTRICT, from: Distribution::Uniform(0, DISTRICTS - 1) });
        self.program.push(Instr::Let { reg: LEFT, value: Value::Reg(WAREHOUSE) });
        self.program.push(Instr::Calculate { reg: LEFT, by: Arithmetic::Times, value: Value::Const(DISTRICTS) });
        for more in [Value::Reg(LEFT), Value::Const(warehouses)] {
            self.program.push(Instr::Calculate { reg: DISTRICT, by: Arithmetic::Plus, value: more });
        }
    }
    fn commit(&mut self, held: &[Reg]) {
        let times = Times { fsync: self.values.time("fsync"), engine: self.values.time("engine-commit") };
        self.server.binlog.commit(&mut self.program, held, &self.server.rows, &self.server.redo, times);
    }

    fn new_order(&mut self) {
        self.place();
        self.statement(false);
        self.taking(DISTRICT, false);
        self.statement(true);
        self.program.push(Instr::Draw { reg: LEFT, from: ITEMS });
        let item = self.program.here();
        [false, false, true, true].into_iter().for_each(|changes| self.statement(changes));
        self.program.push(Instr::Calculate { reg: LEFT, by: Arithmetic::Minus, value: Value::Const(1) });
        let last = self.program.push(Instr::JumpIf { reg: LEFT, is: Test::Equal, value: Value::Const(0), to: 0 });
        self.program.push(Instr::Jump { to: item });
        land(&mut self.program, last);
        (0..2).for_each(|_| self.statement(true));
        self.commit(&[DISTRICT]);
    }

    fn payment(&mut self) {
        self.place();
        self.taking(WAREHOUSE, true);
        self.statement(false);
        self.taking(DISTRICT, true);
        [false, false, false, true, true].into_iter().for_each(|changes| self.statement(changes));
        self.commit(&[WAREHOUSE, DISTRICT]);
    }

    fn delivery(&mut self) {
        self.program.push(Instr::Let { reg: LEFT, value: Value::Const(DISTRICTS) });
        let district = self.program.here();
        [false, true, false, true, true, true].into_iter().for_each(|changes| self.statement(changes));
        self.program.push(Instr::Calculate { reg: LEFT, by: Arithmetic::Minus, value: Value::Const(1) });
        let last = self.program.push(Instr::JumpIf { reg: LEFT, is: Test::Equal, value: Value::Const(0), to: 0 });
        self.program.push(Instr::Jump { to: district });
        land(&mut self.program, last);
        self.commit(&[]);
    }
}
