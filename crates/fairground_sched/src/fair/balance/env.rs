//! One load_balance() between its phases.

use crate::topology::CpuIdleType;
use fairground_stdx::{CpuId, CpuMask, SdId, TaskId};

/// After so many tasks balance lets go of the source's lock for a moment.
///
/// Kernel: fair.c sched_nr_migrate_break, v4.12– (SCHED_NR_MIGRATE_BREAK from v5.19)
pub(super) const SCHED_NR_MIGRATE_BREAK: u32 = 32;

/// What the imbalance counts.
///
/// Kernel: fair.c enum migration_type, v5.5–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MigrationType {
    /// Load of tasks.
    Load,
    /// Utilisation of tasks.
    Util,
    /// Tasks.
    Task,
    /// One task that does not fit its CPU.
    Misfit,
}

/// What one load_balance() knows.
///
/// Kernel: fair.c struct lb_env, v4.12–
#[derive(Clone, Debug)]
pub(crate) struct LbEnv {
    pub(crate) sd: SdId,
    /// The CPU on whose behalf it balances, which may not be the one that does it.
    pub(crate) dst_cpu: CpuId,
    pub(crate) src_cpu: Option<CpuId>,
    pub(crate) new_dst_cpu: Option<CpuId>,
    pub(crate) idle: CpuIdleType,
    /// How much is to be moved, in the unit of `migration`.
    pub(crate) imbalance: i64,
    pub(crate) migration: MigrationType,
    /// The busiest group is one with a task that does not fit its CPU (src_grp_type in load-based balance, v4.20–v5.4).
    pub(crate) busiest_misfit: bool,
    /// The CPUs that are looked at.
    pub(crate) cpus: CpuMask,
    pub(crate) all_pinned: bool,
    pub(crate) some_pinned: bool,
    pub(crate) dst_pinned: bool,
    pub(crate) need_break: bool,
    /// An active balance: the running task is the one to move.
    pub(crate) active: bool,
    /// The task that was just found to be free to move is cache hot.
    pub(crate) task_is_hot: bool,
    pub(crate) loops: u32,
    pub(crate) loop_break: u32,
    pub(crate) loop_max: u32,
    /// Detached, not yet attached.
    pub(crate) tasks: Vec<TaskId>,
}

impl LbEnv {
    /// The balance of a domain that its CPU, `dst_cpu`, begins; what is detached goes into `tasks`, which is empty.
    pub(crate) fn new(sd: SdId, dst_cpu: CpuId, idle: CpuIdleType, cpus: CpuMask, tasks: Vec<TaskId>) -> LbEnv {
        LbEnv {
            sd,
            dst_cpu,
            src_cpu: None,
            new_dst_cpu: None,
            idle,
            imbalance: 0,
            migration: MigrationType::Load,
            busiest_misfit: false,
            cpus,
            all_pinned: false,
            some_pinned: false,
            dst_pinned: false,
            need_break: false,
            active: false,
            task_is_hot: false,
            loops: 0,
            loop_break: SCHED_NR_MIGRATE_BREAK,
            loop_max: 0,
            tasks,
        }
    }

    /// Starts to count tasks anew, for another queue or another destination.
    pub(super) fn begin_loop_anew(&mut self) {
        (self.loops, self.loop_break) = (0, SCHED_NR_MIGRATE_BREAK);
    }
}
