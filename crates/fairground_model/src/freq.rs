//! Frequencies: which CPUs change theirs together, and between which operating points.

use crate::governor::{Governor, Tunable};
use fairground_stdx::{CpuMask, Ns};

/// One operating point (OPP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opp {
    /// The frequency.
    pub khz: u32,
    /// What one CPU draws at it when it is never idle, mW; none = not known.
    pub power_mw: Option<u32>,
}

/// CPUs that change frequency together (a cpufreq policy), and how they do.
///
/// Kernel: cpufreq.h struct cpufreq_policy, v4.12–
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreqPolicy {
    /// The CPUs.
    pub cpus: CpuMask,
    /// The operating points, the slowest first; at least one.
    pub opps: Vec<Opp>,
    /// How long a change takes (cpuinfo.transition_latency).
    pub transition_latency: Ns,
    /// The least time between two changes that the driver asks for (transition_delay_us); none = it follows from the latency.
    pub transition_delay: Option<Ns>,
    /// The scheduler changes the frequency itself, at once; else a kernel thread does.
    pub fast_switch: bool,
    /// Who chooses among the points.
    pub governor: Governor,
}

impl FreqPolicy {
    /// The lowest frequency.
    pub fn min_khz(&self) -> u32 {
        self.opps.first().map_or(0, |opp| opp.khz)
    }
    /// The highest frequency.
    pub fn max_khz(&self) -> u32 {
        self.opps.last().map_or(0, |opp| opp.khz)
    }
    /// The lowest and the highest frequency that the governor may choose (scaling_min_freq, scaling_max_freq).
    pub fn limits(&self) -> (u32, u32) {
        let (min, max) = (self.min_khz(), self.max_khz());
        let high = self.governor.khz(Tunable::MaxKhz).map_or(max, |khz| self.at_most(khz));
        (self.governor.khz(Tunable::MinKhz).map_or(min, |khz| self.at_least(khz)).min(high), high)
    }
    /// The frequency at the beginning of a run; none = that of the machine.
    pub fn start_khz(&self) -> Option<u32> {
        (self.governor.kind.row().start)(self)
    }
    /// The share of its highest frequency at which a policy begins, in 1/1024; `else_share`: that of the machine, which has gone to the
    /// limits of the governor before.
    pub fn start_share(&self, else_share: u32) -> u32 {
        let ((low, high), khz) = (self.limits(), self.khz_of(else_share));
        match self.start_khz() {
            Some(khz) => self.freq_capacity(khz),
            None if khz == khz.clamp(low, high) => else_share,
            None => self.freq_capacity(khz.clamp(low, high)),
        }
    }
    /// A governor that looks starts low: a machine that was idle until then has let it go down.
    pub(crate) fn start_low(&self) -> Option<u32> {
        Some(self.governor.khz(Tunable::StartKhz).map_or(self.limits().0, |khz| self.within(khz)))
    }
    /// What the user has set, if anything; no frequency lies outside of its limits for long.
    pub(crate) fn start_within_limits(&self) -> Option<u32> {
        let (low, high) = self.limits();
        self.governor.khz(Tunable::StartKhz).map(|khz| khz.clamp(low, high))
    }
    /// What the user has set, or the highest.
    pub(crate) fn start_as_set(&self) -> Option<u32> {
        let set = self.governor.khz(Tunable::SetspeedKhz).or(self.governor.khz(Tunable::StartKhz));
        Some(set.map_or(self.limits().1, |khz| self.within(khz)))
    }
    /// The lowest frequency of the table that suffices for `khz`, within the limits.
    ///
    /// Kernel: cpufreq.c cpufreq_driver_resolve_freq(), v4.12–
    pub fn within(&self, khz: u32) -> u32 {
        let (low, high) = self.limits();
        self.at_least(khz.clamp(low, high))
    }
    /// The lowest frequency of the table that is not below `khz`; the highest if there is none.
    ///
    /// Kernel: cpufreq.h cpufreq_table_find_index_l(), v4.12–
    pub fn at_least(&self, khz: u32) -> u32 {
        self.opps.iter().map(|opp| opp.khz).find(|&opp| opp >= khz).unwrap_or(self.max_khz())
    }
    /// The frequency of the table that is nearest to `khz`; the lower one of two.
    ///
    /// Kernel: cpufreq.h cpufreq_table_find_index_c(), v4.12–
    pub fn nearest(&self, khz: u32) -> u32 {
        self.opps.iter().map(|opp| opp.khz).min_by_key(|&opp| (opp.abs_diff(khz), opp)).unwrap_or(0)
    }
    /// The highest frequency of the table that is not above `khz`; the lowest if there is none.
    ///
    /// Kernel: cpufreq.h cpufreq_table_find_index_h(), v4.12–
    pub fn at_most(&self, khz: u32) -> u32 {
        self.opps.iter().rev().map(|opp| opp.khz).find(|&opp| opp <= khz).unwrap_or(self.min_khz())
    }
    /// `khz` over the highest frequency, in 1/1024, rounded down; at least 1.
    ///
    /// Kernel: arch_topology.c topology_set_freq_scale(), v4.14–
    pub fn freq_capacity(&self, khz: u32) -> u32 {
        ((u64::from(khz) << 10) / u64::from(self.max_khz().max(1))).clamp(1, 1024) as u32
    }
    /// The frequency that runs at `freq_capacity` 1024ths of the highest, as its operating point if there is one at that share.
    pub fn khz_of(&self, freq_capacity: u32) -> u32 {
        let point = self.opps.iter().map(|opp| opp.khz).find(|&khz| self.freq_capacity(khz) == freq_capacity);
        point.unwrap_or(((u64::from(self.max_khz()) * u64::from(freq_capacity)) >> 10) as u32)
    }
    /// What a unit of utilisation costs at an operating point: power · highest frequency / frequency, rounded down. None = its
    /// power is not known.
    ///
    /// Kernel: energy_model.c em_create_pd(), v5.0–
    pub fn cost(&self, opp: &Opp) -> Option<u64> {
        Some(u64::from(opp.power_mw?) * u64::from(self.max_khz()) / u64::from(opp.khz.max(1)))
    }
}

/// What a CPU draws at an operating point: coefficient · MHz · mV² / 10⁹ mW, rounded down.
///
/// Kernel: opp/of.c _get_power(), v5.0–
pub fn dynamic_power_mw(coefficient: u32, khz: u32, millivolt: u32) -> Option<u32> {
    let mhz = u128::from(khz / 1000);
    let millivolt = u128::from(millivolt);
    u32::try_from(u128::from(coefficient) * mhz * millivolt * millivolt / 1_000_000_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HiKey: operating points and voltages of its device tree.
    fn hikey() -> FreqPolicy {
        let rows = [(208_000, 1040), (432_000, 1040), (729_000, 1090), (960_000, 1180), (1_200_000, 1330)];
        let opp = |(khz, millivolt)| Opp { khz, power_mw: dynamic_power_mw(311, khz, millivolt) };
        FreqPolicy {
            cpus: CpuMask::first_n(8),
            opps: rows.map(opp).to_vec(),
            transition_latency: Ns::from_us(500),
            transition_delay: None,
            fast_switch: false,
            governor: Governor::default(),
        }
    }

    /// Model: 04 T02
    #[test]
    fn the_frequency_capacities_of_hikey_are_the_known_five() {
        let hikey = hikey();
        let shares: Vec<u32> = hikey.opps.iter().map(|opp| hikey.freq_capacity(opp.khz)).collect();
        assert_eq!(shares, [177, 368, 622, 819, 1024]);
        let back: Vec<u32> = shares.iter().map(|&share| hikey.khz_of(share)).collect();
        assert_eq!(back, [208_000, 432_000, 729_000, 960_000, 1_200_000]);
        assert_eq!(hikey.khz_of(512), 600_000, "between two points");
    }

    /// A machine that runs at its highest frequency, with a limit below that and nobody who governs, has gone down before the run.
    #[test]
    fn a_policy_begins_within_its_limits() {
        let mut hikey = hikey();
        assert_eq!((hikey.start_share(1024), hikey.start_share(512)), (1024, 512));
        hikey.governor.set(Tunable::MaxKhz, Some(729_000));
        assert_eq!((hikey.start_share(1024), hikey.start_share(512)), (622, 512));
        hikey.governor.set(Tunable::MinKhz, Some(729_000));
        assert_eq!(hikey.start_share(512), 622);
    }

    /// Model: 04 T03
    #[test]
    fn a_frequency_is_resolved_to_the_lowest_point_that_suffices() {
        let resolved = [0, 208_000, 208_001, 1_200_000, 1_300_000].map(|khz| hikey().at_least(khz));
        assert_eq!(resolved, [208_000, 208_000, 432_000, 1_200_000, 1_200_000]);
        assert_eq!([0, 320_000, 320_001, 2_000_000].map(|khz| hikey().nearest(khz)), [208_000, 208_000, 432_000, 1_200_000]);
        assert_eq!([0, 431_999, 432_000, 2_000_000].map(|khz| hikey().at_most(khz)), [208_000, 208_000, 432_000, 1_200_000]);
    }

    #[test]
    fn power_follows_from_the_coefficient_and_cost_from_power() {
        let hikey = hikey();
        let power: Vec<Option<u32>> = hikey.opps.iter().map(|opp| opp.power_mw).collect();
        assert_eq!(power, [69, 145, 269, 415, 660].map(Some));
        let cost: Vec<Option<u64>> = hikey.opps.iter().map(|opp| hikey.cost(opp)).collect();
        assert_eq!(cost, [398, 402, 442, 518, 660].map(Some));
        assert_eq!(dynamic_power_mw(u32::MAX, u32::MAX, u32::MAX), None, "too much to be true");
    }
}
