//! What happens in a run, spelt as the kernel's tracepoints. Simulated and recorded runs are both
//! streams of these, so they meet in the same metrics and writers.

use crate::kernel_warn::KernelWarn;
use crate::reason::Reason;
use fairground_stdx::{CpuId, MarkerId, Ns, TaskId, TgId, Vruntime};

/// One record. Its time and CPU are given beside it (see [`crate::Sink`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceEvent {
    /// A wake-up begins. `target_cpu` is the wakee's *previous* CPU: the choice comes later.
    SchedWaking {
        /// The wakee.
        task: TaskId,
        /// The CPU on which the wakee last ran.
        target_cpu: CpuId,
        /// The task that was current on the waking CPU, if it was the cause; in a soft interrupt that is whose context it borrowed.
        waker: Option<TaskId>,
        /// Where the wake-up came from.
        context: WakeContext,
    },
    /// The wakee is queued on `target_cpu`.
    SchedWakeup {
        /// The wakee.
        task: TaskId,
        /// Where it is queued.
        target_cpu: CpuId,
    },
    /// A new task is queued for the first time.
    SchedWakeupNew {
        /// The new task.
        task: TaskId,
        /// Where it is queued.
        target_cpu: CpuId,
    },
    /// The CPU changes from one task to another; `None` is the idle task.
    SchedSwitch {
        /// The task that leaves the CPU.
        prev: Option<TaskId>,
        /// Why it leaves.
        prev_state: PrevState,
        /// The task that gets the CPU.
        next: Option<TaskId>,
    },
    /// A task changes its CPU.
    SchedMigrateTask {
        /// The task.
        task: TaskId,
        /// The CPU it leaves.
        orig_cpu: CpuId,
        /// The CPU it goes to.
        dest_cpu: CpuId,
    },
    /// Run time was accounted to a task (one update_curr).
    SchedStatRuntime {
        /// The task that ran.
        task: TaskId,
        /// For how long since the last account.
        runtime: Ns,
        /// Its virtual time afterwards; recordings of kernels from 6.8 on do not tell it.
        vruntime: Option<Vruntime>,
    },
    /// `parent` made `child`.
    SchedProcessFork {
        /// The parent, if it is part of the run.
        parent: Option<TaskId>,
        /// The child.
        child: TaskId,
    },
    /// A task ended.
    SchedProcessExit {
        /// The task.
        task: TaskId,
    },
    /// A CPU runs at another frequency from now on.
    CpuFrequency {
        /// The CPU.
        cpu: CpuId,
        /// The frequency.
        khz: u32,
    },
    /// A decision of the scheduler with its reason.
    Decision(Decision),
    /// The kernel warns of a state that it takes for impossible, and goes on: of each condition once per boot.
    KernelWarn(KernelWarn),
    /// The kernel itself is busy from now on for `took`. A sample: its effect is in the times of what follows.
    KernelSection {
        /// Which part of the kernel.
        section: Section,
        /// For how long.
        took: Ns,
    },
    /// A measurement made by a program.
    Marker {
        /// The task that made it.
        task: TaskId,
        /// Which measurement.
        marker: MarkerId,
        /// The value, in the unit that the marker declares.
        value: u64,
    },
    /// Sample for counter tracks: runnable tasks and load signals of the CPU's root queue. Samples
    /// are made only on request and are not part of the digest.
    CfsSample {
        /// Runnable tasks, the running one included.
        nr_running: u32,
        /// The queue's util_avg.
        util_avg: u32,
        /// The queue's load_avg.
        load_avg: u64,
    },
    /// Sample for counter tracks: the load signals of one task.
    SeSample {
        /// The task.
        task: TaskId,
        /// Its util_avg.
        util_avg: u32,
    },
    /// Sample for those who follow a record: what is done with a run queue and shows in no other record.
    QueueAct {
        /// What is done.
        act: QueueAct,
        /// The CPU of the run queue.
        cpu: CpuId,
        /// What its task clock shows, ns.
        clock: Ns,
        /// The group that it is about; `None`: the root group, or no group.
        group: Option<TgId>,
        /// The task that it is about.
        task: Option<TaskId>,
    },
}

/// What is done with a run queue and shows in no tracepoint of the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueAct {
    /// Its clock was read and loads are updated, where no account of run time tells the reading. Only systems with groups tell it.
    ///
    /// Kernel: pelt.h trace_pelt_cfs_tp(), v5.3–
    Read,
    /// The loads that are left there are aged from outside.
    ///
    /// Kernel: fair.c update_blocked_averages(), v4.12–
    Age,
    /// The queue of the group there tells its load, where kernels do that once a millisecond at most.
    ///
    /// Kernel: fair.c update_tg_load_avg(), v6.7–
    Tell,
    /// Its hrtick fires.
    ///
    /// Kernel: core.c hrtick() with trace_hrtimer_expire_entry(), v4.12–
    Hrtick,
    /// A task comes to another group.
    ///
    /// Kernel: core.c sched_move_task() behind trace_cgroup_attach_task(), v4.12–
    Join,
    /// A tick finds a fair task running there.
    ///
    /// Kernel: core.c scheduler_tick(), sched_tick() from v6.10, v4.12–
    Tick,
    /// schedule() begins there, called by a fair task, or by the idle one while somebody is on the queue.
    ///
    /// Kernel: core.c __schedule(), v4.12–
    Schedule,
    /// The account of the group there is used up, and its pool has nothing: who runs there is to give way.
    ///
    /// Kernel: fair.c __account_cfs_rq_runtime() before resched_curr(), v4.12–v7.1
    Exhaust,
    /// The queue of the group there is throttled.
    ///
    /// Kernel: fair.c throttle_cfs_rq(), v4.12–
    Throttle,
    /// The queue of the group there is released.
    ///
    /// Kernel: fair.c unthrottle_cfs_rq(), v4.12–
    Release,
    /// The running task leaves its queue for want of quota.
    ///
    /// Kernel: fair.c throttle_cfs_rq_work(), v6.18–
    Stop,
}

impl QueueAct {
    /// All of them.
    pub const ALL: [QueueAct; 11] = [
        QueueAct::Read,
        QueueAct::Age,
        QueueAct::Tell,
        QueueAct::Hrtick,
        QueueAct::Join,
        QueueAct::Tick,
        QueueAct::Schedule,
        QueueAct::Exhaust,
        QueueAct::Throttle,
        QueueAct::Release,
        QueueAct::Stop,
    ];
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            QueueAct::Read => "read",
            QueueAct::Age => "age",
            QueueAct::Tell => "tell",
            QueueAct::Hrtick => "hrtick",
            QueueAct::Join => "join",
            QueueAct::Tick => "tick",
            QueueAct::Schedule => "schedule",
            QueueAct::Exhaust => "exhaust",
            QueueAct::Throttle => "throttle",
            QueueAct::Release => "release",
            QueueAct::Stop => "stop",
        }
    }
}

impl TraceEvent {
    /// Whether this is a sample: something that can be left out without changing what happened.
    #[inline]
    pub const fn is_sample(&self) -> bool {
        matches!(
            self,
            TraceEvent::KernelSection { .. }
                | TraceEvent::CfsSample { .. }
                | TraceEvent::SeSample { .. }
                | TraceEvent::QueueAct { .. }
        )
    }
}

/// What was decided and why: a reason and at most two ids, whose meaning the reason defines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The rule that decided.
    pub reason: Reason,
    /// First id, as a raw row number; see [`Reason::ids`]. Where that is a task it may be a group: [`Decision::who`].
    pub a: u32,
    /// Second id.
    pub b: u32,
}

/// Whom a decision is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// A task.
    Task(TaskId),
    /// A CPU cgroup as an entity of the queue that it stands on.
    Group(TgId),
}

impl Decision {
    /// The bit that tells the number of a group from that of a task.
    const GROUP: u32 = 1 << 31;

    /// The id under which a group stands in a decision.
    pub const fn group(group: TgId) -> u32 {
        Decision::GROUP | group.get()
    }

    /// Whom an id of a task, first or second, stands for.
    pub const fn who(id: u32) -> Who {
        match id & Decision::GROUP {
            0 => Who::Task(TaskId::new(id)),
            _ => Who::Group(TgId::new(id & !Decision::GROUP)),
        }
    }
}

/// The state in which a task leaves its CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrevState {
    /// Still runnable: it was preempted or yielded (`R`).
    Running,
    /// Asleep, can be interrupted (`S`).
    Sleeping,
    /// Asleep, cannot be interrupted (`D`).
    DiskSleep,
    /// Ended (`X`, `Z`).
    Dead,
    /// A kernel thread that waits for work (`I`).
    IdleWait,
}

impl PrevState {
    /// The letter in trace text.
    pub const fn letter(self) -> &'static str {
        match self {
            PrevState::Running => "R",
            PrevState::Sleeping => "S",
            PrevState::DiskSleep => "D",
            PrevState::Dead => "X",
            PrevState::IdleWait => "I",
        }
    }
}

/// Where a wake-up comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeContext {
    /// A running task (a pipe write, a futex).
    Task,
    /// A soft interrupt (network).
    Softirq,
    /// A hard interrupt (a timer).
    Hardirq,
}

/// A part of the kernel whose time is booked under its own name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// The timer interrupt with the scheduler tick.
    SchedTick,
    /// schedule(): pick and switch.
    Schedule,
    /// try_to_wake_up().
    TryToWakeUp,
    /// Timer interrupt without a tick.
    HrtimerInterrupt,
    /// The reschedule interrupt.
    RescheduleIpi,
    /// System call entry, exit and body.
    Syscall,
    /// Leaving an idle state.
    IdleExit,
    /// The soft interrupt that balances load.
    SchedSoftirq,
    /// Balancing inside schedule(), before the CPU goes idle.
    NewidleBalance,
    /// The stopper thread.
    Stopper,
    /// The soft interrupt that receives packets.
    NetRxSoftirq,
    /// Spinning for the lock of a run queue, in whatever context.
    LockWait,
    /// A task that was switched in fetches its working set.
    CacheRefill,
    /// An interrupt of a device.
    DeviceInterrupt,
    /// The host runs something else on the physical CPU.
    Stolen,
    /// Another soft interrupt (timers, RCU, block devices). Recordings of real kernels tell of it; no run has it.
    Softirq,
}

impl Section {
    /// All sections in order.
    pub const ALL: [Section; 16] = [
        Section::SchedTick,
        Section::Schedule,
        Section::TryToWakeUp,
        Section::HrtimerInterrupt,
        Section::RescheduleIpi,
        Section::Syscall,
        Section::IdleExit,
        Section::SchedSoftirq,
        Section::NewidleBalance,
        Section::Stopper,
        Section::NetRxSoftirq,
        Section::LockWait,
        Section::CacheRefill,
        Section::DeviceInterrupt,
        Section::Stolen,
        Section::Softirq,
    ];
    /// The name in traces and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Section::SchedTick => "scheduler_tick",
            Section::Schedule => "schedule",
            Section::TryToWakeUp => "try_to_wake_up",
            Section::HrtimerInterrupt => "hrtimer_interrupt",
            Section::RescheduleIpi => "reschedule_ipi",
            Section::Syscall => "syscall",
            Section::IdleExit => "idle_exit",
            Section::SchedSoftirq => "sched_softirq",
            Section::NewidleBalance => "newidle_balance",
            Section::Stopper => "stopper",
            Section::NetRxSoftirq => "net_rx_softirq",
            Section::LockWait => "lock_wait",
            Section::CacheRefill => "cache_refill",
            Section::DeviceInterrupt => "device_interrupt",
            Section::Stolen => "stolen",
            Section::Softirq => "softirq",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_has_its_own_place() {
        for (index, section) in Section::ALL.into_iter().enumerate() {
            assert_eq!(section as usize, index);
        }
    }
}
