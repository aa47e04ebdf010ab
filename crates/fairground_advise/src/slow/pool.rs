//! The slowest request once more, with the pool of its group and what all its threads did meanwhile.

use super::super::lab::Lab;
use super::request::{Request, Span, State};
use super::watch::{Watch, spans};
use fairground_model::{CpuMax, TaskSet};
use fairground_scenario::{Error, Scenario, guard};
use fairground_sim::{Flow, Simulation, Stopped};
use fairground_stdx::{Instant, Ns};

/// The slowest request and what was around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowRequest {
    /// The request.
    pub request: Request,
    /// The name of its worker.
    pub worker: String,
    /// Where it was, one stretch after the other.
    pub spans: Vec<Span>,
    /// What was around it.
    pub strip: Strip,
}

/// A span of time of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strip {
    /// From a period before the request came.
    pub from: Instant,
    /// To when it was done.
    pub to: Instant,
    /// The pool whenever it changed.
    pub levels: Vec<Level>,
    /// When the pool was refilled.
    pub refills: Vec<Instant>,
    /// The threads of the group and what each did, those that ran longest first.
    pub threads: Vec<(String, Vec<Span>)>,
}

/// What a group had at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// When.
    pub at: Instant,
    /// What no CPU has yet.
    pub pool: Ns,
    /// What CPUs have, debts not counted.
    pub held: Ns,
}

impl Strip {
    /// How long a thread ran.
    pub fn ran(spans: &[Span]) -> Ns {
        Ns(spans.iter().filter(|span| span.state == State::Running).map(|span| span.to.since(span.from).0).sum())
    }
    /// How long the pool was empty between two instants.
    pub fn empty(&self, from: Instant, to: Instant) -> Ns {
        let ends = self.levels.iter().skip(1).map(|level| level.at).chain([self.to]);
        let empty = self.levels.iter().zip(ends).filter(|row| row.0.pool == Ns::ZERO);
        Ns(empty.map(|(level, end)| end.min(to).saturating_since(level.at.max(from)).0).sum())
    }
}

/// Runs up to a request that is known from a run before, and through it event by event.
pub(super) fn follow(
    lab: &Lab<'_>,
    scenario: &Scenario,
    tasks: &TaskSet,
    limit: CpuMax,
    request: Request,
) -> Result<SlowRequest, Error> {
    let from = Instant::from_ns(request.arrived.ns().saturating_sub(limit.period.0));
    let mut watch = Watch::new(tasks, &lab.group, lab.marker(), scenario.machine.cpus.len());
    watch.keep(from);
    let setup = scenario.setup()?;
    let built = guard::catch(|| Simulation::new(setup)).map_err(|broken| Error::Broken(Box::new(broken)))?;
    let mut simulation = built.map_err(|mistakes| scenario.wrong(mistakes))?;
    let followed = guard::catch(|| levels(&mut simulation, &lab.group, (from, request.done), &mut watch));
    let (levels, refills) = match followed {
        Ok(Ok(found)) => found,
        Ok(Err(stopped)) => return Err(scenario.stopped(&stopped)),
        Err(broken) => return Err(Error::Broken(Box::new(broken))),
    };
    let name = |task| tasks.tasks.get(task).map_or_else(String::new, |spec| spec.name.clone());
    let lanes = watch.lanes(request.done);
    let own = lanes.iter().find(|row| row.0 == request.worker).map(|row| row.1.clone()).unwrap_or_default();
    let taken = request.arrived + request.parts[State::Queued as usize];
    let mut threads: Vec<(String, Vec<Span>)> = lanes.into_iter().map(|(task, spans)| (name(task), spans)).collect();
    threads.sort_by_key(|row| std::cmp::Reverse(Strip::ran(&row.1)));
    let spans = spans(&own, request.arrived, taken, request.done);
    let strip = Strip { from, to: request.done, levels, refills, threads };
    Ok(SlowRequest { worker: name(request.worker), request, spans, strip })
}

type Levels = (Vec<Level>, Vec<Instant>);

fn levels(simulation: &mut Simulation, path: &str, span: (Instant, Instant), watch: &mut Watch) -> Result<Levels, Stopped> {
    simulation.run_until(span.0, watch)?;
    let group = simulation.sched().group_ids().find(|group| simulation.sched().group(*group).name == path);
    let (mut levels, mut refills, mut periods): (Vec<Level>, Vec<Instant>, Option<u64>) = (Vec::new(), Vec::new(), None);
    loop {
        let at = simulation.now().max(span.0);
        if let Some(pool) = group.and_then(|group| simulation.sched().cfs_bandwidth(group)) {
            let held = pool.accounts().iter().map(|account| u64::try_from(account.remaining).unwrap_or(0)).sum();
            let level = Level { at, pool: Ns(pool.runtime), held: Ns(held) };
            if levels.last().is_none_or(|last| last.pool != level.pool || (last.held != level.held && at >= last.at + GRAIN)) {
                levels.push(level);
            }
            if periods.is_some_and(|before| before < pool.stats.nr_periods) {
                refills.push(at);
            }
            periods = Some(pool.stats.nr_periods);
        }
        if simulation.now() >= span.1 || simulation.step(watch)? == Flow::Done {
            return Ok((levels, refills));
        }
    }
}

/// What CPUs hold changes whenever somebody has run: it is looked at again after this time.
const GRAIN: Ns = Ns::from_us(250);
