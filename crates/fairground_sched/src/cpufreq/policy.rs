//! A policy: what its governor has asked for, and what has become of that.
//!
//! ```text
//! Idle ──request──► Waking ──the thread runs──► Changing ──transition over──► Idle
//!                     │ a later request replaces it      │ a later request follows: Changing again
//! ```

use super::load::PolicyLoad;
use super::schedutil::SugovPolicy;
use crate::Sched;
use crate::ctx::{Ctx, Request};
use crate::fair::efficient_khz;
use crate::profile::Profile;
use fairground_model::{FreqPolicy, Governor, GovernorKind, MachineView, Opp, TraceEvent, Tunable};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

/// What the thread of a policy is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    /// Nothing.
    Idle,
    /// It was woken and does not run yet.
    Waking,
    /// The driver is at work; `again`: it was asked for something else since.
    Changing { khz: u32, again: bool },
}

/// How long a policy has been at each of its points, and how often it changed.
///
/// Kernel: cpufreq_stats.c struct cpufreq_stats, v4.12–
#[derive(Clone, Debug)]
struct Stats {
    ns: Vec<u64>,
    since: Instant,
    changes: u64,
}

/// What has become of a policy's frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreqReport {
    /// Its CPUs.
    pub cpus: CpuMask,
    /// Its governor.
    pub governor: GovernorKind,
    /// Each operating point, and for how long it ran at it. What lies between two points counts for the lower one.
    pub time: Vec<(Opp, Ns)>,
    /// How often the frequency has changed.
    pub changes: u64,
}

/// How a policy is governed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Governed {
    /// Who chooses.
    pub kind: GovernorKind,
    /// The lowest and the highest frequency that may be chosen, kHz.
    pub limits: (u32, u32),
    /// The present one.
    pub cur_khz: u32,
    /// The least time between two changes by schedutil.
    pub rate_limit: Ns,
    /// What the governor asks for as it begins; none: nothing, or schedutil, which has its own rule.
    pub begin_khz: Option<u32>,
}

/// What a policy is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreqState {
    /// The present frequency.
    pub cur_khz: u32,
    /// What the driver is at work on.
    pub coming_khz: Option<u32>,
    /// Something was asked for that the driver has not begun with.
    pub waits: bool,
    /// How often the frequency has changed.
    pub changes: u64,
}

/// A policy in mid-run.
///
/// Kernel: cpufreq.h struct cpufreq_policy, v4.12–
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(super) spec: FreqPolicy,
    pub(super) freq_invariant: bool,
    /// The points that schedutil asks for, where the energy model says that others are not worth it; else empty.
    efficient_khz: Vec<u32>,
    cur_khz: u32,
    /// What was asked for last.
    next_khz: u32,
    work: Work,
    stats: Stats,
    pub(super) sugov: SugovPolicy,
    pub(super) load: PolicyLoad,
}

impl Policy {
    pub(super) fn new(profile: &Profile, spec: &FreqPolicy, machine: &MachineView) -> Policy {
        let share = spec.cpus.first().map_or(1024, |cpu| machine.cpus[cpu].freq_capacity);
        let cur_khz = spec.start_khz().unwrap_or(spec.khz_of(share));
        Policy {
            freq_invariant: machine.freq_invariant,
            efficient_khz: efficient_khz(profile.energy_model, spec, machine).unwrap_or_default(),
            cur_khz,
            next_khz: cur_khz,
            work: Work::Idle,
            stats: Stats { ns: vec![0; spec.opps.len()], since: Instant::ZERO, changes: 0 },
            sugov: SugovPolicy::default(),
            load: PolicyLoad::begin(cur_khz, 0),
            spec: spec.clone(),
        }
    }

    pub(super) fn governor(&self) -> &Governor {
        &self.spec.governor
    }
    pub(super) fn cur_khz(&self) -> u32 {
        self.cur_khz
    }
    /// Whether a request is on its way.
    pub(super) fn works(&self) -> bool {
        self.work != Work::Idle
    }

    /// The lowest point within the limits that suffices for `khz` and is worth it; if the limits have none of those, the lowest that suffices.
    ///
    /// Kernel: cpufreq.c cpufreq_driver_resolve_freq(), v4.12–
    pub(super) fn resolve(&self, khz: u32) -> u32 {
        let (low, high) = self.spec.limits();
        let wanted = khz.clamp(low, high);
        let efficient = self.efficient_khz.iter().copied().find(|&point| point >= wanted).or(self.efficient_khz.last().copied());
        efficient.filter(|point| (low..=high).contains(point)).unwrap_or_else(|| self.spec.within(khz))
    }

    /// The point at or below the present frequency.
    fn point(&self) -> usize {
        self.spec.opps.iter().rposition(|opp| opp.khz <= self.cur_khz).unwrap_or(0)
    }

    /// Books the time at the present frequency.
    fn book(&mut self, now: Instant) {
        let point = self.point();
        self.stats.ns[point] += now.saturating_since(self.stats.since).0;
        self.stats.since = now;
    }

    /// Starts another governor and forgets what the last one remembered.
    pub(super) fn begin(&mut self, governor: Governor, time: u64) {
        self.spec.governor = governor;
        self.sugov = SugovPolicy::default();
        self.load = PolicyLoad::begin(self.cur_khz, time);
    }

    /// Whether code that runs on `cpu` may ask: a register is one of the CPU itself, a thread can be woken from
    /// everywhere where a governor looks too (`looks_too`).
    ///
    /// Kernel: sched/cpufreq.c cpufreq_this_cpu_can_update(), v4.14–
    pub(super) fn may_be_changed_by(&self, cpu: CpuId, looks_too: bool) -> bool {
        self.spec.cpus.contains(cpu) || !self.spec.fast_switch && looks_too
    }

    /// Where the present frequency lies outside of the limits, the nearest within.
    pub(super) fn within_limits(&self) -> Option<u32> {
        let (low, high) = self.spec.limits();
        let within = self.cur_khz.clamp(low, high);
        (within != self.cur_khz).then_some(within)
    }

    /// The least time between two changes, or between two samples, unless it is set.
    ///
    /// Kernel: cpufreq.c cpufreq_policy_transition_delay_us(), v4.14–
    pub(super) fn transition_delay(&self, profile: &Profile) -> Ns {
        self.spec.transition_delay.unwrap_or_else(|| profile.cpufreq_rate_limit.of(self.spec.transition_latency))
    }
}

impl Sched {
    /// A governor asks for a frequency of the table: the scheduler changes it itself, or wakes the thread that does.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_fast_switch(), sugov_deferred_update(), v4.12–
    pub(super) fn request_frequency(&mut self, cx: &mut Ctx<'_, '_>, row: usize, khz: u32, fast: bool) {
        let policy = &mut self.cpufreq.policies[row];
        policy.next_khz = khz;
        if fast && policy.spec.fast_switch {
            return self.frequency_changes(cx, row, khz);
        }
        match &mut policy.work {
            Work::Idle => {
                policy.work = Work::Waking;
                cx.requests.push(Request::FrequencyThread { policy: row });
            }
            Work::Waking => {}
            Work::Changing { again, .. } => *again = true,
        }
    }

    /// Lets the driver change the frequency for the user: no thread has to be woken.
    pub(super) fn drive_frequency(&mut self, cx: &mut Ctx<'_, '_>, row: usize, khz: u32) {
        let policy = &mut self.cpufreq.policies[row];
        policy.next_khz = khz;
        match &mut policy.work {
            Work::Idle => self.begin_change(cx, row),
            Work::Waking => {}
            Work::Changing { again, .. } => *again = true,
        }
    }

    /// The thread of a policy runs, or its driver is done.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_work(), cpufreq.c cpufreq_freq_transition_end(), v4.12–
    pub fn frequency_timer(&mut self, cx: &mut Ctx<'_, '_>, row: usize) {
        match self.cpufreq.policies[row].work {
            Work::Idle => {}
            Work::Waking => self.begin_change(cx, row),
            Work::Changing { khz, again } => {
                self.cpufreq.policies[row].work = Work::Idle;
                self.frequency_changes(cx, row, khz);
                if again {
                    self.begin_change(cx, row);
                }
            }
        }
    }

    /// The driver begins with what was asked for last.
    ///
    /// Kernel: cpufreq.c __cpufreq_driver_target(), v4.12–
    fn begin_change(&mut self, cx: &mut Ctx<'_, '_>, row: usize) {
        let policy = &mut self.cpufreq.policies[row];
        let (khz, latency) = (policy.next_khz, policy.spec.transition_latency);
        policy.work = Work::Idle;
        if khz == policy.cur_khz {
            return;
        }
        if latency == Ns::ZERO {
            return self.frequency_changes(cx, row, khz);
        }
        policy.work = Work::Changing { khz, again: false };
        cx.requests.push(Request::FrequencyTimer { policy: row, at: cx.clock() + latency });
    }

    /// The CPUs of a policy run at another frequency from now on. Their clocks go by it from their last reading on, as the kernel's.
    ///
    /// Kernel: cpufreq.c cpufreq_notify_transition(), v4.12–
    fn frequency_changes(&mut self, cx: &mut Ctx<'_, '_>, row: usize, khz: u32) {
        let policy = &mut self.cpufreq.policies[row];
        if policy.cur_khz == khz {
            return;
        }
        policy.book(cx.now);
        policy.stats.changes += 1;
        policy.cur_khz = khz;
        for cpu in policy.spec.cpus.iter() {
            cx.record(TraceEvent::CpuFrequency { cpu, khz });
        }
        if policy.freq_invariant {
            cx.switched = Some((row, policy.spec.freq_capacity(khz)));
        }
        cx.requests.push(Request::SetFrequency { policy: row, khz });
    }

    /// Another core has changed the frequency of a policy: our tables follow.
    pub fn led_frequency(&mut self, cx: &mut Ctx<'_, '_>, row: usize, khz: u32) {
        self.cpufreq.policies[row].next_khz = khz;
        self.frequency_changes(cx, row, khz);
    }

    /// How a policy is governed now, for a core that governs by itself.
    pub fn governed(&self, row: usize) -> Governed {
        let policy = &self.cpufreq.policies[row];
        let kind = policy.governor().kind;
        let rate_limit = policy.governor().time(Tunable::RateLimit).unwrap_or_else(|| policy.transition_delay(&self.profile));
        let begin_khz = super::begins_with(policy).filter(|_| kind != GovernorKind::Schedutil);
        Governed { kind, limits: policy.spec.limits(), cur_khz: policy.cur_khz, rate_limit, begin_khz }
    }

    /// At which frequency a policy runs, what its driver is at work on, and how often it has changed.
    pub fn frequency_state(&self, row: usize) -> FreqState {
        let policy = &self.cpufreq.policies[row];
        let (coming_khz, waits) = match policy.work {
            Work::Idle => (None, false),
            Work::Waking => (None, true),
            Work::Changing { khz, again } => (Some(khz), again),
        };
        FreqState { cur_khz: policy.cur_khz, coming_khz, waits, changes: policy.stats.changes }
    }

    /// What has become of the frequencies of all policies up to `now`.
    pub fn freq_reports(&self, now: Instant) -> Vec<FreqReport> {
        let report = |policy: &Policy| {
            let mut policy = policy.clone();
            policy.book(now);
            let time = policy.spec.opps.iter().copied().zip(policy.stats.ns.iter().map(|&ns| Ns(ns)));
            FreqReport {
                cpus: policy.spec.cpus,
                governor: policy.governor().kind,
                time: time.collect(),
                changes: policy.stats.changes,
            }
        };
        self.cpufreq.policies.iter().map(report).collect()
    }

    /// Something from outside sets the frequency of a policy.
    pub fn force_frequency(&mut self, cx: &mut Ctx<'_, '_>, row: usize, khz: u32) {
        self.cpufreq.policies[row].next_khz = khz;
        self.frequency_changes(cx, row, khz);
    }
}
