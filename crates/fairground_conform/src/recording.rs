//! A recording as the comparison needs it: scheduling events in order, and what is known of tasks along the way.

use fairground_model::{Decision, InGroup, QueueAct, Reason, Sink, TaskInfo, TraceEvent, Who};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, Ns, TaskId, TgId};

/// One event of the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// When it was written.
    pub at: Instant,
    /// The CPU that wrote it.
    pub cpu: CpuId,
    /// What happened.
    pub event: TraceEvent,
}

/// From the event of this number on, a task has another priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrioChange {
    /// The number of the first event after the change was seen.
    pub before: usize,
    /// The task.
    pub task: TaskId,
    /// Its new priority number.
    pub prio: i32,
}

/// What a recording tells of a quota: no kernel's tracepoints do, but probes of recorders and our own decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuotaAct {
    /// The number of the first event after it.
    pub before: usize,
    /// When.
    pub at: Instant,
    /// The CPU that did it.
    pub cpu: CpuId,
    /// What it did.
    pub what: QuotaChange,
    /// It was written as the kernel function was entered, so that the accounts that it makes come later; else as it was left.
    pub at_entry: bool,
}

/// What becomes of a queue with a quota, or of a task below one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuotaChange {
    /// The group's queue is throttled, on this CPU if that is told.
    Throttle(TgId, Option<CpuId>),
    /// The group's queue on this CPU is released.
    Release(TgId, CpuId),
    /// A running task below a throttled queue stops on its way back to user mode.
    Stop(TaskId),
}

impl QuotaChange {
    /// What a decision of the core tells of quotas.
    fn of(decision: &Decision) -> Option<QuotaChange> {
        match (decision.reason, Decision::who(decision.a)) {
            (Reason::Throttle, Who::Group(group)) => Some(QuotaChange::Throttle(group, None)),
            (Reason::Unthrottle, Who::Group(group)) => Some(QuotaChange::Release(group, CpuId::new(decision.b))),
            (Reason::ThrottleWork, Who::Task(task)) => Some(QuotaChange::Stop(task)),
            _ => None,
        }
    }
}

/// What a recording tells of a run queue beside the tracepoints: our own do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueRecord {
    /// The number of the first event after it.
    pub before: usize,
    /// The number of the first act of quota after it.
    pub before_quota: usize,
    /// When.
    pub at: Instant,
    /// The CPU that did it.
    pub writer: CpuId,
    /// What it did.
    pub act: QueueAct,
    /// With whose queue.
    pub cpu: CpuId,
    /// What its task clock shows, ns.
    pub clock: Ns,
    /// The group that it is about.
    pub group: Option<TgId>,
    /// The task that it is about.
    pub task: Option<TaskId>,
}

/// The control group of a task, as a recording tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupRecord {
    /// The number of the first event after it.
    pub before: usize,
    /// When it was written.
    pub at: Instant,
    /// The CPU that wrote it.
    pub cpu: CpuId,
    /// The task.
    pub task: TaskId,
    /// The path of the group.
    pub path: String,
    /// It comes there at this moment; else since when it is there is not told.
    pub comes: bool,
}

impl GroupRecord {
    /// As a sink was told it.
    pub fn group(&self) -> InGroup<'_> {
        if self.comes { InGroup::Comes(&self.path) } else { InGroup::Is(&self.path) }
    }
}

/// A recording. It is a sink: readers of traces fill it.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The tasks as they were when they were first seen, but with the name that they had last.
    pub tasks: IndexVec<TaskId, TaskInfo>,
    /// The events in order of time.
    pub records: Vec<Record>,
    /// Priorities that changed, in order.
    pub prio_changes: Vec<PrioChange>,
    /// What it tells of quotas, in order.
    pub quota_acts: Vec<QuotaAct>,
    /// What it tells of run queues, in order.
    pub queue_acts: Vec<QueueRecord>,
    /// The groups of tasks, where the recording tells them, in order.
    pub groups: Vec<GroupRecord>,
    /// The numbers of the events that no recorder wrote, in order.
    inferred: Vec<usize>,
    prios: Vec<i32>,
    /// Tasks between their fork, which tells no priority, and the wake-up after it, which does.
    newborn: Vec<TaskId>,
}

impl Default for Recording {
    fn default() -> Recording {
        Recording {
            tasks: IndexVec::new(),
            records: Vec::new(),
            prio_changes: Vec::new(),
            quota_acts: Vec::new(),
            queue_acts: Vec::new(),
            groups: Vec::new(),
            inferred: Vec::new(),
            prios: Vec::new(),
            newborn: Vec::new(),
        }
    }
}

impl Recording {
    /// One more than the largest number of a CPU that is named.
    pub fn nr_cpus(&self) -> usize {
        let own = self.records.iter().map(|record| record.cpu.index() + 1);
        let named = self.records.iter().flat_map(|record| cpus_of(&record.event)).flatten().map(|cpu| cpu.index() + 1);
        own.chain(named).max().unwrap_or(0)
    }
    /// Takes in what a recorder's probes tell of quotas, in order of time.
    pub fn add_quota_probes(&mut self, probes: impl IntoIterator<Item = (Instant, CpuId, QuotaChange)>) {
        for (at, cpu, what) in probes {
            let before = self.records.partition_point(|record| record.at < at);
            self.quota_acts.push(QuotaAct { before, at, cpu, what, at_entry: true });
        }
    }
    /// Whether it tells when tasks go to another group, if any does.
    pub fn tells_moves(&self) -> bool {
        self.groups.iter().any(|group| group.comes)
            || self.queue_acts.iter().any(|row| matches!(row.act, QueueAct::Schedule | QueueAct::Join))
    }
    /// Whether it has rows that stand where queues with a quota are throttled and released.
    pub(crate) fn tells_quotas_in_place(&self) -> bool {
        self.queue_acts.iter().any(|row| matches!(row.act, QueueAct::Throttle | QueueAct::Release | QueueAct::Stop))
    }
    /// Whether the event of this number follows from others and was not recorded: what it decides is no kernel's answer.
    pub fn is_inferred(&self, index: usize) -> bool {
        self.inferred.binary_search(&index).is_ok()
    }
    /// Whether a task has the name of a thread that is bound to one CPU: `ksoftirqd/3`, `kworker/3:1H`, not `kworker/u8:1`.
    pub fn is_per_cpu_thread(&self, task: TaskId) -> bool {
        let after = self.tasks[task].name.split_once('/').map(|name| name.1);
        after.is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
    }
    /// Whether a task has a name that kernel threads have: no trace tells it otherwise.
    pub fn is_kernel_thread(&self, task: TaskId) -> bool {
        const PREFIXES: [&str; 9] =
            ["rcu_", "kcompactd", "kthreadd", "khugepaged", "kswapd", "kdamond", "ksmd", "oom_reaper", "khungtaskd"];
        let name = &self.tasks[task].name;
        name.contains('/') || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    }
}

/// The CPUs that an event names.
fn cpus_of(event: &TraceEvent) -> [Option<CpuId>; 2] {
    match *event {
        TraceEvent::SchedWaking { target_cpu, .. }
        | TraceEvent::SchedWakeup { target_cpu, .. }
        | TraceEvent::SchedWakeupNew { target_cpu, .. } => [Some(target_cpu), None],
        TraceEvent::SchedMigrateTask { orig_cpu, dest_cpu, .. } => [Some(orig_cpu), Some(dest_cpu)],
        _ => [None, None],
    }
}

/// Whether a comparison has a use for it.
const fn matters(event: &TraceEvent) -> bool {
    !event.is_sample() && !matches!(event, TraceEvent::Decision(_) | TraceEvent::KernelWarn(_) | TraceEvent::Marker { .. })
}

impl Sink for Recording {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        while self.tasks.len() <= task.index() {
            self.tasks.push(TaskInfo { name: String::new(), pid: 0, prio: i32::MIN });
            self.prios.push(i32::MIN);
        }
        let (row, prio) = (&mut self.tasks[task], &mut self.prios[task.index()]);
        if *prio == i32::MIN {
            *row = info.clone();
        } else {
            row.name.clone_from(&info.name);
            if *prio != info.prio && self.newborn.contains(&task) {
                row.prio = info.prio;
            } else if *prio != info.prio {
                self.prio_changes.push(PrioChange { before: self.records.len(), task, prio: info.prio });
            }
        }
        *prio = info.prio;
    }
    fn group(&mut self, at: Instant, cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        let comes = matches!(group, InGroup::Comes(_));
        self.groups.push(GroupRecord { before: self.records.len(), at, cpu, task, path: group.path().to_string(), comes });
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedProcessFork { child, .. } => self.newborn.push(child),
            TraceEvent::SchedWakeupNew { task, .. } => self.newborn.retain(|&born| born != task),
            _ => {}
        }
        if let TraceEvent::Decision(decision) = event
            && let Some(what) = QuotaChange::of(decision)
        {
            self.quota_acts.push(QuotaAct { before: self.records.len(), at, cpu, what, at_entry: false });
        }
        if let TraceEvent::QueueAct { act, cpu: of, clock, group, task } = *event {
            let (before, before_quota) = (self.records.len(), self.quota_acts.len());
            self.queue_acts.push(QueueRecord { before, before_quota, at, writer: cpu, act, cpu: of, clock, group, task });
        }
        if matters(event) {
            self.records.push(Record { at, cpu, event: *event });
        }
    }
    fn no_runtime(&mut self, at: Instant, cpu: CpuId, task: TaskId) {
        self.record(at, cpu, &TraceEvent::SchedStatRuntime { task, runtime: Ns::ZERO, vruntime: None });
    }
    fn inferred(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.inferred.push(self.records.len());
        self.record(at, cpu, event);
    }
}
