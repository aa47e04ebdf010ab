//! Who ran and who waited when the recording began, told by what they did later.

use super::is_fair;
use crate::recording::Recording;
use fairground_model::TraceEvent;
use fairground_stdx::{CpuId, Id, IndexVec, TaskId};

/// The state at the first record.
pub struct Start {
    /// The task that ran on each CPU, of any class.
    pub running: IndexVec<CpuId, Option<TaskId>>,
    /// Fair tasks that waited, with their CPU, in order of first sight.
    pub queued: Vec<(TaskId, CpuId)>,
}

impl Start {
    pub(super) fn find(recording: &Recording, nr_cpus: usize) -> Start {
        let running = running(recording, nr_cpus);
        let queued = queued(recording, &running);
        Start { running, queued }
    }
}

/// The first switch of a CPU names who ran before it, unless that task was made or seen elsewhere before: then records
/// are missing. On a CPU without any switch, whoever is accounted for there ran all the time, if he was never seen to
/// get the CPU.
fn running(recording: &Recording, nr_cpus: usize) -> IndexVec<CpuId, Option<TaskId>> {
    let mut running = IndexVec::filled(None, nr_cpus);
    let mut known = vec![false; nr_cpus];
    let mut switched = vec![false; recording.tasks.len()];
    for record in &recording.records {
        match record.event {
            TraceEvent::SchedSwitch { prev, next, .. } => {
                if !std::mem::replace(&mut known[record.cpu.index()], true) {
                    running[record.cpu] = prev.filter(|task| !switched[task.index()]);
                }
                prev.into_iter().chain(next).for_each(|task| switched[task.index()] = true);
            }
            TraceEvent::SchedProcessFork { child, .. } => switched[child.index()] = true,
            _ => {}
        }
    }
    for record in &recording.records {
        if let TraceEvent::SchedStatRuntime { task, .. } = record.event
            && !known[record.cpu.index()]
            && !switched[task.index()]
        {
            known[record.cpu.index()] = true;
            switched[task.index()] = true;
            running[record.cpu] = Some(task);
        }
    }
    running
}

/// Who gets a CPU, or is moved between queues, without having been woken or made before waited from the start.
fn queued(recording: &Recording, running: &IndexVec<CpuId, Option<TaskId>>) -> Vec<(TaskId, CpuId)> {
    let mut seen = vec![false; recording.tasks.len()];
    running.iter().flatten().for_each(|task| seen[task.index()] = true);
    let mut queued = Vec::new();
    for record in &recording.records {
        let (task, cpu) = match record.event {
            TraceEvent::SchedSwitch { next: Some(next), .. } => (next, Some(record.cpu)),
            TraceEvent::SchedMigrateTask { task, orig_cpu, .. } => (task, Some(orig_cpu)),
            TraceEvent::SchedWaking { task, .. }
            | TraceEvent::SchedWakeup { task, .. }
            | TraceEvent::SchedWakeupNew { task, .. }
            | TraceEvent::SchedProcessFork { child: task, .. } => (task, None),
            _ => continue,
        };
        let first = !std::mem::replace(&mut seen[task.index()], true);
        if let Some(cpu) = cpu.filter(|_| first && is_fair(&recording.tasks, task)) {
            queued.push((task, cpu));
        }
    }
    queued
}
