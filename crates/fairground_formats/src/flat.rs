//! One record as a row of columns: what our own CSV and JSON hold. Nothing of an event is lost.
//!
//! | event | task | other_task | from_cpu | to_cpu | what | value | value2 | value3 |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | task | the task | | | | name | pid | prio | |
//! | sched_waking | wakee | waker | previous CPU | | task, softirq, hardirq | | | |
//! | sched_wakeup, sched_wakeup_new | wakee | | | CPU | | | | |
//! | sched_switch | next | prev | | | prev_state | | | |
//! | sched_migrate_task | the task | | orig_cpu | dest_cpu | | | | |
//! | sched_stat_runtime | the task | | | | | runtime ns | vruntime | |
//! | sched_process_fork | child | parent | | | | | | |
//! | sched_process_exit | the task | | | | | | | |
//! | decision | | | | | reason | first id | second id | |
//! | kernel_section | | | | | section | took ns | | |
//! | kernel_warn | | | | | the condition (`KernelWarn`) | | | |
//! | marker | the task | | | | | value | marker | |
//! | cfs_sample | | | | | | nr_running | util_avg | load_avg |
//! | se_sample | the task | | | | | util_avg | | |
//! | queue_act | the task | | | the queue's CPU | what is done (`QueueAct`) | clock ns | group | |

use fairground_model::{
    Decision, IdKind, KernelWarn, PrevState, QueueAct, Reason, Section, TaskInfo, TraceEvent, WakeContext, Who,
};
use fairground_stdx::{CpuId, CpuMask, MarkerId, Ns, TaskId, TgId, Vruntime};

/// Largest task or marker number that a reader accepts: hostile numbers must not fill the memory.
const ROW_MAX: u32 = 1 << 20;

/// The event name of a row that introduces a task.
pub(crate) const TASK: &str = "task";

/// Name of an event in files and counts: the tracepoint's where there is one.
pub(crate) fn event_name(event: &TraceEvent) -> &'static str {
    match event {
        TraceEvent::SchedWaking { .. } => "sched_waking",
        TraceEvent::SchedWakeup { .. } => "sched_wakeup",
        TraceEvent::SchedWakeupNew { .. } => "sched_wakeup_new",
        TraceEvent::SchedSwitch { .. } => "sched_switch",
        TraceEvent::SchedMigrateTask { .. } => "sched_migrate_task",
        TraceEvent::SchedStatRuntime { .. } => "sched_stat_runtime",
        TraceEvent::SchedProcessFork { .. } => "sched_process_fork",
        TraceEvent::SchedProcessExit { .. } => "sched_process_exit",
        TraceEvent::CpuFrequency { .. } => "cpu_frequency",
        TraceEvent::Decision(_) => "decision",
        TraceEvent::KernelWarn(_) => "kernel_warn",
        TraceEvent::KernelSection { .. } => "kernel_section",
        TraceEvent::Marker { .. } => "marker",
        TraceEvent::CfsSample { .. } => "cfs_sample",
        TraceEvent::SeSample { .. } => "se_sample",
        TraceEvent::QueueAct { .. } => "queue_act",
    }
}

/// The tasks that an event names.
pub(crate) fn tasks_of(event: &TraceEvent) -> [Option<TaskId>; 2] {
    match *event {
        TraceEvent::SchedWaking { task, waker, .. } => [Some(task), waker],
        TraceEvent::SchedSwitch { prev, next, .. } => [prev, next],
        TraceEvent::SchedProcessFork { parent, child } => [parent, Some(child)],
        TraceEvent::SchedWakeup { task, .. }
        | TraceEvent::SchedWakeupNew { task, .. }
        | TraceEvent::SchedMigrateTask { task, .. }
        | TraceEvent::SchedStatRuntime { task, .. }
        | TraceEvent::SchedProcessExit { task }
        | TraceEvent::Marker { task, .. }
        | TraceEvent::SeSample { task, .. } => [Some(task), None],
        TraceEvent::Decision(Decision { reason, a, b }) => {
            let (of_a, of_b) = reason.ids();
            let task = |kind: IdKind, id: u32| match Decision::who(id) {
                Who::Task(task) if kind == IdKind::Task => Some(task),
                Who::Task(_) | Who::Group(_) => None,
            };
            [task(of_a, a), task(of_b, b)]
        }
        TraceEvent::QueueAct { task, .. } => [task, None],
        TraceEvent::CpuFrequency { .. }
        | TraceEvent::KernelWarn(_)
        | TraceEvent::KernelSection { .. }
        | TraceEvent::CfsSample { .. } => [None, None],
    }
}

/// A column that holds a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Column {
    TNs,
    Cpu,
    Task,
    OtherTask,
    FromCpu,
    ToCpu,
    Value,
    Value2,
    Value3,
}

impl Column {
    /// All of them, in the order of [`Row::numbers`].
    pub(crate) const ALL: [Column; 9] = [
        Column::TNs,
        Column::Cpu,
        Column::Task,
        Column::OtherTask,
        Column::FromCpu,
        Column::ToCpu,
        Column::Value,
        Column::Value2,
        Column::Value3,
    ];
    /// Its name in files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Column::TNs => "t_ns",
            Column::Cpu => "cpu",
            Column::Task => "task",
            Column::OtherTask => "other_task",
            Column::FromCpu => "from_cpu",
            Column::ToCpu => "to_cpu",
            Column::Value => "value",
            Column::Value2 => "value2",
            Column::Value3 => "value3",
        }
    }
}

/// A row: the event's name, a word, and numbers. 128 bits hold every u64 and every negative priority.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Row {
    pub(crate) event: String,
    pub(crate) what: Option<String>,
    pub(crate) numbers: [Option<i128>; Column::ALL.len()],
}

/// What a row says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// A task is introduced.
    Task(TaskId, TaskInfo),
    /// Something happened at a time, in ns, on a CPU.
    Event(u64, u32, TraceEvent),
}

impl Row {
    fn named(event: &str) -> Row {
        Row { event: event.to_string(), ..Row::default() }
    }
    fn with(mut self, column: Column, number: impl Into<i128>) -> Row {
        self.numbers[column as usize] = Some(number.into());
        self
    }
    fn with_some(self, column: Column, number: Option<impl Into<i128>>) -> Row {
        match number {
            Some(number) => self.with(column, number),
            None => self,
        }
    }
    fn saying(self, what: &str) -> Row {
        Row { what: Some(what.to_string()), ..self }
    }

    /// The row that introduces a task.
    pub(crate) fn of_task(task: TaskId, info: &TaskInfo) -> Row {
        let row = Row::named(TASK).saying(&info.name).with(Column::Task, task.get());
        row.with(Column::Value, info.pid).with(Column::Value2, info.prio)
    }
    /// The row of an event.
    pub(crate) fn of_event(at_ns: u64, cpu: CpuId, event: &TraceEvent) -> Row {
        let row = Row::named(event_name(event)).with(Column::TNs, at_ns).with(Column::Cpu, cpu.get());
        let about = |row: Row, task: TaskId| row.with(Column::Task, task.get());
        match *event {
            TraceEvent::SchedWaking { task, target_cpu, waker, context } => about(row, task)
                .with_some(Column::OtherTask, waker.map(TaskId::get))
                .with(Column::FromCpu, target_cpu.get())
                .saying(context_name(context)),
            TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu } => {
                about(row, task).with(Column::ToCpu, target_cpu.get())
            }
            TraceEvent::SchedSwitch { prev, prev_state, next } => row
                .with_some(Column::Task, next.map(TaskId::get))
                .with_some(Column::OtherTask, prev.map(TaskId::get))
                .saying(prev_state.letter()),
            TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => {
                about(row, task).with(Column::FromCpu, orig_cpu.get()).with(Column::ToCpu, dest_cpu.get())
            }
            TraceEvent::SchedStatRuntime { task, runtime, vruntime } => {
                about(row, task).with(Column::Value, runtime.0).with_some(Column::Value2, vruntime.map(|v| v.0))
            }
            TraceEvent::SchedProcessFork { parent, child } => {
                about(row, child).with_some(Column::OtherTask, parent.map(TaskId::get))
            }
            TraceEvent::SchedProcessExit { task } => about(row, task),
            TraceEvent::CpuFrequency { cpu, khz } => row.with(Column::ToCpu, cpu.get()).with(Column::Value, khz),
            TraceEvent::Decision(Decision { reason, a, b }) => {
                row.saying(reason.slug()).with(Column::Value, a).with(Column::Value2, b)
            }
            TraceEvent::KernelWarn(warn) => row.saying(warn.slug()),
            TraceEvent::KernelSection { section, took } => row.saying(section.name()).with(Column::Value, took.0),
            TraceEvent::Marker { task, marker, value } => {
                about(row, task).with(Column::Value, value).with(Column::Value2, marker.get())
            }
            TraceEvent::CfsSample { nr_running, util_avg, load_avg } => {
                row.with(Column::Value, nr_running).with(Column::Value2, util_avg).with(Column::Value3, load_avg)
            }
            TraceEvent::SeSample { task, util_avg } => about(row, task).with(Column::Value, util_avg),
            TraceEvent::QueueAct { act, cpu, clock, group, task } => row
                .saying(act.name())
                .with_some(Column::Task, task.map(TaskId::get))
                .with(Column::ToCpu, cpu.get())
                .with(Column::Value, clock.0)
                .with_some(Column::Value2, group.map(TgId::get)),
        }
    }

    /// What the row says, or what is wrong with it.
    pub(crate) fn content(&self) -> Result<Content, String> {
        if self.event == TASK {
            let info =
                TaskInfo { name: self.word()?.to_string(), pid: self.need(Column::Value)?, prio: self.need(Column::Value2)? };
            return Ok(Content::Task(self.task(Column::Task)?, info));
        }
        let event = self.event()?;
        Ok(Content::Event(self.need(Column::TNs)?, self.cpu(Column::Cpu)?.get(), event))
    }
    fn event(&self) -> Result<TraceEvent, String> {
        let task = || self.task(Column::Task);
        Ok(match self.event.as_str() {
            "sched_waking" => TraceEvent::SchedWaking {
                task: task()?,
                target_cpu: self.cpu(Column::FromCpu)?,
                waker: self.maybe_task(Column::OtherTask)?,
                context: self.find(&CONTEXTS, context_name)?,
            },
            "sched_wakeup" => TraceEvent::SchedWakeup { task: task()?, target_cpu: self.cpu(Column::ToCpu)? },
            "sched_wakeup_new" => TraceEvent::SchedWakeupNew { task: task()?, target_cpu: self.cpu(Column::ToCpu)? },
            "sched_switch" => TraceEvent::SchedSwitch {
                prev: self.maybe_task(Column::OtherTask)?,
                prev_state: self.find(&PREV_STATES, PrevState::letter)?,
                next: self.maybe_task(Column::Task)?,
            },
            "sched_migrate_task" => TraceEvent::SchedMigrateTask {
                task: task()?,
                orig_cpu: self.cpu(Column::FromCpu)?,
                dest_cpu: self.cpu(Column::ToCpu)?,
            },
            "sched_stat_runtime" => TraceEvent::SchedStatRuntime {
                task: task()?,
                runtime: Ns(self.need(Column::Value)?),
                vruntime: self.maybe(Column::Value2)?.map(Vruntime),
            },
            "sched_process_fork" => TraceEvent::SchedProcessFork { parent: self.maybe_task(Column::OtherTask)?, child: task()? },
            "sched_process_exit" => TraceEvent::SchedProcessExit { task: task()? },
            "cpu_frequency" => TraceEvent::CpuFrequency { cpu: self.cpu(Column::ToCpu)?, khz: self.need(Column::Value)? },
            "decision" => TraceEvent::Decision(Decision {
                reason: self.find(Reason::ALL, Reason::slug)?,
                a: self.bounded(Column::Value)?,
                b: self.bounded(Column::Value2)?,
            }),
            "kernel_warn" => TraceEvent::KernelWarn(self.find(KernelWarn::ALL, KernelWarn::slug)?),
            "kernel_section" => TraceEvent::KernelSection {
                section: self.find(&Section::ALL, Section::name)?,
                took: Ns(self.need(Column::Value)?),
            },
            "marker" => TraceEvent::Marker {
                task: task()?,
                marker: MarkerId::new(self.bounded(Column::Value2)?),
                value: self.need(Column::Value)?,
            },
            "cfs_sample" => TraceEvent::CfsSample {
                nr_running: self.need(Column::Value)?,
                util_avg: self.need(Column::Value2)?,
                load_avg: self.need(Column::Value3)?,
            },
            "se_sample" => TraceEvent::SeSample { task: task()?, util_avg: self.need(Column::Value)? },
            "queue_act" => TraceEvent::QueueAct {
                act: self.find(&QueueAct::ALL, QueueAct::name)?,
                cpu: self.cpu(Column::ToCpu)?,
                clock: Ns(self.need(Column::Value)?),
                group: self.maybe_group(Column::Value2)?,
                task: self.maybe_task(Column::Task)?,
            },
            _ => return Err("an event of an unknown name was left out".to_string()),
        })
    }

    fn maybe<T: TryFrom<i128>>(&self, column: Column) -> Result<Option<T>, String> {
        let Some(number) = self.numbers[column as usize] else { return Ok(None) };
        T::try_from(number).map(Some).map_err(|_| format!("a record whose `{}` is out of range was left out", column.name()))
    }
    fn need<T: TryFrom<i128>>(&self, column: Column) -> Result<T, String> {
        self.maybe(column)?.ok_or_else(|| format!("a record without `{}` was left out", column.name()))
    }
    fn bounded(&self, column: Column) -> Result<u32, String> {
        let row = self.need(column)?;
        let too_large = || format!("a record whose `{}` is {ROW_MAX} or more was left out", column.name());
        if row < ROW_MAX { Ok(row) } else { Err(too_large()) }
    }
    fn task(&self, column: Column) -> Result<TaskId, String> {
        self.bounded(column).map(TaskId::new)
    }
    fn maybe_task(&self, column: Column) -> Result<Option<TaskId>, String> {
        if self.numbers[column as usize].is_none() { Ok(None) } else { self.task(column).map(Some) }
    }
    fn maybe_group(&self, column: Column) -> Result<Option<TgId>, String> {
        if self.numbers[column as usize].is_none() { Ok(None) } else { self.bounded(column).map(|row| Some(TgId::new(row))) }
    }
    fn cpu(&self, column: Column) -> Result<CpuId, String> {
        let cpu: u32 = self.need(column)?;
        if (cpu as usize) < CpuMask::CAPACITY {
            Ok(CpuId::new(cpu))
        } else {
            Err(format!("a CPU number of {} or more was left out", CpuMask::CAPACITY))
        }
    }
    fn word(&self) -> Result<&str, String> {
        self.what.as_deref().ok_or_else(|| "a record without `what` was left out".to_string())
    }
    fn find<T: Copy>(&self, all: &[T], name: impl Fn(T) -> &'static str) -> Result<T, String> {
        let word = self.word()?;
        let found = all.iter().copied().find(|&one| name(one) == word);
        found.ok_or_else(|| "a record with an unknown word in `what` was left out".to_string())
    }
}

const CONTEXTS: [WakeContext; 3] = [WakeContext::Task, WakeContext::Softirq, WakeContext::Hardirq];
const PREV_STATES: [PrevState; 5] =
    [PrevState::Running, PrevState::Sleeping, PrevState::DiskSleep, PrevState::Dead, PrevState::IdleWait];
const fn context_name(context: WakeContext) -> &'static str {
    match context {
        WakeContext::Task => "task",
        WakeContext::Softirq => "softirq",
        WakeContext::Hardirq => "hardirq",
    }
}
