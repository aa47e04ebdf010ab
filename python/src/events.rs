//! The records of a run in columns, with the names that `-o run.parquet` has.
//!
//! Words are numbers into dictionaries: the events, the names of tasks, and `what`, which holds states, reasons, sections and the names of
//! measurements. A row takes about 55 bytes.

use crate::arrow::{Batch, Bits, Column, Field, Frame, Kind, Text, Values};
use fairground_model::{Decision, KernelWarn, Reason, Section, Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Id, Instant, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of a batch: 14 MB, so that a long run never copies what it has.
const BATCH: usize = 1 << 18;

/// The events by number.
const EVENTS: [&str; 14] = [
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_switch",
    "sched_migrate_task",
    "sched_stat_runtime",
    "sched_process_fork",
    "sched_process_exit",
    "cpu_frequency",
    "decision",
    "kernel_section",
    "marker",
    "sample",
    "kernel_warn",
];

/// The words of `what` before the reasons: contexts of wake-ups, then states.
const WORDS: [&str; 8] = ["task", "softirq", "hardirq", "R", "S", "D", "X", "I"];

/// Values of a column in which some rows have none.
#[derive(Default)]
struct Sparse<T> {
    values: Vec<T>,
    valid: Bits,
}

impl<T: Copy + Default> Sparse<T> {
    fn of(rows: usize) -> Sparse<T> {
        Sparse { values: Vec::with_capacity(rows), valid: Bits::default() }
    }
    #[inline]
    fn push(&mut self, value: Option<T>) {
        self.values.push(value.unwrap_or_default());
        self.valid.push(value.is_some());
    }
    fn column(self, of: fn(Vec<T>) -> Values) -> Column {
        Column::some(of(self.values), self.valid)
    }
}

/// The rows that are being filled.
#[derive(Default)]
struct Rows {
    t_ns: Vec<i64>,
    cpu: Vec<u16>,
    event: Vec<u8>,
    task: Sparse<u32>,
    comm: Sparse<u32>,
    other_task: Sparse<u32>,
    other_comm: Sparse<u32>,
    from_cpu: Sparse<u16>,
    to_cpu: Sparse<u16>,
    what: Sparse<u32>,
    value: Sparse<i64>,
    value2: Sparse<i64>,
}

impl Rows {
    fn with_room(rows: usize) -> Rows {
        Rows {
            t_ns: Vec::with_capacity(rows),
            cpu: Vec::with_capacity(rows),
            event: Vec::with_capacity(rows),
            task: Sparse::of(rows),
            comm: Sparse::of(rows),
            other_task: Sparse::of(rows),
            other_comm: Sparse::of(rows),
            from_cpu: Sparse::of(rows),
            to_cpu: Sparse::of(rows),
            what: Sparse::of(rows),
            value: Sparse::of(rows),
            value2: Sparse::of(rows),
        }
    }
    fn batch(self) -> Batch {
        Batch {
            rows: self.t_ns.len(),
            columns: vec![
                Column::full(Values::Int64(self.t_ns)),
                Column::full(Values::UInt16(self.cpu)),
                Column::full(Values::UInt8(self.event)),
                self.task.column(Values::UInt32),
                self.comm.column(Values::UInt32),
                self.other_task.column(Values::UInt32),
                self.other_comm.column(Values::UInt32),
                self.from_cpu.column(Values::UInt16),
                self.to_cpu.column(Values::UInt16),
                self.what.column(Values::UInt32),
                self.value.column(Values::Int64),
                self.value2.column(Values::Int64),
            ],
        }
    }
}

/// What an event has beside its time and its CPU.
#[derive(Default)]
struct Row {
    event: u8,
    task: Option<TaskId>,
    other: Option<TaskId>,
    from: Option<CpuId>,
    to: Option<CpuId>,
    what: Option<u32>,
    value: Option<i64>,
    value2: Option<i64>,
}

/// The records of a run or of a trace, and whom they are about.
#[derive(Clone)]
pub(crate) struct Records {
    pub(crate) events: Arc<Frame>,
    /// A row for each task: its number in the records, name, process id, priority.
    pub(crate) tasks: Arc<Frame>,
}

/// A sink that keeps all records of a run but samples.
#[derive(Default)]
pub(crate) struct EventColumns {
    rows: Rows,
    done: Vec<Batch>,
    /// Names of tasks, each once, with its number.
    names: BTreeMap<String, u32>,
    /// The number of each task's name.
    name_of: Vec<u32>,
    /// The tasks as they were told last.
    tasks: BTreeMap<TaskId, TaskInfo>,
    /// The words of `what`, each once, as readers ask of a dictionary.
    what: Vec<String>,
    /// The word of each reason, of each warning of the kernel, of each section and of each measurement.
    reasons: Vec<u32>,
    warns: Vec<u32>,
    sections: Vec<u32>,
    markers: Vec<u32>,
}

impl EventColumns {
    /// For a run whose measurements have these names.
    pub(crate) fn new(markers: Vec<String>) -> EventColumns {
        let mut what: Vec<String> = WORDS.iter().map(ToString::to_string).collect();
        let mut word_of = |name: &str| match what.iter().position(|word| word == name) {
            Some(word) => word as u32,
            None => {
                what.push(name.to_string());
                what.len() as u32 - 1
            }
        };
        let reasons = Reason::ALL.iter().map(|reason| word_of(reason.slug())).collect();
        let warns = KernelWarn::ALL.iter().map(|warn| word_of(warn.slug())).collect();
        let sections = Section::ALL.iter().map(|section| word_of(section.name())).collect();
        let markers = markers.iter().map(|marker| word_of(marker)).collect();
        EventColumns { what, reasons, warns, sections, markers, ..EventColumns::default() }
    }
    /// All of it as tables.
    pub(crate) fn finish(mut self) -> Records {
        let tasks = Arc::new(self.task_frame());
        if !self.rows.t_ns.is_empty() {
            self.done.push(std::mem::take(&mut self.rows).batch());
        }
        let mut names: Vec<(&String, &u32)> = self.names.iter().collect();
        names.sort_by_key(|row| *row.1);
        let names: Text = names.iter().map(|row| row.0).collect();
        let what: Text = self.what.iter().collect();
        let fields = vec![
            Field::new("t_ns", Kind::Int64),
            Field::new("cpu", Kind::UInt16),
            Field::of_words("event", Kind::Words8, EVENTS.into_iter().collect()),
            Field::new("task", Kind::UInt32),
            Field::of_words("comm", Kind::Words32, names.clone()),
            Field::new("other_task", Kind::UInt32),
            Field::of_words("other_comm", Kind::Words32, names),
            Field::new("from_cpu", Kind::UInt16),
            Field::new("to_cpu", Kind::UInt16),
            Field::of_words("what", Kind::Words32, what),
            Field::new("value", Kind::Int64),
            Field::new("value2", Kind::Int64),
        ];
        Records { events: Arc::new(Frame { fields, batches: self.done }), tasks }
    }
    /// A trace that does not tell a process id has 0.
    fn task_frame(&self) -> Frame {
        let mut pids = Sparse::of(self.tasks.len());
        self.tasks.values().for_each(|info| pids.push((info.pid != 0).then_some(info.pid)));
        let columns = vec![
            Column::full(Values::UInt32(self.tasks.keys().map(|task| task.get()).collect())),
            Column::full(Values::Text(self.tasks.values().map(|info| &info.name).collect())),
            pids.column(Values::UInt32),
            Column::full(Values::Int64(self.tasks.values().map(|info| info.prio.into()).collect())),
        ];
        let fields = vec![
            Field::new("task", Kind::UInt32),
            Field::new("comm", Kind::Text),
            Field::new("pid", Kind::UInt32),
            Field::new("prio", Kind::Int64),
        ];
        Frame { fields, batches: vec![Batch { rows: self.tasks.len(), columns }] }
    }
    /// What a record says. Samples say nothing.
    #[inline]
    fn row(&self, event: &TraceEvent) -> Option<Row> {
        let none = Row::default();
        let long = |value: u64| Some(value.cast_signed());
        Some(match *event {
            TraceEvent::SchedWaking { task, target_cpu, waker, context } => {
                let what = match context {
                    WakeContext::Task => 0,
                    WakeContext::Softirq => 1,
                    WakeContext::Hardirq => 2,
                };
                Row { task: Some(task), other: waker, from: Some(target_cpu), what: Some(what), ..none }
            }
            TraceEvent::SchedWakeup { task, target_cpu } => Row { event: 1, task: Some(task), to: Some(target_cpu), ..none },
            TraceEvent::SchedWakeupNew { task, target_cpu } => Row { event: 2, task: Some(task), to: Some(target_cpu), ..none },
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                let state = WORDS.iter().position(|word| *word == prev_state.letter()).map(|word| word as u32);
                Row { event: 3, task: next, other: prev, what: state, ..none }
            }
            TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => {
                Row { event: 4, task: Some(task), from: Some(orig_cpu), to: Some(dest_cpu), ..none }
            }
            TraceEvent::SchedStatRuntime { task, runtime, vruntime } => Row {
                event: 5,
                task: Some(task),
                value: long(runtime.0),
                value2: vruntime.map(|vruntime| vruntime.0.cast_signed()),
                ..none
            },
            TraceEvent::SchedProcessFork { parent, child } => Row { event: 6, task: Some(child), other: parent, ..none },
            TraceEvent::SchedProcessExit { task } => Row { event: 7, task: Some(task), ..none },
            TraceEvent::CpuFrequency { cpu, khz } => Row { event: 8, to: Some(cpu), value: Some(khz.into()), ..none },
            TraceEvent::Decision(Decision { reason, a, b }) => Row {
                event: 9,
                what: self.reasons.get(reason as usize).copied(),
                value: Some(a.into()),
                value2: Some(b.into()),
                ..none
            },
            TraceEvent::KernelWarn(warn) => Row { event: 13, what: self.warns.get(warn as usize).copied(), ..none },
            TraceEvent::KernelSection { section, took } => {
                Row { event: 10, what: self.sections.get(section as usize).copied(), value: long(took.0), ..none }
            }
            TraceEvent::Marker { task, marker, value } => {
                let what = self.markers.get(marker.index()).copied();
                Row { event: 11, task: Some(task), what, value: long(value), value2: Some(marker.get().into()), ..none }
            }
            TraceEvent::CfsSample { .. } | TraceEvent::SeSample { .. } | TraceEvent::QueueAct { .. } => return None,
        })
    }
    fn name(&self, task: Option<TaskId>) -> Option<u32> {
        self.name_of.get(task?.index()).copied().filter(|&name| name != u32::MAX)
    }
}

impl Sink for EventColumns {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        let next = self.names.len() as u32;
        let name = *self.names.entry(info.name.clone()).or_insert(next);
        if self.name_of.len() <= task.index() {
            self.name_of.resize(task.index() + 1, u32::MAX);
        }
        if let Some(slot) = self.name_of.get_mut(task.index()) {
            *slot = name;
        }
        self.tasks.insert(task, info.clone());
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let Some(row) = self.row(event) else { return };
        let (comm, other_comm) = (self.name(row.task), self.name(row.other));
        let number = |cpu: CpuId| u16::try_from(cpu.get()).unwrap_or(u16::MAX);
        let rows = &mut self.rows;
        rows.t_ns.push(at.ns().cast_signed());
        rows.cpu.push(number(cpu));
        rows.event.push(row.event);
        rows.task.push(row.task.map(TaskId::get));
        rows.comm.push(comm);
        rows.other_task.push(row.other.map(TaskId::get));
        rows.other_comm.push(other_comm);
        rows.from_cpu.push(row.from.map(number));
        rows.to_cpu.push(row.to.map(number));
        rows.what.push(row.what);
        rows.value.push(row.value);
        rows.value2.push(row.value2);
        if rows.t_ns.len() == BATCH {
            self.done.push(std::mem::replace(rows, Rows::with_room(BATCH)).batch());
        }
    }
}
