//! What schedule() keeps between its two parts, and whether newidle balance comes in between.

use crate::Sched;
use crate::seam::{NewidleAt, NewidleBeside};
use fairground_model::PrevState;
use fairground_stdx::{CpuId, TaskId};

/// A schedule() between its two parts: what leaves the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaving {
    pub(crate) prev: Option<TaskId>,
    pub(super) prev_state: PrevState,
    /// A runnable task that may no longer run here, and where it goes.
    pub(super) moving: Option<(TaskId, CpuId)>,
    /// Who runs next, if anybody is queued.
    pub(super) picked: Option<TaskId>,
    /// The clock was not read.
    pub(super) kept_clock: bool,
    /// The CPU is idle, has nothing to run, and the kernel does not pick for that.
    pub(crate) stays_idle: bool,
    /// All classes are asked, and one of them has somebody: no newidle balance comes before the pick, and none after it, though all
    /// may turn out to sleep.
    pub(crate) picks_only: bool,
    /// All classes are asked after the last fair task: the CPU balances before the pick, though tasks of other classes wait.
    pub(crate) balances_first: bool,
    /// Somebody stands on the fair queue, perhaps asleep: no balance follows the stopper either.
    pub(super) stands: bool,
    /// A newidle balance is not repeated if all that it found turns out to sleep.
    pub(super) balances_once: bool,
    /// The stopper leaves the CPU.
    pub(super) from_stopper: bool,
}

impl Leaving {
    /// A task leaves that can go on where it is, and the clock was read for that.
    pub(super) const fn of_task(prev: TaskId) -> Leaving {
        Leaving {
            prev: Some(prev),
            prev_state: PrevState::Running,
            moving: None,
            picked: None,
            kept_clock: false,
            stays_idle: false,
            picks_only: false,
            balances_first: false,
            stands: false,
            balances_once: false,
            from_stopper: false,
        }
    }

    /// Whether the CPU is about to go idle and may look for tasks elsewhere first. One whose stopper moves its task
    /// away does so when that is done.
    pub fn found_nothing(&self) -> bool {
        self.picked.is_none() && self.moving.is_none()
    }

    /// Whether it is the idle task.
    pub(crate) fn is_from_idle(&self) -> bool {
        self.prev.is_none() && !self.from_stopper
    }

    /// Whether a task of a class above the fair one leaves the CPU, or the stopper.
    fn is_from_above(&self, sched: &Sched) -> bool {
        self.from_stopper || self.prev.is_some_and(|prev| !sched.is_fair(prev))
    }
}

impl Sched {
    /// Where newidle balance comes before the pick: the classes are asked from that of the leaving task on, and the first that has
    /// somebody ends it. The idle class asks nobody.
    ///
    /// Kernel: core.c put_prev_task_balance(), prev_balance() from v6.12, fair.c balance_fair(), v5.4–v7.1
    pub(super) fn balances_before_pick(&self, cpu: CpuId, leaving: Leaving) -> Leaving {
        let (rq, from_above) = (&self.rqs[cpu], leaving.is_from_above(self));
        let asks_all = from_above || rq.nr_counted() != self.cfs_rqs[rq.cfs].h_nr_running;
        if self.profile.newidle_at != NewidleAt::BeforePick {
            return leaving;
        }
        let stands = self.cfs_rq(cpu).nr_running > 0;
        if !asks_all {
            return Leaving { stands, ..leaving };
        }
        let waits_above = rq.dl.is_runnable() || rq.rt.is_runnable();
        let idles = leaving.is_from_idle();
        let any = self.profile.newidle_beside == NewidleBeside::Anybody;
        Leaving {
            picks_only: stands || idles || (from_above && waits_above),
            balances_first: any && !stands && !idles && !from_above && leaving.moving.is_none(),
            balances_once: true,
            stands,
            ..leaving
        }
    }
}
