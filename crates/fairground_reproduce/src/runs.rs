//! The runs of an experiment, and what they add up to.

use super::published::Published;
use crate::experiment::Reproduced;
use fairground_machine::{CostModel, Machine};
use fairground_model::{Digest, Mistakes, Sink, TaskSet};
use fairground_report::Reproduction;
use fairground_scenario::{Control, Error};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation, Stopped};
use fairground_stdx::Ns;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Collects the digests of runs in their order.
#[derive(Default)]
pub(super) struct Runs(Digest);

impl Runs {
    /// Runs once.
    pub(super) fn run(
        &mut self,
        machine: Machine,
        profile: Profile,
        tasks: TaskSet,
        duration: Ns,
        seed: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        self.run_setup(Setup { machine, profile, tasks, seed, duration, paranoid: false }, sink)
    }
    /// Runs a set-up once.
    pub(super) fn run_setup(&mut self, setup: Setup, sink: &mut dyn Sink) -> Result<(), Error> {
        self.add(run_setup(setup, sink)?);
        Ok(())
    }
    /// A run with that digest was made.
    pub(super) fn add(&mut self, digest: u128) {
        self.0.bytes(&digest.to_le_bytes());
    }
    /// The end of an experiment.
    pub(super) fn reproduced(self, reproduction: Reproduction, published: &[&Published], control: Control<'_>) -> Reproduced {
        Reproduced {
            reproduction,
            inputs: published.iter().map(|file| file.input()).collect(),
            seed: Some(1),
            digest: self.0.value(),
            interrupted: control.stopped(),
        }
    }
}

/// Runs a set-up once; gives the digest of the run, which [`Runs::add`] takes.
pub(super) fn run_setup(setup: Setup, sink: &mut dyn Sink) -> Result<u128, Error> {
    let mut simulation = Simulation::new(setup).map_err(refused)?;
    simulation.run(sink).map_err(stopped)?;
    Ok(simulation.digest())
}

/// Runs jobs, several at a time, and tells how far all is: `done` of `total` were before. What they gave, in their order; of those that
/// the caller stopped before they began, nothing.
pub(super) fn run_all<J: Sync, T: Send>(
    jobs: &[J],
    done: &mut u64,
    total: u64,
    control: Control<'_>,
    run: impl Fn(&J) -> Result<T, Error> + Sync,
) -> Result<Vec<Option<T>>, Error> {
    let count = AtomicU64::new(*done);
    control.at(*done, total);
    let one = |job: &J| {
        if control.stopped() {
            return Ok(None);
        }
        let given = run(job)?;
        control.at(count.fetch_add(1, Ordering::Relaxed) + 1, total);
        Ok(Some(given))
    };
    let given: Vec<Result<Option<T>, Error>> = jobs.par_iter().with_max_len(1).map(one).collect();
    *done = count.into_inner();
    given.into_iter().collect()
}

/// One CPU at full capacity on which everything is free.
pub(super) fn one_cpu(hz: u32) -> Result<Machine, Error> {
    let mut machine = Machine::preset("smp-1").map_err(refused)?;
    machine.hz = hz;
    machine.tick = Ns(1_000_000_000 / u64::from(hz));
    machine.costs = CostModel::preset("zero").map_err(refused)?;
    Ok(machine)
}

pub(super) fn refused(mistakes: Mistakes) -> Error {
    Error::one("reproduce", mistakes.to_string(), "It is an error in this build.")
}

pub(super) fn stopped(stopped: Stopped) -> Error {
    Error::one("reproduce", stopped.to_string(), "It is an error in this build.")
}
