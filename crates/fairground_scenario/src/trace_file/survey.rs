//! A trace that is read twice, so that its events need never be in memory together: once for what must be known before they are used
//! (tasks, CPUs, gaps), and once for the events.

use super::gap::{Cut, Gap};
use super::{TraceFile, open};
use crate::error::Error;
use fairground_formats::{GroupOf, RecordedTrace};
use fairground_model::{InGroup, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, TaskId};
use std::path::Path;

/// What the first reading told.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The trace without its events.
    pub file: TraceFile,
    /// What was cut, as a sentence.
    pub said: Option<String>,
    cut: Option<Cut>,
}

impl Survey {
    /// Reads a trace for the first time. If wanted, it is cut at a gap that is longer than all the rest. A recorded set says itself which
    /// part of it counts.
    pub fn of(path: &Path, cuts_gaps: bool) -> Result<Survey, Error> {
        let source = open(path)?;
        let (name, digest, path) = (source.name.clone(), source.digest, source.path.clone());
        let mut seen = Seen::default();
        let mut stats = source.read_into(&mut seen)?;
        let cut = if cuts_gaps && stats.window.is_none() { seen.gap.cut() } else { None };
        let (cut, said) = cut.unzip();
        let mut groups = seen.groups;
        if let Some(cut) = &cut {
            cut.cut_groups(&mut groups);
            (stats.first_at, stats.last_at) = cut.ends();
            stats.events = cut.events();
        }
        let trace = RecordedTrace { tasks: seen.tasks, events: Vec::new(), groups, stats };
        Ok(Survey { file: TraceFile { name, path, digest, trace }, said, cut })
    }
    /// Reads it again: first all tasks, with the names that they had last, then the events.
    pub fn read_into(&self, sink: &mut dyn Sink) -> Result<(), Error> {
        let source = open(&self.file.path)?;
        if source.digest != self.file.digest {
            let message = "the file has changed while it was read";
            return Err(Error::one(self.file.path.display().to_string(), message, "Wait until nobody writes it."));
        }
        self.file.trace.tasks.iter_enumerated().for_each(|(task, info)| sink.task(task, info));
        source.read_into(&mut Events { sink, cut: self.cut.as_ref(), number: 0 }).map(drop)
    }
}

/// The sink of the first reading.
#[derive(Default)]
struct Seen {
    tasks: IndexVec<TaskId, TaskInfo>,
    groups: Vec<GroupOf>,
    gap: Gap,
    events: usize,
}

impl Sink for Seen {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.tasks.extend_to(task.index() + 1, info.clone());
        self.tasks[task] = info.clone();
    }
    fn group(&mut self, at: Instant, cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        let comes = matches!(group, InGroup::Comes(_));
        self.groups.push(GroupOf { before: self.events, at, cpu, task, path: group.path().to_string(), comes });
    }
    fn record(&mut self, at: Instant, _cpu: CpuId, _event: &TraceEvent) {
        self.gap.event(at);
        self.events += 1;
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

/// The sink of the second one: hands on what is kept.
struct Events<'a> {
    sink: &'a mut dyn Sink,
    cut: Option<&'a Cut>,
    number: usize,
}

impl Sink for Events<'_> {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if let Some(at) = self.cut.map_or(Some(at), |cut| cut.time_of(self.number, at)) {
            self.sink.record(at, cpu, event);
        }
        self.number += 1;
    }
    fn wants_samples(&self) -> bool {
        true
    }
}
