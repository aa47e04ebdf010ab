//! Who is queued where, from the records alone: a task is runnable from its wake-up until a switch that leaves it in a
//! state other than running; migrations move it.

use super::Wake;
use crate::order::Order;
use crate::read::Start;
use crate::recording::Recording;
use fairground_model::{PrevState, TraceEvent};
use fairground_stdx::{CpuId, Id, IndexVec, TaskId};

/// A CPU's queue after a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    /// The record.
    pub(crate) index: u32,
    /// The CPU.
    pub(crate) cpu: CpuId,
    /// Its queue from then on.
    pub(crate) queue: Queue,
}

/// What is on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Queue {
    /// Runnable tasks of all classes, the running one included.
    pub(crate) nr: u32,
    /// Tasks that a CPU has chosen this one for and that are not queued yet.
    pub(crate) coming: u32,
    /// Whether a task runs there.
    pub(crate) runs: bool,
    /// Tasks that were still counted as the CPU switched to idle: it does so with nobody to run, so they are held back for want of quota.
    pub(crate) held: u32,
}

impl Queue {
    /// Kernel: core.c idle_cpu(), v4.12–
    pub(crate) const fn is_idle(self) -> bool {
        !self.runs && self.nr == 0 && self.coming == 0
    }
    /// Whether nobody runs there, and nobody came or is coming since the CPU switched to idle.
    pub(crate) const fn is_left_idle(self) -> bool {
        !self.runs && self.nr <= self.held && self.coming == 0
    }
}

/// The queues of all CPUs through the record.
pub(crate) struct Occupancy {
    /// How they were when it began.
    pub(crate) start: IndexVec<CpuId, Queue>,
    /// What changed, in order.
    pub(crate) changes: Vec<Change>,
}

impl Occupancy {
    pub(crate) fn new(recording: &Recording, order: &Order, start: &Start, wakes: &[Wake]) -> Occupancy {
        let mut pass = Pass {
            queues: IndexVec::filled(Queue::default(), start.running.len()),
            on: vec![None; recording.tasks.len()],
            changes: Vec::new(),
            index: 0,
        };
        for (cpu, &running) in start.running.iter_enumerated() {
            pass.queues[cpu].runs = running.is_some();
            if let Some(task) = running {
                pass.put(task, cpu);
            }
        }
        pass.changes.clear();
        let queues = pass.queues.clone();
        let mut coming: Vec<&Wake> = wakes.iter().filter(|wake| wake.is_whole()).collect();
        coming.sort_unstable_by_key(|wake| wake.decided);
        let mut coming = coming.into_iter().peekable();
        let mut under_way: Vec<Option<CpuId>> = vec![None; recording.tasks.len()];
        for (index, record) in recording.records.iter().enumerate() {
            pass.index = index as u32;
            while let Some(wake) = coming.next_if(|wake| wake.decided <= pass.index) {
                // One that is queued by the very next record is never seen under way.
                if wake.queued > wake.decided && pass.on[wake.task.index()].is_none() {
                    under_way[wake.task.index()] = Some(wake.target);
                    pass.change(wake.target, |queue| queue.coming += 1);
                }
            }
            match record.event {
                TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu } => {
                    if let Some(cpu) = under_way[task.index()].take() {
                        pass.change(cpu, |queue| queue.coming -= 1);
                    }
                    if pass.on[task.index()].is_none() {
                        pass.put(task, target_cpu);
                    }
                }
                TraceEvent::SchedMigrateTask { task, dest_cpu, .. } if pass.on[task.index()].is_some() => {
                    pass.put(task, dest_cpu)
                }
                TraceEvent::SchedSwitch { prev, prev_state, next } => {
                    let leaves = order.prev_state(index, prev_state) != PrevState::Running;
                    pass.switch(record.cpu, prev.filter(|_| leaves), next);
                }
                _ => {}
            }
        }
        Occupancy { start: queues, changes: pass.changes }
    }
}

struct Pass {
    queues: IndexVec<CpuId, Queue>,
    /// On which queue each task is.
    on: Vec<Option<CpuId>>,
    changes: Vec<Change>,
    index: u32,
}

impl Pass {
    fn change(&mut self, cpu: CpuId, change: impl FnOnce(&mut Queue)) {
        change(&mut self.queues[cpu]);
        self.changes.push(Change { index: self.index, cpu, queue: self.queues[cpu] });
    }
    fn take(&mut self, task: TaskId) {
        if let Some(old) = self.on[task.index()].take() {
            self.change(old, |queue| {
                queue.nr -= 1;
                queue.held = queue.held.min(queue.nr);
            });
        }
    }
    /// The task is on the queue of `cpu`, and on no other.
    fn put(&mut self, task: TaskId, cpu: CpuId) {
        if self.on[task.index()] != Some(cpu) {
            self.take(task);
            self.on[task.index()] = Some(cpu);
            self.change(cpu, |queue| queue.nr += 1);
        }
    }
    fn switch(&mut self, cpu: CpuId, sleeps: Option<TaskId>, next: Option<TaskId>) {
        if let Some(task) = sleeps.filter(|task| self.on[task.index()] == Some(cpu)) {
            self.take(task);
        }
        if let Some(next) = next {
            self.put(next, cpu);
        }
        self.change(cpu, |queue| {
            queue.runs = next.is_some();
            queue.held = if queue.runs { 0 } else { queue.nr };
        });
    }
}
