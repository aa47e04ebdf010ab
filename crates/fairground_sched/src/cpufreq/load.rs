//! The share of busy time of the last period, which ondemand and conservative go by.

use super::{Asked, Policy};
use crate::Sched;
use crate::ctx::{Ctx, SCHED_CLOCK_AT_START};
use fairground_model::Tunable;
use fairground_stdx::{Instant, Ns};

/// What is kept of a CPU, ns.
///
/// Kernel: cpufreq_governor.h struct cpu_dbs_info, v4.12–
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CpuLoad {
    /// Idle time up to the last time that it ended.
    idle_ns: u64,
    /// Since when it idles now.
    pub(super) idle_since: Option<Instant>,
    prev_idle_ns: u64,
    prev_update: u64,
    prev_load: u64,
}

impl CpuLoad {
    pub(super) fn end_idle(&mut self, now: Instant) {
        if let Some(since) = self.idle_since.take() {
            self.idle_ns += now.saturating_since(since).0;
        }
    }

    /// Percent of busy time since the last sample, and how long it idled, ns. A CPU that idled for more than two periods has once
    /// more the load that it had before: it was not asked meanwhile.
    ///
    /// Kernel: cpufreq_governor.c dbs_update(), v4.12–
    fn sample(&mut self, now: Instant, period_ns: u64) -> (u64, u64) {
        let idle_ns = self.idle_ns + self.idle_since.map_or(0, |since| now.saturating_since(since).0);
        let elapsed = now.ns() - self.prev_update;
        let idle = idle_ns - self.prev_idle_ns;
        (self.prev_update, self.prev_idle_ns) = (now.ns(), idle_ns);
        let load = match () {
            () if elapsed == 0 => self.prev_load,
            () if idle > 2 * period_ns && self.prev_load > 0 => return (std::mem::take(&mut self.prev_load), idle),
            () => 100 * elapsed.saturating_sub(idle) / elapsed,
        };
        self.prev_load = load;
        (load, idle)
    }
}

/// What is kept of a policy.
///
/// Kernel: cpufreq_governor.h struct policy_dbs_info, v4.12–
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyLoad {
    /// Run-queue clock at the last sample.
    last_sample: u64,
    /// The period in units of the sampling rate (ondemand).
    pub(super) rate_mult: u64,
    /// Periods that conservative has not gone down in.
    pub(super) down_skip: u32,
    /// What conservative wants, which need not be of the table.
    pub(super) requested_khz: u32,
    /// The least number of whole periods that a CPU idled through, if all did.
    pub(super) idle_periods: Option<u64>,
}

impl PolicyLoad {
    pub(super) fn begin(khz: u32, time: u64) -> PolicyLoad {
        PolicyLoad { last_sample: time, rate_mult: 1, down_skip: 0, requested_khz: khz, idle_periods: None }
    }
}

impl Sched {
    /// Utilisation has changed: if a period is over, a sample is taken, and `update` says what its load asks for.
    ///
    /// Kernel: cpufreq_governor.c dbs_update_util_handler(), v4.12–
    pub(super) fn dbs_update_util_handler(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        Asked { row, time, may_change, .. }: Asked,
        update: fn(&mut Policy, u32) -> Option<u32>,
    ) {
        if !may_change {
            return;
        }
        let period = self.sampling_rate(cx, row).0 * self.cpufreq.policies[row].load.rate_mult;
        let policy = &mut self.cpufreq.policies[row];
        if policy.works() || time.saturating_sub(policy.load.last_sample.max(SCHED_CLOCK_AT_START)) < period {
            return;
        }
        policy.load.last_sample = time;
        let load = self.dbs_update(cx, row, period);
        let wanted = update(&mut self.cpufreq.policies[row], load);
        if let Some(khz) = wanted.filter(|&khz| khz != self.cpufreq.policies[row].cur_khz()) {
            self.request_frequency(cx, row, khz, false);
        }
    }

    /// The highest load of the policy's CPUs.
    ///
    /// Kernel: cpufreq_governor.c dbs_update(), v4.12–
    fn dbs_update(&mut self, cx: &Ctx<'_, '_>, row: usize, period_ns: u64) -> u32 {
        let (mut load, mut idle_periods) = (0, None);
        for cpu in self.cpufreq.policies[row].spec.cpus.iter() {
            let (own, idle) = self.cpufreq.cpus[cpu].load.sample(cx.now, period_ns);
            load = own.max(load);
            if idle > 2 * period_ns {
                let periods = idle / period_ns;
                idle_periods = Some(idle_periods.map_or(periods, |least: u64| least.min(periods)));
            }
        }
        self.cpufreq.policies[row].load.idle_periods = idle_periods;
        load.min(100) as u32
    }

    /// The sampling rate: as it is set, or two ticks, or the least time between two changes if that is longer.
    ///
    /// Kernel: cpufreq_governor.c cpufreq_dbs_governor_init(), v4.12–
    fn sampling_rate(&self, cx: &Ctx<'_, '_>, row: usize) -> Ns {
        let policy = &self.cpufreq.policies[row];
        let default = || Ns(2 * cx.machine.tick.0).max(policy.transition_delay(&self.profile));
        policy.governor().time(Tunable::SamplingRate).unwrap_or_else(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_the_share_of_busy_time() {
        let at = Instant::from_ns;
        let mut cpu = CpuLoad { idle_since: Some(at(60)), ..CpuLoad::default() };
        assert_eq!(cpu.sample(at(100), 100), (60, 40));
        cpu.end_idle(at(150));
        assert_eq!(cpu.sample(at(200), 100), (50, 50));
        cpu.idle_since = Some(at(200));
        assert_eq!(cpu.sample(at(500), 100), (50, 300), "after a long idle time the load before it counts once");
        assert_eq!(cpu.sample(at(800), 100), (0, 300));
    }
}
