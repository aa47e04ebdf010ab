//! Utilization clamps: what tasks and groups ask for, and what a CPU makes of those of its runnable tasks.
//!
//! ```text
//! request of a task ──► range of its group ──► limit of the system ──► effective value
//!                                                                            │ while the task is runnable
//!                                             value of a CPU = greatest of its buckets that have tasks
//! ```
//!
//! `task.rs`: requests of tasks; `group.rs`: those of groups; `rq.rs`: buckets of a CPU; `fit.rs`: on which CPUs a task fits.
//! As long as nobody asks for a clamp nothing of it has an effect, as in a kernel that was built without (CONFIG_UCLAMP_TASK).

mod fit;
mod group;
#[cfg(test)]
mod reference;
mod rq;
mod task;
#[cfg(test)]
mod tests;

pub(crate) use fit::{Demand, Fit};

use fairground_model::{CLAMP_MAX, UtilClamp};
use fairground_stdx::{CpuId, IndexVec, TaskId, TgId};
use rq::UclampRq;

/// Which of both values.
///
/// Kernel: sched.h enum uclamp_id, v5.3–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClampId {
    Min,
    Max,
}

impl ClampId {
    const ALL: [ClampId; 2] = [ClampId::Min, ClampId::Max];

    /// The value that clamps nothing.
    ///
    /// Kernel: sched.h uclamp_none(), v5.3–
    const fn none(self) -> u32 {
        match self {
            ClampId::Min => 0,
            ClampId::Max => CLAMP_MAX,
        }
    }

    const fn of(self, clamp: UtilClamp) -> Option<u32> {
        match self {
            ClampId::Min => clamp.min,
            ClampId::Max => clamp.max,
        }
    }
}

/// Both values of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clamps {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl Clamps {
    /// They clamp nothing.
    pub(crate) const NONE: Clamps = Clamps { min: ClampId::Min.none(), max: ClampId::Max.none() };

    const fn get(self, id: ClampId) -> u32 {
        match id {
            ClampId::Min => self.min,
            ClampId::Max => self.max,
        }
    }

    const fn set(&mut self, id: ClampId, value: u32) {
        match id {
            ClampId::Min => self.min = value,
            ClampId::Max => self.max = value,
        }
    }

    /// A utilisation within them; the least wins where it is above the most.
    ///
    /// Kernel: sched.h uclamp_rq_util_with(), v5.3–v6.7
    pub(crate) fn apply(self, util: u64) -> u64 {
        let (min, max) = (u64::from(self.min), u64::from(self.max));
        if min >= max { min } else { util.clamp(min, max) }
    }
}

/// What is kept of a task.
#[derive(Clone, Copy, Debug)]
struct TaskClamps {
    /// What it asks for.
    ///
    /// Kernel: sched.h struct task_struct uclamp_req, v5.3–
    req: UtilClamp,
    /// With what it counts on its CPU, while it does.
    ///
    /// Kernel: sched.h struct task_struct uclamp, v5.3–
    counted: Option<Clamps>,
    /// How many had come to some group before it came to its own: in that order a group goes through its tasks.
    joined: u64,
}

/// What is kept of a group.
#[derive(Clone, Copy, Debug)]
struct GroupClamps {
    /// What is written in its files.
    ///
    /// Kernel: sched.h struct task_group uclamp_req, v5.4–
    req: Clamps,
    /// What is left of that below the groups above.
    ///
    /// Kernel: sched.h struct task_group uclamp, v5.4–
    effective: Clamps,
}

/// All clamps.
#[derive(Clone, Debug)]
pub(crate) struct Uclamps {
    /// Somebody has asked for a clamp.
    ///
    /// Kernel: core.c sched_uclamp_used, v5.9–
    used: bool,
    /// The least and the most that anybody gets (sched_util_clamp_min, sched_util_clamp_max).
    ///
    /// Kernel: core.c uclamp_default, v5.3–
    system: Clamps,
    /// What a real-time task asks for at least that says nothing (sched_util_clamp_min_rt_default).
    rt_default: u32,
    /// So many have come to a group.
    joins: u64,
    tasks: IndexVec<TaskId, TaskClamps>,
    groups: IndexVec<TgId, GroupClamps>,
    rqs: IndexVec<CpuId, UclampRq>,
}

impl Uclamps {
    /// Of a machine on which nobody has asked for anything but the system's values.
    pub(crate) fn new(nr_cpus: usize, system: Clamps, rt_default: u32) -> Uclamps {
        Uclamps {
            used: system != Clamps { min: CLAMP_MAX, max: CLAMP_MAX } || rt_default != CLAMP_MAX,
            system,
            rt_default,
            joins: 0,
            tasks: IndexVec::new(),
            groups: IndexVec::new(),
            rqs: (0..nr_cpus).map(|_| UclampRq::default()).collect(),
        }
    }

    /// Whether clamps have an effect.
    ///
    /// Kernel: sched.h uclamp_is_used(), v5.9–
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.used
    }
}
