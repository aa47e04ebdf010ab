//! Where the time of requests goes, and one slow request in full.
//!
//! A request waits for a worker from when it came until a worker takes it. From then on it is where its worker is. So each nanosecond
//! of it is in one of five states.

mod pool;
mod request;
mod show;
mod watch;

pub use pool::{Level, SlowRequest, Strip};
pub use request::{Request, STATES, Span, State};

use super::lab::{Lab, Variant};
use fairground_model::CpuMax;
use fairground_scenario::Error;
use fairground_stdx::Ns;
use watch::Watch;

/// What a run at one limit shows of its requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slow {
    /// The limit.
    pub limit: CpuMax,
    /// All requests that were done within the window of the run, the slowest last.
    pub requests: Vec<Request>,
    /// How long queues of single CPUs stood still for want of quota, in order of size.
    pub stalls: Vec<Ns>,
    /// The slowest request.
    pub slowest: SlowRequest,
}

impl Slow {
    /// The requests from this share on, thousandths: 990 is the slowest hundredth. At least the slowest one.
    pub fn from(&self, permille: u64) -> &[Request] {
        let count = self.requests.len();
        let first = usize::try_from(count as u64 * permille / 1000).unwrap_or(count).min(count.saturating_sub(1));
        &self.requests[first..]
    }
}

/// Runs the first seed once more with a look at every request, and again up to the slowest one with a look at the pool. None without a
/// request.
pub(super) fn slow(lab: &Lab<'_>, limit: CpuMax) -> Result<Option<Slow>, Error> {
    let scenario = lab.seeded(&lab.scenario(&Variant::new(limit)), 0);
    let tasks = scenario.tasks();
    let mut watch = Watch::new(&tasks, &lab.group, lab.marker(), scenario.machine.cpus.len());
    let window = lab.watched(&scenario, &mut watch)?.window();
    let (mut requests, mut stalls) = watch.finish();
    requests.retain(|request| request.done >= window.0 && request.done <= window.1);
    requests.sort_by_key(|request| (request.latency(), request.done));
    stalls.sort_unstable();
    let Some(last) = requests.last().cloned() else { return Ok(None) };
    let slowest = pool::follow(lab, &scenario, &tasks, limit, last)?;
    Ok(Some(Slow { limit, requests, stalls, slowest }))
}

/// How long queues of single CPUs stood still, in order of size.
#[cfg(test)]
pub(super) fn stalls(lab: &Lab<'_>, limit: CpuMax) -> Result<Vec<Ns>, Error> {
    let scenario = lab.seeded(&lab.scenario(&Variant::new(limit)), 0);
    let mut watch = Watch::new(&scenario.tasks(), &lab.group, lab.marker(), scenario.machine.cpus.len());
    lab.watched(&scenario, &mut watch)?;
    let (_, mut stalls) = watch.finish();
    stalls.sort_unstable();
    Ok(stalls)
}
