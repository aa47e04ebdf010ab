//! schedutil: the frequency follows utilisation.
//!
//! ```text
//! look: rate limit over? ──► utilisation of the CPU, or the highest share of the policy's (util.rs)
//!       ──► boost of tasks that waited for a device (iowait.rs) ──► frequency · share (next_freq.rs)
//!       ──► lowest operating point that suffices; a CPU that was never idle since the last look does not go down
//! ```

mod iowait;
mod next_freq;
#[cfg(test)]
mod tests;
mod util;

use super::{Asked, FreqCause, Policy, Rule};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{FreqHold, FreqUtil, FreqWork};
use fairground_model::Tunable;
use fairground_stdx::CpuId;
use iowait::Boost;
pub(crate) use util::{CpuUtil, bw_dl};

pub(super) static RULE: Rule =
    Rule { begin: Policy::within_limits, look: Some(|sched, cx, asked| sched.sugov_update(cx, asked)) };

/// What is kept of a policy.
///
/// Kernel: cpufreq_schedutil.c struct sugov_policy, v4.12–
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SugovPolicy {
    /// Clock of the CPU that changed the frequency last, when it did; none = it never did.
    last_update: Option<u64>,
    /// What was asked for last; none = nothing since the governor began, so that its first look is always a request.
    next_khz: Option<u32>,
    /// The wish from which the last request was made.
    cached_raw_khz: u32,
    /// The next look that may change the frequency does not wait for the rate limit: more is reserved. A look from a CPU that may not
    /// change it notes that, too.
    limits_changed: bool,
}

/// What is kept of a CPU.
///
/// Kernel: cpufreq_schedutil.c struct sugov_cpu, v4.12–
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SugovCpu {
    boost: Boost,
    /// Clock at the last look.
    last_update: u64,
    /// The beginnings of idle times at the last look.
    saved_idle_calls: u64,
    /// Utilisation at the last look, and whether a real-time task caused it (up to v4.18).
    util: u64,
    rt_ran: bool,
    /// What it had reserved when it counted in a choice last ([`CpuUtil::reserved`]).
    reserved: u64,
}

/// A share of the highest frequency: `util` of `max`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Share {
    util: u64,
    max: u64,
}

impl Sched {
    /// A look at the utilisation of a CPU, and a request if that has another frequency come out.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_update_single(), sugov_update_single_freq() from v5.11, sugov_update_shared(), v4.12–
    fn sugov_update(&mut self, cx: &mut Ctx<'_, '_>, Asked { row, cpu, time, cause, may_change }: Asked) {
        let rule = self.profile.cpufreq_iowait_boost;
        let bounds = iowait::Bounds::of(rule, &self.cpufreq.policies[row].spec);
        let late = self.is_stale(cx, cpu, time);
        let util = self.sugov_get_util(cx, cpu);
        let own = &mut self.cpufreq.cpus[cpu].sugov;
        own.boost.look(rule, bounds, cause == FreqCause::Iowait, late);
        (own.last_update, own.rt_ran, own.util) = (time, cause == FreqCause::RtRan, u64::from(util.cfs));
        let knows_reserves = self.profile.cpufreq_util != FreqUtil::Cfs;
        if knows_reserves && u64::from(util.bw_dl) > self.cpufreq.cpus[cpu].sugov.reserved {
            self.cpufreq.policies[row].sugov.limits_changed = true;
        }
        if !may_change || !self.sugov_should_update_freq(row, time) {
            return;
        }
        let shared = self.cpufreq.policies[row].spec.cpus.weight() > 1;
        let share = if shared { self.share_of_policy(cx, row, time) } else { self.share_of_cpu(cx, cpu, time, util) };
        let holds = self.profile.cpufreq_hold == FreqHold::UntilIdle;
        let never_idle = holds && !shared && self.sugov_cpu_is_busy(cpu) && !util.is_capped();
        let wanted = match share {
            Some(share) => self.get_next_freq(row, share),
            None => self.cpufreq.policies[row].spec.max_khz(),
        };
        let policy = &mut self.cpufreq.policies[row];
        let mut khz = policy.resolve(wanted);
        if let Some(next) = policy.sugov.next_khz.filter(|&next| never_idle && share.is_some() && khz < next) {
            khz = next;
            policy.sugov.cached_raw_khz = 0;
        }
        if policy.sugov.next_khz != Some(khz) {
            (policy.sugov.next_khz, policy.sugov.last_update) = (Some(khz), Some(time));
            self.request_frequency(cx, row, khz, true);
        }
    }

    /// Whether the rate limit allows another change, or does not count.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_should_update_freq(), v4.12–
    fn sugov_should_update_freq(&mut self, row: usize, time: u64) -> bool {
        let policy = &mut self.cpufreq.policies[row];
        if self.profile.cpufreq_work == FreqWork::UntilDone && policy.works() {
            return false;
        }
        if std::mem::take(&mut policy.sugov.limits_changed) {
            return true;
        }
        let limit = policy.governor().time(Tunable::RateLimit).unwrap_or_else(|| policy.transition_delay(&self.profile));
        policy.sugov.last_update.is_none_or(|last| time.saturating_sub(last) >= limit.0)
    }

    /// Whether the CPU has not been idle since the last look.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_cpu_is_busy(), v4.12–
    fn sugov_cpu_is_busy(&mut self, cpu: CpuId) -> bool {
        let row = &mut self.cpufreq.cpus[cpu];
        let busy = row.idle_calls == row.sugov.saved_idle_calls;
        row.sugov.saved_idle_calls = row.idle_calls;
        busy
    }

    /// The CPU was not looked at for more than a tick.
    fn is_stale(&self, cx: &Ctx<'_, '_>, cpu: CpuId, time: u64) -> bool {
        time.saturating_sub(self.cpufreq.cpus[cpu].sugov.last_update) > cx.machine.tick.0
    }

    /// What a CPU alone asks for; none = the highest frequency.
    fn share_of_cpu(&mut self, cx: &Ctx<'_, '_>, cpu: CpuId, time: u64, util: CpuUtil) -> Option<Share> {
        let row = cx.machine.cpus[cpu].policy.expect("invariant: a CPU that is looked at is in a policy");
        let (rule, iowait) = (self.profile.cpufreq_util, self.profile.cpufreq_iowait_boost);
        let bounds = iowait::Bounds::of(iowait, &self.cpufreq.policies[row].spec);
        let late = self.is_stale(cx, cpu, time);
        let own = &mut self.cpufreq.cpus[cpu].sugov;
        // Each CPU of a policy, whichever of them the look is for.
        own.reserved = util.reserved(rule);
        let max = u64::from(util.max);
        if rule == FreqUtil::Cfs {
            if own.rt_ran {
                return None;
            }
            return Some(own.boost.apply(iowait, bounds, Share { util: own.util.min(max), max }, late));
        }
        if rule == FreqUtil::Bounded {
            let boost = own.boost.apply(iowait, bounds, Share { util: 0, max }, late).util;
            return Some(Share { util: util.bounded(boost), max });
        }
        let share = Share { util: util.sum(), max };
        let boosted = own.boost.apply(iowait, bounds, share, late);
        // A boost is clamped as what it stands for; in units of frequency, before there were clamps, there is nothing to clamp.
        let above = boosted.max == max && boosted.util > share.util;
        Some(if above { Share { util: util.clamped(boosted.util).max(share.util), max } } else { boosted })
    }

    /// The highest share that any CPU of a policy asks for; none = the highest frequency. Up to v4.18 CPUs count as they were last looked
    /// at, and those that were not for more than a tick do not count.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_next_freq_shared(), v4.12–
    fn share_of_policy(&mut self, cx: &Ctx<'_, '_>, row: usize, time: u64) -> Option<Share> {
        let kept = self.profile.cpufreq_util == FreqUtil::Cfs;
        let mut highest = Share { util: 0, max: 1 };
        let cpus = self.cpufreq.policies[row].spec.cpus;
        for cpu in cpus.iter() {
            if kept && self.is_stale(cx, cpu, time) {
                self.cpufreq.cpus[cpu].sugov.boost = Boost::default();
                continue;
            }
            let util = self.sugov_get_util(cx, cpu);
            let share = self.share_of_cpu(cx, cpu, time, util)?;
            if share.util * highest.max > share.max * highest.util {
                highest = share;
            }
        }
        Some(highest)
    }

    /// The frequency for a share; a wish that is the same as the last one leads to the same request.
    ///
    /// Kernel: cpufreq_schedutil.c get_next_freq(), v4.12–
    fn get_next_freq(&mut self, row: usize, share: Share) -> u32 {
        let (util_rule, margin) = (self.profile.cpufreq_util, self.profile.cpufreq_margin);
        let policy = &mut self.cpufreq.policies[row];
        let raw = next_freq::raw_khz(util_rule, margin, policy.freq_invariant, policy.spec.max_khz(), policy.cur_khz(), share);
        let same = policy.sugov.next_khz.filter(|_| raw == policy.sugov.cached_raw_khz);
        policy.sugov.cached_raw_khz = raw;
        same.unwrap_or(raw)
    }
}
