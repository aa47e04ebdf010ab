//! A task as the scheduler core sees it.

use crate::core::SchedInfo;
use crate::deadline::DlEntity;
use crate::fair::WakeeFlips;
use crate::fair::balance::GroupNode;
use crate::rt::RtEntity;
use fairground_model::{Policy, PrevState};
use fairground_stdx::{CpuId, CpuMask, Rare, SeId, TaskId, TgId};
use std::sync::Arc;

/// Where a task is. Each task is in exactly one state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// Not forked yet.
    New,
    /// Current on its CPU.
    Running,
    /// On a run queue, waiting.
    Queued,
    /// Asleep, but kept on its queue until its lag is used up (EEVDF's delayed dequeue).
    Delayed,
    /// Woken: a CPU is chosen, it is not queued yet.
    Waking,
    /// Off the queue, but its CPU has not finished switching away from it.
    OffCpuPending,
    /// Asleep.
    Asleep,
    /// Taken off one queue by balance, not on the next yet (TASK_ON_RQ_MIGRATING).
    Migrating,
    /// Taken off its queue by its own throttle work, waiting for quota.
    Limbo,
    /// Ended.
    Dead,
}

impl TaskState {
    /// Whether the task belongs to its run queue: it may run, or sleeps and is queued still.
    ///
    /// Kernel: sched.h task_on_rq_queued(), v4.12–
    pub(crate) const fn is_on_rq(self) -> bool {
        matches!(self, TaskState::Running | TaskState::Queued | TaskState::Delayed | TaskState::Limbo)
    }
}

/// One task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its entity in the fair class.
    pub se: SeId,
    /// The CPU on whose queue it is, or was last (task_cpu).
    pub cpu: CpuId,
    /// Its group; `None` is the root group.
    pub group: Option<TgId>,
    /// Where it is.
    pub state: TaskState,
    /// What it will be when it next calls schedule(): set before it sleeps, cleared by a wake-up.
    pub(crate) sleep_state: Option<PrevState>,
    /// It sleeps until a device has answered.
    pub(crate) in_iowait: bool,
    /// It runs, or its CPU has not finished switching away from it.
    pub on_cpu: bool,
    /// Its wake-up moved it and left the rest to its new CPU.
    pub(crate) sched_remote_wakeup: bool,
    /// The wake-up under way is synchronous: its waker will sleep soon (WF_SYNC).
    pub(crate) wakes_sync: bool,
    /// Its policy.
    pub policy: Policy,
    /// The deadline policy that it asks for as soon as it is queued for the first time. Nobody is born with one.
    pub(crate) asks_for: Option<Box<Policy>>,
    /// Its nice value.
    pub nice: i8,
    /// The CPUs of the machine that it may use, at least one. Tasks that may use the same ones share the mask.
    pub cpus_allowed: Arc<CpuMask>,
    /// The CPU it must be moved to at its next schedule(), because its affinity changed.
    pub(crate) migration_pending: Option<CpuId>,
    /// It is to leave its queue before it returns to user mode.
    pub(crate) throttle_work: bool,
    /// It is in limbo, or is being taken from one to another.
    pub(crate) throttled: bool,
    /// Who comes after it in limbo.
    pub(crate) throttle_next: Option<TaskId>,
    /// Whether it is a kernel thread.
    pub kthread: bool,
    /// How often it turns from one wakee to another.
    pub(crate) wakees: WakeeFlips,
    /// A CPU that it used before its last one, if that is remembered.
    pub recent_used_cpu: CpuId,
    /// Tasks with the same number share an address space.
    pub mm: u32,
    /// How long it has waited, and how often it got a CPU.
    pub sched_info: SchedInfo,
    /// Its neighbours on the list of its CPU's tasks.
    pub(crate) group_node: GroupNode,
    /// What the real-time class keeps of it.
    pub(crate) rt: RtEntity,
    /// What the deadline class keeps of it.
    pub(crate) dl: Rare<DlEntity>,
}

impl Task {
    /// The kernel's priority number: 120 + nice, 99 - priority of a real-time task, -1 of a deadline task.
    pub fn prio(&self) -> i32 {
        self.policy.prio(self.nice)
    }
}
