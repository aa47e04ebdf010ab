//! A folder of a recorded set: `workload.txt`, `summary.json`, and `system/` (here or one folder up).
//! It is run exactly as recorded: machine, kernel, features and tunables come from `system/`. Where the
//! record lies beside them, it tells what the workload does not: the phase of the tick and what kernel threads did.

use crate::error::Error;
use crate::load_tracking;
use crate::quota_table::quota_figures;
use crate::recorded_capacity;
use crate::recorded_clock::{Record, last_group};
use crate::recorded_kernel::version_of;
use crate::run::RunOutcome;
use crate::scenario::{Overrides, Parts, Scenario, Source, Workload};
use crate::text_file::read_text;
use crate::trace_file::{self, TraceFile};
use fairground_machine::machine::CAPACITY_SCALE;
use fairground_machine::{CpuSpec, Machine, recorded};
use fairground_metrics::{Check, ExpectRow, Figure, FigureValue, Figures, Unit, Window};
use fairground_model::TaskSet;
use fairground_sched::features::Feat;
use fairground_sched::profile::Profile;
use fairground_sched::seam::PeriodPhase;
use fairground_sched::version::KernelVersion;
use fairground_stdx::{Ns, TaskId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The run ends when all tasks have ended; this is only the limit for tasks that starve.
const LONGEST: Ns = Ns::from_secs(600);
/// The tick of recorded machines: HZ 250.
const DEFAULT_TICK: Ns = Ns::from_ms(4);
/// Figures whose name begins so are made of samples of load tracking.
const LOAD_FIGURES: &str = "pelt.";

/// One experiment of a recorded set.
#[derive(Clone, Debug)]
pub struct RecordedSet {
    /// What is run.
    pub scenario: Scenario,
    /// The time over which figures are taken.
    pub window: Window,
    /// What the recorded kernel did, with limits.
    pub expect: Vec<ExpectRow>,
}

impl RecordedSet {
    /// Whether a path is such a folder.
    pub fn is_set(path: &Path) -> bool {
        path.is_dir() && path.join("workload.txt").is_file()
    }
    /// Reads a folder; flags change the machine or the profile.
    pub fn open(folder: &Path, overrides: &Overrides) -> Result<RecordedSet, Error> {
        let file = folder.join("workload.txt");
        let text = read_text(&file)?;
        let name = file.display().to_string();
        let described = overrides.machine.is_some() && overrides.profile.is_some();
        let system = if described { System::find(folder).ok() } else { Some(System::find(folder)?) };
        let mut notes = Vec::new();
        let machine = system.as_ref().map(|system| system.machine(&mut notes)).transpose()?;
        let tick = overrides.machine(machine.clone(), &mut Vec::new())?.map_or(DEFAULT_TICK, |machine| machine.tick);
        let record = TraceFile::beside(folder)?;
        let started = record.as_ref().and_then(|record| Some((record, record.trace.stats.window?.0)));
        let mut of_kernel = Vec::new();
        let recorded = system.as_ref().map(|system| system.profile(&mut of_kernel)).transpose();
        if overrides.profile.is_none() {
            notes.append(&mut of_kernel);
        }
        let workload = match started {
            Some((file, start)) => {
                let probes = trace_file::open(&file.path)?.quota_probes();
                let period_phase =
                    recorded.as_ref().ok().and_then(Option::as_ref).map_or(PeriodPhase::Random, |kernel| kernel.period_phase);
                Workload::recorded_with(&text, &Record { file, probes: &probes, start, tick, period_phase })
            }
            None => Workload::recorded(&text),
        };
        let workload = workload.map_err(|wrong| Error::input(name.clone(), text.clone(), wrong))?;
        let window = workload.window.unwrap_or_default();
        let parts = Parts {
            title: Some(set_name(folder)),
            duration: Some(LONGEST),
            machine: machine.filter(|_| overrides.machine.is_none()),
            profile: if overrides.profile.is_none() { recorded? } else { None },
            workloads: vec![workload],
            notes,
            source: Source { name, text },
            ..Parts::default()
        };
        let scenario = parts.build(overrides)?;
        let window = Window { start: window.0, end: window.1 };
        Ok(RecordedSet { scenario, window, expect: read_expect(folder)? })
    }
    /// The sink that takes the figures of this experiment.
    pub fn figures(&self) -> Figures {
        let tasks = self.scenario.tasks();
        let measured = tasks.tasks.iter_enumerated().filter(|row| row.1.measured).map(|row| row.0);
        let figures = Figures::new(self.window, measured).with_markers(&tasks.markers).with_groups(members(&tasks));
        if self.expect.iter().any(|row| row.figure.starts_with(LOAD_FIGURES)) {
            let speed = |cpu: &CpuSpec| cpu.capacity * cpu.freq_capacity / CAPACITY_SCALE;
            figures.with_load(self.scenario.machine.cpus.iter().map(speed))
        } else {
            figures
        }
    }
    /// The figures of a run, and how they stand to the recorded limits.
    pub fn check(&self, figures: Figures, outcome: &RunOutcome) -> (BTreeMap<String, Figure>, Check) {
        let mut figures = figures.finish(outcome.end());
        let count = |value: u64| Figure { value: FigureValue::Number(value.into()), unit: Unit::Count };
        figures.extend(quota_figures(&outcome.quotas).map(|(name, value)| (name, count(value))));
        let check = Check::new(&self.expect, &figures);
        (figures, check)
    }
}

/// The tasks that are in a group, with the group's path: that to which a task goes last, or in which it starts.
fn members(tasks: &TaskSet) -> Vec<(TaskId, String)> {
    let path = |task: TaskId| Some(tasks.groups[last_group(tasks, task)?].name.trim_start_matches('/').to_string());
    tasks.tasks.ids().filter_map(|task| Some((task, path(task)?))).collect()
}

/// The name of a set's folder and of the family above it: `k5.10-hogs-1cpu/a_eq2_1`.
fn set_name(folder: &Path) -> String {
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let last: Vec<String> = full.iter().rev().take(2).map(|part| part.to_string_lossy().into_owned()).collect();
    last.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// The folder `system/` of a set, and the experiment's own.
pub(crate) struct System {
    system: PathBuf,
    experiment: PathBuf,
}

impl System {
    pub(crate) fn find(folder: &Path) -> Result<System, Error> {
        let full = folder.canonicalize().map_err(|cause| Error::world("read", folder, cause))?;
        let places = [Some(full.join("system")), full.parent().map(|parent| parent.join("system"))];
        let found = places.into_iter().flatten().find(|place| place.is_dir());
        found.map(|system| System { system, experiment: full }).ok_or_else(|| {
            let message = "there is no folder `system` in it or beside it";
            Error::one(
                folder.display().to_string(),
                message,
                "Give --machine and --profile, or add `system/` with topology.txt and uname.txt.",
            )
        })
    }
    fn text(&self, name: &str) -> Result<(String, String), Error> {
        let path = self.system.join(name);
        Ok((path.display().to_string(), read_text(&path)?))
    }
    /// Reads a file that not every set has.
    fn optional(&self, name: &str) -> Result<String, Error> {
        if self.system.join(name).is_file() { Ok(self.text(name)?.1) } else { Ok(String::new()) }
    }
    pub(crate) fn machine(&self, notes: &mut Vec<String>) -> Result<Machine, Error> {
        let (name, text) = self.text("topology.txt")?;
        let imported = recorded::parse_topology(&text).map_err(|wrong| Error::input(name, text.clone(), wrong))?;
        notes.extend(imported.notes);
        let mut machine = imported.machine;
        let is_asymmetric = recorded::has_asymmetric_capacity(&self.optional("debug_sched.txt")?);
        if is_asymmetric && machine.cpus.iter().all(|cpu| cpu.capacity == CAPACITY_SCALE) {
            let family = self
                .experiment
                .parent()
                .and_then(Path::file_name)
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let rows = load_tracking::read(&self.experiment)?.unwrap_or_default();
            notes.push(recorded_capacity::find(&mut machine, &family, &rows));
        }
        Ok(machine)
    }
    /// The kernel's version and the file that tells it.
    fn kernel(&self) -> Result<(String, String), Error> {
        let (name, text) = self.text("uname.txt")?;
        match kernel_version(&text) {
            Some(version) => Ok((name, version)),
            None => {
                let message = format!("no kernel version in `{}`", text.trim());
                Err(Error::one(name, message, "The third word of uname -a is the version."))
            }
        }
    }
    pub(crate) fn version(&self) -> Result<KernelVersion, Error> {
        let (name, version) = self.kernel()?;
        KernelVersion::parse(&version)
            .ok_or_else(|| Error::one(name, format!("`{version}` is no kernel version"), "As in v6.12."))
    }
    pub(crate) fn profile(&self, notes: &mut Vec<String>) -> Result<Profile, Error> {
        let cpus = u32::try_from(self.machine(&mut Vec::new())?.cpus.len()).unwrap_or(u32::MAX);
        let (name, version) = self.kernel()?;
        let wrong = |message: String, hint: String| Error::one(name.clone(), message, hint);
        let mut profile = Profile::parse(&version).map_err(|error| wrong(error.message, error.hint))?;
        let debug = self.optional("debug_sched.txt")?;
        profile = with_features(profile, &debug, notes);
        Ok(with_tunables(profile, cpus, &[debug, self.optional("sysctl.txt")?], notes))
    }
}

/// `v5.10` from `Linux (none) 5.10.0-32-cloud-amd64 #1 …`.
fn kernel_version(uname: &str) -> Option<String> {
    let mut words = uname.split_whitespace().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    words.find_map(version_of).map(|version| version.to_string())
}

/// The features as debugfs shows them; those that the profile does not know are noted.
fn with_features(mut profile: Profile, debug: &str, notes: &mut Vec<String>) -> Profile {
    let Some(line) = debug.lines().map(|line| line.trim_start_matches("./features:")).find(|line| is_feature_line(line)) else {
        return profile;
    };
    let mut unknown = Vec::new();
    for word in line.split_whitespace() {
        match profile.clone().with_feature(word) {
            Ok(changed) => profile = changed,
            Err(_) => unknown.push(word),
        }
    }
    if !unknown.is_empty() {
        notes.push(format!("features that {} does not have are left out: {}", profile.name, unknown.join(" ")));
    }
    profile
}

fn is_feature_line(line: &str) -> bool {
    let known = |word: &str| Feat::by_name(word.strip_prefix("NO_").unwrap_or(word)).is_some();
    line.split_whitespace().next().is_some_and(known)
}

/// Tunables of `debug/sched` (`./latency_ns: 6000000`) and of sysctl (`/proc/sys/kernel/sched_latency_ns: …`).
/// The values are those that held on the machine, so nothing is scaled again; those that this kernel has on so
/// many CPUs anyway change nothing. What has no model is left out.
fn with_tunables(mut profile: Profile, cpus: u32, texts: &[String], notes: &mut Vec<String>) -> Profile {
    let mut left_out = Vec::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Some((path, value)) = line.split_once(':') else { continue };
        let name = path.rsplit('/').next().unwrap_or(path).trim();
        let is_tunable = name.ends_with("_ns") || name.ends_with("child_runs_first");
        if !is_tunable || value.trim().is_empty() {
            continue;
        }
        match profile.clone().with_tunable(name, value.trim()) {
            Ok(changed) if changed.tunables.at(cpus) == profile.tunables.at(cpus) => {}
            Ok(changed) => profile = changed,
            Err(_) => left_out.push(name.to_string()),
        }
    }
    if !left_out.is_empty() {
        notes.push(format!("tunables that have no model are left out: {}", left_out.join(" ")));
    }
    profile
}

/// The rows of `expect` in summary.json; a set without that file has none.
fn read_expect(folder: &Path) -> Result<Vec<ExpectRow>, Error> {
    let path = folder.join("summary.json");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = read_text(&path)?;
    let name = path.display().to_string();
    let summary: Value = serde_json::from_str(&text).map_err(|error| {
        Error::one(name, format!("no valid JSON: {error}"), "It is written by the recorder; take the original file.")
    })?;
    let rows = summary["expect"].as_array().map(Vec::as_slice).unwrap_or_default();
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let row = |row: &Value| ExpectRow {
        figure: plain(&row["figure"]),
        value: plain(&row["value"]),
        lo: plain(&row["lo"]),
        hi: plain(&row["hi"]),
    };
    Ok(rows.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_features_and_tunables_are_read() {
        assert_eq!(kernel_version("Linux (none) 5.10.0-32-cloud-amd64 #1 SMP Debian 5.10.223-1").as_deref(), Some("v5.10"));
        assert_eq!(kernel_version("Linux h 6.12.107+deb13 x"), Some("v6.12".to_string()));
        assert_eq!(kernel_version("Linux"), None);
        let base = Profile::parse("v6.1").unwrap();
        let mut notes = Vec::new();
        let profile =
            with_features(base.clone(), "./latency_ns: 3\n./features: NO_START_DEBIT NEXT_BUDDY NO_SUCH_THING \n", &mut notes);
        assert_eq!(base.diff(&profile).len(), 2);
        assert!(notes[0].contains("NO_SUCH_THING"));
        let texts = ["./latency_ns: 24000000 \n./numa_balancing/scan_delay_ms: 1000\n".to_string()];
        let tuned = with_tunables(base.clone(), 1, &texts, &mut Vec::new());
        assert_eq!(base.diff(&tuned)[0].to.value, "24000000");
        // That is what the kernel has on eight CPUs without being told.
        assert_eq!(with_tunables(base.clone(), 8, &texts, &mut Vec::new()), base);
    }
}
