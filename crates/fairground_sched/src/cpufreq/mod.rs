//! Frequencies: who chooses that of a policy (CPUs that change together), and when.
//!
//! ```text
//! load tracking ──► cpufreq_update_util ──► schedutil ───────────────► fast switch: at once
//!  (utilisation      (the kernel's hook)    ondemand, conservative ──► thread ──► driver ──► later
//!   has changed)                            performance, powersave, userspace: once, when they begin
//! ```
//!
//! The core chooses and the engine changes: until it has done so the CPUs run on at the old speed. Start reading at
//! `policy.rs` (what is asked for and what becomes of it), then `schedutil/`. A governor is a file here with a `RULE`, and a row in
//! `fairground_model/src/governor.rs` of the same name.

mod conservative;
mod fixed;
mod load;
mod ondemand;
mod performance;
mod policy;
mod powersave;
mod schedutil;
mod userspace;

use crate::Sched;
use crate::ctx::Ctx;
use crate::profile::Profile;
use crate::seam::FreqHook;
use fairground_model::{Governor, GovernorKind, MachineView};
use fairground_stdx::{CpuId, IndexVec, Instant};
use load::CpuLoad;
pub(crate) use policy::Policy;
pub use policy::{FreqReport, FreqState, Governed};
use schedutil::SugovCpu;
pub(crate) use schedutil::{CpuUtil, bw_dl};

/// What a look at the frequency was caused by.
///
/// Kernel: cpufreq.h SCHED_CPUFREQ_IOWAIT, v4.12– (with SCHED_CPUFREQ_RT and SCHED_CPUFREQ_DL up to v4.16)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FreqCause {
    /// The utilisation has changed.
    Util,
    /// A task wakes up that waited for a device.
    Iowait,
    /// A real-time or deadline task has run.
    RtRan,
}

/// A look at a policy: on behalf of which CPU, at which reading of its clock, and why.
#[derive(Clone, Copy)]
struct Asked {
    row: usize,
    cpu: CpuId,
    time: u64,
    cause: FreqCause,
    /// Whether the CPU that looks may change the policy's frequency.
    may_change: bool,
}

/// What a governor decides.
struct Rule {
    /// The frequency that it asks for when it begins.
    begin: fn(&Policy) -> Option<u32>,
    /// What it does when utilisation may have changed; none = it does not look at that.
    look: Option<fn(&mut Sched, &mut Ctx<'_, '_>, Asked)>,
}

macro_rules! by_file {
    ($($kind:ident $file:ident $row:tt)*) => {
        fn rule(kind: GovernorKind) -> &'static Rule {
            match kind { $(GovernorKind::$kind => &$file::RULE,)* }
        }
    };
}
fairground_model::governors!(by_file);

/// The frequency that the governor of a policy asks for when it begins.
fn begins_with(policy: &Policy) -> Option<u32> {
    (rule(policy.governor().kind).begin)(policy)
}

/// What is kept of frequencies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpufreq {
    /// Some policy has a governor that looks at utilisation or load.
    pub(crate) looks: bool,
    policies: Vec<Policy>,
    cpus: IndexVec<CpuId, FreqCpu>,
}

/// What is kept of a CPU.
#[derive(Clone, Debug, Default)]
struct FreqCpu {
    /// How often its idle loop has begun (ts->idle_calls).
    idle_calls: u64,
    load: CpuLoad,
    sugov: SugovCpu,
}

impl Cpufreq {
    pub(crate) fn new(profile: &Profile, machine: &MachineView) -> Cpufreq {
        let policies = machine.policies.iter().map(|policy| Policy::new(profile, policy, machine)).collect();
        let mut cpufreq = Cpufreq { looks: false, policies, cpus: machine.cpus.ids().map(|_| FreqCpu::default()).collect() };
        cpufreq.looks = cpufreq.any_looks();
        cpufreq
    }

    /// The governors of all policies.
    pub(crate) fn governors(&self) -> impl Iterator<Item = Governor> + '_ {
        self.policies.iter().map(|policy| *policy.governor())
    }

    fn any_looks(&self) -> bool {
        self.policies.iter().any(|policy| rule(policy.governor().kind).look.is_some())
    }
}

impl Sched {
    /// Tells the governor of `cpu` that something it may look at has changed.
    ///
    /// Kernel: sched.h cpufreq_update_util(), v4.12–
    #[inline]
    pub(crate) fn cpufreq_update_util(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, cause: FreqCause) {
        if self.cpufreq.looks && !self.is_led() {
            self.run_freq_hook(cx, cpu, cause);
        }
    }

    /// The averages of `cpu`'s root queue have changed.
    ///
    /// Kernel: fair.c cfs_rq_util_change(), v4.12–
    #[inline]
    pub(crate) fn cfs_rq_util_change(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.cpufreq_update_util(cx, cpu, FreqCause::Util);
    }

    #[cold]
    fn run_freq_hook(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, cause: FreqCause) {
        if self.profile.cpufreq_hook == FreqHook::ThisCpu && cpu != cx.cpu {
            return;
        }
        let Some(row) = cx.machine.cpus[cpu].policy else { return };
        let looks_too = |row: usize| rule(self.cpufreq.policies[row].governor().kind).look.is_some();
        let looks_too = cx.machine.cpus[cx.cpu].policy.is_some_and(looks_too);
        let may_change = self.cpufreq.policies[row].may_be_changed_by(cx.cpu, looks_too);
        let time = self.rqs[cpu].clocks.clock;
        if let Some(look) = rule(self.cpufreq.policies[row].governor().kind).look {
            look(self, cx, Asked { row, cpu, time, cause, may_change });
        }
    }

    /// Gives a policy another governor, or other tunables.
    ///
    /// Kernel: cpufreq.c cpufreq_set_policy(), v4.12–
    pub fn set_governor(&mut self, cx: &mut Ctx<'_, '_>, row: usize, governor: Governor) {
        if *self.cpufreq.policies[row].governor() == governor {
            return;
        }
        let time = self.rqs[cx.cpu].clocks.clock;
        self.cpufreq.policies[row].begin(governor, time);
        self.make_governor_thread(cx, row);
        self.cpufreq.looks = self.cpufreq.any_looks();
        self.sched_cpufreq_governor_change();
        self.cpufreq_update_pressure(row);
        // A core that leads has drivers of its own.
        if let Some(khz) = begins_with(&self.cpufreq.policies[row]).filter(|_| !self.is_led()) {
            self.drive_frequency(cx, row, khz);
        }
    }

    /// schedutil without a fast switch makes itself a thread, and gives it its policy: as any such change this reads the clock of the CPU on
    /// which the thread was made, the first of those that it is for.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_kthread_create(), v4.12–
    fn make_governor_thread(&mut self, cx: &mut Ctx<'_, '_>, row: usize) {
        let spec = &self.cpufreq.policies[row].spec;
        let has_thread = spec.governor.kind == GovernorKind::Schedutil && !spec.fast_switch;
        if let Some(cpu) = spec.cpus.first().filter(|_| has_thread) {
            self.update_rq_clock(cx, cpu);
        }
    }

    /// `cpu` begins to idle.
    ///
    /// Kernel: tick-sched.c tick_nohz_idle_enter(), v4.12–
    #[inline]
    pub fn cpufreq_idle_enter(&mut self, cpu: CpuId, now: Instant) {
        let row = &mut self.cpufreq.cpus[cpu];
        row.idle_calls += 1;
        row.load.idle_since = Some(now);
    }

    /// `cpu` does not idle any more.
    ///
    /// Kernel: tick-sched.c tick_nohz_stop_idle(), v4.12–
    #[inline]
    pub fn cpufreq_idle_exit(&mut self, cpu: CpuId, now: Instant) {
        self.cpufreq.cpus[cpu].load.end_idle(now);
    }

    /// What the CPUs of a policy lose of their capacity, since their governor may not choose the highest frequency.
    ///
    /// Kernel: cpufreq.c cpufreq_update_pressure(), v6.10–
    pub(crate) fn cpufreq_update_pressure(&mut self, row: usize) {
        let spec = &self.cpufreq.policies[row].spec;
        let (highest, limit) = (u64::from(spec.max_khz()), u64::from(spec.limits().1));
        for cpu in spec.cpus.iter() {
            let capacity = self.topology.capacity_orig[cpu];
            self.rqs[cpu].cpufreq_pressure = capacity - (u64::from(capacity) * limit / highest) as u32;
        }
    }
}
