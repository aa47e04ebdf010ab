//! The limit of a group: so much CPU time per period (cpu.max, cpu.max.burst).

use fairground_stdx::Ns;
use std::fmt;

/// A quota of CPU time per period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuMax {
    /// CPU time of all CPUs together in a period; `None` = no limit.
    pub quota: Option<Ns>,
    /// The period.
    pub period: Ns,
    /// What may be carried over above the quota.
    pub burst: Ns,
}

/// What may not be set, as the kernel refuses it (EINVAL).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// A quota below 1 ms.
    QuotaTooSmall,
    /// A quota of more than 203 days, with the burst.
    QuotaTooLarge,
    /// A period below 1 ms.
    PeriodTooShort,
    /// A period of more than 1 s.
    PeriodTooLong,
    /// A burst above the quota.
    BurstAboveQuota,
}

impl CpuMax {
    /// The period of a group that was told nothing.
    ///
    /// Kernel: sched.h default_cfs_period(), v4.12–
    pub const DEFAULT_PERIOD: Ns = Ns::from_ms(100);
    /// No limit.
    pub const UNLIMITED: CpuMax = CpuMax { quota: None, period: CpuMax::DEFAULT_PERIOD, burst: Ns::ZERO };
    /// Least quota and least period.
    ///
    /// Kernel: core.c min_cfs_quota_period, v4.12–
    pub const LEAST: Ns = Ns::from_ms(1);
    /// Longest period.
    ///
    /// Kernel: core.c max_cfs_quota_period, v4.12–
    pub const LONGEST_PERIOD: Ns = Ns::from_secs(1);
    /// Most that quota and burst may be together: 2^44 - 1 us.
    ///
    /// Kernel: core.c max_cfs_runtime, v5.8–
    pub const LARGEST: Ns = Ns(((1 << 44) - 1) * 1000);

    /// Whether a group may have this limit.
    ///
    /// Kernel: core.c tg_set_cfs_bandwidth(), v5.14–
    pub fn check(&self) -> Result<(), Refused> {
        if self.period < CpuMax::LEAST {
            return Err(Refused::PeriodTooShort);
        }
        let Some(quota) = self.quota else {
            return if self.period > CpuMax::LONGEST_PERIOD { Err(Refused::PeriodTooLong) } else { Ok(()) };
        };
        match quota {
            _ if quota < CpuMax::LEAST => Err(Refused::QuotaTooSmall),
            _ if self.period > CpuMax::LONGEST_PERIOD => Err(Refused::PeriodTooLong),
            _ if quota > CpuMax::LARGEST => Err(Refused::QuotaTooLarge),
            _ if self.burst > quota => Err(Refused::BurstAboveQuota),
            _ if quota.0.saturating_add(self.burst.0) > CpuMax::LARGEST.0 => Err(Refused::QuotaTooLarge),
            _ => Ok(()),
        }
    }

    /// Quota by period, times 2^20; `None` without a quota.
    ///
    /// Kernel: core.c to_ratio(), v4.12–
    pub fn ratio(&self) -> Option<u64> {
        let quota = self.quota?;
        u64::try_from((u128::from(quota.0) << 20) / u128::from(self.period.0.max(1))).ok()
    }
}

/// As cpu.max shows it: the quota or `max`, and the period, in us.
impl fmt::Display for CpuMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quota {
            Some(quota) => write!(f, "{} {}", quota.0 / 1000, self.period.0 / 1000),
            None => write!(f, "max {}", self.period.0 / 1000),
        }
    }
}

impl Refused {
    /// What is wrong, and what would be right.
    pub const fn sentences(self) -> (&'static str, &'static str) {
        match self {
            Refused::QuotaTooSmall => {
                ("the quota is below 1 ms", "The least is 1000 us per period; for no limit write `max` (cgroup v1: -1).")
            }
            Refused::QuotaTooLarge => ("quota and burst are more than 203 days", "For no limit write `max` (cgroup v1: -1)."),
            Refused::PeriodTooShort => {
                ("the period is below 1 ms", "Periods last from 1000 to 1000000 us; 100000 is the default.")
            }
            Refused::PeriodTooLong => {
                ("the period is longer than 1 s", "Periods last from 1000 to 1000000 us; 100000 is the default.")
            }
            Refused::BurstAboveQuota => ("the burst is larger than the quota", "Up to one quota can be carried over."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(quota_us: u64, period_us: u64, burst_us: u64) -> CpuMax {
        CpuMax { quota: Some(Ns::from_us(quota_us)), period: Ns::from_us(period_us), burst: Ns::from_us(burst_us) }
    }

    /// Model: 10 T13
    #[test]
    fn quotas_periods_and_bursts_out_of_range_are_refused() {
        for (max, refused) in [
            (limit(999, 100_000, 0), Some(Refused::QuotaTooSmall)),
            (limit(1_000, 1_000_000, 0), None),
            (limit(1_000, 1_000_001, 0), Some(Refused::PeriodTooLong)),
            (limit(1_000, 999, 0), Some(Refused::PeriodTooShort)),
            (limit(10_000, 100_000, 11_000), Some(Refused::BurstAboveQuota)),
            (limit(10_000, 100_000, 10_000), None),
            (limit((1 << 44) - 1, 100_000, 1), Some(Refused::QuotaTooLarge)),
            (CpuMax { period: Ns::from_secs(2), ..CpuMax::UNLIMITED }, Some(Refused::PeriodTooLong)),
            (CpuMax { burst: Ns::from_secs(2), ..CpuMax::UNLIMITED }, None),
        ] {
            assert_eq!(max.check().err(), refused, "{max:?}");
        }
    }

    #[test]
    fn ratios_have_twenty_bits() {
        assert_eq!(limit(50_000, 100_000, 0).ratio(), Some(524_288));
        assert_eq!(CpuMax::UNLIMITED.ratio(), None);
    }
}
