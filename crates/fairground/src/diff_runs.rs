//! Where two runs part: the first record that differs, with the records before it.

use crate::control::Control;
use crate::error::Error;
use crate::guard;
use crate::scenario::Scenario;
use fairground_model::{Mistakes, Sink, TaskInfo, TraceEvent};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};
use std::collections::VecDeque;

/// Records shown before the first difference.
pub const CONTEXT: usize = 20;
/// Simulated time by which both runs advance in turn.
const STRIDE: Ns = Ns::from_ms(1);

/// One record with its time and CPU.
pub type Record = (Instant, CpuId, TraceEvent);

/// What two runs have in common, and where they part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunsDiff {
    /// Records that are equal in both runs, from the start.
    pub equal: u64,
    /// The last of them, oldest first.
    pub before: Vec<Record>,
    /// The first record of A that differs; `None` if A ends here.
    pub a: Option<Record>,
    /// The first record of B that differs.
    pub b: Option<Record>,
    /// The tasks by row, to show their names: those of A.
    pub tasks: Vec<TaskInfo>,
    /// Digests of both runs, as far as they were stepped.
    pub digests: (u128, u128),
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

impl RunsDiff {
    /// Whether the runs differ.
    pub fn differs(&self) -> bool {
        self.a != self.b
    }
}

#[derive(Default)]
struct Collector {
    records: VecDeque<Record>,
    tasks: Vec<TaskInfo>,
}

impl Sink for Collector {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        let index = task.get() as usize;
        if self.tasks.len() <= index {
            self.tasks.resize(index + 1, TaskInfo::default());
        }
        self.tasks[index] = info.clone();
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.records.push_back((at, cpu, *event));
    }
}

/// Steps both scenarios until their records differ or both have ended.
pub fn diff_runs(a: &Scenario, b: &Scenario, control: Control<'_>) -> Result<RunsDiff, Error> {
    let mut one = Side::new(a)?;
    let mut two = Side::new(b)?;
    let mut diff = RunsDiff::default();
    let mut before: VecDeque<Record> = VecDeque::with_capacity(CONTEXT);
    let total = a.duration.0.max(b.duration.0);
    let mut until = Instant::ZERO;
    loop {
        until += STRIDE;
        one.advance(until)?;
        two.advance(until)?;
        while let (Some(left), Some(right)) = (one.sink.records.front(), two.sink.records.front()) {
            if left != right {
                break;
            }
            if before.len() == CONTEXT {
                before.pop_front();
            }
            before.push_back(*left);
            diff.equal += 1;
            one.sink.records.pop_front();
            two.sink.records.pop_front();
        }
        let (left, right) = (one.sink.records.front().copied(), two.sink.records.front().copied());
        diff.interrupted = control.stopped();
        control.at(until.ns().min(total), total);
        if left.is_some() || right.is_some() || (one.done && two.done) || diff.interrupted {
            (diff.a, diff.b) = if diff.interrupted && left.is_none() { (None, None) } else { (left, right) };
            break;
        }
    }
    diff.before = before.into();
    diff.digests = (one.simulation.digest(), two.simulation.digest());
    diff.tasks = one.sink.tasks;
    Ok(diff)
}

struct Side<'s> {
    scenario: &'s Scenario,
    simulation: Simulation,
    sink: Collector,
    done: bool,
}

impl<'s> Side<'s> {
    fn new(scenario: &'s Scenario) -> Result<Side<'s>, Error> {
        let simulation = Simulation::new(scenario.setup()?).map_err(|mistakes| scenario.wrong(mistakes))?;
        let mut sink = Collector::default();
        simulation.introduce(&mut sink);
        Ok(Side { scenario, simulation, sink, done: false })
    }
    fn advance(&mut self, until: Instant) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        let until = if until > self.simulation.end() { Instant::MAX } else { until };
        let flow = guard::catch(|| self.simulation.run_until(until, &mut self.sink))
            .map_err(|broken| Error::Broken(Box::new(broken)))?;
        let flow =
            flow.map_err(|stopped| self.scenario.wrong(Mistakes::one(stopped.to_string(), "Let its loop run, sleep or wait.")))?;
        self.done = flow == Flow::Done;
        Ok(())
    }
}
