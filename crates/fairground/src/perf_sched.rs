//! `timehist` and `latency`: what perf computes under these names, of a recording or of a simulated run.

use crate::input::RunInput;
use crate::interval::Extent;
use crate::run::{self, RunOptions, RunOutcome};
use fairground_metrics::Interval;
use fairground_metrics::timehist::{Contention, SchedLatency, TimeHist};
use fairground_model::{Sink, TaskInfo, cgroup};
use fairground_recordings::RecordedSet;
use fairground_report::timehist::{latency_summary, latency_table};
use fairground_report::waits::{antagonists_table, histogram_table, percentiles_table, queues_table};
use fairground_report::{Document, Input, Table};
use fairground_scenario::{Control, Error, Overrides, Scenario, text_file::is_stdin, trace_file};
use fairground_stdx::{CpuMask, Instant, nearest};
use serde_json::Value;
use std::path::Path;

pub use fairground_metrics::timehist::{ReadyMark, Summary, TimeHistLine};
pub use fairground_report::timehist::{
    LatencyOrder, TimeHistColumns, summary_lines as timehist_summary_lines, summary_table as timehist_summary, timehist_heading,
    timehist_json as timehist_value, timehist_line, wakeup_json as wakeup_value, wakeup_line,
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
    /// From when to when it goes, and by which clock.
    pub extent: Extent,
}

impl Origin {
    /// The name of what was read, without folders.
    pub fn name(&self) -> &str {
        self.input.name()
    }
    /// What was read, with its digest.
    pub fn input(&self) -> Input {
        self.input.clone()
    }
    /// It is a trace of this run, and nothing that was recorded elsewhere.
    pub fn is_of_run(&mut self, scenario: &Scenario, outcome: &RunOutcome) {
        self.input = Input::new(&scenario.name(), scenario.digest());
        (self.seed, self.digest) = (Some(outcome.seed), Some(outcome.digest));
        self.quality = None;
        self.notes.clone_from(&scenario.notes);
    }
    /// A document of a command, with what is known of the input.
    pub fn document(&self, command: &str) -> Document {
        let mut document = Document::new(command, std::slice::from_ref(&self.input), self.seed, self.digest);
        document.set("partial", self.partial).set("notes", self.notes.clone()).set("epoch_ns", self.extent.epoch_ns);
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
        _ if is_stdin(path) => true,
        _ if path.is_dir() && trace_file::is_trace(path) => false,
        _ if path.is_dir() => source.simulate || (!trace_file::is_in_folder(path) && RecordedSet::is_set(path)),
        "toml" => true,
        "json" => !trace_file::is_trace(path),
        _ => false,
    }
}

fn simulate(path: &Path, overrides: &Overrides, sink: &mut dyn Sink, control: Control<'_>) -> Result<Origin, Error> {
    simulate_scenario(RunInput::open(path, overrides)?.scenario(), sink, control)
}

fn simulate_scenario(scenario: &Scenario, sink: &mut dyn Sink, control: Control<'_>) -> Result<Origin, Error> {
    let outcome = run::run(scenario, &RunOptions::default(), sink, control)?;
    Ok(Origin {
        input: Input::new(&scenario.name(), scenario.digest()),
        seed: Some(outcome.seed),
        digest: Some(outcome.digest),
        quality: None,
        notes: scenario.notes.clone(),
        partial: outcome.is_partial(),
        extent: Extent { epoch_ns: 0, first: Instant::ZERO, last: outcome.end() },
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
    let extent = Extent::of(&stats);
    Ok(Origin { input, seed: None, digest: None, quality: Some(stats.quality_json()), notes, partial: false, extent })
}

/// Which rows of timehist, or tasks of latency, are shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Names or pids of tasks; none = all.
    pub tasks: Vec<String>,
    /// CPUs; `None` = all.
    pub cpus: Option<CpuMask>,
    /// Paths of control groups, with the groups below them; none = all tasks, also those whose group is not told.
    pub groups: Vec<String>,
    /// The part of the record.
    pub interval: Interval,
}

impl Filter {
    /// Tasks by name or pid, CPUs as a list such as `0-3,8`.
    pub fn new(tasks: Vec<String>, cpus: Option<&str>, interval: Interval) -> Result<Filter, Error> {
        let read = |list: &str| {
            let hint = format!("Write it as 0-3,8, with numbers below {}.", CpuMask::CAPACITY);
            CpuMask::parse_list(list).ok_or_else(|| Error::one("command line", format!("`{list}` is no list of CPUs"), hint))
        };
        Ok(Filter { tasks, cpus: cpus.map(read).transpose()?, groups: Vec::new(), interval })
    }
    /// Only tasks of these groups and those below them.
    pub fn in_groups(self, groups: &[String]) -> Result<Filter, Error> {
        for path in groups {
            cgroup::check_path(path)
                .map_err(|(message, hint)| Error::one("command line", format!("--cgroup: {message}"), hint))?;
        }
        Ok(Filter { groups: groups.to_vec(), ..self })
    }
    fn has_group(&self, group: Option<&str>) -> bool {
        let below = |path: &str, wanted: &str| {
            path.strip_prefix(wanted.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.groups.is_empty() || group.is_some_and(|path| self.groups.iter().any(|wanted| below(path, wanted)))
    }
    fn names(&self, name: &str, pid: Option<u32>) -> bool {
        self.tasks.is_empty() || self.tasks.iter().any(|task| task == name || pid.is_some_and(|pid| task.parse() == Ok(pid)))
    }
    fn shows(&self, line: TimeHistLine<'_>) -> bool {
        let named = |info: &TaskInfo| self.names(&info.name, Some(info.pid));
        let (cpu, is_named) = match line {
            TimeHistLine::Switch(row, info, group) => (row.cpu, named(info) && self.has_group(group)),
            TimeHistLine::Wakeup(row) => (row.cpu, self.groups.is_empty() && (named(row.task) || row.waker.is_some_and(named))),
        };
        is_named && self.cpus.is_none_or(|cpus| cpus.contains(cpu))
    }
}

/// Lines of timehist, each handed to `each` as it is made; with `has_wakeups` those of wake-ups too.
pub fn timehist(
    path: &Path,
    source: &Source,
    mark: ReadyMark,
    filter: &Filter,
    has_wakeups: bool,
    control: Control<'_>,
    mut each: impl FnMut(TimeHistLine<'_>),
) -> Result<Origin, Error> {
    let mut sink = TimeHist::new(mark, filter.interval, has_wakeups, |line: TimeHistLine<'_>| {
        if filter.shows(line) {
            each(line);
        }
    });
    let origin = feed(path, source, &mut sink, control)?;
    origin.extent.check_interval(filter.interval)?;
    Ok(origin)
}

/// The document of `timehist --json`: all rows, or with `--summary` this table of their sums by task.
pub fn timehist_document(origin: &Origin, rows: Vec<Value>, summary: Option<Table>) -> Document {
    let mut document = origin.document("timehist");
    match summary {
        Some(summary) => document.set_tables(&[summary]),
        None => document.set("rows", rows),
    };
    document
}

/// What `latency` shows.
#[derive(Clone, Debug, Default)]
pub struct LatencyOptions {
    /// Which record of a wake-up counts.
    pub mark: ReadyMark,
    /// A row for each task, not for each command.
    pub by_task: bool,
    /// Which tasks, in which part of the record. Queues are those of all tasks.
    pub filter: Filter,
    /// The order of the rows.
    pub order: LatencyOrder,
    /// Times of the recording's own clock; else from the first event.
    pub clock: bool,
    /// Percentiles, delays after wake-ups and after preemptions apart.
    pub percentiles: bool,
    /// How many delays there are of each length.
    pub histogram: bool,
    /// Depth of queues, and who was queued while a CPU idled.
    pub queues: bool,
    /// Who ran while tasks waited.
    pub antagonists: bool,
}

/// Scheduling latencies.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Where they come from.
    pub origin: Origin,
    /// Whether no task of those that are shown runs or waits.
    pub is_empty: bool,
    /// What came out, in at most ten lines.
    pub summary: Vec<String>,
    /// The tables that were asked for, that of perf first.
    pub tables: Vec<Table>,
}

impl Latency {
    /// The latencies of a trace or a scenario, by command or by task.
    pub fn of(path: &Path, source: &Source, options: &LatencyOptions, control: Control<'_>) -> Result<Latency, Error> {
        Latency::fed(options, |sink| feed(path, source, sink, control))
    }
    /// The latencies of a run of this scenario.
    pub fn of_scenario(scenario: &Scenario, options: &LatencyOptions, control: Control<'_>) -> Result<Latency, Error> {
        Latency::fed(options, |sink| simulate_scenario(scenario, sink, control))
    }
    fn fed(options: &LatencyOptions, feed: impl FnOnce(&mut dyn Sink) -> Result<Origin, Error>) -> Result<Latency, Error> {
        let LatencyOptions { filter, order, .. } = options;
        let mut latency = SchedLatency::within(options.mark, filter.interval);
        let mut contention = Contention::new(filter.interval, options.antagonists);
        let origin = match options.queues || options.antagonists {
            true => feed(&mut (&mut latency, &mut contention))?,
            false => feed(&mut latency)?,
        };
        let extent = origin.extent;
        extent.check_interval(filter.interval)?;
        contention.finish(extent.last);
        // Names are those that tasks had last, so they are known only now.
        let mut rows = latency
            .finish(options.by_task || !filter.groups.is_empty() || filter.tasks.iter().any(|task| task.parse::<u32>().is_ok()));
        let is_known = |task: &String| {
            let is_it = |name: &str, pid: Option<u32>| name == task || pid.is_some_and(|pid| task.parse() == Ok(pid));
            rows.rows.iter().any(|row| is_it(&row.name, row.pid))
                || rows.pending.iter().any(|row| is_it(&row.name, Some(row.pid)))
        };
        if let Some(unknown) = filter.tasks.iter().find(|task| !is_known(task)) {
            let hint = nearest::hint(unknown, "Tasks are", rows.rows.iter().map(|row| row.name.as_str()).take(20));
            let message = format!("--task: no task called `{unknown}` runs or waits in `{}`", origin.name());
            return Err(Error::one("command line", message, hint));
        }
        rows.rows.retain(|row| filter.names(&row.name, row.pid) && filter.has_group(row.group.as_deref()));
        rows.pending.retain(|row| filter.names(&row.name, Some(row.pid)) && filter.has_group(row.group.as_deref()));
        let epoch_ns = if options.clock { extent.epoch_ns } else { 0 };
        let summary = latency_summary(origin.name(), &rows, epoch_ns);
        let mut tables = vec![latency_table(&rows, *order, extent.last, epoch_ns)];
        if options.percentiles {
            tables.push(percentiles_table(&rows, *order));
        }
        if options.histogram {
            tables.push(histogram_table(&rows));
        }
        if options.queues {
            tables.push(queues_table(&contention));
        }
        if options.antagonists {
            let keep = |name: &str, pid: u32| filter.names(name, Some(pid));
            tables.push(antagonists_table(&contention.antagonists(), contention.left_out(), options.by_task, keep));
        }
        let is_empty = rows.rows.is_empty() && rows.pending.is_empty();
        Ok(Latency { origin, is_empty, summary, tables })
    }
    /// The document of `latency --json`.
    pub fn document(&self) -> Document {
        let mut document = self.origin.document("latency");
        document.set("summary", self.summary.clone()).set_tables(&self.tables);
        document
    }
}
