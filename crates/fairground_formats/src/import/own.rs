//! What the readers of our own CSV and JSON share: rows in, events out.

use crate::flat::{self, Content, Row};
use crate::import::tasks::{DEFAULT_PRIO, PRIOS, UNKNOWN_NAME};
use crate::import::{Feed, ImportStats};
use fairground_model::{Digest, Sink, TaskInfo, TraceEvent};
use fairground_stdx::outside::shown;
use fairground_stdx::{CpuId, Id, Instant, TaskId};

/// Takes rows and hands them on, keeping a digest of what it saw.
pub(crate) struct OwnRows<'a> {
    pub(crate) feed: Feed<'a>,
    digest: Digest,
    introduced: Vec<bool>,
}

impl<'a> OwnRows<'a> {
    pub(crate) fn new(format: &'static str, sink: &'a mut dyn Sink) -> OwnRows<'a> {
        OwnRows { feed: Feed::with_own_times(format, sink), digest: Digest::default(), introduced: Vec::new() }
    }
    /// Takes one row.
    pub(crate) fn push(&mut self, line: u64, row: &Row) {
        match row.content() {
            Ok(Content::Task(task, mut info)) => {
                if !PRIOS.contains(&info.prio) {
                    self.feed.stats.warn(line, "a priority that no kernel has counts as that of nice 0");
                    info.prio = DEFAULT_PRIO;
                }
                info.name = shown(&info.name).into_owned();
                self.is_new(task);
                self.feed.sink.task(task, &info);
            }
            Ok(Content::Event(at_ns, cpu, event)) => {
                self.introduce_tasks_of(line, &event);
                self.digest.record(Instant::from_ns(at_ns), CpuId::new(cpu), &event);
                self.feed.emit(at_ns, cpu, line, &event);
            }
            Err(what) => self.feed.stats.skip(line, &what),
        }
    }
    /// Whether `task` was never introduced; from now on it is.
    fn is_new(&mut self, task: TaskId) -> bool {
        if self.introduced.len() <= task.index() {
            self.introduced.resize(task.index() + 1, false);
        }
        !std::mem::replace(&mut self.introduced[task.index()], true)
    }
    fn introduce_tasks_of(&mut self, line: u64, event: &TraceEvent) {
        for task in flat::tasks_of(event).into_iter().flatten() {
            if self.is_new(task) {
                self.feed.stats.warn(line, "a task without a row that names it");
                let info = TaskInfo { name: UNKNOWN_NAME.to_string(), pid: 0, prio: DEFAULT_PRIO };
                self.feed.sink.task(task, &info);
            }
        }
    }
    /// The digest of the events so far.
    pub(crate) fn digest(&self) -> u128 {
        self.digest.value()
    }
    pub(crate) fn finish(self) -> ImportStats {
        self.feed.finish()
    }
}
