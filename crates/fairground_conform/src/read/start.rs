//! Who ran when the recording began, told by what happened later.
//!
//! Who waited then is not told: a task that is first seen at a switch may as well have been woken just before. The repair of
//! recordings says so, and its wake-up is among the records.

use crate::recording::Recording;
use fairground_model::TraceEvent;
use fairground_stdx::{CpuId, Id, IndexVec, TaskId};

/// The state at the first record.
pub struct Start {
    /// The task that ran on each CPU, of any class.
    pub running: IndexVec<CpuId, Option<TaskId>>,
}

impl Start {
    pub(super) fn find(recording: &Recording, nr_cpus: usize) -> Start {
        Start { running: running(recording, nr_cpus) }
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
