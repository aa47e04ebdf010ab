//! `timehist` and `latency`: what perf computes under these names, of a recording or of a simulated run.

use crate::input::RunInput;
use crate::run::{self, RunOptions};
use fairground_metrics::timehist::{LatencyTable, SchedLatency, TimeHist, TimeHistRow};
use fairground_model::{Sink, TaskInfo};
use fairground_recordings::RecordedSet;
use fairground_report::timehist::latency_table;
use fairground_report::{Document, Input, Table};
use fairground_scenario::{Control, Error, Overrides, trace_file};
use fairground_stdx::{CpuMask, Instant};
use serde_json::Value;
use std::path::Path;

pub use fairground_metrics::timehist::{ReadyMark, Summary};
pub use fairground_report::timehist::{
    LatencyOrder, summary_table as timehist_summary, timehist_heading, timehist_json as timehist_value, timehist_line,
};

/// Where records come from.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// What changes a scenario; a recording takes no changes.
    pub overrides: Overrides,
    /// Simulate the folder of a recorded set instead of reading its record.
    pub simulate: bool,
}

/// What was read or simulated.
#[derive(Clone, Debug)]
pub struct Origin {
    input: Input,
    seed: Option<u64>,
    digest: Option<u128>,
    /// How good the recording is, if it is one.
    quality: Option<Value>,
    /// Notes on the recording or the scenario.
    pub notes: Vec<String>,
    /// Whether it was interrupted.
    pub partial: bool,
    /// When it ended.
    pub end: Instant,
}

impl Origin {
    /// A document of a command, with what is known of the input.
    pub fn document(&self, command: &str) -> Document {
        let mut document = Document::new(command, std::slice::from_ref(&self.input), self.seed, self.digest);
        document.set("partial", self.partial).set("notes", self.notes.clone());
        if let Some(quality) = &self.quality {
            document.set("recording", quality.clone());
        }
        document
    }
}

/// Hands the records of `path` to a sink: those of a trace, or of a run of the scenario that it is.
pub fn feed(path: &Path, source: &Source, sink: &mut dyn Sink, control: Control<'_>) -> Result<Origin, Error> {
    if is_scenario(path, source) { simulate(path, &source.overrides, sink, control) } else { read(path, source, sink) }
}

/// Whether a path is run and not read: a folder is a recording if it holds one; a `.json` file may be our own trace or rt-app's, which its content tells.
pub fn is_scenario(path: &Path, source: &Source) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        _ if path.is_dir() => source.simulate || (!trace_file::is_in_folder(path) && RecordedSet::is_set(path)),
        "toml" => true,
        "json" => !trace_file::is_trace(path),
        _ => false,
    }
}

fn simulate(path: &Path, overrides: &Overrides, sink: &mut dyn Sink, control: Control<'_>) -> Result<Origin, Error> {
    let input = RunInput::open(path, overrides)?;
    let scenario = input.scenario();
    let outcome = run::run(scenario, &RunOptions::default(), sink, control)?;
    Ok(Origin {
        input: Input::new(&scenario.name(), scenario.digest()),
        seed: Some(outcome.seed),
        digest: Some(outcome.digest),
        quality: None,
        notes: scenario.notes.clone(),
        partial: outcome.is_partial(),
        end: outcome.end(),
    })
}

fn read(path: &Path, source: &Source, sink: &mut dyn Sink) -> Result<Origin, Error> {
    if source.simulate || source.overrides != Overrides::default() {
        let message = format!("`{}` is a recording: nothing is simulated that flags could change", path.display());
        let hint = "Leave out the flags of a simulation, or use `fairground replay` first.";
        return Err(Error::one("command line", message, hint));
    }
    let trace = trace_file::open(path)?;
    let input = Input::new(&trace.name, trace.digest);
    let stats = trace.read_into(sink)?;
    let mut notes = stats.headed_warnings();
    notes.push(format!("{} events read as {}, {} not used", stats.events, stats.format, stats.not_used));
    Ok(Origin { input, seed: None, digest: None, quality: Some(stats.quality_json()), notes, partial: false, end: stats.last_at })
}

/// Which rows of timehist are shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Names or pids of tasks; none = all.
    pub tasks: Vec<String>,
    /// CPUs; `None` = all.
    pub cpus: Option<CpuMask>,
}

impl Filter {
    /// Tasks by name or pid, CPUs as a list such as `0-3,8`.
    pub fn new(tasks: Vec<String>, cpus: Option<&str>) -> Result<Filter, Error> {
        let read = |list: &str| {
            let hint = format!("Write it as 0-3,8, with numbers below {}.", CpuMask::CAPACITY);
            CpuMask::parse_list(list).ok_or_else(|| Error::one("command line", format!("`{list}` is no list of CPUs"), hint))
        };
        Ok(Filter { tasks, cpus: cpus.map(read).transpose()? })
    }
    fn shows(&self, row: &TimeHistRow, info: &TaskInfo) -> bool {
        let named = |task: &String| *task == info.name || task.parse() == Ok(info.pid);
        (self.tasks.is_empty() || self.tasks.iter().any(named)) && self.cpus.is_none_or(|cpus| cpus.contains(row.cpu))
    }
}

/// Rows of timehist, each handed to `each` as it is made.
pub fn timehist(
    path: &Path,
    source: &Source,
    mark: ReadyMark,
    filter: &Filter,
    control: Control<'_>,
    mut each: impl FnMut(&TimeHistRow, &TaskInfo),
) -> Result<Origin, Error> {
    let mut sink = TimeHist::new(mark, |row: &TimeHistRow, info: &TaskInfo| {
        if filter.shows(row, info) {
            each(row, info);
        }
    });
    feed(path, source, &mut sink, control)
}

/// The document of `timehist --json`: all rows, or with `--summary` their sums by task.
pub fn timehist_document(origin: &Origin, rows: Vec<Value>, summary: Option<&Summary>) -> Document {
    let mut document = origin.document("timehist");
    match summary {
        Some(summary) => document.set_tables(&[timehist_summary(summary)]),
        None => document.set("rows", rows),
    };
    document
}

/// Scheduling latencies.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Where they come from.
    pub origin: Origin,
    table: LatencyTable,
}

impl Latency {
    /// The latencies of a trace or a scenario, by command or by task.
    pub fn of(path: &Path, source: &Source, mark: ReadyMark, by_task: bool, control: Control<'_>) -> Result<Latency, Error> {
        let mut sink = SchedLatency::new(mark);
        let origin = feed(path, source, &mut sink, control)?;
        Ok(Latency { origin, table: sink.finish(by_task) })
    }
    /// The table in that order.
    pub fn table(&self, order: LatencyOrder) -> Table {
        latency_table(&self.table, order, self.origin.end)
    }
    /// The document of `latency --json`.
    pub fn document(&self, order: LatencyOrder) -> Document {
        let mut document = self.origin.document("latency");
        document.set_tables(&[self.table(order)]);
        document
    }
}
