//! Runs of one service under different limits. One seed stands for the same requests under all of them.

use super::goal::Goal;
use super::runs::Runs;
use super::sample::Sample;
use super::tally::{Counted, Tally};
use fairground::run::{self, Measured, MeasuredEnding, RunOptions, RunOutcome};
use fairground_model::{CpuMax, Sink, TaskSet};
use fairground_scenario::{Control, Error, Scenario};
use fairground_sched::profile::Profile;
use fairground_sim::Setup;
use fairground_stdx::{Instant, Ns, RngStream, StreamKind};
use fairground_workload::replay::RESPONSE;
use fairground_workload::service::{Arrivals, Service};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A service and what it is tried under.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub(super) limit: CpuMax,
    /// Another service.
    pub(super) service: Option<Service>,
    /// Another kernel.
    pub(super) profile: Option<Profile>,
    /// Without the other workloads.
    pub(super) alone: bool,
}

impl Variant {
    pub(super) fn new(limit: CpuMax) -> Variant {
        Variant { limit, service: None, profile: None, alone: false }
    }
}

/// A variant that is ready to be run with any seed.
pub(super) struct Bench {
    scenario: Scenario,
    /// What its runs have in common, if that is all but the seed.
    setup: Option<Setup>,
}

/// What is run under different limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    /// The service in this row of the workloads.
    Service(usize),
    /// Threads of a trace, which do so many pieces of work.
    Trace(u64),
}

/// A recording begins somewhere in this time, drawn anew with each seed: how its threads lay to the periods of the quota is chance. It is a
/// multiple of all usual periods.
const START: Ns = Ns::from_secs(1);

/// Where runs are made.
pub(super) struct Lab<'a> {
    pub(super) base: &'a Scenario,
    /// The path of the group whose limit is looked for.
    pub(super) group: String,
    /// What is run.
    pub(super) subject: Subject,
    pub(super) control: Control<'a>,
    pub(super) done: AtomicU64,
    /// How many runs there will be, as far as is known.
    pub(super) expected: AtomicU64,
    /// All that were made.
    pub(super) runs: Runs,
}

impl Lab<'_> {
    /// The scenario of a variant.
    pub(super) fn scenario(&self, variant: &Variant) -> Scenario {
        let mut scenario = self.base.clone();
        if let (Some(service), Subject::Service(row)) = (&variant.service, self.subject) {
            scenario = scenario.with_service(row, service.clone());
        }
        if let (true, Subject::Service(row)) = (variant.alone, self.subject) {
            scenario = scenario.with_workload_only(row);
        }
        if let Some(profile) = &variant.profile {
            scenario = scenario.with_profile(profile.clone());
        }
        scenario.with_group_limit(&self.group, variant.limit)
    }
    /// Whether a variant can be run at all: a kernel may not know a burst, or its quota may not be modelled.
    pub(super) fn can_run(&self, variant: &Variant) -> bool {
        self.scenario(variant).setup().is_ok_and(|setup| fairground_sim::Simulation::new(setup).is_ok())
    }
    /// What a variant needs to be run.
    pub(super) fn bench(&self, variant: &Variant) -> Result<Bench, Error> {
        let scenario = self.scenario(variant);
        // A recording begins at another instant with each seed, so that each has its own tasks.
        let setup = matches!(self.subject, Subject::Service(_)).then(|| scenario.setup()).transpose()?;
        Ok(Bench { scenario, setup })
    }
    /// One whole run; seeds count from that of the scenario.
    pub(super) fn sample(&self, bench: &Bench, seed: u64) -> Result<Sample, Error> {
        self.decide(bench, seed, &[], None)
    }
    /// One run that ends as soon as it is decided whether the goals are met. `most` are the requests that it may have, if that is known.
    pub(super) fn decide(&self, bench: &Bench, seed: u64, goals: &[Goal], most: Option<u64>) -> Result<Sample, Error> {
        let (scenario, setup) = match &bench.setup {
            // Its seed alone differs, which is in the setup.
            Some(setup) => (None, Setup { seed: self.base.seed.wrapping_add(seed), ..setup.clone() }),
            None => {
                let scenario = self.seeded(&bench.scenario, seed);
                let setup = scenario.setup()?;
                (Some(scenario), setup)
            }
        };
        let scenario = scenario.as_ref().unwrap_or(&bench.scenario);
        let (start, seed) = (self.start(setup.seed), setup.seed);
        let tasks = setup.tasks.clone();
        let most = if goals.is_empty() { None } else { self.listed().or(most) };
        let mut tally = Tally::new(&tasks, self.marker(), &self.group, goals, most);
        let ran = run::measure(scenario, setup, &mut tally, |tally| tally.decided().is_some(), self.control.quiet())?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.control.at(done, self.expected.load(Ordering::Relaxed).max(done));
        let sample = self.kept(tally.finish(Instant::ZERO + ran.simulated), &ran, &tasks, start);
        self.runs.add(scenario, seed, &self.group, &sample);
        Ok(sample)
    }
    /// How many requests there are in every run, if they are listed.
    fn listed(&self) -> Option<u64> {
        match self.subject {
            Subject::Trace(pieces) => Some(pieces),
            Subject::Service(_) => match &self.base.service()?.1.arrivals {
                Arrivals::Listed(all) => Some(all.len() as u64),
                _ => None,
            },
        }
    }
    /// Whether requests come whatever the answers are.
    fn is_open(&self) -> bool {
        self.base.service().is_some_and(|row| !matches!(row.1.arrivals, Arrivals::Closed { .. }))
    }
    /// The scenario of one seed.
    pub(super) fn seeded(&self, scenario: &Scenario, seed: u64) -> Scenario {
        let scenario = scenario.with_seed(self.base.seed.wrapping_add(seed));
        match self.start(scenario.seed) {
            Ns::ZERO => scenario,
            start => scenario.delayed(start),
        }
    }
    /// One run of which a sink gets every record.
    pub(super) fn watched(&self, scenario: &Scenario, sink: &mut dyn Sink) -> Result<RunOutcome, Error> {
        run::run(scenario, &RunOptions::default(), sink, self.control.quiet())
    }
    /// What measures the time of a request.
    pub(super) fn marker(&self) -> &'static str {
        match self.subject {
            Subject::Service(_) => "request_latency",
            Subject::Trace(_) => RESPONSE,
        }
    }
    /// When a recording begins.
    fn start(&self, seed: u64) -> Ns {
        match self.subject {
            Subject::Service(_) => Ns::ZERO,
            Subject::Trace(_) => Ns(RngStream::new(seed, StreamKind::RecordingStart, 0).below(START.0)),
        }
    }
    /// All variants with the seeds from 0 on, on all CPUs of this host: in the order of the variants, then of the seeds.
    pub(super) fn samples(&self, variants: &[Variant], seeds: u64) -> Result<Vec<Vec<Sample>>, Error> {
        let benches = variants.iter().map(|variant| self.bench(variant)).collect::<Result<Vec<Bench>, Error>>()?;
        let jobs: Vec<(&Bench, u64)> = benches.iter().flat_map(|bench| (0..seeds).map(move |seed| (bench, seed))).collect();
        let all = jobs.par_iter().map(|(bench, seed)| self.sample(bench, *seed)).collect::<Result<Vec<Sample>, Error>>()?;
        Ok(all.chunks(seeds.max(1) as usize).map(<[Sample]>::to_vec).collect())
    }

    fn kept(&self, counted: Counted, ran: &Measured, tasks: &TaskSet, start: Ns) -> Sample {
        let done = counted.latency.len();
        let late = match self.subject {
            Subject::Service(_) => {
                // Each worker may be at a request when the run ends, which says nothing.
                let workers = tasks.tasks.iter().filter(|task| task.measured).count() as u64;
                counted.offered.saturating_sub(done).saturating_sub(workers)
            }
            Subject::Trace(pieces) => pieces.saturating_sub(done),
        };
        let quota = ran.quotas.iter().find(|row| row.group == self.group);
        let end = Instant::ZERO + ran.simulated;
        let (from, to) = tasks.window.unwrap_or((Instant::ZERO, end));
        let window = to.min(end).saturating_since(from).saturating_sub(start);
        // The whole recording has been offered a second before the end: what is not done then is late.
        let backlog = match self.subject {
            Subject::Trace(_) => u128::from(u64::MAX),
            Subject::Service(_) => u128::from(late) * u128::from(window.0) / u128::from(done.max(1)),
        };
        Sample {
            late,
            backlog: Ns(u64::try_from(backlog).unwrap_or(u64::MAX)),
            good: if matches!(self.subject, Subject::Trace(_)) { done } else { counted.good },
            timeouts: counted.timeouts,
            nr_periods: quota.map_or(0, |row| row.stats.nr_periods),
            nr_throttled: quota.map_or(0, |row| row.stats.nr_throttled),
            used: counted.used,
            length: ran.simulated.saturating_sub(start),
            window,
            events: ran.counts.events(),
            digest: ran.digest,
            interrupted: ran.ending == MeasuredEnding::Interrupted,
            // Clients that share CPUs may be a little late with their last requests.
            most: (ran.ending == MeasuredEnding::Complete && self.is_open())
                .then_some(counted.arrived + counted.arrived / 100 + 1),
            decided: counted.decided.filter(|_| ran.ending == MeasuredEnding::Decided),
            latency: counted.latency,
        }
    }
}
