//! Everything that one CPU needs to schedule.

use crate::ctx::SCHED_CLOCK_AT_START;
use crate::deadline::DlRq;
use crate::fair::balance::{RtAvg, TaskRing};
use crate::fair::{HrtickTimer, LastSlice, WakeeFlips};
use crate::pelt::{RqClocks, SchedAvg};
use crate::rt::RtRq;
use fairground_model::{RqStats, SisStats};
use fairground_stdx::{CfsRqId, CpuId, Ns, TaskId};

/// Whether the next update of the clock is passed over (RQCF_REQ_SKIP, RQCF_ACT_SKIP).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ClockSkip {
    /// The next schedule() shall reuse the present reading.
    pub(crate) requested: bool,
    /// schedule() is reusing it.
    pub(crate) active: bool,
}

/// The run queue of a CPU.
#[derive(Clone, Debug)]
pub struct Rq {
    /// The running task; `None` is the idle task.
    pub curr: Option<TaskId>,
    /// The root queue of the fair class.
    pub cfs: CfsRqId,
    /// The queue of the real-time class.
    pub(crate) rt: RtRq,
    /// The queue of the deadline class.
    pub(crate) dl: DlRq,
    /// The clocks.
    pub clocks: RqClocks,
    pub(crate) clock_skip: ClockSkip,
    /// The last reading of the task clock that a sample told, or did not have to.
    pub(crate) told_clock: u64,
    /// Interrupt time in all, and how much of it the clock has already taken out.
    pub(crate) irq_time: Ns,
    pub(crate) prev_irq_time: Ns,
    /// The same of time that the host of a virtual machine has taken.
    pub(crate) steal_time: Ns,
    pub(crate) prev_steal_time: Ns,
    /// Queued tasks of all classes, the running one and those in delayed dequeue included.
    pub nr_running: u32,
    /// Whether schedule() is due.
    pub need_resched: bool,
    /// Whether schedule() is due when the running task returns to user mode, or else at the next tick.
    pub need_resched_lazy: bool,
    /// The hrtick timer.
    pub(crate) hrtick: HrtickTimer,
    /// The slice that its last tick worked out.
    pub(crate) last_slice: LastSlice,
    /// The clock at the first tick that found schedule() due, 0 = none has.
    pub(crate) last_seen_need_resched: u64,
    /// It idles in a state in which it watches its reschedule flag.
    pub(crate) idle_polling: bool,
    /// The stopper runs: there is no current task, and yet the CPU is not idle.
    pub stop_running: bool,
    /// The stopper has moved the task that ran here, and leaves the CPU with the schedule() that is due.
    pub(crate) stopper_leaves: bool,
    /// The fair class has throttled a queue within its pick, so the switch puts down and sets anew at all levels.
    pub(crate) sets_all: bool,
    /// The stopper has work that moves nobody: the watchdog's, or a task that may no longer go where it was to go.
    pub(crate) idle_stop_work: bool,
    /// Whether the CPU is on line.
    pub online: bool,
    /// The stopper is to take the CPU down, with all that are there.
    pub(crate) takedown_due: bool,
    /// The task that was just chosen on a CPU that everybody leaves: its stopper puts it elsewhere.
    pub(crate) push_off: Option<TaskId>,
    /// The stopper was woken, or runs.
    pub(crate) stopper_queued: bool,
    /// The server of the fair class is queued, and counts.
    pub(crate) server_queued: bool,
    /// Woken tasks that another CPU chose this one for and left to it to queue, oldest first.
    pub(crate) wake_list: Vec<TaskId>,
    /// The stopper stands on that list, too.
    pub(crate) stopper_on_list: bool,
    /// The CPU to which this one last sent a real-time or deadline task, of several that were equally good.
    ///
    /// Kernel: cpumask.c distribute_cpu_mask_prev, v5.7–
    pub(crate) last_spread: u32,
    /// Throttled queues that others have paid for and this CPU is to release.
    pub(crate) cfsb_csd: Vec<CfsRqId>,
    /// Queues of groups that have load, in the order in which they are aged: each before the one above it.
    pub(crate) leaf_cfs_rqs: Vec<CfsRqId>,
    /// The last queue on that list whose queue above is still to come there (`tmp_alone_branch`).
    pub(crate) leaf_branch: Option<CfsRqId>,
    /// What balancing knows of this CPU.
    pub(crate) lb: RqBalance,
    /// Counters (/proc/schedstat).
    pub stats: RqStats,
    /// Counters of the searches for an idle CPU that wake-ups of this one make.
    pub sis: SisStats,
    /// Load tracking of interrupts and of the other classes.
    pub(crate) avg_irq: SchedAvg,
    pub(crate) avg_rt: SchedAvg,
    pub(crate) avg_dl: SchedAvg,
    /// The average of what the CPU has lost of its capacity (avg_thermal up to v6.9).
    pub(crate) avg_hw: SchedAvg,
    /// What it has lost now.
    ///
    /// Kernel: topology.h arch_scale_hw_pressure(), arch_scale_thermal_pressure() up to v6.9, v5.7–
    pub(crate) hw_pressure: u32,
    /// What it loses since its governor may not choose the highest frequency.
    ///
    /// Kernel: cpufreq.h cpufreq_get_pressure(), v6.10–
    pub(crate) cpufreq_pressure: u32,
}

impl Rq {
    /// What the CPU has lost with hw pressure: the greater of both.
    pub(crate) fn lost_capacity(&self) -> u64 {
        self.avg_hw.load_avg.max(u64::from(self.cpufreq_pressure))
    }
}

/// What placement and balance keep per CPU.
#[derive(Clone, Debug)]
pub(crate) struct RqBalance {
    /// What is left of the CPU's capacity for fair tasks (cpu_capacity).
    pub(crate) cpu_capacity: u32,
    /// The CPU's full capacity as balance counts it (cpu_capacity_orig; threads of a core share 1178 up to v4.20).
    pub(crate) cpu_capacity_orig: u32,
    /// What interrupts and other classes take of the CPU's time (up to v4.18).
    pub(crate) rt_avg: RtAvg,
    /// jiffies from when on the tick balances.
    pub(crate) next_balance: u64,
    /// Clock at which the CPU ran out of tasks, 0 = it has some.
    pub(crate) idle_stamp: u64,
    /// Mean length of idle times, ns.
    pub(crate) avg_idle: u64,
    /// SIS_PROP: the estimate of idle time that searches use up, and the jiffy up to which it was aged.
    pub(crate) wake_avg_idle: u64,
    pub(crate) wake_stamp: u64,
    /// The highest cost of balancing while idle, ns: half the bound of `avg_idle`.
    pub(crate) max_idle_balance_cost: u64,
    /// Older loads: index 0 is that of the last tick, the higher the slower (up to v5.2).
    pub(crate) cpu_load: [u64; 5],
    /// jiffy of the last update of `cpu_load`.
    pub(crate) last_load_update_tick: u64,
    /// Load of a task that does not fit the CPU, 0 if all do.
    pub(crate) misfit_task_load: u64,
    /// Another CPU has asked the stopper to push a task there.
    pub(crate) push_cpu: Option<CpuId>,
    /// SCHED_SOFTIRQ is raised.
    pub(crate) softirq_raised: bool,
    /// This CPU was asked to balance on behalf of idle ones, and for what.
    pub(crate) nohz_kick: NohzKick,
    /// That interrupt has come: this is what its softirq does.
    pub(crate) nohz_idle_balance: NohzKick,
    /// Whether it was idle when its softirq was raised (idle_balance).
    pub(crate) idle_at_tick: bool,
    /// Newidle balance left it to the idle loop to age the load of idle CPUs (NOHZ_NEWILB_KICK).
    pub(crate) stats_pass_due: bool,
    /// Newidle balance ended with fair tasks on the queue.
    pub(crate) newidle_found: bool,
    /// The server of the fair class has picked nobody, and looks elsewhere before it stops.
    pub(crate) server_looks: bool,
    /// It has looked, and stops if there is still nobody.
    pub(crate) server_looked: bool,
    /// It is not counted among the busy CPUs of its cache.
    pub(crate) counted_idle: bool,
    /// jiffy in which its load was last aged on behalf of others.
    pub(crate) last_blocked_load_update_tick: u64,
    /// The wake-ups that its idle task made: interrupts while it was idle.
    pub(crate) idle_wakees: WakeeFlips,
    /// Its tick is stopped: it is in nohz.idle_cpus_mask.
    pub(crate) nohz_tick_stopped: bool,
    /// Its blocked load may have to be aged by others.
    pub(crate) has_blocked_load: bool,
    /// The exit latency of the idle state that it is in, ns; 0 = unknown or none.
    pub(crate) idle_exit_latency: u64,
    /// Fair tasks queued here, in the order in which balance tries them.
    pub(crate) cfs_tasks: TaskRing,
    /// Room for the tasks that a balance of this CPU has detached.
    pub(crate) detached: Vec<TaskId>,
}

/// How many tasks a balance mostly detaches at most.
const DETACHED: usize = 16;

impl RqBalance {
    /// Those of an idle CPU of that capacity.
    ///
    /// Kernel: core.c sched_init(), v4.12–
    pub(crate) fn new(capacity: u32) -> RqBalance {
        RqBalance {
            cpu_capacity: capacity,
            cpu_capacity_orig: capacity,
            rt_avg: RtAvg::default(),
            next_balance: 0,
            // It became idle just before the run, as every CPU of a machine that has booted.
            idle_stamp: SCHED_CLOCK_AT_START,
            avg_idle: 2 * SYSCTL_SCHED_MIGRATION_COST,
            wake_avg_idle: 2 * SYSCTL_SCHED_MIGRATION_COST,
            wake_stamp: 0,
            max_idle_balance_cost: SYSCTL_SCHED_MIGRATION_COST,
            cpu_load: [0; 5],
            last_load_update_tick: 0,
            misfit_task_load: 0,
            push_cpu: None,
            softirq_raised: false,
            nohz_kick: NohzKick::default(),
            nohz_idle_balance: NohzKick::default(),
            idle_at_tick: false,
            stats_pass_due: false,
            newidle_found: false,
            server_looks: false,
            server_looked: false,
            counted_idle: false,
            last_blocked_load_update_tick: 0,
            idle_wakees: WakeeFlips::default(),
            nohz_tick_stopped: false,
            has_blocked_load: false,
            idle_exit_latency: 0,
            cfs_tasks: TaskRing::default(),
            detached: Vec::with_capacity(DETACHED),
        }
    }
}

/// For how long after it ran a task counts as cache hot, ns.
///
/// Kernel: fair.c sysctl_sched_migration_cost, v4.12–
pub(crate) const SYSCTL_SCHED_MIGRATION_COST: u64 = 500_000;

/// For what a CPU was asked to balance on behalf of idle ones (NOHZ_STATS_KICK, NOHZ_BALANCE_KICK, NOHZ_NEXT_KICK).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NohzKick {
    /// Age their load.
    pub(crate) stats: bool,
    /// Balance their domains that are due.
    pub(crate) balance: bool,
    /// See when the next of their domains is due.
    pub(crate) next: bool,
}

impl NohzKick {
    /// What either asks for.
    pub(crate) const fn with(self, other: NohzKick) -> NohzKick {
        NohzKick { stats: self.stats || other.stats, balance: self.balance || other.balance, next: self.next || other.next }
    }
}

/// How soon a reschedule is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Urgency {
    /// As soon as the preemption model allows.
    Full,
    /// On the way back to user mode, or at the next tick.
    Lazy,
}

impl Rq {
    /// Whether it has nothing to do and nothing on its way: a CPU on its way from a task to idle is not idle yet.
    ///
    /// Kernel: core.c idle_cpu(), v4.12–
    #[inline]
    pub(crate) fn idle(&self) -> bool {
        self.curr.is_none() && !self.stop_running && self.nr_counted() == 0 && !self.ttwu_pending()
    }
    /// Tasks of the CPU as the kernel counts them: those of the run, the stopper, and the server of the fair class.
    ///
    /// Kernel: sched.h struct rq, nr_running, v4.12–
    #[inline]
    pub fn nr_counted(&self) -> u32 {
        self.nr_running + u32::from(self.stopper_queued) + u32::from(self.server_queued)
    }
    /// Whether somebody who was woken waits for the CPU to queue it.
    #[inline]
    pub(crate) fn ttwu_pending(&self) -> bool {
        self.stopper_on_list || !self.wake_list.is_empty()
    }
    /// Whether the running task gives way on its return to user mode.
    #[inline]
    pub fn resched_on_user_return(&self) -> bool {
        self.need_resched || self.need_resched_lazy
    }
}
