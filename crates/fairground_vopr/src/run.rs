//! Runs a case in every way that must give the same, and reports what did not.

use crate::case::Case;
use crate::coverage::Coverage;
use crate::dice::Dice;
use crate::mechanism::Mechanism;
use crate::oracle::{Between, Records};
use crate::shrink::shrink;
use fairground_model::NullSink;
use fairground_scenario::guard;
use fairground_sim::{Counts, Flow, QueueKind, RunEnd, Simulation, Stopped};
use fairground_stdx::{Instant, Ns};
use std::fmt;
use std::thread;

/// A further check after every event, for tests of the alarm itself and for hunting.
pub type Watch = fn(&Simulation) -> Result<(), String>;

/// A case that held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaseReport {
    /// Its seed.
    pub seed: u64,
    /// The digest of all its runs.
    pub digest: u128,
    /// What happened in it.
    pub counts: Counts,
    /// How it ended; none if a program made no progress.
    pub end: Option<RunEnd>,
    /// What it touched.
    pub coverage: Coverage,
}

/// A case that did not hold, as small as it could be made.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// What went wrong in the small case.
    pub what: String,
    /// The small case. Printed, it is the scenario file that replays it.
    pub case: Case,
    /// Whether the run alone shows it, under the checks of the engine: then `fairground run --paranoid` does.
    pub breaks_a_run: bool,
}

impl Failure {
    fn of(what: String, case: Case) -> Failure {
        let breaks_a_run = matches!(caught("the run", || plain(QueueKind::Fast, &case)), Err(what) if what.contains("panicked"));
        Failure { what, case, breaks_a_run }
    }

    /// The command that replays it from a scenario file.
    pub fn replay(&self, file: &str) -> String {
        match self.breaks_a_run {
            true => format!("fairground run {file} --paranoid"),
            false => format!("fairground vopr --replay {file}"),
        }
    }
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
    run_this(Case::random(seed), watch)
}

/// As [`run_case_watched`], for a case of any origin.
pub fn run_this(case: Case, watch: Watch) -> Result<CaseReport, Box<Failure>> {
    check(&case, watch).map_err(|what| {
        let kind = kind_of(&what);
        let small = shrink(case, |smaller| failure_of(smaller, watch).is_some_and(|what| kind_of(&what) == kind));
        let what = failure_of(&small, watch).unwrap_or(what);
        Box::new(Failure::of(what, small))
    })
}

/// As [`run_this`], but a case that fails is left as it is.
pub fn failure_as_it_is(case: Case, watch: Watch) -> Result<CaseReport, Box<Failure>> {
    check(&case, watch).map_err(|what| Box::new(Failure::of(what, case)))
}

/// How a case fails, if it does.
pub fn failure_of(case: &Case, watch: Watch) -> Option<String> {
    check(case, watch).err()
}

/// What is said of a failure without its numbers: a smaller case must fail in the same way, not in any.
fn kind_of(what: &str) -> String {
    what.chars().filter(|c| c.is_alphabetic()).take(KIND_LETTERS).collect()
}

/// So many letters tell one failure from another.
const KIND_LETTERS: usize = 70;

/// What all runs of a case must agree on.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Outcome {
    digest: u128,
    counts: Counts,
    end: Result<RunEnd, Stopped>,
}

fn check(case: &Case, watch: Watch) -> Result<CaseReport, String> {
    let (first, steps, coverage) = caught("a run under all checks", || watched(case, watch))?;
    let others = [
        ("the same run in another thread", elsewhere(case)?),
        ("a run with a plain heap", caught("a run with a plain heap", || plain(QueueKind::Heap, case))?),
        ("a clone taken in mid-run", caught("a clone taken in mid-run", || cloned(case, steps))?),
    ];
    for (which, other) in others {
        if other != first {
            return Err(format!("{which} differs: {other:?}, not {first:?}"));
        }
    }
    Ok(CaseReport { seed: case.seed, digest: first.digest, counts: first.counts, end: first.end.ok(), coverage })
}

/// A panic is a failure like any other.
fn caught<T>(which: &str, run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    guard::catch(run).unwrap_or_else(|broken| Err(format!("{which} panicked: {}, at {}", broken.message, broken.place)))
}

fn simulation(queue: QueueKind, case: &Case) -> Result<Simulation, String> {
    Simulation::with_queue(queue, case.setup()).map_err(|mistakes| format!("the case is refused: {mistakes:?}"))
}

fn outcome(simulation: &Simulation, end: Result<RunEnd, Stopped>) -> Outcome {
    Outcome { digest: simulation.digest(), counts: simulation.counts(), end }
}

fn plain(queue: QueueKind, case: &Case) -> Result<Outcome, String> {
    let mut simulation = simulation(queue, case)?;
    let end = simulation.run(&mut NullSink);
    Ok(outcome(&simulation, end))
}

/// In a thread of its own and in strides: nothing of a run may hang on where it is made, or on who looks.
fn elsewhere(case: &Case) -> Result<Outcome, String> {
    let run = || caught("the same run in another thread", || strided(case));
    thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| Err("a thread of its own died".to_string()))
}

fn strided(case: &Case) -> Result<Outcome, String> {
    let mut simulation = simulation(QueueKind::Fast, case)?;
    let mut dice = Dice::new(case.seed, 5);
    let mut until = Instant::ZERO;
    while until < simulation.end() {
        until += Ns(dice.time(1, case.duration.0));
        match simulation.run_until(until.min(simulation.end()), &mut NullSink) {
            Ok(Flow::More) => {}
            Ok(Flow::Done) => break,
            Err(stopped) => return Ok(outcome(&simulation, Err(stopped))),
        }
    }
    let end = simulation.run(&mut NullSink);
    Ok(outcome(&simulation, end))
}

/// Step by step under the oracles; the number of steps and what they touched as well.
fn watched(case: &Case, watch: Watch) -> Result<(Outcome, u64, Coverage), String> {
    let mut simulation = simulation(QueueKind::Fast, case)?;
    let (mut records, mut between) = (Records::new(case), Between::new(case, &simulation));
    let mut coverage = Coverage::of(case);
    let mut steps = 0;
    let stopped = loop {
        let flow = simulation.step(&mut (&mut records, &mut coverage));
        steps += 1;
        if let Some(broken) = records.broken() {
            return Err(broken.to_string());
        }
        between.check(&simulation, &records)?;
        watch(&simulation)?;
        match flow {
            Ok(Flow::More) => {}
            Ok(Flow::Done) => break None,
            Err(stopped) => break Some(stopped),
        }
    };
    let end = stopped.map_or_else(|| simulation.run(&mut NullSink), Err);
    if let Ok(end) = &end {
        records.finish(end.at, &simulation, &between)?;
    }
    if let Some(rule) = coverage.impossible() {
        let needs = Mechanism::of(rule).sentence();
        return Err(format!("rule {} decided, and the kernel has not what it needs: {needs}", rule.slug()));
    }
    Ok((outcome(&simulation, end), steps, coverage))
}

/// The original goes on for a while and is dropped; its clone goes to the end.
fn cloned(case: &Case, steps: u64) -> Result<Outcome, String> {
    let mut original = simulation(QueueKind::Fast, case)?;
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
