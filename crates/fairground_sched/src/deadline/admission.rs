//! Who may be a deadline task: parameters that make sense, all CPUs, and a share that is left.

use super::DlSe;
use super::bandwidth::limit_bw;
use super::entity::{BW_SHIFT, DL_SCALE, to_ratio};
use super::server::FAIR_SERVER_BW;
use crate::Sched;
use crate::ctx::Ctx;
use crate::profile::Profile;
use crate::seam::{DlAdmission, DlPeriods, RtBandwidth};
use fairground_model::{DlParams, MachineView, Policy};
use fairground_stdx::{CpuMask, Ns, TaskId};
use std::fmt;

/// The shortest and the longest period that a kernel with such limits grants.
///
/// Kernel: deadline.c sysctl_sched_dl_period_min, sysctl_sched_dl_period_max, v5.4–
const PERIODS: [Ns; 2] = [Ns::from_us(100), Ns::from_us(1 << 22)];

/// Why a task does not become a deadline task, or not with these parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// EINVAL: the runtime is shorter than 1024 ns.
    ShortRuntime(Ns),
    /// EINVAL: the runtime is longer than the deadline.
    RuntimeBeyondDeadline(DlParams),
    /// EINVAL: the deadline is after the period.
    DeadlineBeyondPeriod(DlParams),
    /// EINVAL: the kernel grants no such period.
    Period(Ns),
    /// EPERM: the task may not use all CPUs that are on line.
    Affinity,
    /// EBUSY: the shares would sum up to more than may be used; all in 2^-20 of a CPU.
    Overflow {
        /// What it asks for.
        share: u64,
        /// What others have, it itself without what it had.
        others: u64,
        /// How much of that is for the servers of the fair class.
        servers: u64,
        /// What may be used.
        limit: u64,
    },
}

/// A share in percent of a CPU with two digits, rounded down.
fn percent(share: u64) -> String {
    let hundredths = (u128::from(share) * 10_000) >> BW_SHIFT;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

impl Refused {
    /// What to do.
    pub const fn hint(self) -> &'static str {
        match self {
            Refused::ShortRuntime(_) => "Runtimes begin at 1024 ns.",
            Refused::RuntimeBeyondDeadline(_) | Refused::DeadlineBeyondPeriod(_) => "It must be runtime <= deadline <= period.",
            Refused::Period(_) => "This kernel grants periods from 100 us to 4194304 us.",
            Refused::Affinity => "A deadline task may use all CPUs: leave its CPU list away, or use fewer CPUs in the machine.",
            Refused::Overflow { .. } => "Lower runtimes, lengthen periods, or take more CPUs.",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refused::ShortRuntime(runtime) => write!(f, "a deadline task's runtime of {runtime} is too short (EINVAL)"),
            Refused::RuntimeBeyondDeadline(DlParams { runtime, deadline, .. }) => {
                write!(f, "a deadline task's runtime of {runtime} is longer than its deadline of {deadline} (EINVAL)")
            }
            Refused::DeadlineBeyondPeriod(DlParams { deadline, period, .. }) => {
                write!(f, "a deadline task's deadline of {deadline} is longer than its period of {period} (EINVAL)")
            }
            Refused::Period(period) => write!(f, "this kernel grants no deadline task a period of {period} (EINVAL)"),
            Refused::Affinity => write!(f, "a deadline task must be allowed on all CPUs that are on line (EPERM)"),
            Refused::Overflow { share, others, servers, limit } => {
                let (share, others, limit) = (percent(share), percent(others), percent(limit));
                write!(f, "a deadline task asks for {share} of a CPU, others have {others}")?;
                if servers > 0 {
                    write!(f, ", of which servers of fair tasks {}", percent(servers))?;
                }
                write!(f, ", and all may have {limit} (EBUSY)")
            }
        }
    }
}

impl Profile {
    /// Whether parameters make sense to this kernel.
    ///
    /// Kernel: deadline.c __checkparam_dl(), v4.12–
    pub fn check_dl_params(&self, params: &DlParams) -> Result<(), Refused> {
        let DlParams { runtime, deadline, period, .. } = *params;
        let limited = self.dl_periods == DlPeriods::Limited;
        match () {
            () if runtime.0 < 1 << DL_SCALE => Err(Refused::ShortRuntime(runtime)),
            () if period < deadline => Err(Refused::DeadlineBeyondPeriod(*params)),
            () if deadline < runtime => Err(Refused::RuntimeBeyondDeadline(*params)),
            () if limited && (period < PERIODS[0] || period > PERIODS[1]) => Err(Refused::Period(period)),
            () if period.0 > i64::MAX as u64 => Err(Refused::Period(period)),
            () => Ok(()),
        }
    }

    /// What deadline tasks may use of the machine, and what of it the servers of the fair class have, in 2^-20 of a CPU.
    ///
    /// Kernel: deadline.c dl_bw_capacity(), __dl_overflow(), v4.12–
    fn dl_limit(&self, machine: &MachineView) -> (u64, u64) {
        let cpus = machine.online.weight() as u64;
        let rt = self.tunables.rt_limit();
        if rt.runtime_ns.is_none() {
            return (u64::MAX, 0);
        }
        let limit_bw = limit_bw(rt);
        let capacity = |cpu| u64::from(machine.cpus[cpu].capacity);
        let limit = match self.dl_admission {
            DlAdmission::Cpus => limit_bw * cpus,
            DlAdmission::Capacity => (limit_bw * machine.online.iter().map(capacity).sum::<u64>()) >> 10,
        };
        let servers = if self.rt_bandwidth == RtBandwidth::FairServer { FAIR_SERVER_BW * cpus } else { 0 };
        (limit, servers)
    }

    /// Whether tasks with these parameters could be admitted one after the other, and which is the first that could not. For
    /// those that all live at the beginning.
    pub fn admits(&self, machine: &MachineView, tasks: impl Iterator<Item = DlParams>) -> Result<(), (usize, Refused)> {
        let (limit, servers) = self.dl_limit(machine);
        let mut others = servers;
        for (index, params) in tasks.enumerate() {
            let share = to_ratio(params.period.0, params.runtime.0);
            if others + share > limit {
                return Err((index, Refused::Overflow { share, others, servers, limit }));
            }
            others += share;
        }
        Ok(())
    }
}

impl Sched {
    /// Whether a task may have a policy; its share of the CPUs is granted then.
    ///
    /// Kernel: core.c __sched_setscheduler(), dl_overflow() before v4.13, deadline.c sched_dl_overflow(), v4.12–
    pub(crate) fn dl_overflow(&mut self, cx: &Ctx<'_, '_>, task: TaskId, policy: Policy) -> Result<(), Refused> {
        let Some(params) = policy.deadline() else { return Ok(()) };
        self.profile.check_dl_params(&params)?;
        if !self.covers_root_domain(cx, &self.tasks[task].cpus_allowed) {
            return Err(Refused::Affinity);
        }
        let (limit, servers) = self.profile.dl_limit(cx.machine);
        let (se, share) = (DlSe::Task(task), to_ratio(params.period.0, params.runtime.0));
        // What a task still has that was one until now is looked at as that of another.
        let stays = self.is_dl(task) && self.tasks[task].dl.admitted;
        let old = if stays { self.tasks[task].dl.dl_bw } else { 0 };
        let others = self.dl_root.total_bw + servers - old;
        if others + share > limit {
            return Err(Refused::Overflow { share, others, servers, limit });
        }
        // Whose 0-lag timer has rung while it slept in the class, and which then left, has its old share for good.
        match stays || self.tasks[task].dl.zero_lag.is_some() {
            true => self.dl_sub(se),
            false => self.dl_lose(se),
        }
        // What it runs until then is accounted after that: who reclaims has less to share.
        self.dl_add(se, share, cx.machine.online.weight());
        Ok(())
    }

    /// A new task that is queued asks for the deadline policy that it is to have, and for its share. What it has asked for.
    ///
    /// Kernel: core.c sched_fork(), sched_setattr(), v4.12–
    pub fn ask_for_deadline(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> Result<Option<Policy>, Refused> {
        match self.tasks[task].asks_for.take() {
            Some(policy) => self.sched_setscheduler(cx, task, *policy).map(|()| Some(*policy)),
            None => Ok(None),
        }
    }

    /// A task that was admitted has these parameters from now on.
    pub(crate) fn set_dl_params(&mut self, task: TaskId, params: &DlParams) {
        self.tasks[task].dl.set_params(params);
    }

    /// Whether a set of CPUs has all that are on line: a deadline task must be able to run on each.
    pub(crate) fn covers_root_domain(&self, cx: &Ctx<'_, '_>, cpus: &CpuMask) -> bool {
        cx.machine.online.and(cpus).weight() == cx.machine.online.weight()
    }
}
