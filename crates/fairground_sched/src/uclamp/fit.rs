//! Whether a task fits a CPU, by what it uses and what it asks for.

use super::Clamps;
use crate::Sched;
use crate::fair::balance::loads::fits_capacity;
use crate::seam::TaskFit;
use fairground_model::CLAMP_MAX;
use fairground_stdx::{CpuId, TaskId};

/// How well a CPU fits; the greater the better.
///
/// Kernel: fair.c util_fits_cpu() with its results 0, -1 and 1, v6.3–
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fit {
    /// It does not.
    No,
    /// It has room, but less than what is asked for at least.
    MissesMin,
    /// It does.
    Yes,
}

impl Fit {
    const fn of(fits: bool) -> Fit {
        if fits { Fit::Yes } else { Fit::No }
    }
}

/// What a CPU must have room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Demand {
    pub(crate) util: u64,
    pub(crate) clamps: Clamps,
}

impl Sched {
    /// What a task needs.
    ///
    /// Kernel: fair.c uclamp_task_util(), v5.6–
    #[inline]
    pub(crate) fn demand_of(&self, task: TaskId) -> Demand {
        Demand { util: self.task_util_est(task), clamps: self.uclamp_eff_value(task) }
    }

    /// Whether a CPU has room for it. Where nobody asks for clamps that is a matter of utilisation alone.
    ///
    /// Kernel: fair.c util_fits_cpu(), v6.2– (fits_capacity() before)
    #[inline]
    pub(crate) fn fit_of(&self, demand: Demand, cpu: CpuId) -> Fit {
        let capacity = self.capacity_of(cpu);
        match self.profile.task_fit {
            TaskFit::Clamped if self.uclamps.is_used() => Fit::of(fits_capacity(demand.clamps.apply(demand.util), capacity)),
            TaskFit::Graded if self.uclamps.is_used() => self.util_fits_cpu(demand, cpu),
            _ => Fit::of(fits_capacity(demand.util, capacity)),
        }
    }

    /// A task may use no more than its most, so a CPU that has that is big enough however busy it is with it. Only 1024 on the
    /// biggest CPU says nothing. And whoever uses less than it asks for at least wants a CPU that could give that, pressure on its
    /// capacity included.
    ///
    /// Kernel: fair.c util_fits_cpu(), v6.3–
    fn util_fits_cpu(&self, demand: Demand, cpu: CpuId) -> Fit {
        let Demand { util, clamps } = demand;
        let (min, max) = (u64::from(clamps.min), u64::from(clamps.max));
        let orig = self.capacity_orig_of(cpu);
        let biggest = orig == u64::from(CLAMP_MAX);
        let capped = max <= orig && !(biggest && max == u64::from(CLAMP_MAX));
        let min = min.min(max);
        if !(fits_capacity(util, self.capacity_of(cpu)) || capped) {
            return Fit::No;
        }
        match util < min && min > self.actual_capacity_of(cpu) {
            true => Fit::MissesMin,
            false => Fit::Yes,
        }
    }

    /// Whether a task fits a CPU with all that it asks for.
    ///
    /// Kernel: fair.c task_fits_cpu(), v6.2– (task_fits_capacity() before)
    #[inline]
    pub(crate) fn task_fits_cpu(&self, task: TaskId, cpu: CpuId) -> bool {
        self.fit_of(self.demand_of(task), cpu) == Fit::Yes
    }
}
