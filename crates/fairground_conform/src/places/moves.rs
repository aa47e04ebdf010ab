//! Moves of runnable tasks between CPUs, outside wake-ups, as the record has them.

use crate::order::Order;
use crate::read::{Mark, Start};
use crate::recording::Recording;
use fairground_model::TraceEvent;
use fairground_stdx::{CpuId, IndexVec, TaskId};

/// What made a CPU move tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MoveKind {
    /// It ran out of tasks, and pulled some before it went idle.
    Newidle,
    /// The balance of its tick, while it runs a task.
    BusyTick,
    /// The balance of its tick, or for itself after a kick, while it is idle.
    IdleTick,
    /// An idle CPU balanced on behalf of another one whose tick is stopped.
    NoTick,
    /// A stopper thread: an active balance, or a change of the allowed CPUs.
    Stopper,
    /// Something else: a change of the allowed CPUs of a waiting task.
    Other,
}

impl MoveKind {
    /// All in the order of tables.
    pub const ALL: [MoveKind; 6] =
        [MoveKind::Newidle, MoveKind::BusyTick, MoveKind::IdleTick, MoveKind::NoTick, MoveKind::Stopper, MoveKind::Other];
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            MoveKind::Newidle => "newidle",
            MoveKind::BusyTick => "busy_tick",
            MoveKind::IdleTick => "idle_tick",
            MoveKind::NoTick => "no_tick",
            MoveKind::Stopper => "stopper",
            MoveKind::Other => "other",
        }
    }
    /// Whether load balance made it, as far as the record tells.
    pub const fn is_balance(self) -> bool {
        matches!(self, MoveKind::Newidle | MoveKind::BusyTick | MoveKind::IdleTick | MoveKind::NoTick)
    }
}

/// Tasks that one balance moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    /// The record of the first one.
    pub(crate) first: u32,
    /// The CPU that moved them.
    pub(crate) writer: CpuId,
    pub(crate) from: CpuId,
    pub(crate) to: CpuId,
    pub(crate) kind: MoveKind,
    /// How many.
    pub(crate) moved: u32,
}

/// All moves of runnable tasks, those of one balance together, in order of their first record.
pub(crate) fn batches(recording: &Recording, order: &Order, start: &Start, marks: &[Mark]) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut running: IndexVec<CpuId, Option<TaskId>> = start.running.clone();
    // The batch of a record that goes on with one that began before.
    let mut goes_on: Vec<Option<usize>> = vec![None; recording.records.len()];
    for (index, record) in recording.records.iter().enumerate() {
        match record.event {
            TraceEvent::SchedSwitch { next, .. } => running[record.cpu] = next,
            TraceEvent::SchedMigrateTask { orig_cpu, dest_cpu, .. } if marks[index] != Mark::WakeMove => {
                let number = match goes_on[index] {
                    Some(number) => number,
                    None => {
                        let (writer, from, to) = (record.cpu, orig_cpu, dest_cpu);
                        let kind = kind_of(recording, marks[index], running[writer], writer == to);
                        batches.push(Batch { first: index as u32, writer, from, to, kind, moved: 0 });
                        batches.len() - 1
                    }
                };
                batches[number].moved += 1;
                let next = next_of_batch(recording, order, marks, index, (orig_cpu, dest_cpu));
                if let Some(next) = next.filter(|_| batches[number].kind.is_balance()) {
                    goes_on[next] = Some(number);
                }
            }
            _ => {}
        }
    }
    batches
}

fn kind_of(recording: &Recording, mark: Mark, running: Option<TaskId>, for_itself: bool) -> MoveKind {
    match (running, for_itself) {
        (Some(task), _) if is_stopper(recording, task) => MoveKind::Stopper,
        (Some(_), true) if mark == Mark::Pull => MoveKind::Newidle,
        (Some(_), true) => MoveKind::BusyTick,
        (None, true) => MoveKind::IdleTick,
        (None, false) => MoveKind::NoTick,
        (Some(_), false) => MoveKind::Other,
    }
}

/// The stopper threads are called `migration/N`.
fn is_stopper(recording: &Recording, task: TaskId) -> bool {
    recording.tasks[task].name.starts_with("migration/")
}

/// The next move the same way, if the CPU writes nothing but accounts of run time before it.
fn next_of_batch(recording: &Recording, order: &Order, marks: &[Mark], index: usize, way: (CpuId, CpuId)) -> Option<usize> {
    let mut next = order.next(index)?;
    while matches!(recording.records[next].event, TraceEvent::SchedStatRuntime { .. }) {
        next = order.next(next)?;
    }
    match recording.records[next].event {
        TraceEvent::SchedMigrateTask { orig_cpu, dest_cpu, .. } => {
            ((orig_cpu, dest_cpu) == way && marks[next] != Mark::WakeMove).then_some(next)
        }
        _ => None,
    }
}
