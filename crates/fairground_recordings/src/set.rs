//! A folder of a recorded set: `workload.txt`, `summary.json`, and `system/` (here or one folder up).
//! It is run exactly as recorded: machine, kernel, features and tunables come from `system/`. Where the
//! record lies beside them, it tells what the workload does not: the phase of the tick and what kernel threads did.

use crate::clock::{Record, last_group};
use crate::figures::{Check, ExpectRow, FigureMap, Figures};
use crate::system::System;
use fairground_machine::CpuSpec;
use fairground_machine::machine::CAPACITY_SCALE;
use fairground_metrics::Window;
use fairground_model::TaskSet;
use fairground_scenario::metrics::QuotaRow;
use fairground_scenario::{
    Error, Overrides, Parts, Scenario, Source, Workload, inputs,
    text_file::read_text,
    trace_file::{self, TraceFile},
};
use fairground_sched::seam::PeriodPhase;
use fairground_stdx::{Instant, Ns, TaskId};
use serde_json::Value;
use std::path::Path;

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
        inputs::note(folder);
        let name = file.display().to_string();
        let described = overrides.machine.is_some() && overrides.profile.is_some();
        let system = if described { System::find(folder).ok() } else { Some(System::find(folder)?) };
        let mut notes = Vec::new();
        let recorded = system.as_ref().filter(|_| overrides.machine.is_none());
        let machine = recorded.map(|system| system.machine(overrides, &mut notes)).transpose()?;
        let mut parts = Parts::new(Source { name: name.clone(), text: text.clone() }, machine, overrides)?;
        let tick = parts.machine.as_ref().map_or(DEFAULT_TICK, |machine| machine.tick);
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
                Record { file, probes: &probes, start, tick, period_phase }.workload(&text)
            }
            None => Workload::recorded(&text),
        };
        let workload = workload.map_err(|wrong| Error::input(name, text, wrong))?;
        let window = workload.window.unwrap_or_default();
        parts.title = Some(set_name(folder));
        parts.duration = Some(LONGEST);
        parts.profile = if overrides.profile.is_none() { recorded? } else { None };
        parts.workloads = vec![workload];
        parts.notes.splice(0..0, notes);
        let scenario = parts.build()?;
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
    /// The figures of a run that ended at `end` with these quotas, and how they stand to the recorded limits.
    pub fn check(&self, figures: Figures, end: Instant, quotas: &[QuotaRow]) -> (FigureMap, Check) {
        let mut figures = figures.finish(end);
        figures.extend(quota_figures(quotas).map(|(name, value)| (name, value.into())));
        let check = Check::new(&self.expect, &figures);
        (figures, check)
    }
}

/// How often the period timer fires for nobody while a set is recorded: the shell sets the limits some time before the tasks
/// begin, and looks at cpu.stat some time after they have ended. Each time the timer marks itself idle at one firing, and stops
/// at the next.
const FIRES_FOR_NOBODY: u64 = 4;

/// The figures of a recorded set that are read from the files of its groups.
fn quota_figures(rows: &[QuotaRow]) -> impl Iterator<Item = (String, u64)> + '_ {
    rows.iter().flat_map(|QuotaRow { group, stats, used, .. }| {
        let name = group.trim_start_matches('/');
        [
            ("nr_periods", Some(stats.nr_periods + FIRES_FOR_NOBODY)),
            ("nr_throttled", Some(stats.nr_throttled)),
            ("throttled_usec", Some(stats.throttled_time.0 / 1000)),
            ("usage_usec", used.map(|used| used.0 / 1000)),
        ]
        .into_iter()
        .filter_map(move |(figure, value)| Some((format!("cgroups.{name}.{figure}"), value?)))
    })
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
