//! Runs a case in every way that must give the same, and reports what did not.

use crate::case::Case;
use crate::dice::Dice;
use crate::oracle::{Between, Records};
use crate::shrink::shrink;
use fairground_model::NullSink;
use fairground_sim::{Counts, EventQueue, FastQueue, Flow, HeapQueue, RunEnd, Simulation, Stopped};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// A further check after every event, for tests of the alarm itself and for hunting.
pub type Watch = fn(&Simulation) -> Result<(), String>;

/// A case that held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaseReport {
    /// Its seed.
    pub seed: u64,
    /// The digest of all its runs.
    pub digest: u128,
    /// What happened in it.
    pub counts: Counts,
    /// How it ended; none if a program made no progress.
    pub end: Option<RunEnd>,
}

/// A case that did not hold, as small as it could be made.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// What went wrong in the small case.
    pub what: String,
    /// The small case.
    pub case: Case,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        writeln!(f, "replay with fairground_vopr::run_case({}); made smaller, it is:", self.case.seed)?;
        write!(f, "{}", self.case)
    }
}

impl std::error::Error for Failure {}

/// Makes the case of a seed, runs it in every way, and makes it smaller if it fails.
pub fn run_case(seed: u64) -> Result<CaseReport, Box<Failure>> {
    run_case_watched(seed, |_| Ok(()))
}

/// As [`run_case`], with a further check after every event.
pub fn run_case_watched(seed: u64, watch: Watch) -> Result<CaseReport, Box<Failure>> {
    let case = Case::random(seed);
    check(&case, watch).map_err(|what| {
        let small = shrink(case, |smaller| check(smaller, watch).is_err());
        let what = check(&small, watch).err().unwrap_or(what);
        Box::new(Failure { what, case: small })
    })
}

/// Whether a case fails.
pub fn fails(case: &Case, watch: Watch) -> bool {
    check(case, watch).is_err()
}

/// What all runs of a case must agree on.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Outcome {
    digest: u128,
    counts: Counts,
    end: Result<RunEnd, Stopped>,
}

fn check(case: &Case, watch: Watch) -> Result<CaseReport, String> {
    let (first, steps) = caught("a run under all checks", || watched(case, watch))?;
    let others = [
        ("the same run in another thread", caught("the same run in another thread", || elsewhere(case))?),
        ("a run with a plain heap", caught("a run with a plain heap", || plain::<HeapQueue>(case))?),
        ("a clone taken in mid-run", caught("a clone taken in mid-run", || cloned(case, steps))?),
    ];
    for (which, other) in others {
        if other != first {
            return Err(format!("{which} differs: {other:?}, not {first:?}"));
        }
    }
    Ok(CaseReport { seed: case.seed, digest: first.digest, counts: first.counts, end: first.end.ok() })
}

/// A panic is a failure like any other.
fn caught<T>(which: &str, run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(format!("{which} panicked: {}", message_of(&*panic))))
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_string())
}

fn simulation<Q: EventQueue>(case: &Case) -> Result<Simulation<Q>, String> {
    Simulation::with_queue(case.setup()).map_err(|mistakes| format!("the case is refused: {mistakes:?}"))
}

fn outcome<Q: EventQueue>(simulation: &Simulation<Q>, end: Result<RunEnd, Stopped>) -> Outcome {
    Outcome { digest: simulation.digest(), counts: simulation.counts(), end }
}

fn plain<Q: EventQueue>(case: &Case) -> Result<Outcome, String> {
    let mut simulation = simulation::<Q>(case)?;
    let end = simulation.run(&mut NullSink);
    Ok(outcome(&simulation, end))
}

/// In a thread of its own: nothing of a run may hang on where it is made.
fn elsewhere(case: &Case) -> Result<Outcome, String> {
    thread::scope(|scope| scope.spawn(|| plain::<FastQueue>(case)).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Step by step under the oracles; the number of steps as well.
fn watched(case: &Case, watch: Watch) -> Result<(Outcome, u64), String> {
    let mut simulation = simulation::<FastQueue>(case)?;
    let (mut records, mut between) = (Records::new(case), Between::new(case, &simulation));
    let mut steps = 0;
    let stopped = loop {
        let flow = simulation.step(&mut records);
        steps += 1;
        if let Some(broken) = records.broken() {
            return Err(broken.to_string());
        }
        between.check(&simulation)?;
        watch(&simulation)?;
        match flow {
            Ok(Flow::More) => {}
            Ok(Flow::Done) => break None,
            Err(stopped) => break Some(stopped),
        }
    };
    let end = stopped.map_or_else(|| simulation.run(&mut NullSink), Err);
    if let Ok(end) = &end {
        records.finish(end.at)?;
    }
    Ok((outcome(&simulation, end), steps))
}

/// The original goes on for a while and is dropped; its clone goes to the end.
fn cloned(case: &Case, steps: u64) -> Result<Outcome, String> {
    let mut original = simulation::<FastQueue>(case)?;
    let at_step = Dice::new(case.seed, 4).between(0, steps);
    for _ in 0..at_step {
        if original.step(&mut NullSink) != Ok(Flow::More) {
            break;
        }
    }
    let mut clone = original.clone();
    for _ in 0..10 {
        if original.step(&mut NullSink) != Ok(Flow::More) {
            break;
        }
    }
    drop(original);
    let end = clone.run(&mut NullSink);
    Ok(outcome(&clone, end))
}
