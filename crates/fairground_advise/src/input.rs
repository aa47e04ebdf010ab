//! What `advise` can be asked about: a scenario, a log of requests, counters, a trace; and what says the limit beside them.

use super::counters::{self, Counters};
use super::limit;
use super::log::{self, LogOptions, Requests};
use super::sources::ask::Ask;
use super::sources::{self, Container, Part, Samples, Select};
use super::text::printable;
use super::trace::{TraceCase, TraceOptions};
use super::{AdviseOptions, subject};
use fairground_model::CpuMax;
use fairground_scenario::text_file::{is_stdin, name_of, read_log};
use fairground_scenario::{Error, Overrides, Scenario, inputs, trace_file};
use fairground_stdx::{Ns, units::parse_ns};
use fairground_workload::replay::Loop;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

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
    /// The container, of counters and of a pod.
    pub select: Select,
    /// The format of an access log.
    pub log_format: Option<String>,
    /// CPU time of a request in the mean, of a log that does not have it.
    pub cpu_per_request: Option<String>,
    /// A server that is asked for the counters.
    pub prometheus: Option<Ask>,
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
/// So much of a text says what it is.
const HEAD: u64 = 1 << 18;

impl AdviseInput {
    /// Reads inputs that belong together. Each is told by its content: one scenario, one trace, logs, counters, and a pod beside any of them.
    pub fn open(paths: &[PathBuf], options: &InputOptions, overrides: &Overrides) -> Result<AdviseInput, Error> {
        let mut inputs = Inputs::default();
        for path in paths {
            if path.is_dir() && !trace_file::is_in_folder(path) && !trace_file::is_trace(path) {
                for inside in files_of(path)? {
                    inputs.add(&inside, options)?;
                }
            } else {
                inputs.add(path, options)?;
            }
        }
        if let Some(ask) = &options.prometheus {
            inputs.names.push(ask.url.clone());
            inputs.samples_mut().extend(ask.samples(&options.select)?);
        }
        inputs.whole(options, overrides)
    }
}

/// The files of a folder by name.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |cause| Error::world("read", folder, cause);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        files.extend(Some(path).filter(|path| path.is_file() && !is_hidden));
    }
    files.sort();
    if files.is_empty() {
        let hint = "Give scrapes of /metrics or samples of cpu.stat in it, or the folder of a recorded experiment.";
        return Err(Error::one(folder.display().to_string(), "there are no files in this folder", hint));
    }
    Ok(files)
}

/// What was read so far.
#[derive(Default)]
struct Inputs {
    names: Vec<String>,
    scenario: Option<PathBuf>,
    trace: Option<PathBuf>,
    requests: Option<Requests>,
    samples: Option<Samples>,
    table: Option<String>,
    pods: Option<(String, Vec<Container>)>,
}

impl Inputs {
    fn add(&mut self, path: &Path, options: &InputOptions) -> Result<(), Error> {
        let name = name_of(path);
        self.names.push(name.clone());
        if is_stdin(path) || path.extension().is_some_and(|ending| ending == "toml") {
            return set(&mut self.scenario, path.to_path_buf(), &name);
        }
        if path.is_dir() {
            return set(&mut self.trace, path.to_path_buf(), &name);
        }
        let head = head_of(path)?;
        let part = match sources::source_of(&head) {
            Some(source) => source.read(&name, &read_log(path)?)?,
            None if trace_file::is_trace(path) => return set(&mut self.trace, path.to_path_buf(), &name),
            None => match &options.log_format {
                Some(format) => sources::access_log(&name, &read_log(path)?, format)?,
                None => return Err(sources::foreign(&name, &head)),
            },
        };
        match part {
            Part::Requests(requests) => {
                self.requests = Some(match self.requests.take() {
                    Some(known) => known.join(requests),
                    None => requests,
                });
            }
            Part::Samples(samples) => self.samples_mut().extend(samples),
            Part::Table(text) => set(&mut self.table, text, &name)?,
            Part::Containers(containers) => set(&mut self.pods, (name.clone(), containers), &name)?,
        }
        Ok(())
    }

    fn samples_mut(&mut self) -> &mut Samples {
        self.samples.get_or_insert_default()
    }

    fn whole(self, options: &InputOptions, overrides: &Overrides) -> Result<AdviseInput, Error> {
        let name = self.names.join(" ");
        let select = &options.select;
        let pod = self.pods.as_ref();
        let container =
            pod.map(|(file, all)| sources::choose(file, all, select.pod.as_deref(), select.container.as_deref())).transpose()?;
        let said = options.cpu_max.as_deref().map(limit::of_flag).transpose()?;
        let limit = said.or(container.as_ref().map(|container| container.limit));
        let subjects = [
            self.scenario.is_some(),
            self.trace.is_some(),
            self.requests.is_some() || self.samples.is_some() || self.table.is_some(),
        ];
        if subjects.iter().filter(|is_there| **is_there).count() > 1 {
            let hint = "Give one scenario, or one trace, or logs and counters of one container; a pod may stand beside any.";
            return Err(Error::one("command line", "these inputs are about different things", hint));
        }
        if let Some(path) = &self.trace {
            return trace(path, options, limit, overrides);
        }
        if !options.comms.is_empty() || options.arrivals != Loop::Open {
            let hint = format!("{name} is none: leave them out. `fairground list formats` says what can be read.");
            return Err(Error::one("command line", "--comm and --closed-loop are for traces", hint));
        }
        if let Some(path) = &self.scenario {
            return scenario(path, options, limit, overrides);
        }
        let counters = match (self.samples, self.table) {
            (None, None) => None,
            (Some(_), Some(_)) => {
                let message = "a table of counters and other counters are given";
                return Err(Error::one("command line", message, "Give one kind of them."));
            }
            (None, Some(table)) => Some(counters::read(&name, &table, limit, cpus(options))?),
            (Some(samples), None) => {
                let counted = sources::counted(&name, samples, select)?;
                Some(counters::of_container(&name, counted, limit, cpus(options))?)
            }
        };
        match (self.requests, counters) {
            (Some(requests), counters) => service(&name, requests, counters, limit, container, options, overrides),
            (None, Some(counters)) => of_counters(counters, container, overrides),
            (None, None) => Err(Error::one(name, "this says the limit, and nothing about the load", LOAD)),
        }
    }
}

const LOAD: &str = "Give counters (JSON of Prometheus, /metrics, cpu.stat), a log of requests or a scenario beside it.";

fn cpus(options: &InputOptions) -> u64 {
    u64::from(options.cpus.unwrap_or(CPUS))
}

/// Keeps the only one of its kind.
fn set<T>(place: &mut Option<T>, value: T, name: &str) -> Result<(), Error> {
    if place.replace(value).is_some() {
        let hint = "Give one of each kind; logs of requests and counters may be several.";
        return Err(Error::one(name, "another input of this kind was given before", hint));
    }
    Ok(())
}

/// The begin of a file, as text as far as it is one.
fn head_of(path: &Path) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = inputs::open(path)?.take(HEAD).read_to_end(&mut bytes);
    read.map_err(|cause| Error::world("read", path, cause))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn scenario(path: &Path, options: &InputOptions, limit: Option<CpuMax>, overrides: &Overrides) -> Result<AdviseInput, Error> {
    if options.workers.is_some() || options.cpus.is_some() {
        let message = "--workers and --cpus are for tables";
        return Err(Error::one("command line", message, "Write what they say into the scenario."));
    }
    let scenario = Scenario::load(path, overrides)?;
    let scenario = limit.map_or(Ok(scenario.clone()), |limit| with_limit(&scenario, limit, options))?;
    Ok(AdviseInput::Scenario(Box::new(scenario)))
}

/// The scenario with another limit of the group that is asked about. A burst stays as far as the quota allows it.
fn with_limit(scenario: &Scenario, limit: CpuMax, options: &InputOptions) -> Result<Scenario, Error> {
    let (group, _) = subject(scenario, &AdviseOptions { cgroup: options.cgroup.clone(), ..AdviseOptions::default() })?;
    let burst = scenario.group_limit(&group).map_or(Ns::ZERO, |now| now.burst);
    let burst = limit.quota.map_or(burst, |quota| burst.min(quota));
    Ok(scenario.with_group_limit(&group, CpuMax { burst, ..limit }))
}

fn trace(path: &Path, options: &InputOptions, limit: Option<CpuMax>, overrides: &Overrides) -> Result<AdviseInput, Error> {
    if options.workers.is_some() || options.cpus.is_some() {
        let message = "--workers and --cpus are not for traces";
        return Err(Error::one("command line", message, "A trace has its threads; say on how many CPUs with --machine smp-N."));
    }
    let trace = TraceOptions { comms: options.comms.clone(), cgroup: options.cgroup.clone(), limit, arrivals: options.arrivals };
    Ok(AdviseInput::Trace(Box::new(TraceCase::open(path, &trace, overrides)?)))
}

/// The service of a log; counters beside it tell its limit, and the CPU time of a request.
fn service(
    name: &str,
    requests: Requests,
    counters: Option<Counters>,
    limit: Option<CpuMax>,
    container: Option<Container>,
    options: &InputOptions,
    overrides: &Overrides,
) -> Result<AdviseInput, Error> {
    let Some(workers) = options.workers else {
        let message = "a log does not say how many threads serve the requests";
        return Err(Error::one("command line", message, "Say it with --workers N."));
    };
    let mut notes = Vec::new();
    let per_request = counters.as_ref().map(|counters| {
        // ns per s by requests per 1000 s.
        let ns = u128::from(counters.usage_ns_per_s()) * 1_000 / u128::from(requests.per_ks().max(1));
        notes.extend(counters.notes.clone());
        notes.push(
            "CPU time of a request: what the container used in the mean, by how many requests the log has in that time"
                .to_string(),
        );
        Ns(u64::try_from(ns).unwrap_or(u64::MAX))
    });
    let log = LogOptions {
        workers,
        cpus: options.cpus.unwrap_or(CPUS),
        limit: limit.or(counters.and_then(|counters| counters.limit)).unwrap_or(CpuMax::UNLIMITED),
        weight: container.as_ref().and_then(|container| container.weight),
        cpu_per_request: options.cpu_per_request.as_deref().map(time_of_request).transpose()?.or(per_request),
    };
    notes.extend(container.map(|container| said_of(&container)));
    let mut scenario = log::scenario(name, requests, &log, overrides)?;
    notes.append(&mut scenario.notes);
    scenario.notes = notes;
    Ok(AdviseInput::Scenario(Box::new(scenario)))
}

fn time_of_request(text: &str) -> Result<Ns, Error> {
    let wrong = |message: String| Error::one("--cpu-per-request", message, "Write a time with its unit, such as 3ms or 250us.");
    let time = parse_ns(text).map_err(|cause| wrong(cause.to_string()))?;
    if time == Ns::ZERO { Err(wrong("a request without any CPU time needs no limit".to_string())) } else { Ok(time) }
}

fn of_counters(mut counters: Counters, container: Option<Container>, overrides: &Overrides) -> Result<AdviseInput, Error> {
    let seed_only = Overrides { seed: overrides.seed, ..Overrides::default() };
    if *overrides != seed_only {
        let message = "of what changes a scenario, counters take --seed only";
        return Err(Error::one("command line", message, "Leave the others out: a fit to counters runs no kernel."));
    }
    counters.notes.extend(container.map(|container| said_of(&container)));
    Ok(AdviseInput::Counters(Box::new(counters)))
}

/// What a pod says of its container.
fn said_of(container: &Container) -> String {
    let weight = container.weight.map_or("no request".to_string(), |weight| format!("a request that makes cpu.weight {weight}"));
    format!("the pod gives container {} cpu.max \"{}\", and {weight}", printable(&container.name), container.limit)
}
