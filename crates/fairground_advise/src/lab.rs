//! Runs of one service under different limits. One seed stands for the same requests under all of them.

use super::runs::Runs;
use super::sample::Sample;
use fairground::run::{self, RunEnding, RunOptions, RunOutcome};
use fairground_metrics::Histogram;
use fairground_model::{CpuMax, Instr, NullSink, Sink, TaskSet};
use fairground_scenario::{Control, Error, Scenario, metrics::marker_values};
use fairground_sched::profile::Profile;
use fairground_stdx::{Ns, RngStream, StreamKind, TgId};
use fairground_workload::replay::RESPONSE;
use fairground_workload::service::Service;
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
    /// One run; seeds count from that of the scenario.
    pub(super) fn sample(&self, scenario: &Scenario, seed: u64) -> Result<Sample, Error> {
        let scenario = self.seeded(scenario, seed);
        let start = self.start(scenario.seed);
        let outcome = run::run(&scenario, &RunOptions::default(), &mut NullSink, self.control.quiet())?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.control.at(done, self.expected.load(Ordering::Relaxed).max(done));
        let sample = self.kept(&outcome, start);
        self.runs.add(&scenario, &self.group, &sample);
        Ok(sample)
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
        let scenarios = variants.iter().map(|variant| self.scenario(variant)).collect::<Vec<_>>();
        let jobs: Vec<(&Scenario, u64)> =
            scenarios.iter().flat_map(|scenario| (0..seeds).map(move |seed| (scenario, seed))).collect();
        let all = jobs.par_iter().map(|(scenario, seed)| self.sample(scenario, *seed)).collect::<Result<Vec<Sample>, Error>>()?;
        Ok(all.chunks(seeds.max(1) as usize).map(<[Sample]>::to_vec).collect())
    }

    fn kept(&self, outcome: &RunOutcome, start: Ns) -> Sample {
        let (report, tasks) = (&outcome.report, &outcome.tasks);
        let marker = |name: &str| tasks.markers.iter_enumerated().find(|row| row.1.name == name).map(|row| row.0);
        let all = 0..tasks.tasks.len();
        let measured = |name| marker(name).map_or_else(Histogram::new, |id| marker_values(report, tasks, &all, id));
        let (latency, late) = match self.subject {
            Subject::Service(_) => {
                // Requests are counted by the clients, which are not measured.
                let offered: u64 =
                    report.markers.iter().filter(|row| Some(row.marker) == marker("requests")).map(|row| row.values.len()).sum();
                let latency = measured(self.marker());
                // Each worker may be at a request when the run ends, which says nothing.
                let workers = tasks.tasks.iter().filter(|task| task.measured).count() as u64;
                let late = offered.saturating_sub(latency.len()).saturating_sub(workers);
                (latency, late)
            }
            Subject::Trace(pieces) => {
                let latency = measured(self.marker());
                let late = pieces.saturating_sub(latency.len());
                (latency, late)
            }
        };
        let quota = outcome.quotas.iter().find(|row| row.group == self.group);
        let used = report.tasks.iter().filter(|row| is_inside(tasks, row.task, &self.group)).map(|row| row.runtime.0).sum();
        let (from, to) = outcome.window();
        let window = to.since(from).saturating_sub(start);
        // The whole recording has been offered a second before the end: what is not done then is late.
        let backlog = match self.subject {
            Subject::Trace(_) => u128::from(u64::MAX),
            Subject::Service(_) => u128::from(late) * u128::from(window.0) / u128::from(latency.len().max(1)),
        };
        Sample {
            late,
            backlog: Ns(u64::try_from(backlog).unwrap_or(u64::MAX)),
            good: if matches!(self.subject, Subject::Trace(_)) { latency.len() } else { measured("good").len() },
            timeouts: measured("timeouts").len(),
            nr_periods: quota.map_or(0, |row| row.stats.nr_periods),
            nr_throttled: quota.map_or(0, |row| row.stats.nr_throttled),
            used: Ns(used),
            length: outcome.simulated.saturating_sub(start),
            window,
            events: outcome.counts.events(),
            digest: outcome.digest,
            interrupted: outcome.ending == RunEnding::Interrupted,
            latency,
        }
    }
}

/// Whether a task is in the group or below it: clients leave it at once.
fn is_inside(tasks: &TaskSet, task: fairground_stdx::TaskId, path: &str) -> bool {
    let Some(spec) = tasks.tasks.get(task) else { return false };
    let leaves = tasks.programs[spec.program].code.contains(&Instr::SetGroup { group: None });
    !leaves && lies_below(tasks, spec.group, path)
}

fn lies_below(tasks: &TaskSet, group: Option<TgId>, path: &str) -> bool {
    let mut next = group;
    while let Some(id) = next {
        if tasks.groups[id].name == path {
            return true;
        }
        next = tasks.groups[id].parent;
    }
    false
}
