//! What the class keeps, as another scheduler's numbers are held against it.

use crate::Sched;
use fairground_stdx::{CpuId, TaskId};

/// The real-time queue of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtState {
    /// Tasks on it, the running one too.
    pub nr_running: u32,
    /// The priority number of the first task; 100 = none.
    pub highest_prio: u32,
    /// The first task that waits there and may go elsewhere.
    pub first_pushable: Option<TaskId>,
    /// It has more tasks than it can run.
    pub overloaded: bool,
    /// What ran in this period, ns.
    pub time_ns: u64,
    /// What may run in it, ns.
    pub runtime_ns: u64,
    /// That is used up.
    pub throttled: bool,
    /// How much of the CPU the class used, of 1024.
    pub util_avg: u64,
}

impl Sched {
    /// The real-time queue of `cpu`.
    pub fn rt_state(&self, cpu: CpuId) -> RtState {
        let rq = &self.rqs[cpu];
        RtState {
            nr_running: rq.rt.queue.len() as u32,
            highest_prio: rq.rt.highest_prio().into(),
            first_pushable: rq.rt.pushable.first().map(|row| row.1),
            overloaded: self.is_rt_overloaded(cpu),
            time_ns: rq.rt.time,
            runtime_ns: self.rt_runtime(cpu),
            throttled: rq.rt.throttled,
            util_avg: rq.avg_rt.util_avg.into(),
        }
    }

    /// Ticks that are left of the slice of a SCHED_RR task; `None`: it has had none yet.
    pub fn rr_slice_left(&self, task: TaskId) -> Option<u32> {
        Some(self.tasks[task].rt.time_slice).filter(|&ticks| ticks > 0)
    }
}
