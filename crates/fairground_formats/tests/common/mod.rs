//! What the tests share: any sequence of events that a run could produce.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

pub(crate) mod files;
pub(crate) mod folder;
pub(crate) mod pftrace;

use fairground_formats::{WriterOptions, writer_with};
use fairground_model::reason::IdKind;
use fairground_model::{Decision, KernelWarn, PrevState, QueueAct, Reason, Section, TaskInfo, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Instant, MarkerId, Ns, TaskId, TgId, Vruntime};
use proptest::prelude::*;

/// Tasks and what happened to them.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) tasks: Vec<TaskInfo>,
    pub(crate) events: Vec<(Instant, CpuId, TraceEvent)>,
}

pub(crate) const TASKS: u32 = 6;
const STATES: [PrevState; 5] =
    [PrevState::Running, PrevState::Sleeping, PrevState::DiskSleep, PrevState::Dead, PrevState::IdleWait];
const CONTEXTS: [WakeContext; 3] = [WakeContext::Task, WakeContext::Softirq, WakeContext::Hardirq];

fn task() -> impl Strategy<Value = TaskId> {
    (0..TASKS).prop_map(TaskId::new)
}
fn cpu() -> impl Strategy<Value = CpuId> {
    (0..4u32).prop_map(CpuId::new)
}

/// An event that has a tracepoint of its own.
pub(crate) fn tracepoint() -> impl Strategy<Value = TraceEvent> {
    let maybe = || proptest::option::of(task());
    prop_oneof![
        (task(), cpu(), maybe(), 0..3usize).prop_map(|(task, target_cpu, waker, context)| TraceEvent::SchedWaking {
            task,
            target_cpu,
            waker,
            context: CONTEXTS[context]
        }),
        (task(), cpu()).prop_map(|(task, target_cpu)| TraceEvent::SchedWakeup { task, target_cpu }),
        (task(), cpu()).prop_map(|(task, target_cpu)| TraceEvent::SchedWakeupNew { task, target_cpu }),
        (maybe(), 0..5usize, maybe()).prop_map(|(prev, state, next)| TraceEvent::SchedSwitch {
            prev,
            prev_state: STATES[state],
            next
        }),
        (task(), cpu(), cpu()).prop_map(|(task, orig_cpu, dest_cpu)| TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu }),
        (task(), length(), proptest::option::of(any::<u64>())).prop_map(|(task, runtime, vruntime)| {
            TraceEvent::SchedStatRuntime { task, runtime: Ns(runtime), vruntime: vruntime.map(Vruntime) }
        }),
        (maybe(), task()).prop_map(|(parent, child)| TraceEvent::SchedProcessFork { parent, child }),
        task().prop_map(|task| TraceEvent::SchedProcessExit { task }),
        (cpu(), any::<u32>()).prop_map(|(cpu, khz)| TraceEvent::CpuFrequency { cpu, khz }),
    ]
}

/// A length of time that a recording may hold, ns: up to 13 days.
fn length() -> impl Strategy<Value = u64> {
    0..=Instant::MAX.ns()
}

/// What is done with a run queue.
pub(crate) fn queue_act() -> impl Strategy<Value = TraceEvent> {
    let group = proptest::option::of((0..9u32).prop_map(TgId::new));
    (0..QueueAct::ALL.len(), cpu(), length(), group, proptest::option::of(task())).prop_map(|(act, cpu, clock, group, task)| {
        TraceEvent::QueueAct { act: QueueAct::ALL[act], cpu, clock: Ns(clock), group, task }
    })
}

/// Any event.
pub(crate) fn event() -> impl Strategy<Value = TraceEvent> {
    let id = |kind: IdKind, id: u32| if kind == IdKind::None { 0 } else { id };
    prop_oneof![
        4 => tracepoint(),
        1 => (0..Reason::ALL.len(), 0..TASKS, 0..TASKS).prop_map(move |(reason, a, b)| {
            let reason = Reason::ALL[reason];
            TraceEvent::Decision(Decision { reason, a: id(reason.ids().0, a), b: id(reason.ids().1, b) })
        }),
        1 => (0..KernelWarn::ALL.len()).prop_map(|warn| TraceEvent::KernelWarn(KernelWarn::ALL[warn])),
        1 => (0..Section::ALL.len(), length()).prop_map(|(section, took)| TraceEvent::KernelSection { section: Section::ALL[section], took: Ns(took) }),
        1 => (task(), 0..9u32, any::<u64>())
            .prop_map(|(task, marker, value)| TraceEvent::Marker { task, marker: MarkerId::new(marker), value }),
        1 => (any::<u32>(), any::<u32>(), any::<u64>())
            .prop_map(|(nr_running, util_avg, load_avg)| TraceEvent::CfsSample { nr_running, util_avg, load_avg }),
        1 => (task(), any::<u32>()).prop_map(|(task, util_avg)| TraceEvent::SeSample { task, util_avg }),
        1 => queue_act(),
    ]
}

/// A run of such events, in order of time. Names hold anything but control characters.
pub(crate) fn run(event: impl Strategy<Value = TraceEvent>) -> impl Strategy<Value = Run> {
    let names = proptest::collection::vec("[^\\p{C}\u{2028}\u{2029}]{0,15}", TASKS as usize);
    let events = proptest::collection::vec((0..5_000_000u64, cpu(), event), 0..120);
    (names, proptest::collection::vec(-1..140i32, TASKS as usize), events).prop_map(|(names, prios, events)| {
        let tasks = names.into_iter().zip(prios).enumerate();
        let tasks = tasks.map(|(row, (name, prio))| TaskInfo { name, pid: 1000 + row as u32, prio }).collect();
        let mut at = 0;
        let timed = events.into_iter().map(|(gap, cpu, event)| {
            at += gap;
            (Instant::from_ns(at), cpu, event)
        });
        Run { tasks, events: timed.collect() }
    })
}

/// An event with process ids for task rows: rows are numbered anew when text is read.
pub(crate) fn with_pids(event: &TraceEvent, pid: impl Fn(TaskId) -> u32) -> TraceEvent {
    let mut event = *event;
    let set = |task: &mut TaskId| *task = TaskId::new(pid(*task));
    match &mut event {
        TraceEvent::SchedWaking { task, waker, .. } => [Some(task), waker.as_mut()].into_iter().flatten().for_each(set),
        TraceEvent::SchedSwitch { prev, next, .. } => [prev, next].into_iter().flatten().for_each(set),
        TraceEvent::SchedProcessFork { parent, child } => [parent.as_mut(), Some(child)].into_iter().flatten().for_each(set),
        TraceEvent::SchedWakeup { task, .. }
        | TraceEvent::SchedWakeupNew { task, .. }
        | TraceEvent::SchedMigrateTask { task, .. }
        | TraceEvent::SchedStatRuntime { task, .. }
        | TraceEvent::SchedProcessExit { task } => set(task),
        TraceEvent::CpuFrequency { .. } => {}
        other => panic!("{other:?} is no tracepoint"),
    }
    event
}

/// The run as a file of the format with this ending.
pub(crate) fn written(run: &Run, ending: &str, options: &WriterOptions) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = writer_with(ending, Box::new(&mut file), options).unwrap();
    for (row, info) in run.tasks.iter().enumerate() {
        writer.task(TaskId::new(row as u32), info);
    }
    for (at, cpu, event) in &run.events {
        writer.record(*at, *cpu, event);
    }
    writer.finish().unwrap();
    file
}
