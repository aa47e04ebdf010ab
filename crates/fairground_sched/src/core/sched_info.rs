//! How long tasks wait for a CPU, and how often they get one: the numbers of /proc/PID/schedstat, and their sums
//! per CPU. Times are readings of the run queue's clock.
//!
//! ```text
//!   enqueue, switch away while runnable     arrival on the CPU, dequeue
//!   last_queued = clock, if it is not set   run_delay += clock - last_queued; last_queued = not set
//! ```

use crate::Sched;
use fairground_model::PrevState;
use fairground_stdx::{CpuId, TaskId};

/// What is counted for a task.
///
/// Kernel: sched.h struct sched_info, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SchedInfo {
    /// Times that it was put on a CPU.
    pub pcount: u64,
    /// Time that it could run and waited, ns.
    pub run_delay: u64,
    /// Clock when it was last put on a CPU.
    last_arrival: u64,
    /// Clock since when it waits; 0 = it does not.
    last_queued: u64,
}

impl SchedInfo {
    /// The wait that ends at `clock`, if there is one, is counted.
    fn end_wait(&mut self, clock: u64) -> u64 {
        if self.last_queued == 0 {
            return 0;
        }
        // A task that is moved takes the reading of one queue's clock to another, whose last reading may be older.
        let waited = clock.saturating_sub(std::mem::take(&mut self.last_queued));
        self.run_delay += waited;
        waited
    }
}

impl Sched {
    /// Starts the waiting time of a task, unless it waits already.
    ///
    /// Kernel: stats.h sched_info_enqueue(), sched_info_queued() before v5.14, v4.12–
    #[inline]
    pub(crate) fn sched_info_enqueue(&mut self, task: TaskId) {
        let row = &mut self.tasks[task];
        if row.sched_info.last_queued == 0 {
            row.sched_info.last_queued = self.rqs[row.cpu].clocks.clock;
        }
    }

    /// A task that may have waited leaves its queue otherwise than by running: it moves, say.
    ///
    /// Kernel: stats.h sched_info_dequeue(), sched_info_dequeued() before v5.14, v4.12–
    #[inline]
    pub(crate) fn sched_info_dequeue(&mut self, task: TaskId) {
        let row = &mut self.tasks[task];
        let rq = &mut self.rqs[row.cpu];
        rq.stats.run_delay += row.sched_info.end_wait(rq.clocks.clock);
    }

    /// `cpu` switches from one task to another. One that could go on running waits from now on.
    ///
    /// Kernel: stats.h sched_info_switch() with sched_info_depart(), sched_info_arrive(), v4.12–
    #[inline]
    pub(super) fn sched_info_switch(&mut self, cpu: CpuId, prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) {
        let rq = &mut self.rqs[cpu];
        let clock = rq.clocks.clock;
        if let Some(prev) = prev {
            let info = &mut self.tasks[prev].sched_info;
            rq.stats.rq_cpu_time += clock - info.last_arrival;
            if prev_state == PrevState::Running && info.last_queued == 0 {
                info.last_queued = clock;
            }
        }
        if let Some(next) = next {
            let info = &mut self.tasks[next].sched_info;
            rq.stats.run_delay += info.end_wait(clock);
            rq.stats.pcount += 1;
            info.pcount += 1;
            info.last_arrival = clock;
        }
    }
}
