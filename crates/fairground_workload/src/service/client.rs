//! Who makes the requests.
//!
//! All that is random about a request is drawn by its client, in the order of arrival: whatever the scheduler does with the
//! workers, a seed gives the same requests.

use super::plan::{Arrivals, Batch, Demand, Service, Shared, State};
use crate::build::{land, words};
use fairground_model::{Arithmetic, Instr, Program, Reg, TaskSet, Test, Value, Word};
use fairground_stdx::distribution::geometric_scale_q20;
use fairground_stdx::{Distribution, Ns, WordId};

/// The time of the arrival, which never depends on when the client gets to run.
const TIME: Reg = 0;
/// The row of the next request.
const ROW: Reg = 1;
/// The next entry of a list of demands.
const ENTRY: Reg = 2;
/// The end of the present state of arrivals.
const STATE_END: Reg = 3;
/// Requests of a batch that are still to come.
const LEFT: Reg = 4;
const SCRATCH: Reg = 5;
/// The next entry of a list of arrivals.
const ARRIVAL: Reg = 6;

fn at(first: WordId, row: Reg) -> Word {
    Word { first, plus: Some(row) }
}

/// One program per client; an open loop has one client for all requests.
pub(super) fn programs(service: &Service, shared: &Shared, set: &mut TaskSet) -> Vec<Program> {
    let demands = match &service.demand {
        Demand::Drawn(_) => None,
        Demand::OneOf(list) | Demand::Listed(list) => Some(words(set, list.len() as u64, |row| list[row as usize].0)),
    };
    let client = Client { service, shared, demands };
    match &service.arrivals {
        Arrivals::Open { gap, batch } => vec![client.open(*gap, *batch)],
        Arrivals::TwoStates { states } => vec![client.two_states(states)],
        Arrivals::Closed { clients, think } => (0..*clients).map(|row| client.closed(row, *think)).collect(),
        Arrivals::Listed(times) => vec![client.listed(times, words(set, times.len() as u64, |row| times[row as usize].0))],
    }
}

struct Client<'a> {
    service: &'a Service,
    shared: &'a Shared,
    /// The list of demands, if there is one.
    demands: Option<WordId>,
}

impl Client<'_> {
    /// Requests come from outside the container: whatever group the service is put into, they do not use its quota.
    fn outside() -> Program {
        Program::from(vec![Instr::SetGroup { group: None }, Instr::Now { reg: TIME }])
    }

    fn open(&self, gap: Distribution, batch: Batch) -> Program {
        let mut program = Client::outside();
        let top = program.push(Instr::Draw { reg: SCRATCH, from: gap });
        program.push(Instr::Calculate { reg: TIME, by: Arithmetic::Plus, value: Value::Reg(SCRATCH) });
        program.push(Instr::SleepUntil { reg: TIME });
        match batch {
            Batch::Fixed(1) | Batch::Geometric(1) => self.request(&mut program),
            Batch::Fixed(size) => {
                program.push(Instr::Let { reg: LEFT, value: Value::Const(size) });
                self.requests(&mut program);
            }
            Batch::Geometric(mean) => {
                // One more than an exponential number, cut to a whole one.
                let from = Distribution::Exponential(geometric_scale_q20(mean));
                program.push(Instr::Draw { reg: LEFT, from });
                program.push(Instr::Calculate { reg: LEFT, by: Arithmetic::Over, value: Value::Const(1 << 20) });
                program.push(Instr::Calculate { reg: LEFT, by: Arithmetic::Plus, value: Value::Const(1) });
                self.requests(&mut program);
            }
        }
        program.push(Instr::Jump { to: top });
        program
    }

    /// As exponential gaps have no memory, the gap in which a state ends is drawn anew from that end on.
    fn two_states(&self, states: &[State; 2]) -> Program {
        let mut program = Client::outside();
        let first = program.here();
        for state in states {
            program.push(Instr::Draw { reg: SCRATCH, from: Distribution::Exponential(state.length.0) });
            program.push(Instr::Let { reg: STATE_END, value: Value::Reg(TIME) });
            program.push(Instr::Calculate { reg: STATE_END, by: Arithmetic::Plus, value: Value::Reg(SCRATCH) });
            let next = program.push(Instr::Draw { reg: SCRATCH, from: Distribution::Exponential(state.every.0) });
            program.push(Instr::Calculate { reg: SCRATCH, by: Arithmetic::Plus, value: Value::Reg(TIME) });
            let within = program.here() + 3;
            program.push(Instr::JumpIf { reg: SCRATCH, is: Test::AtMost, value: Value::Reg(STATE_END), to: within });
            program.push(Instr::Let { reg: TIME, value: Value::Reg(STATE_END) });
            let over = program.push(Instr::Jump { to: 0 });
            program.push(Instr::Let { reg: TIME, value: Value::Reg(SCRATCH) });
            program.push(Instr::SleepUntil { reg: TIME });
            self.request(&mut program);
            program.push(Instr::Jump { to: next });
            land(&mut program, over);
        }
        program.push(Instr::Jump { to: first });
        program
    }

    fn listed(&self, times: &[Ns], list: WordId) -> Program {
        let (mut program, start) = (Client::outside(), STATE_END);
        program.push(Instr::Let { reg: start, value: Value::Reg(TIME) });
        let top = program.here();
        let end = program.push(Instr::JumpIf { reg: ARRIVAL, is: Test::Equal, value: Value::Const(times.len() as u64), to: 0 });
        program.push(Instr::Load { word: at(list, ARRIVAL), into: TIME });
        program.push(Instr::Calculate { reg: TIME, by: Arithmetic::Plus, value: Value::Reg(start) });
        program.push(Instr::Calculate { reg: ARRIVAL, by: Arithmetic::Plus, value: Value::Const(1) });
        program.push(Instr::SleepUntil { reg: TIME });
        self.request(&mut program);
        program.push(Instr::Jump { to: top });
        land(&mut program, end);
        program.push(Instr::Exit);
        program
    }

    /// A client that has one request at a time, in its own row.
    fn closed(&self, row: u32, think: Distribution) -> Program {
        let answered = at(self.shared.answered, ROW);
        let mut program = Client::outside();
        program.push(Instr::Let { reg: ROW, value: Value::Const(u64::from(row)) });
        let top = program.push(Instr::Now { reg: TIME });
        program.push(Instr::Draw { reg: SCRATCH, from: think });
        program.push(Instr::Calculate { reg: TIME, by: Arithmetic::Plus, value: Value::Reg(SCRATCH) });
        program.push(Instr::SleepUntil { reg: TIME });
        program.push(Instr::Store { word: answered, value: Value::Const(0) });
        self.post(&mut program);
        let wait = program.push(Instr::Load { word: answered, into: SCRATCH });
        program.push(Instr::JumpIf { reg: SCRATCH, is: Test::Equal, value: Value::Const(1), to: top });
        program.push(Instr::FutexWait { word: answered, value: Value::Const(0) });
        program.push(Instr::Jump { to: wait });
        program
    }

    /// LEFT requests at once.
    fn requests(&self, program: &mut Program) {
        let top = program.here();
        self.request(program);
        program.push(Instr::Calculate { reg: LEFT, by: Arithmetic::Minus, value: Value::Const(1) });
        let past = program.here() + 2;
        program.push(Instr::JumpIf { reg: LEFT, is: Test::Equal, value: Value::Const(0), to: past });
        program.push(Instr::Jump { to: top });
    }

    /// One request that came at TIME; then ROW is the next row.
    fn request(&self, program: &mut Program) {
        self.post(program);
        wrapped(program, ROW, self.shared.rows);
    }

    fn post(&self, program: &mut Program) {
        self.draw_demand(program);
        program.push(Instr::Store { word: at(self.shared.demand, ROW), value: Value::Reg(SCRATCH) });
        program.push(Instr::Store { word: at(self.shared.arrived, ROW), value: Value::Reg(TIME) });
        if self.service.waits > 0 {
            program.push(Instr::Draw { reg: SCRATCH, from: self.service.wait });
            program.push(Instr::Store { word: at(self.shared.wait, ROW), value: Value::Reg(SCRATCH) });
        }
        program.push(Instr::MarkValue { marker: self.shared.markers.offered, value: 1 });
        program.push(Instr::Write { pipe: self.shared.queue, value: Some(ROW) });
    }

    /// SCRATCH = what the request takes.
    fn draw_demand(&self, program: &mut Program) {
        match (&self.service.demand, self.demands) {
            (Demand::OneOf(list), Some(first)) => {
                program.push(Instr::Draw { reg: SCRATCH, from: Distribution::Uniform(0, list.len() as u64 - 1) });
                program.push(Instr::Load { word: at(first, SCRATCH), into: SCRATCH });
            }
            (Demand::Listed(list), Some(first)) => {
                program.push(Instr::Load { word: at(first, ENTRY), into: SCRATCH });
                wrapped(program, ENTRY, list.len() as u64);
            }
            (Demand::Drawn(from), _) => {
                program.push(Instr::Draw { reg: SCRATCH, from: *from });
            }
            (Demand::OneOf(_) | Demand::Listed(_), None) => {}
        }
    }
}

/// The register plus 1, from 0 again at `rows`.
fn wrapped(program: &mut Program, reg: Reg, rows: u64) {
    program.push(Instr::Calculate { reg, by: Arithmetic::Plus, value: Value::Const(1) });
    let past = program.here() + 2;
    program.push(Instr::JumpIf { reg, is: Test::AtMost, value: Value::Const(rows - 1), to: past });
    program.push(Instr::Let { reg, value: Value::Const(0) });
}
