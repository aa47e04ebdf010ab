//! Rows of the fair class: scheduling entities and their queues.

use crate::fair::weight::LoadWeight;
use crate::pelt::Removed;
use fairground_stdx::{CfsRqId, CpuId, SeId, TaskId, Timeline, Vruntime};

/// What is queued: a task, or a group on one CPU (then `my_q` is set).
#[derive(Clone, Debug)]
pub struct SchedEntity {
    /// Its weight (times 1024) with the inverse of it.
    pub load: LoadWeight,
    /// Weighted run time received.
    pub vruntime: Vruntime,
    /// The task clock at the last account.
    pub exec_start: u64,
    /// Run time in all, ns.
    pub sum_exec_runtime: u64,
    /// `sum_exec_runtime` when it was last put on the CPU.
    pub prev_sum_exec_runtime: u64,
    /// The queue it belongs to.
    pub cfs_rq: CfsRqId,
    /// The group entity above it.
    pub parent: Option<SeId>,
    /// The queue it stands for, if it is a group.
    pub my_q: Option<CfsRqId>,
    /// Tasks below it when it was last queued or taken off, if it is a group.
    pub runnable_tasks: u32,
    /// The task it is, if it is a task.
    pub task: Option<TaskId>,
    /// Whether it is queued or running.
    pub on_rq: bool,
}

/// The fair queue of one group on one CPU; the root group's is part of the run queue.
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// The CPU it belongs to.
    pub cpu: CpuId,
    /// The running entity of this queue; it is not in the timeline.
    pub curr: Option<SeId>,
    /// Wants to run next (a wakee that preempts, or NEXT_BUDDY).
    pub next: Option<SeId>,
    /// Was preempted and is cache hot.
    pub last: Option<SeId>,
    /// Yielded.
    pub skip: Option<SeId>,
    /// Sum of the weights of all entities, the running one included.
    pub load: LoadWeight,
    /// Entities queued here, the running one included.
    pub nr_running: u32,
    /// Tasks queued here or in groups below.
    pub h_nr_running: u32,
    /// Entities of policy SCHED_IDLE queued here.
    pub idle_nr_running: u32,
    /// The floor of virtual time: never goes back.
    pub min_vruntime: Vruntime,
    /// Load that sleepers took away since the last update.
    pub(crate) removed: Removed,
    /// Queued entities in order of virtual time.
    pub timeline: Timeline<SeId>,
}

impl CfsRq {
    /// An empty queue of `cpu`.
    pub(crate) fn new(cpu: CpuId) -> CfsRq {
        CfsRq {
            cpu,
            curr: None,
            next: None,
            last: None,
            skip: None,
            load: LoadWeight::default(),
            nr_running: 0,
            h_nr_running: 0,
            idle_nr_running: 0,
            // 1 ms before the wrap, as in the kernel, so that wrong comparisons show early.
            min_vruntime: Vruntime(0).minus(1 << 20),
            removed: Removed::default(),
            timeline: Timeline::default(),
        }
    }
}

macro_rules! flags {
    ($(#[$meta:meta])* $name:ident { $($(#[$flag_meta:meta])* $flag:ident = $bit:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) struct $name(u8);
        impl $name {
            $($(#[$flag_meta])* pub(crate) const $flag: $name = $name(1 << $bit);)*
            /// No flag.
            pub(crate) const fn empty() -> $name {
                $name(0)
            }
            /// Whether `flag` is set.
            #[inline]
            pub(crate) const fn has(self, flag: $name) -> bool {
                self.0 & flag.0 != 0
            }
            /// The flags of both.
            #[inline]
            pub(crate) const fn with(self, flag: $name) -> $name {
                $name(self.0 | flag.0)
            }
        }
    };
}
flags! {
    /// How an entity comes onto a queue.
    EnqueueFlags {
        /// It wakes up: it is placed.
        WAKEUP = 0,
        /// It wakes up on another CPU than before.
        MIGRATED = 1,
    }
}
flags! {
    /// How an entity leaves a queue.
    DequeueFlags {
        /// It goes to sleep: it keeps its absolute virtual time.
        SLEEP = 0,
        /// It is put back at once (a change of weight or policy).
        SAVE = 1,
    }
}
