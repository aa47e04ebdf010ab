//! A trace as what is asked about: threads that were recorded under one limit are run under others.

use super::pattern::matches;
use fairground::replay::{machine_of, profile_of};
use fairground_model::{CpuMax, TaskInfo, TraceEvent};
use fairground_recordings::System;
use fairground_scenario::{Error, Overrides, Scenario, quoted, trace_file::TraceFile};
use fairground_stdx::{Id, IndexVec, Ns, TaskId};
use fairground_workload::replay::{Loop, WhatIf, what_if};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a trace does not say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct TraceOptions {
    /// Patterns of the names of threads.
    pub(super) comms: Vec<String>,
    /// The path of the group, for what is to be written where.
    pub(super) cgroup: Option<String>,
    /// The limit under which it was recorded.
    pub(super) limit: Option<CpuMax>,
    /// What becomes of arrivals.
    pub(super) arrivals: Loop,
}

/// Threads of a trace, ready to run under any limit.
#[derive(Clone, Debug)]
pub struct TraceCase {
    /// The threads in a group of their own, on the machine and kernel of the trace.
    pub scenario: Scenario,
    /// The path of that group.
    pub(super) group: String,
    /// What was read from the trace.
    pub facts: TraceFacts,
}

/// What a trace says of the threads that are looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceFacts {
    /// How many threads.
    pub threads: usize,
    /// Response times as they were recorded, in order of size.
    pub recorded: Vec<Ns>,
    /// How many a whole run has.
    pub pieces: u64,
    /// Wake-ups from outside the threads, and by one of them.
    pub outside: u64,
    /// See above.
    pub inside: u64,
    /// What becomes of those from outside.
    pub arrivals: Loop,
    /// Pieces of work whose arrival is not in the trace.
    pub overdue: u64,
    /// Whether it is said under which limit it was recorded.
    pub knows_limit: bool,
}

impl TraceFacts {
    /// Whether arrivals depend on when answers come.
    pub(crate) fn is_open(&self) -> bool {
        self.outside > 0 && self.arrivals == Loop::Open
    }
    /// A percentile of what was recorded.
    pub fn percentile(&self, permille: u64) -> Option<Ns> {
        let rank = (self.recorded.len() as u64 * permille).div_ceil(1000).max(1);
        self.recorded.get(usize::try_from(rank).ok()? - 1).copied()
    }
    /// Sentences on what the figures are of.
    pub fn lines(&self) -> Vec<String> {
        let kind = match (self.outside, self.arrivals) {
            (0, _) => "closed-loop: all wake-ups are made by these threads themselves".to_string(),
            (_, Loop::Open) => format!(
                "open-loop: {} wake-ups from outside come at their recorded times, {} are made by these threads",
                self.outside, self.inside
            ),
            (_, Loop::Closed) => format!(
                "closed-loop: {} wake-ups from outside come as long after the thread slept as recorded, {} are made by these threads",
                self.outside, self.inside
            ),
        };
        vec![
            "a time is that of a thread from its wake-up to its next sleep, in the trace and in all runs".to_string(),
            kind,
            "waiting for a CPU or for quota is no demand and was dropped; run time and sleeps were kept".to_string(),
        ]
    }
}

/// How much longer than the recording a run may be: what is not done then is late.
const AFTER: Ns = Ns::from_secs(1);

impl TraceCase {
    pub(super) fn open(path: &Path, options: &TraceOptions, overrides: &Overrides) -> Result<TraceCase, Error> {
        let file = TraceFile::load(path)?;
        let members = members(&file, options)?;
        let mut notes = file.notes();
        let system = System::find(file.path.parent().unwrap_or(Path::new(""))).ok();
        let machine = match (&overrides.machine, &system) {
            (Some(_), _) => None,
            (None, Some(system)) => Some(system.machine(overrides, &mut notes)?),
            (None, None) => Some(machine_of(&file, &mut notes)?),
        };
        let profile = if overrides.profile.is_some() { None } else { Some(profile_of(system.as_ref(), &file, &mut notes)?) };
        let group = options.cgroup.clone().unwrap_or_else(|| GROUP.to_string());
        let mut scenario = place(&file, &group, options, overrides)?;
        if let Some(machine) = overrides.machine(machine, &mut notes)? {
            scenario = scenario.with_machine(machine);
        }
        if let Some(profile) = overrides.profile(profile)? {
            scenario = scenario.with_profile(profile);
        }
        let made = what_if(&file.trace.events, &file.trace.tasks, &members, scenario.machine.cpus.len(), options.arrivals);
        if made.pieces == 0 {
            return Err(nothing_done(&file, &made));
        }
        let facts = facts(&made, options);
        notes.extend(odd(&file, &made, &facts));
        let canonical =
            format!("what_if = \"{:032x}\"\ncomm = {:?}\narrivals = \"{:?}\"\n", file.digest, options.comms, options.arrivals);
        scenario.duration = Ns(made.length.0.saturating_add(AFTER.0));
        scenario = scenario.with_tasks(0, made.tasks, canonical);
        scenario.notes = notes;
        Ok(TraceCase { scenario, group, facts })
    }
}

/// The group of the threads if nobody names it.
const GROUP: &str = "/traced";

/// A scenario with the group and nobody in it but a task that makes place for the threads.
fn place(file: &TraceFile, group: &str, options: &TraceOptions, overrides: &Overrides) -> Result<Scenario, Error> {
    let toml = format!(
        "title = {}\nduration = \"1s\"\n[machine]\npreset = \"smp-1\"\n[profile]\nkernel = \"6.12\"\n\
         [[group]]\npath = {}\n\"cpu.max\" = {}\n[[workload]]\ngroup = {}\ntasks = [{{ name = \"x\", hog = true }}]\n",
        quoted(&format!("threads of {}", file.name)),
        quoted(group),
        quoted(&options.limit.unwrap_or(CpuMax::UNLIMITED).to_string()),
        quoted(group),
    );
    Scenario::parse(&file.path.display().to_string(), &toml, Path::new(""), overrides)
}

/// Which threads are looked at: those that are named, else those of the group, where the trace tells groups.
fn members(file: &TraceFile, options: &TraceOptions) -> Result<IndexVec<TaskId, bool>, Error> {
    let tasks = &file.trace.tasks;
    let seen = || format!("Threads with the most run time: {}.", busiest(file).join(", "));
    if options.comms.is_empty() && !file.trace.groups.is_empty() {
        return members_of_group(file, options.cgroup.as_deref());
    }
    if options.comms.is_empty() {
        let message = "this trace does not tell which threads are in which cgroup";
        let hint = format!("Name the container's threads: --comm 'java*' --comm worker. {}", seen());
        return Err(Error::one(file.name.clone(), message, hint));
    }
    let is_idle = |info: &TaskInfo| info.name.starts_with("swapper/");
    for pattern in &options.comms {
        if !tasks.iter().any(|info| matches(pattern, &info.name) && !is_idle(info)) {
            let message = format!("no thread of {} is called `{pattern}`", file.name);
            return Err(Error::one("--comm", message, format!("* stands for any letters, ? for one. {}", seen())));
        }
    }
    let is_named = |info: &TaskInfo| options.comms.iter().any(|pattern| matches(pattern, &info.name)) && !is_idle(info);
    Ok(tasks.iter().map(is_named).collect())
}

/// The threads that were in a group, or one below it, last.
fn members_of_group(file: &TraceFile, wanted: Option<&str>) -> Result<IndexVec<TaskId, bool>, Error> {
    let groups: BTreeMap<TaskId, &str> = file.trace.groups.iter().map(|of| (of.task, of.path.as_str())).collect();
    let is_in = |path: &str| {
        let rest = path.strip_prefix(wanted.unwrap_or_default().trim_end_matches('/'));
        wanted.is_some() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if !groups.values().any(|path| is_in(path)) {
        let message = match wanted {
            Some(wanted) => format!("no thread of {} is told to be in group {wanted}", file.name),
            None => format!("neither threads nor a group of {} are named", file.name),
        };
        let told: BTreeSet<&str> = groups.into_values().collect();
        let told: Vec<&str> = told.into_iter().take(10).collect();
        return Err(Error::one(
            "--cgroup",
            message,
            format!("The trace tells threads of {}: name one, or --comm.", told.join(", ")),
        ));
    }
    Ok((0..file.trace.tasks.len()).map(|row| groups.get(&TaskId::from_index(row)).is_some_and(|path| is_in(path))).collect())
}

/// Names of threads by run time, at most ten.
fn busiest(file: &TraceFile) -> Vec<String> {
    let mut ran: IndexVec<TaskId, u64> = IndexVec::filled(0, file.trace.tasks.len());
    let mut since: BTreeMap<u32, (TaskId, u64)> = BTreeMap::new();
    for (at, cpu, event) in &file.trace.events {
        if let TraceEvent::SchedSwitch { next, .. } = event {
            let ended = match next {
                Some(next) => since.insert(cpu.get(), (*next, at.ns())),
                None => since.remove(&cpu.get()),
            };
            if let Some((task, from)) = ended.filter(|row| row.0.index() < ran.len()) {
                ran[task] += at.ns().saturating_sub(from);
            }
        }
    }
    let mut rows: Vec<(u64, &str)> =
        ran.iter().zip(file.trace.tasks.iter()).map(|(ran, info)| (*ran, info.name.as_str())).collect();
    rows.retain(|row| !row.1.starts_with("swapper/"));
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let mut names: Vec<String> = Vec::new();
    for (_, name) in rows {
        if names.len() < 10 && !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    }
    names
}

fn nothing_done(file: &TraceFile, made: &WhatIf) -> Error {
    let message = match made.endless.as_slice() {
        [] => "the threads that were named do nothing in this trace".to_string(),
        names => format!("no thread that was named is woken and sleeps again in this trace: {} never sleep", names.len()),
    };
    let hint = "The time from a wake-up to the next sleep is looked at. What a thread that never sleeps would do with more CPU time is not \
                in a trace: describe it as a scenario.";
    Error::one(file.name.clone(), message, hint)
}

fn facts(made: &WhatIf, options: &TraceOptions) -> TraceFacts {
    let mut recorded = made.recorded.clone();
    recorded.sort_unstable();
    TraceFacts {
        threads: made.tasks.tasks.len(),
        recorded,
        pieces: made.pieces,
        outside: made.outside,
        inside: made.inside,
        arrivals: options.arrivals,
        overdue: made.overdue,
        knows_limit: options.limit.is_some(),
    }
}

/// What is to be known of a trace before its figures are believed.
fn odd(file: &TraceFile, made: &WhatIf, facts: &TraceFacts) -> Vec<String> {
    let mut notes = Vec::new();
    if !facts.knows_limit {
        notes.push(
            "under which limit it was recorded is not said (--cpu-max): waits for quota cannot be told from waits for a CPU in what was \
             recorded; both are dropped from the demand alike"
                .to_string(),
        );
    }
    if facts.overdue > 0 {
        notes.push(format!(
            "{} of {} pieces of work were due before their thread was done with the one before, and since when is not in the trace: they are \
             taken to go on at the usual distance of the thread's wake-ups",
            facts.overdue, facts.pieces
        ));
    }
    if !made.endless.is_empty() {
        notes.push(format!(
            "Warning: {} threads never sleep ({}): they have no response time, and their demand is at least what they got",
            made.endless.len(),
            made.endless.iter().take(5).cloned().collect::<Vec<_>>().join(", ")
        ));
    }
    if file.trace.stats.lost_events > 0 {
        notes.push("Warning: where events were lost a thread seems to run, wait or sleep longer than it did".to_string());
    }
    notes.extend(made.notes.iter().cloned());
    notes
}
