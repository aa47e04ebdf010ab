//! The deadline class: SCHED_DEADLINE. Earliest deadline first, each task within its own constant bandwidth server (CBS), before all
//! other tasks; and the server of the fair class, which is an entity of this class.
//!
//! ```text
//! queue      earliest deadline ──► latest          the running one keeps its place
//! pushable   those of the queue that wait here and may run elsewhere
//! throttled  on no queue: runtime used up, the timer replenishes
//! ```
//!
//! Start reading at `entity.rs` (the rules of one entity), `queue.rs`, then `class.rs`; `timer.rs` replenishes, `bandwidth.rs` and
//! `admission.rs` count shares of CPUs, `push_pull.rs` and `later_rq.rs` spread the tasks over CPUs, `server.rs` serves fair tasks.

mod admission;
mod bandwidth;
mod check;
mod class;
mod entity;
mod later_rq;
mod push_pull;
mod queue;
mod server;
mod state;
mod switched;
#[cfg(test)]
mod tests;
mod timer;

use crate::Sched;
use fairground_stdx::{CpuId, TaskId};

pub use admission::Refused;
pub(crate) use bandwidth::DlRoot;
pub(crate) use entity::{BW_SHIFT, DlEntity};
pub use state::{DlState, DlTaskState};

/// Who has a deadline: a task, or the server of the fair class on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DlSe {
    /// A task.
    Task(TaskId),
    /// The server of the fair class of a CPU.
    FairServer(CpuId),
}

/// Timers of the deadline class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DlTimer {
    /// A throttled entity gets its runtime again, or a server that was put off may run.
    Replenish(DlSe),
    /// What an entity that sleeps has used is paid: its share of the CPU is free (0-lag time).
    ZeroLag(DlSe),
}

/// The queue of a CPU.
///
/// Kernel: sched.h struct dl_rq, v4.12–
#[derive(Clone, Debug, Default)]
pub(crate) struct DlRq {
    /// Deadline and who has it, the earliest first; of equal ones who came first.
    queue: Vec<(u64, DlSe)>,
    /// The same of the tasks that wait and may run elsewhere.
    pushable: Vec<(u64, TaskId)>,
    /// Shares of the entities that belong here, in 2^-20 of the CPU.
    pub(crate) this_bw: u64,
    /// Those of them that are active: they are runnable, or their 0-lag time is yet to come.
    pub(crate) running_bw: u64,
    /// The server of the fair class.
    server: DlEntity,
    /// The task clock up to which idle time was accounted, while the CPU is idle.
    idle_since: u64,
    /// That at which its stopper began.
    stopper_since: u64,
}

impl DlRq {
    /// Whether an entity is to be picked.
    #[inline]
    pub(crate) fn is_runnable(&self) -> bool {
        !self.queue.is_empty()
    }
    /// How many tasks count in the number of tasks of the CPU.
    pub(crate) fn nr_counted(&self) -> u32 {
        self.queue.iter().filter(|row| matches!(row.1, DlSe::Task(_))).count() as u32
    }
}

impl Sched {
    /// Whether a task is of the deadline class.
    #[inline]
    pub(crate) fn is_dl(&self, task: TaskId) -> bool {
        self.tasks[task].policy.deadline().is_some()
    }

    fn dl(&self, se: DlSe) -> &DlEntity {
        match se {
            DlSe::Task(task) => &self.tasks[task].dl,
            DlSe::FairServer(cpu) => &self.rqs[cpu].dl.server,
        }
    }

    fn dl_mut(&mut self, se: DlSe) -> &mut DlEntity {
        match se {
            DlSe::Task(task) => &mut self.tasks[task].dl,
            DlSe::FairServer(cpu) => &mut self.rqs[cpu].dl.server,
        }
    }

    /// The CPU to which an entity belongs.
    fn dl_cpu(&self, se: DlSe) -> CpuId {
        match se {
            DlSe::Task(task) => self.tasks[task].cpu,
            DlSe::FairServer(cpu) => cpu,
        }
    }
}
