//! The table of `perf sched latency`: how long tasks wait from becoming runnable to running.

use super::class::{ReadyMark, WakeFilter};
use crate::histogram::Histogram;
use crate::window::{Interval, Window};
use fairground_model::{InGroup, PrevState, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};
use std::collections::BTreeMap;

/// The longest delay, and when it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LongestDelay {
    /// How long.
    pub length: Ns,
    /// When the task became runnable.
    pub from: Instant,
    /// When it got the CPU.
    pub to: Instant,
}

/// A command, or one task of it.
#[derive(Clone, Debug)]
pub struct LatencyRow {
    /// The command name.
    pub name: String,
    /// The pid, if it is one task.
    pub pid: Option<u32>,
    /// The path of its control group, where the trace tells it and it is the same for all its tasks.
    pub group: Option<String>,
    /// How many tasks it is.
    pub tasks: u64,
    /// Time that was accounted to it, or where the trace does not tell that, its time on CPUs.
    pub runtime: Ns,
    /// How often it got a CPU after it had become runnable.
    pub switches: u64,
    /// The sum of its delays.
    pub total: Ns,
    /// The longest of them.
    pub max: LongestDelay,
    /// Delays after wake-ups.
    pub after_wakeup: Histogram,
    /// Delays after a switch away from a task that could have gone on.
    pub after_preemption: Histogram,
}

impl LatencyRow {
    /// The mean delay, rounded down.
    pub fn avg(&self) -> Ns {
        Ns(self.total.0 / self.switches.max(1))
    }
}

/// A task that could run at the end of the trace and did not: how long that lasts nobody knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingDelay {
    /// The command name.
    pub name: String,
    /// The pid.
    pub pid: u32,
    /// The path of its control group, where the trace tells it.
    pub group: Option<String>,
    /// Since when.
    pub from: Instant,
}

/// The whole table.
#[derive(Clone, Debug)]
pub struct LatencyTable {
    /// Commands that were delayed at least once, in order of their first task.
    pub rows: Vec<LatencyRow>,
    /// Who waits at the end, longest first.
    pub pending: Vec<PendingDelay>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Doing {
    /// Not seen yet.
    #[default]
    Unknown,
    Sleeps,
    /// Since when, and whether it was taken off its CPU; else it was woken.
    Waits(Instant, bool),
    Runs(Instant),
}

#[derive(Clone, Debug, Default)]
struct Row {
    info: TaskInfo,
    group: Option<String>,
    doing: Doing,
    accounted: Ns,
    on_cpu: Ns,
    switches: u64,
    total: Ns,
    max: LongestDelay,
    after_wakeup: Histogram,
    after_preemption: Histogram,
}

impl Row {
    /// A task that the trace shows for the first time where it gets the CPU counts as not delayed.
    fn gets_cpu(&mut self, at: Instant, counts: bool) {
        let since = match self.doing {
            Doing::Waits(since, _) => Some(since),
            Doing::Unknown => Some(at),
            Doing::Sleeps | Doing::Runs(_) => None,
        };
        if let Some(since) = since.filter(|_| counts) {
            let length = at.saturating_since(since);
            match self.doing {
                Doing::Waits(_, true) => self.after_preemption.record(length.0),
                Doing::Waits(_, false) => self.after_wakeup.record(length.0),
                _ => {}
            }
            self.switches += 1;
            self.total += length;
            if length > self.max.length {
                self.max = LongestDelay { length, from: since, to: at };
            }
        }
        self.doing = Doing::Runs(at);
    }
    fn leaves_cpu(&mut self, at: Instant, state: PrevState, window: Window) {
        if let Doing::Runs(since) = self.doing {
            self.on_cpu += window.overlap(since, at).unwrap_or_default();
        }
        self.doing = if state == PrevState::Running { Doing::Waits(at, true) } else { Doing::Sleeps };
    }
}

/// Collects the delays of a run.
#[derive(Clone, Debug)]
pub struct SchedLatency {
    wakes: WakeFilter,
    rows: Vec<Row>,
    has_accounts: bool,
    interval: Interval,
    window: Window,
}

impl SchedLatency {
    /// Collects delays, wake-ups counted by `mark`.
    pub fn new(mark: ReadyMark) -> SchedLatency {
        SchedLatency::within(mark, Interval::default())
    }
    /// Collects the delays that end in an interval.
    pub fn within(mark: ReadyMark, interval: Interval) -> SchedLatency {
        let window = interval.window(0);
        SchedLatency { wakes: WakeFilter::new(mark), rows: Vec::new(), has_accounts: false, interval, window }
    }
    fn row(&mut self, task: TaskId) -> &mut Row {
        if task.index() >= self.rows.len() {
            self.rows.resize_with(task.index() + 1, Row::default);
        }
        &mut self.rows[task.index()]
    }
    /// The table: a row for each command, or with `by_task` for each task.
    pub fn finish(self, by_task: bool) -> LatencyTable {
        let has_accounts = self.has_accounts;
        let mut rows: Vec<LatencyRow> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut pending = Vec::new();
        for row in self.rows {
            if let Doing::Waits(from, _) = row.doing {
                pending.push(PendingDelay { name: row.info.name.clone(), pid: row.info.pid, group: row.group.clone(), from });
            }
            let runtime = if has_accounts { row.accounted } else { row.on_cpu };
            let place = if by_task { None } else { Some(*places.entry(row.info.name.clone()).or_insert(rows.len())) };
            match place.and_then(|place| rows.get_mut(place)) {
                Some(known) => {
                    known.pid = None;
                    known.group = known.group.take().filter(|path| row.group.as_ref() == Some(path));
                    known.tasks += 1;
                    known.runtime += runtime;
                    known.switches += row.switches;
                    known.total += row.total;
                    known.after_wakeup.merge(&row.after_wakeup);
                    known.after_preemption.merge(&row.after_preemption);
                    if row.max.length > known.max.length {
                        known.max = row.max;
                    }
                }
                None => rows.push(LatencyRow {
                    name: row.info.name,
                    pid: Some(row.info.pid),
                    group: row.group,
                    tasks: 1,
                    runtime,
                    switches: row.switches,
                    total: row.total,
                    max: row.max,
                    after_wakeup: row.after_wakeup,
                    after_preemption: row.after_preemption,
                }),
            }
        }
        rows.retain(|row| row.switches > 0);
        pending.sort_by_key(|row| row.from);
        LatencyTable { rows, pending }
    }
}

impl Sink for SchedLatency {
    fn epoch(&mut self, clock_ns: u64) {
        self.window = self.interval.window(clock_ns);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.row(task).info = info.clone();
    }
    fn group(&mut self, _at: Instant, _cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        self.row(task).group = Some(group.path().to_string());
    }
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let Some(task) = self.wakes.woken(event) {
            let row = self.row(task);
            if matches!(row.doing, Doing::Sleeps | Doing::Unknown) {
                row.doing = Doing::Waits(at, false);
            }
            return;
        }
        let window = self.window;
        match *event {
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                if let Some(prev) = prev {
                    self.row(prev).leaves_cpu(at, prev_state, window);
                }
                if let Some(next) = next {
                    self.row(next).gets_cpu(at, window.holds(at));
                }
            }
            TraceEvent::SchedStatRuntime { task, runtime, .. } => {
                self.has_accounts = true;
                if window.holds(at) {
                    self.row(task).accounted += runtime;
                }
            }
            _ => {}
        }
    }
    /// A switch that was not recorded ends a wait all the same. A wake-up at the latest moment that a record allows begins none.
    fn inferred(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if matches!(event, TraceEvent::SchedSwitch { .. }) {
            self.record(at, cpu, event);
        }
    }
}
