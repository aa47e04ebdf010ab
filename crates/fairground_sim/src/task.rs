//! A task of the engine: where it is in its program, and what it is computing.

use crate::cache::Left;
use crate::cpu::Then;
use fairground_model::{Frame, LockMode, Mode, Op, Step, TaskInfo, TaskSpec};
use fairground_stdx::{CpuId, Instant, LockId, Ns, ProgramId, RngStream, StreamKind, TaskId};

/// What the current step of a task still needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// Nothing: the next step is to be asked for.
    Nothing,
    /// So much work at full capacity.
    Work(Ns),
    /// So much time on the CPU.
    Time(Ns),
    /// Computing until an instant.
    Until(Instant),
    /// Computing until a word that it looks at changes.
    Change,
    /// Waiting on the CPU for a lock.
    Lock { lock: LockId, mode: LockMode },
    /// Spinning for a lock of user space.
    Spin { lock: LockId },
    /// The kernel path that was left by going to sleep, to be entered again.
    Retry(Then),
}

/// Where a task gave its CPU away though it could run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GaveWay {
    /// In user mode, at the end of an interrupt.
    InUser,
    /// On its way back from a system call.
    AfterSyscall,
    /// On its way back from a fault.
    AfterFault,
    /// In the kernel.
    InKernel,
}

impl GaveWay {
    /// Where, in words that follow "it was preempted".
    pub const fn place(self) -> &'static str {
        match self {
            GaveWay::InUser => "in user mode",
            GaveWay::AfterSyscall => "at the exit of a system call",
            GaveWay::AfterFault => "at the exit of a fault",
            GaveWay::InKernel => "in the kernel",
        }
    }
    /// Where it would be on the way to the step after this one.
    pub(crate) const fn after(step: &Step) -> GaveWay {
        match step {
            Step::PageFault { .. } | Step::Touch { .. } => GaveWay::AfterFault,
            Step::Run { mode: Mode::User, .. }
            | Step::RunTime { mode: Mode::User, .. }
            | Step::RunUntil { .. }
            | Step::Spin { .. }
            | Step::Lock { .. }
            | Step::Unlock { .. }
            | Step::Mark { .. }
            | Step::Part { .. }
            | Step::SliceExt { .. } => GaveWay::InUser,
            _ => GaveWay::AfterSyscall,
        }
    }
}

/// The process id of the first task; the others follow.
pub const FIRST_PID: u32 = 1000;

/// One task.
#[derive(Clone, Debug)]
pub(crate) struct SimTask {
    pub(crate) info: TaskInfo,
    pub(crate) program: ProgramId,
    pub(crate) frame: Frame,
    pub(crate) rng: RngStream,
    pub(crate) want: Want,
    /// What it still has to fetch into the cache before it goes on.
    pub(crate) refill: Ns,
    /// From where that comes.
    pub(crate) refill_op: Op,
    /// Where it was on a CPU last, if it is on none.
    pub(crate) left: Option<Left>,
    pub(crate) mode: Mode,
    /// Where it gives way on the way to its next step, and where it did so in the present one.
    pub(crate) gives_way: GaveWay,
    pub(crate) gave_way: Option<GaveWay>,
    pub(crate) timer_slack: Ns,
    /// When its timer is due, or was last.
    pub(crate) timer_due: Instant,
    /// The CPU on which it starts, if that is said.
    pub(crate) first_cpu: Option<CpuId>,
    /// What it works on.
    pub(crate) working_set_kib: u32,
    pub(crate) kthread: bool,
    /// It runs on another machine.
    pub(crate) elsewhere: bool,
    pub(crate) parent: Option<TaskId>,
    pub(crate) live_children: u32,
    pub(crate) waits_for_children: bool,
}

impl SimTask {
    pub(crate) fn new(id: TaskId, spec: &TaskSpec, seed: u64) -> SimTask {
        SimTask {
            info: TaskInfo { name: spec.name.clone(), pid: FIRST_PID + id.get(), prio: spec.policy.prio(spec.nice) },
            program: spec.program,
            frame: Frame::numbered(spec.index),
            rng: RngStream::new(seed, StreamKind::TaskBehavior, id.get()),
            want: Want::Nothing,
            gives_way: GaveWay::InUser,
            gave_way: None,
            refill: Ns::ZERO,
            refill_op: Op::CacheRefill,
            left: None,
            mode: Mode::User,
            timer_slack: spec.timer_slack,
            timer_due: Instant::ZERO,
            first_cpu: spec.first_cpu,
            working_set_kib: spec.working_set_kib,
            kthread: spec.kthread,
            elsewhere: spec.elsewhere,
            parent: None,
            live_children: 0,
            waits_for_children: false,
        }
    }
}
