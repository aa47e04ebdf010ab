//! What the class keeps, as another scheduler's numbers are held against it.

use super::DlSe;
use crate::Sched;
use fairground_stdx::{CpuId, TaskId};

/// The deadline queue of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DlState {
    /// Entities on it, the running one and the server of the fair class too.
    pub nr_running: u32,
    /// The deadline of the first one.
    pub earliest: Option<u64>,
    /// The first task that waits there and may go elsewhere.
    pub first_pushable: Option<TaskId>,
    /// Shares of the entities that belong here, and of those of them that are active, in 2^-20 of the CPU.
    pub this_bw: u64,
    /// See `this_bw`.
    pub running_bw: u64,
    /// What was granted on the whole machine, servers of the fair class included.
    pub total_bw: u64,
    /// How much of the CPU the class used, of 1024.
    pub util_avg: u64,
}

/// A deadline task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DlTaskState {
    /// What is left of its runtime, ns.
    pub runtime: i64,
    /// Its absolute deadline, by the clock of its run queue.
    pub deadline: u64,
    /// It has no runtime, and waits for the timer.
    pub throttled: bool,
    /// It gave its runtime away.
    pub yielded: bool,
    /// It sleeps, and its 0-lag time is yet to come.
    pub non_contending: bool,
}

impl Sched {
    /// The deadline queue of `cpu`.
    pub fn dl_queue_state(&self, cpu: CpuId) -> DlState {
        let rq = &self.rqs[cpu];
        DlState {
            nr_running: rq.dl.queue.len() as u32,
            earliest: rq.dl.queue.first().map(|row| row.0),
            first_pushable: rq.dl.pushable.first().map(|row| row.1),
            this_bw: rq.dl.this_bw,
            running_bw: rq.dl.running_bw,
            total_bw: self.dl_root.total_bw + self.server_bw(),
            util_avg: rq.avg_dl.util_avg.into(),
        }
    }

    /// Servers have their shares when they are at work here, and in kernels that have them always.
    fn server_bw(&self) -> u64 {
        self.rqs.ids().map(|cpu| self.dl(DlSe::FairServer(cpu)).dl_bw).sum()
    }

    /// What the class keeps of a task that is in it.
    pub fn dl_task_state(&self, task: TaskId) -> Option<DlTaskState> {
        let row = &self.tasks[task].dl;
        self.is_dl(task).then_some(DlTaskState {
            runtime: row.runtime,
            deadline: row.deadline,
            throttled: row.throttled,
            yielded: row.yielded,
            non_contending: row.non_contending,
        })
    }
}
