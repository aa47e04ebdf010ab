//! What the core may see and touch of the outside, handed in for the length of one call.

use crate::deadline::DlTimer;
use crate::pelt::Scale;
use fairground_model::{Decision, MachineView, Meter, Reason, Recorder, TraceEvent};
use fairground_stdx::{CpuId, Instant, Ns, TaskId, TgId};

/// The outside during one call: no clock to read, no callback to re-enter.
pub struct Ctx<'a, 'r> {
    /// When the call began.
    pub now: Instant,
    /// The CPU that runs the call.
    pub cpu: CpuId,
    /// The kernel's count of ticks.
    pub jiffies: u64,
    /// The machine.
    pub machine: &'a MachineView,
    /// Up to when nothing else happens on the machine: what the call reads later, it must read in another one.
    pub until: Instant,
    /// The policy, by its row, whose CPUs the call has switched to another frequency, and at which share of the highest they run now, in
    /// 1/1024: the machine knows when the call is over.
    pub switched: Option<(usize, u32)>,
    /// Counts what the call does.
    pub meter: &'a mut Meter,
    /// What the core asks of the engine.
    pub requests: &'a mut Vec<Request>,
    /// Where records go.
    pub trace: &'a mut Recorder<'r>,
}

/// What the core asks of the machine. The engine turns each into events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Interrupt `cpu` so that it looks at its reschedule flag; sent at `at`, inside the call.
    ReschedIpi {
        /// The CPU to interrupt.
        cpu: CpuId,
        /// When the interrupt was sent.
        at: Instant,
    },
    /// Interrupt `cpu` so that it queues the tasks on its wake list ([`crate::Sched::sched_ttwu_pending`]).
    WakeListIpi {
        /// The CPU to interrupt.
        cpu: CpuId,
        /// When the interrupt was sent.
        at: Instant,
    },
    /// Interrupt the idle `cpu` so that it balances on behalf of the idle CPUs ([`crate::Sched::nohz_csd_func`]).
    NohzKick {
        /// The CPU to interrupt.
        cpu: CpuId,
        /// When the interrupt was sent.
        at: Instant,
    },
    /// Interrupt `cpu` so that it releases throttled queues ([`crate::Sched::cfsb_csd_unthrottle`]).
    UnthrottleIpi {
        /// The CPU to interrupt.
        cpu: CpuId,
        /// When the interrupt was sent.
        at: Instant,
    },
    /// Interrupt `cpu` so that it pushes real-time tasks that wait there ([`crate::Sched::rto_push_irq_work_func`]).
    RtPushIpi {
        /// The CPU to interrupt.
        cpu: CpuId,
        /// When the interrupt was sent.
        at: Instant,
    },
    /// Arm the period timer of a group on the calling CPU ([`crate::Sched::sched_cfs_period_timer`]).
    PeriodTimer {
        /// The group.
        group: TgId,
        /// When it fires.
        at: Instant,
    },
    /// Arm the slack timer of a group on the calling CPU ([`crate::Sched::sched_cfs_slack_timer`]).
    SlackTimer {
        /// The group.
        group: TgId,
        /// When it fires.
        at: Instant,
    },
    /// Arm the period timer of the real-time class on the calling CPU ([`crate::Sched::sched_rt_period_timer`]).
    RtPeriodTimer {
        /// When it fires.
        at: Instant,
    },
    /// The hrtick timer of `cpu` was armed, moved or cancelled: it fires at [`crate::Sched::hrtick_expiry`], with
    /// [`crate::Sched::hrtick`].
    HrtickTimer {
        /// The CPU whose timer that is.
        cpu: CpuId,
    },
    /// Interrupt `cpu` so that it arms its hrtick timer ([`crate::Sched::hrtick_csd`]).
    HrtickIpi {
        /// The CPU to interrupt.
        cpu: CpuId,
        /// When the interrupt was sent.
        at: Instant,
    },
    /// The CPUs of a policy run at this frequency from now on.
    SetFrequency {
        /// Its row in the machine's list.
        policy: usize,
        /// The frequency.
        khz: u32,
    },
    /// Wake the thread that changes the frequency of a policy; when it runs: [`crate::Sched::frequency_timer`].
    FrequencyThread {
        /// Its row in the machine's list.
        policy: usize,
    },
    /// The frequency of a policy has changed at `at` ([`crate::Sched::frequency_timer`]).
    FrequencyTimer {
        /// Its row in the machine's list.
        policy: usize,
        /// When.
        at: Instant,
    },
    /// Arm a timer of the deadline class on the calling CPU, or move it there ([`crate::Sched::dl_timer`]).
    DlTimer {
        /// Which one.
        timer: DlTimer,
        /// When it fires; `None` cancels it.
        at: Option<Instant>,
    },
}

/// Age of the scheduler clock when a run begins. The kernel's clocks are never 0 after boot, and a
/// `last_update_time` of 0 means "detached"; a multiple of the PELT period keeps periods aligned to the run.
pub const SCHED_CLOCK_AT_START: u64 = 1 << 30;

impl Ctx<'_, '_> {
    /// *Now* plus what the call has cost so far.
    #[inline]
    pub fn clock(&self) -> Instant {
        Instant::from_ns(self.now.ns() + self.meter.so_far_ns())
    }
    /// Whether something else has happened by the time that the call has come to.
    #[inline]
    pub(crate) fn is_overtaken(&self) -> bool {
        self.clock() >= self.until
    }
    /// How long the call has lasted so far, for what measures itself. Where CPUs take turns that is longer than what it has
    /// cost; the clocks of run queues go by the cost, since all that a call does happens at its beginning.
    #[inline]
    pub(crate) fn lasted(&self) -> Ns {
        Ns(self.meter.lasted_ns())
    }
    /// The scheduler's clock of the calling CPU in ns.
    #[inline]
    pub(crate) fn sched_clock(&self) -> u64 {
        self.sched_clock_cpu(self.cpu)
    }
    /// The scheduler's clock of `cpu` in ns: the same on all CPUs, unless the machine says otherwise.
    ///
    /// Kernel: clock.c sched_clock_cpu(), v4.12–
    #[inline]
    pub(crate) fn sched_clock_cpu(&self, cpu: CpuId) -> u64 {
        SCHED_CLOCK_AT_START + self.clock().ns() + self.machine.cpus[cpu].clock_ahead.0
    }
    /// Capacity and frequency of `cpu` for the scaling of load tracking.
    #[inline]
    pub(crate) fn scale(&self, cpu: CpuId) -> Scale {
        let view = &self.machine.cpus[cpu];
        let switched = self.switched.filter(|row| view.policy == Some(row.0)).map(|row| row.1);
        Scale { freq: switched.unwrap_or(view.freq_capacity), cpu: view.capacity }
    }
    /// Records an event of the calling CPU.
    #[inline]
    pub(crate) fn record(&mut self, event: TraceEvent) {
        self.trace.record(self.now, self.cpu, event);
    }
    /// Records a decision about one task.
    #[inline]
    pub(crate) fn decide(&mut self, reason: Reason, a: Option<TaskId>, b: u32) {
        self.decide_who(reason, a.map_or(0, TaskId::get), b);
    }
    /// Records a decision about an entity, and perhaps another one, as [`crate::fair::SchedEntity::who`] calls them.
    #[inline]
    pub(crate) fn decide_who(&mut self, reason: Reason, a: u32, b: u32) {
        if self.trace.takes_decisions() {
            self.record(TraceEvent::Decision(Decision { reason, a, b }));
        }
    }
    /// Records a decision about two tasks.
    #[inline]
    pub(crate) fn decide2(&mut self, reason: Reason, a: Option<TaskId>, b: Option<TaskId>) {
        self.decide(reason, a, b.map_or(0, TaskId::get));
    }
}
