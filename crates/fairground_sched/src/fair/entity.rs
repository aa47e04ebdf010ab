//! Rows of the fair class: scheduling entities and their queues.

use crate::fair::weight::LoadWeight;
use crate::pelt::Removed;
use fairground_stdx::{CfsRqId, CpuId, DeadlineLine, SeId, TaskId, Timeline, Vruntime};

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
    /// EEVDF: by when in virtual time its request shall be done; relative to `vruntime` if `rel_deadline`.
    pub deadline: Vruntime,
    /// EEVDF: how far it was behind the average when it left its queue, in virtual ns.
    pub vlag: i64,
    /// EEVDF: its request, ns.
    pub slice: u64,
    /// EEVDF: it is protected until there in virtual time; see the seam `protection`.
    pub vprot: Vruntime,
    /// Whether the slice was set for it (sched_setattr), so that it does not follow the base slice.
    pub custom_slice: bool,
    /// Whether the deadline is relative to `vruntime`: only while it is off a queue.
    pub rel_deadline: bool,
    /// Whether it sleeps, but stays queued until its lag is used up.
    pub sched_delayed: bool,
}

impl SchedEntity {
    /// A task that was never queued, with that weight and slice.
    pub(crate) fn new(cfs_rq: CfsRqId, load: LoadWeight, slice: u64) -> SchedEntity {
        SchedEntity {
            load,
            vruntime: Vruntime(0),
            exec_start: 0,
            sum_exec_runtime: 0,
            prev_sum_exec_runtime: 0,
            cfs_rq,
            parent: None,
            my_q: None,
            runnable_tasks: 0,
            task: None,
            on_rq: false,
            deadline: Vruntime(0),
            vlag: 0,
            slice,
            vprot: Vruntime(0),
            custom_slice: false,
            rel_deadline: false,
            sched_delayed: false,
        }
    }
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
    /// Entities queued here, the running one and those in delayed dequeue included (nr_queued from v6.13).
    pub nr_running: u32,
    /// Tasks queued here or in groups below, likewise (h_nr_queued from v6.13).
    pub h_nr_running: u32,
    /// How many of these want to run: all but those in delayed dequeue (h_nr_running less h_nr_delayed in v6.12).
    pub h_nr_runnable: u32,
    /// Entities of policy SCHED_IDLE queued here.
    pub idle_nr_running: u32,
    /// The floor of virtual time: never goes back.
    pub min_vruntime: Vruntime,
    /// Load that sleepers took away since the last update.
    pub(crate) removed: Removed,
    /// Its load as the root queue sees it, and the jiffy of the last update of that.
    pub(crate) h_load: u64,
    pub(crate) last_h_load_update: Option<u64>,
    /// CFS: queued entities in order of virtual time.
    pub timeline: Timeline<SeId>,
    /// EEVDF: queued entities in order of their deadlines.
    pub deadlines: DeadlineLine<SeId>,
    /// EEVDF: sum of weight * (vruntime - min_vruntime) over `deadlines`; the running entity is added where it is needed.
    pub avg_vruntime: i128,
    /// EEVDF: sum of the (scaled-down) weights over `deadlines`.
    pub avg_load: u64,
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
            h_nr_runnable: 0,
            idle_nr_running: 0,
            // 1 ms before the wrap, as in the kernel, so that wrong comparisons show early.
            min_vruntime: Vruntime(0).minus(1 << 20),
            removed: Removed::default(),
            h_load: 0,
            last_h_load_update: None,
            timeline: Timeline::default(),
            deadlines: DeadlineLine::default(),
            avg_vruntime: 0,
            avg_load: 0,
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
        /// It is queued for the first time.
        INITIAL = 2,
        /// It is put back at once (a change of weight or policy).
        RESTORE = 3,
    }
}
flags! {
    /// How an entity leaves a queue.
    DequeueFlags {
        /// It goes to sleep: it keeps its absolute virtual time.
        SLEEP = 0,
        /// It is put back at once (a change of weight or policy).
        SAVE = 1,
        /// It ends: it cannot stay queued while it sleeps.
        SPECIAL = 2,
        /// It sleeps since its dequeue was delayed, which is completed now.
        DELAYED = 3,
        /// It is put back at once, but perhaps on another queue (a change of group): with SAVE.
        MOVE = 4,
    }
}
