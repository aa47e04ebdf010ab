//! What the published patch found: the load that balance reads of a CPU on which a worker waits is too low in a cgroup.
//!
//! ```text
//! reading = (weighted_cpuload of the CPU / that of all CPUs) / (load queued on the CPU / that on all CPUs)
//! ```
//!
//! 1 = right, whatever the group weighs. It is read in the middle of the longest waits.

use super::Parts;
use super::case::{Case, Late, Measured};
use crate::runs::{refused, stopped};
use fairground_metrics::Decimal;
use fairground_model::{BalancePass, NullSink};
use fairground_report::Claim;
use fairground_scenario::Error;
use fairground_sched::{LoadReading, Sched};
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, Instant};

/// Less than so many percent of what is queued is too low, and right is within this of it.
const TOO_LOW: u64 = 75;
const RIGHT: (u64, u64) = (80, 125);
/// The runs whose longest waits are read.
const RUNS: usize = 3;

impl Parts {
    /// Two claims: too low without the patch, right with it.
    pub(super) fn misled(&mut self, cases: [&Case; 2], runs: [&[Measured]; 2]) -> Result<(), Error> {
        let texts = [
            "cgroup: weighted_cpuload of a CPU where a worker waits reads too low at the longest waits (percent of what is queued)",
            "cgroup_patched: it reads right there",
        ];
        let holds = [|percent: u64| percent < TOO_LOW, |percent: u64| (RIGHT.0..=RIGHT.1).contains(&percent)];
        for ((case, runs), (id, holds)) in cases.into_iter().zip(runs).zip(texts.into_iter().zip(holds)) {
            let mut readings = Vec::new();
            for run in runs.iter().take(RUNS) {
                readings.extend(read_at_longest(case, run)?);
            }
            readings.sort_unstable();
            let median = readings.get(readings.len() / 2).copied();
            self.claims.push(Claim { id: id.into(), holds: median.is_some_and(holds), value: median.map(Decimal::from) });
        }
        Ok(())
    }
}

/// The readings, in percent, in the middle of the longest waits of a run.
fn read_at_longest(case: &Case, run: &Measured) -> Result<Vec<u64>, Error> {
    let mut waits: Vec<Late> = run.worst.clone();
    waits.sort_by_key(middle);
    let mut simulation = Simulation::new(case.setup(run.seed)?).map_err(refused)?;
    let mut readings = Vec::new();
    for late in &waits {
        simulation.run_until(middle(late), &mut NullSink).map_err(stopped)?;
        readings.extend(reading(simulation.sched(), simulation.sched().task(late.task).cpu));
    }
    Ok(readings)
}

fn middle(late: &Late) -> Instant {
    Instant::from_ns(u64::midpoint(late.since.ns(), late.until.ns()))
}

/// The reading of `waits_on` in percent; none if nobody waits there.
fn reading(sched: &Sched, waits_on: CpuId) -> Option<u64> {
    let read_of =
        |cpu: CpuId| sched.topology().cpus[cpu].sd_llc.map(|domain| sched.load_reading(cpu, domain, BalancePass::Newidle));
    let all: Vec<LoadReading> = sched.cpu_ids().filter_map(read_of).filter(|reading| reading.tasks > 0).collect();
    let here = all.iter().find(|reading| reading.cpu == waits_on && reading.tasks > 1)?;
    let sum = |of: fn(&LoadReading) -> u64| all.iter().map(of).sum::<u64>();
    let (read, queued) = (sum(|reading| reading.read), sum(|reading| reading.queued));
    (u128::from(here.read) * u128::from(queued) * 100)
        .checked_div(u128::from(read) * u128::from(here.queued))
        .map(|percent| percent as u64)
}
