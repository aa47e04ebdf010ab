//! What `advise` can be asked about: a scenario, a log of requests, counters.

use super::counters::{self, Counters};
use super::log::{self, LogOptions};
use crate::error::Error;
use crate::output::read_text;
use crate::scenario::{Overrides, Scenario};
use std::path::Path;

/// What an input does not say by itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InputOptions {
    /// Worker threads of the service of a log; of counters, if they are known.
    pub workers: Option<u32>,
    /// CPUs that the service may use, of a log and of counters.
    pub cpus: Option<u32>,
    /// The present limit, of a log and of counters.
    pub cpu_max: Option<String>,
}

/// An input.
#[derive(Clone, Debug)]
pub enum AdviseInput {
    /// A service to run.
    Scenario(Box<Scenario>),
    /// Counters, to which services are fitted.
    Counters(Box<Counters>),
}

/// CPUs of a service of which nothing else is said.
const CPUS: u32 = 8;

impl AdviseInput {
    /// Reads a scenario (`.toml`), or a table (`.csv`) of requests or counters.
    pub fn open(path: &Path, options: &InputOptions, overrides: &Overrides) -> Result<AdviseInput, Error> {
        let name = path.display().to_string();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => AdviseInput::table(&name, &read_text(path)?, options, overrides),
            Some("toml") => {
                let given = [options.workers.is_some(), options.cpus.is_some(), options.cpu_max.is_some()];
                if given.contains(&true) {
                    let message = "--workers, --cpus and --cpu-max are for tables";
                    return Err(Error::one("command line", message, "Write what they say into the scenario."));
                }
                Ok(AdviseInput::Scenario(Box::new(Scenario::load(path, overrides)?)))
            }
            _ => Err(Error::one(
                name,
                "advice from this kind of file is not built yet",
                "Give a scenario (.toml) with a workload `service`, or a table (.csv) of requests or counters. A trace can be run under \
                 another limit: write a scenario with `replay = \"TRACE\"` and a `[[group]]`, and use `fairground run`.",
            )),
        }
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
