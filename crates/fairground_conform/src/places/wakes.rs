//! Wake-ups as the record has them: waking, perhaps a migration by the same CPU, and the wake-up itself.

use crate::order::Order;
use crate::recording::Recording;
use fairground_model::TraceEvent;
use fairground_stdx::{CpuId, Id, TaskId};

/// One wake-up with its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wake {
    /// The wakee.
    pub(crate) task: TaskId,
    /// The task that the waking CPU ran; none for an interrupt of an idle CPU.
    pub(crate) waker: Option<TaskId>,
    /// The CPU that woke it.
    pub(crate) this: CpuId,
    /// Where it ran last.
    pub(crate) prev: CpuId,
    /// Where it was queued.
    pub(crate) target: CpuId,
    /// The record with which it begins.
    pub(crate) began: u32,
    /// The first record behind the choice: the migration, or what the waker wrote next.
    pub(crate) decided: u32,
    /// The record that says it is queued.
    pub(crate) queued: u32,
    /// Whether it was moved, so that a choice was made for certain.
    pub(crate) moved: bool,
}

const OPEN: u32 = u32::MAX;

/// All wake-ups in order of their beginning. One that never ends is left out by its `queued`.
pub(crate) fn wakes(recording: &Recording, order: &Order) -> Vec<Wake> {
    let mut wakes: Vec<Wake> = Vec::new();
    let mut open: Vec<u32> = vec![OPEN; recording.tasks.len()];
    for (index, record) in recording.records.iter().enumerate() {
        let number = index as u32;
        match record.event {
            TraceEvent::SchedWaking { task, target_cpu, waker, .. } => {
                open[task.index()] = wakes.len() as u32;
                wakes.push(Wake {
                    task,
                    waker,
                    this: record.cpu,
                    prev: target_cpu,
                    target: target_cpu,
                    began: number,
                    decided: OPEN,
                    queued: OPEN,
                    moved: false,
                });
            }
            TraceEvent::SchedMigrateTask { task, dest_cpu, .. } if open[task.index()] != OPEN => {
                let wake = &mut wakes[open[task.index()] as usize];
                if wake.this == record.cpu && !wake.moved {
                    (wake.decided, wake.moved, wake.target) = (number, true, dest_cpu);
                }
            }
            TraceEvent::SchedWakeup { task, target_cpu } if open[task.index()] != OPEN => {
                let row = std::mem::replace(&mut open[task.index()], OPEN);
                let wake = &mut wakes[row as usize];
                (wake.target, wake.queued) = (target_cpu, number);
                if wake.decided == OPEN {
                    let next = order.next(wake.began as usize).map_or(number, |next| next as u32);
                    wake.decided = next.min(number);
                }
            }
            _ => {}
        }
    }
    wakes
}

impl Wake {
    /// Whether the record shows its end.
    pub(crate) fn is_whole(&self) -> bool {
        self.queued != OPEN
    }
}
