//! What tasks did in each of some windows of equal length.

use super::class::{ReadyMark, WakeFilter};
use crate::histogram::Histogram;
use crate::metric::{Better, Metric, MetricRow, Unit};
use crate::window::Window;
use fairground_model::{PrevState, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};
use std::collections::BTreeMap;

/// What tasks did in a window.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// Delays after wake-ups that end in it.
    pub after_wakeup: Histogram,
    /// Delays after preemptions that end in it.
    pub after_preemption: Histogram,
    /// Time on CPUs.
    pub on_cpu: Ns,
    /// How often a CPU was got.
    pub switches: u64,
    /// How often a task changed its CPU.
    pub migrations: u64,
}

/// The figures of a window. Those of delays are missing where there is none.
static FIGURES: [MetricRow<Share>; 7] = [
    MetricRow::new("wakeup_latency_us.p50", Unit::Us, Better::Lower, "Delay after wake-ups, median.", |share| {
        share.after_wakeup.quantile(500)
    }),
    MetricRow::new("wakeup_latency_us.p99", Unit::Us, Better::Lower, "Delay after wake-ups, p99.", |share| {
        share.after_wakeup.quantile(990)
    }),
    MetricRow::new("preempted_us.p50", Unit::Us, Better::Lower, "Delay after preemptions, median.", |share| {
        share.after_preemption.quantile(500)
    }),
    MetricRow::new("preempted_us.p99", Unit::Us, Better::Lower, "Delay after preemptions, p99.", |share| {
        share.after_preemption.quantile(990)
    }),
    MetricRow::new("cpu_ms", Unit::Ms, Better::Neither, "Time on CPUs.", |share| share.on_cpu.0),
    MetricRow::new("switches", Unit::Count, Better::Neither, "How often a CPU was got.", |share| share.switches),
    MetricRow::new("migrations", Unit::Count, Better::Neither, "How often a task changed its CPU.", |share| share.migrations),
];

impl Share {
    /// Adds what others did.
    pub fn merge(&mut self, other: &Share) {
        self.after_wakeup.merge(&other.after_wakeup);
        self.after_preemption.merge(&other.after_preemption);
        self.on_cpu += other.on_cpu;
        self.switches += other.switches;
        self.migrations += other.migrations;
    }
    /// Its figures, under names that begin with `prefix`.
    pub fn metrics(&self, prefix: &str) -> Vec<Metric> {
        let is_there = |row: &&MetricRow<Share>| match row.name.split('_').next() {
            Some("wakeup") => !self.after_wakeup.is_empty(),
            Some("preempted") => !self.after_preemption.is_empty(),
            _ => true,
        };
        FIGURES.iter().filter(is_there).map(|row| row.of(prefix, self)).collect()
    }
}

#[derive(Clone, Copy, Debug, Default)]
enum Doing {
    #[default]
    Unknown,
    Sleeps,
    /// Since when, and whether it was taken off its CPU; else it was woken.
    Waits(Instant, bool),
    Runs(Instant),
}

#[derive(Clone, Debug, Default)]
struct Row {
    name: String,
    doing: Doing,
    shares: BTreeMap<u64, Share>,
}

/// Collects what tasks did in windows that follow one another.
#[derive(Clone, Debug)]
pub struct Windows {
    wakes: WakeFilter,
    start: Instant,
    length: Ns,
    count: u64,
    rows: Vec<Row>,
}

impl Windows {
    /// So many windows of that length from an instant on; what comes later does not count.
    pub fn new(mark: ReadyMark, start: Instant, length: Ns, count: u64) -> Windows {
        Windows { wakes: WakeFilter::new(mark), start, length: Ns(length.0.max(1)), count, rows: Vec::new() }
    }
    /// For each name of tasks what they did in each window, in order.
    pub fn finish(self) -> BTreeMap<String, Vec<Share>> {
        let count = usize::try_from(self.count).unwrap_or_default();
        let mut names: BTreeMap<String, Vec<Share>> = BTreeMap::new();
        for row in self.rows.into_iter().filter(|row| !row.shares.is_empty()) {
            let shares = names.entry(row.name).or_insert_with(|| vec![Share::default(); count]);
            for (window, share) in row.shares {
                if let Some(place) = usize::try_from(window).ok().and_then(|window| shares.get_mut(window)) {
                    place.merge(&share);
                }
            }
        }
        names
    }
    fn row(&mut self, task: TaskId) -> &mut Row {
        if task.index() >= self.rows.len() {
            self.rows.resize_with(task.index() + 1, Row::default);
        }
        &mut self.rows[task.index()]
    }
    /// The number of the window that an instant lies in.
    fn number(&self, at: Instant) -> Option<u64> {
        let number = at.ns().checked_sub(self.start.ns())? / self.length.0;
        (number < self.count).then_some(number)
    }
    fn share(&mut self, task: TaskId, at: Instant) -> Option<&mut Share> {
        let number = self.number(at)?;
        Some(self.row(task).shares.entry(number).or_default())
    }
    fn ran(&mut self, task: TaskId, from: Instant, to: Instant) {
        let last = Instant::from_ns(self.start.ns().saturating_add(self.length.0.saturating_mul(self.count)));
        let Some(mut number) = self.number(from.max(self.start)) else { return };
        let (length, start) = (self.length.0, self.start.ns());
        let row = self.row(task);
        loop {
            let begin = Instant::from_ns(start + number * length);
            let end = Instant::from_ns(begin.ns() + length).min(last);
            let Some(time) = (Window { start: begin, end }).overlap(from, to) else { return };
            row.shares.entry(number).or_default().on_cpu += time;
            number += 1;
            if end >= last {
                return;
            }
        }
    }
}

impl Sink for Windows {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.row(task).name.clone_from(&info.name);
    }
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let Some(task) = self.wakes.woken(event) {
            let row = self.row(task);
            if matches!(row.doing, Doing::Sleeps | Doing::Unknown) {
                row.doing = Doing::Waits(at, false);
            }
            return;
        }
        match *event {
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                if let Some(prev) = prev {
                    if let Doing::Runs(since) = self.row(prev).doing {
                        self.ran(prev, since, at);
                    }
                    self.row(prev).doing = if prev_state == PrevState::Running { Doing::Waits(at, true) } else { Doing::Sleeps };
                }
                if let Some(next) = next {
                    let doing = std::mem::replace(&mut self.row(next).doing, Doing::Runs(at));
                    if let Some(share) = self.share(next, at) {
                        share.switches += 1;
                        match doing {
                            Doing::Waits(since, true) => share.after_preemption.record(at.saturating_since(since).0),
                            Doing::Waits(since, false) => share.after_wakeup.record(at.saturating_since(since).0),
                            _ => {}
                        }
                    }
                }
            }
            TraceEvent::SchedMigrateTask { task, .. } => {
                if let Some(share) = self.share(task, at) {
                    share.migrations += 1;
                }
            }
            _ => {}
        }
    }
    /// A wake-up at the latest moment that a record allows begins no delay.
    fn inferred(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if matches!(event, TraceEvent::SchedSwitch { .. }) {
            self.record(at, cpu, event);
        }
    }
}
