//! What `advise` can be asked about: a scenario, a log of requests, counters, a trace.

use super::counters::{self, Counters};
use super::limit;
use super::log::{self, LogOptions};
use super::trace::{TraceCase, TraceOptions};
use super::{AdviseOptions, subject};
use fairground_model::CpuMax;
use fairground_scenario::{Error, Overrides, Scenario, text_file::read_text, trace_file};
use fairground_stdx::Ns;
use fairground_workload::replay::Loop;
use std::path::Path;

/// What an input does not say by itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InputOptions {
    /// Worker threads of the service of a log; of counters, if they are known.
    pub workers: Option<u32>,
    /// CPUs that the service may use, of a log and of counters.
    pub cpus: Option<u32>,
    /// The present limit, as people write it; that of a scenario is replaced.
    pub cpu_max: Option<String>,
    /// Patterns of the names of threads, of a trace.
    pub comms: Vec<String>,
    /// The group, of a trace; a scenario has its own.
    pub cgroup: Option<String>,
    /// What becomes of wake-ups from outside, of a trace.
    pub arrivals: Loop,
}

/// An input.
#[derive(Clone, Debug)]
pub enum AdviseInput {
    /// A service to run.
    Scenario(Box<Scenario>),
    /// Threads of a trace to run.
    Trace(Box<TraceCase>),
    /// Counters, to which services are fitted.
    Counters(Box<Counters>),
}

impl InputOptions {
    /// The present limit, if it is said.
    fn limit(&self) -> Result<Option<CpuMax>, Error> {
        self.cpu_max.as_deref().map(limit::of_flag).transpose()
    }
}

/// The scenario with another limit of the group that is asked about. A burst stays as far as the quota allows it.
fn with_limit(scenario: &Scenario, limit: CpuMax, options: &InputOptions) -> Result<Scenario, Error> {
    let (group, _) = subject(scenario, &AdviseOptions { cgroup: options.cgroup.clone(), ..AdviseOptions::default() })?;
    let burst = scenario.group_limit(&group).map_or(Ns::ZERO, |now| now.burst);
    let burst = limit.quota.map_or(burst, |quota| burst.min(quota));
    Ok(scenario.with_group_limit(&group, CpuMax { burst, ..limit }))
}

/// CPUs of a service of which nothing else is said.
const CPUS: u32 = 8;

impl AdviseInput {
    /// Reads a scenario (`.toml`), a table (`.csv`) of requests or counters, and everything else as a trace.
    pub fn open(path: &Path, options: &InputOptions, overrides: &Overrides) -> Result<AdviseInput, Error> {
        let name = path.display().to_string();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_table = ending == Some("csv") && !trace_file::is_trace(path);
        if ending != Some("toml") && !is_table {
            return trace(path, options, overrides);
        }
        if !options.comms.is_empty() || options.arrivals != Loop::Open {
            let hint = format!("{name} is none: leave them out. `fairground list formats` says what can be read.");
            return Err(Error::one("command line", "--comm and --closed-loop are for traces", hint));
        }
        if is_table {
            return AdviseInput::table(&name, &read_text(path)?, options, overrides);
        }
        if options.workers.is_some() || options.cpus.is_some() {
            let message = "--workers and --cpus are for tables";
            return Err(Error::one("command line", message, "Write what they say into the scenario."));
        }
        let scenario = Scenario::load(path, overrides)?;
        let scenario = options.limit()?.map_or(Ok(scenario.clone()), |limit| with_limit(&scenario, limit, options))?;
        Ok(AdviseInput::Scenario(Box::new(scenario)))
    }

    fn table(name: &str, text: &str, options: &InputOptions, overrides: &Overrides) -> Result<AdviseInput, Error> {
        if log::is_log(text) {
            let Some(workers) = options.workers else {
                let message = "a log does not say how many threads serve the requests";
                return Err(Error::one("command line", message, "Say it with --workers N."));
            };
            let cpus = options.cpus.unwrap_or(CPUS);
            let limit = options.limit()?.unwrap_or(CpuMax::UNLIMITED);
            let scenario = log::scenario(name, text, &LogOptions { workers, cpus, limit }, overrides)?;
            return Ok(AdviseInput::Scenario(Box::new(scenario)));
        }
        if counters::are_counters(text) {
            let seed_only = Overrides { seed: overrides.seed, ..Overrides::default() };
            if *overrides != seed_only {
                let message = "of what changes a scenario, counters take --seed only";
                return Err(Error::one("command line", message, "Leave the others out: a fit to counters runs no kernel."));
            }
            let cpus = u64::from(options.cpus.unwrap_or(CPUS));
            let counters = counters::read(name, text, options.limit()?, cpus)?;
            return Ok(AdviseInput::Counters(Box::new(counters)));
        }
        Err(Error::one(
            name,
            "this table is neither a log of requests nor samples of counters",
            "The first line of a log is `arrival_s,latency_ms,cpu_ms`; that of counters `time_s,usage_usec,nr_periods,nr_throttled,throttled_usec`.",
        ))
    }
}

fn trace(path: &Path, options: &InputOptions, overrides: &Overrides) -> Result<AdviseInput, Error> {
    if options.workers.is_some() || options.cpus.is_some() {
        let message = "--workers and --cpus are not for traces";
        return Err(Error::one("command line", message, "A trace has its threads; say on how many CPUs with --machine smp-N."));
    }
    let trace = TraceOptions {
        comms: options.comms.clone(),
        cgroup: options.cgroup.clone(),
        limit: options.limit()?,
        arrivals: options.arrivals,
    };
    Ok(AdviseInput::Trace(Box::new(TraceCase::open(path, &trace, overrides)?)))
}
