//! Rows of the fair class: scheduling entities and their queues.

use crate::ctx::SCHED_CLOCK_AT_START;
use crate::fair::weight::LoadWeight;
use crate::pelt::Removed;
use fairground_model::{Decision, Who};
use fairground_stdx::{CfsRqId, CpuId, DeadlineLine, Instant, Ns, SeId, TaskId, TgId, Timeline, Vruntime};
use std::num::NonZeroU64;

/// What is queued: a task, or a group on one CPU (then `my_q` is set).
///
/// The fields stand in memory as here, and a row begins with a cache line: what a tick of CFS needs first (80 of 112 bytes).
#[derive(Clone, Debug)]
#[repr(C, align(64))]
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
    /// The task it is, if it is a task.
    pub task: Option<TaskId>,
    /// The group it is, if it is a group.
    pub tg: Option<TgId>,
    /// Whether it is queued or running.
    pub on_rq: bool,
    /// Whether the slice was set for it (sched_setattr), so that it does not follow the base slice.
    pub custom_slice: bool,
    /// Whether the deadline is relative to `vruntime`: only while it is off a queue.
    pub rel_deadline: bool,
    /// Whether it sleeps, but stays queued until its lag is used up.
    pub sched_delayed: bool,
    /// If it is a group: in families B and C its second weight (times 1024), by runnable load; in family D the runnable
    /// tasks below it when it was last queued, taken off or passed on the way up.
    pub runnable_weight: u64,
    /// EEVDF: by when in virtual time its request shall be done; relative to `vruntime` if `rel_deadline`.
    pub deadline: Vruntime,
    /// EEVDF: how far it was behind the average when it left its queue, in virtual ns.
    pub vlag: i64,
    /// EEVDF: its request, ns.
    pub slice: u64,
    /// EEVDF: it is protected until there in virtual time; see the seam `protection`.
    pub vprot: Vruntime,
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
            runnable_weight: 0,
            tg: None,
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

    /// What it has run since the last account, up to `now` on the task clock, if it has: it is accounted now.
    ///
    /// Kernel: fair.c update_curr_se(), v6.8– (part of update_curr() of each class before)
    #[inline]
    pub(crate) fn account_until(&mut self, now: u64) -> Option<Ns> {
        let delta = now.wrapping_sub(self.exec_start) as i64;
        if delta <= 0 {
            return None;
        }
        self.exec_start = now;
        self.sum_exec_runtime += delta as u64;
        Some(Ns(delta as u64))
    }

    /// When its run time was last accounted, if it is accounted for at all.
    pub fn accounted_until(&self) -> Instant {
        Instant::from_ns(self.exec_start.saturating_sub(SCHED_CLOCK_AT_START))
    }

    /// Whose it is: a task, or a group on its CPU.
    pub fn stands_for(&self) -> Who {
        let who = self.task.map(Who::Task).or(self.tg.map(Who::Group));
        who.expect("invariant: an entity is a task's or a group's")
    }

    /// What decisions call it: the number of its task, or that of its group.
    #[inline]
    pub(crate) fn who(&self) -> u32 {
        match (self.task, self.tg) {
            (Some(task), _) => task.get(),
            (None, Some(tg)) => Decision::group(tg),
            (None, None) => 0,
        }
    }
}

/// The fair queue of one group on one CPU; the root group's is part of the run queue.
///
/// The fields stand in memory as here, and a row begins with a cache line, so that of the tens of thousands of queues of a big
/// tree of groups few lines are read: the first has what every kernel needs, the second what EEVDF does, the third the part in
/// groups, the last what CFS needs.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct CfsRq {
    /// The CPU it belongs to.
    pub cpu: CpuId,
    /// The group it belongs to; `None` is the root group.
    pub tg: Option<TgId>,
    /// The entity that stands for it in the queue above.
    pub se: Option<SeId>,
    /// How many groups lie above it.
    pub depth: u32,
    /// The running entity of this queue; it is not in the timeline.
    pub curr: Option<SeId>,
    /// Entities queued here, the running one and those in delayed dequeue included (nr_queued from v6.13).
    pub nr_running: u32,
    /// Tasks queued here or in groups below, likewise (h_nr_queued from v6.13).
    pub h_nr_running: u32,
    /// How many of these want to run: all but those in delayed dequeue (h_nr_running less h_nr_delayed in v6.12).
    pub h_nr_runnable: u32,
    /// Sum of the weights of all entities, the running one included.
    pub load: LoadWeight,
    /// The floor of virtual time, which never goes back; with `zero` of seam `avg_vruntime` what the averages are relative to.
    pub min_vruntime: Vruntime,
    /// Entities queued here that are idle: of policy SCHED_IDLE, or groups with cpu.idle.
    pub idle_nr_running: u32,
    /// Load has come or gone for good since its entity last looked.
    pub propagate: bool,
    /// Whether it stands on its CPU's list of queues with load.
    pub(crate) on_list: bool,
    /// EEVDF: sum of weight * (vruntime - min_vruntime) over `deadlines`; the running entity is added where it is needed.
    pub avg_vruntime: i128,
    /// EEVDF: sum of these weights over `deadlines`.
    pub avg_load: u64,
    /// EEVDF: queued entities in order of their deadlines.
    pub deadlines: DeadlineLine<SeId>,
    /// What it has told its group of its load, and when (sched_clock).
    pub tg_load_avg_contrib: u64,
    pub(crate) last_update_tg_load_avg: u64,
    /// Load that sleepers took away since the last update.
    pub(crate) removed: Removed,
    /// Wants to run next (a wakee that preempts, or NEXT_BUDDY).
    pub next: Option<SeId>,
    /// Was preempted and is cache hot.
    pub last: Option<SeId>,
    /// Yielded.
    pub skip: Option<SeId>,
    /// Tasks queued here or in groups below that are idle, or below an idle group under this one (h_nr_idle from v6.13).
    pub idle_h_nr_running: u32,
    /// CFS: queued entities in order of virtual time.
    pub timeline: Timeline<SeId>,
    /// Families B to D: how much load has come or gone, as time runnable in units of load tracking.
    pub prop_runnable_sum: i64,
    /// Families B and C: sum of the second weights of all entities (runnable_weight).
    pub runnable_weight: u64,
    /// Its load as the root queue sees it, and the jiffy after that of its last update.
    pub(crate) h_load: u64,
    pub(crate) last_h_load_update: Option<NonZeroU64>,
}

/// Four lines.
const _: () = assert!(size_of::<CfsRq>() == 256);

impl CfsRq {
    /// An empty queue of `cpu`.
    pub(crate) fn new(cpu: CpuId) -> CfsRq {
        CfsRq {
            cpu,
            tg: None,
            se: None,
            depth: 0,
            curr: None,
            next: None,
            last: None,
            skip: None,
            load: LoadWeight::default(),
            nr_running: 0,
            h_nr_running: 0,
            h_nr_runnable: 0,
            idle_nr_running: 0,
            idle_h_nr_running: 0,
            // 1 ms before the wrap, as in the kernel, so that wrong comparisons show early.
            min_vruntime: Vruntime(0).minus(1 << 20),
            removed: Removed::default(),
            h_load: 0,
            last_h_load_update: None,
            runnable_weight: 0,
            tg_load_avg_contrib: 0,
            last_update_tg_load_avg: 0,
            propagate: false,
            prop_runnable_sum: 0,
            on_list: false,
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
        /// A real-time task: before those of its priority.
        HEAD = 4,
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
        /// It goes to another CPU.
        MIGRATING = 5,
        /// It waits for quota in limbo: it cannot stay queued, nor can a group that is left empty by that.
        THROTTLE = 6,
    }
}

impl EnqueueFlags {
    /// No flag.
    pub(crate) const fn empty() -> EnqueueFlags {
        EnqueueFlags(0)
    }
}

impl DequeueFlags {
    /// The flags without `flag`.
    #[inline]
    pub(crate) const fn without(self, flag: DequeueFlags) -> DequeueFlags {
        DequeueFlags(self.0 & !flag.0)
    }
}
