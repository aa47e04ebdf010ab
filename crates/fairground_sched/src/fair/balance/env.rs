//! One load_balance() between its phases.

use crate::topology::CpuIdleType;
use fairground_stdx::{CpuId, CpuMask, SdId, TaskId};

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
    pub(crate) loops: u32,
    pub(crate) loop_break: u32,
    pub(crate) loop_max: u32,
    /// Detached, not yet attached.
    pub(crate) tasks: Vec<TaskId>,
}

/// The balance that a CPU is in the middle of.
#[derive(Clone, Debug, Default)]
pub(crate) enum BalanceWork {
    /// None.
    #[default]
    None,
}
