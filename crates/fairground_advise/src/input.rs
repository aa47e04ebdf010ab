//! What `advise` can be asked about: a scenario, a log of requests, counters, a trace.

use super::counters::{self, Counters};
use super::log::{self, LogOptions};
use super::trace::{TraceCase, TraceOptions};
use fairground_scenario::{Error, Overrides, Scenario, text_file::read_text, trace_file};
use fairground_workload::replay::Loop;
use std::path::Path;

/// What an input does not say by itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InputOptions {
    /// Worker threads of the service of a log; of counters, if they are known.
    pub workers: Option<u32>,
    /// CPUs that the service may use, of a log and of counters.
    pub cpus: Option<u32>,
    /// The present limit, of a log, of counters and of a trace.
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
        let given = [options.workers.is_some(), options.cpus.is_some(), options.cpu_max.is_some()];
        if given.contains(&true) {
            let message = "--workers, --cpus and --cpu-max are for tables and traces";
            return Err(Error::one("command line", message, "Write what they say into the scenario."));
        }
        Ok(AdviseInput::Scenario(Box::new(Scenario::load(path, overrides)?)))
    }

    fn table(name: &str, text: &str, options: &InputOptions, overrides: &Overrides) -> Result<AdviseInput, Error> {
        if log::is_log(text) {
            let Some(workers) = options.workers else {
                let message = "a log does not say how many threads serve the requests";
                return Err(Error::one("command line", message, "Say it with --workers N."));
            };
            let cpus = options.cpus.unwrap_or(CPUS);
            let cpu_max = options.cpu_max.clone().unwrap_or_else(|| "max".to_string());
            let scenario = log::scenario(name, text, &LogOptions { workers, cpus, cpu_max }, overrides)?;
            return Ok(AdviseInput::Scenario(Box::new(scenario)));
        }
        if counters::are_counters(text) {
            let seed_only = Overrides { seed: overrides.seed, ..Overrides::default() };
            if *overrides != seed_only {
                let message = "of what changes a scenario, counters take --seed only";
                return Err(Error::one("command line", message, "Leave the others out: a fit to counters runs no kernel."));
            }
            let cpus = u64::from(options.cpus.unwrap_or(CPUS));
            let counters = counters::read(name, text, options.cpu_max.as_deref(), cpus)?;
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
        cpu_max: options.cpu_max.clone(),
        arrivals: options.arrivals,
    };
    Ok(AdviseInput::Trace(Box::new(TraceCase::open(path, &trace, overrides)?)))
}
