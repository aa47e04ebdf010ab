//! One CPU, and how fast it is.

use fairground_stdx::Ns;

/// The scale of capacities and frequencies: 1024 is the machine's biggest CPU at its highest frequency.
///
/// Kernel: sched.h SCHED_CAPACITY_SCALE, v4.12–
pub const CAPACITY_SCALE: u32 = 1024;

/// One CPU (a hardware thread). All ids count over the whole machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSpec {
    /// The core; CPUs of one core are SMT siblings.
    pub core: u32,
    /// The group of cores that share a cache or a tag below the last-level cache, if there is one.
    pub cluster: Option<u32>,
    /// The last-level cache.
    pub llc: u32,
    /// The package (socket).
    pub package: u32,
    /// The NUMA node: a row of the distance matrix.
    pub node: u32,
    /// Full capacity, 1..=1024.
    pub capacity: u32,
    /// Current frequency over highest frequency, 1..=1024.
    pub freq_capacity: u32,
    /// CPUs of one frequency domain change frequency together.
    pub freq_domain: u32,
    /// How far its scheduler clock is ahead of the clock (an unstable TSC).
    pub clock_ahead: Ns,
}

impl CpuSpec {
    /// A CPU of full capacity that is a core of its own; all else is number 0.
    pub fn alone(core: u32) -> CpuSpec {
        CpuSpec {
            core,
            cluster: None,
            llc: 0,
            package: 0,
            node: 0,
            capacity: CAPACITY_SCALE,
            freq_capacity: CAPACITY_SCALE,
            freq_domain: core,
            clock_ahead: Ns::ZERO,
        }
    }
    /// The time that `amount` of full-speed CPU work takes here, in the unit of `amount`:
    /// amount · (1024 / capacity) · (1024 / freq_capacity), rounded to the nearest.
    pub fn at_speed(&self, amount: u64) -> u64 {
        let scale = u128::from(CAPACITY_SCALE) * u128::from(CAPACITY_SCALE);
        let speed = u128::from(self.capacity.max(1)) * u128::from(self.freq_capacity.max(1));
        // Most CPUs of most machines: nothing to divide.
        if speed == scale {
            return amount;
        }
        let slowed = (u128::from(amount) * scale + speed / 2) / speed;
        u64::try_from(slowed).unwrap_or(u64::MAX)
    }
}

/// The time that `amount` of work takes at `percent` of the speed, in the unit of `amount`, rounded to the nearest.
pub(crate) fn slowed(amount: u64, percent: u32) -> u64 {
    let percent = u128::from(percent.max(1));
    u64::try_from((u128::from(amount) * 100 + percent / 2) / percent).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_longer_on_a_small_or_slow_cpu() {
        let cpu = |capacity, freq_capacity| CpuSpec { capacity, freq_capacity, ..CpuSpec::alone(0) };
        assert_eq!(cpu(1024, 1024).at_speed(1_000), 1_000);
        assert_eq!(cpu(512, 1024).at_speed(1_000), 2_000);
        assert_eq!(cpu(512, 512).at_speed(1_000), 4_000);
        assert_eq!(cpu(446, 1024).at_speed(1_000), 2_296);
        assert_eq!(cpu(1, 1).at_speed(u64::MAX), u64::MAX);
        assert_eq!(slowed(u64::MAX, 62), u64::MAX);
    }
}
