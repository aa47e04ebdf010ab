//! How many CPUs a search for an idle one may look at, from how much the cache domain is used (SIS_UTIL).

use super::{LbEnv, SdLbStats};
use crate::seam::IdleScan;
use crate::topology::CpuIdleType;
use crate::{Profile, Sched};
use fairground_model::features::Feat;

/// CPUs that a cache domain is taken to have where it has at most [`SMALL_LLC`] (`more-in-small`).
const SCANNED_LLC: u64 = 32;
/// The largest cache domain that counts as small.
const SMALL_LLC: u64 = 16;

/// imbalance_pct of a cache domain.
///
/// Kernel: topology.c sd_init(), v4.12–
const LLC_IMBALANCE_PCT: u64 = 117;

/// How many of the CPUs of a cache domain a search may look at:
///
/// ```text
/// y = weight * (1 - (pct/100 * x/1024)^2)     x = sum_util / weight, the mean utilisation, 0 to 1024
/// ```
///
/// in integers; none from x = 872 (85.2 %) on where pct is 117 and the weight 112.
///
/// Kernel: fair.c update_idle_cpu_scan(), v6.0–
const fn nr_idle_scan(rule: IdleScan, llc_weight: u64, sum_util: u64, imbalance_pct: u64) -> u64 {
    let x = sum_util / llc_weight;
    let used = x * x * imbalance_pct * imbalance_pct / (10_000 * 1024);
    let used = if used < 1024 { used } else { 1024 };
    let y = (1024 - used) * llc_weight / 1024;
    match rule {
        IdleScan::MoreInSmall if llc_weight <= SMALL_LLC => y * SCANNED_LLC / llc_weight,
        IdleScan::MoreInSmall | IdleScan::Proportional => y,
    }
}

impl Profile {
    /// How many of the CPUs of a cache domain of `llc_weight` CPUs a search may look at where their utilisation adds up to
    /// `sum_util` (1024 = one busy CPU), under SIS_UTIL.
    ///
    /// Kernel: fair.c update_idle_cpu_scan(), v6.0–
    pub fn nr_idle_scan(&self, llc_weight: u32, sum_util: u64) -> u64 {
        nr_idle_scan(self.idle_scan, u64::from(llc_weight.max(1)), sum_util, LLC_IMBALANCE_PCT)
    }
}

impl Sched {
    /// A balance of the whole cache domain of a CPU, which has summed up its utilisation, tells the searches. A CPU that is
    /// about to go idle leaves that to the others: it would write what all read too often.
    ///
    /// Kernel: fair.c update_idle_cpu_scan(), v6.0–
    pub(super) fn update_idle_cpu_scan(&mut self, env: &LbEnv, sds: &SdLbStats) {
        if !self.profile.feats.has(Feat::SIS_UTIL) || env.idle == CpuIdleType::NewlyIdle {
            return;
        }
        let domain = &self.topology.domains[env.sd];
        let cached = &self.topology.cpus[env.dst_cpu];
        let shared = match domain.span_weight == cached.llc_size {
            true => cached.sd_llc_shared,
            // From v7.2 on the domain of all capacities has such a record.
            false => domain.shared.filter(|_| cached.sd_asym_cpucapacity == Some(env.sd)),
        };
        let Some(shared) = shared else { return };
        let (weight, pct) = (u64::from(domain.span_weight), u64::from(domain.imbalance_pct));
        let nr = nr_idle_scan(self.profile.idle_scan, weight, sds.total_util, pct);
        self.topology.shared[shared].nr_idle_scan = nr as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_machine::Machine;
    use fairground_stdx::CpuId;

    const PCT: u64 = 117;

    fn scans(rule: IdleScan, weight: u64, x: u64) -> u64 {
        nr_idle_scan(rule, weight, weight * x, PCT)
    }

    /// The published tables: utilisation in percent, CPUs to look at in domains of 112 and of 16.
    ///
    /// Model: 06 T01
    #[test]
    fn the_search_depth_by_utilisation_is_that_of_the_published_tables() {
        let percents = [0, 5, 15, 25, 35, 45, 55, 65, 75, 85, 86];
        let of = |weight: u64| {
            percents.map(|percent| nr_idle_scan(IdleScan::Proportional, weight, weight * 1024 * percent / 100, PCT))
        };
        assert_eq!(of(112), [112, 111, 108, 102, 93, 81, 65, 47, 25, 1, 0]);
        assert_eq!(of(16), [16, 15, 15, 14, 13, 11, 9, 6, 3, 0, 0]);
    }

    /// Model: 06 T01
    #[test]
    fn the_search_depth_is_full_below_28_and_zero_from_its_threshold_on() {
        assert_eq!([871, 872].map(|x| scans(IdleScan::Proportional, 112, x)), [1, 0]);
        for (weight, first_without) in [(112, 872), (32, 862), (16, 848), (12, 839), (8, 820), (4, 759)] {
            let none = |x: &u64| scans(IdleScan::Proportional, weight, *x) == 0;
            assert_eq!((0..=1024).find(none), Some(first_without), "{weight}");
            let fewer = |x: &u64| scans(IdleScan::Proportional, weight, *x) < weight;
            assert_eq!((0..=1024).find(fewer), Some(28), "{weight}");
        }
        assert_eq!(scans(IdleScan::Proportional, 16, 4096), 0, "more than all of it is no more than all of it");
    }

    #[test]
    fn small_caches_may_be_searched_further() {
        for x in [0, 300, 600, 840, 900] {
            let [small, large] = [16, 17].map(|weight| scans(IdleScan::MoreInSmall, weight, x));
            assert_eq!(small, scans(IdleScan::Proportional, 16, x) * 2);
            assert_eq!(large, scans(IdleScan::Proportional, 17, x));
        }
    }

    /// Whoever balances the whole cache domain tells the searches; a CPU about to go idle, or a smaller domain, does not.
    ///
    /// Model: 06 T01
    #[test]
    fn only_a_balance_of_the_whole_cache_domain_sets_the_search_depth() {
        let profile = Profile::parse("v5.19+sis-util").unwrap();
        let machine = Machine::preset("llc112").unwrap().view();
        let cpu = CpuId::new(0);
        let nr_after = |idle: CpuIdleType, llc: bool, total_util: u64, feature: &str| {
            let mut sched = Sched::new(profile.clone().with_feature(feature).unwrap(), &machine);
            let cached = &sched.topology.cpus[cpu];
            let (sd, shared) = (if llc { cached.sd_llc } else { cached.base }.unwrap(), cached.sd_llc_shared.unwrap());
            assert_eq!(sched.topology.shared[shared].nr_idle_scan, 112, "an idle machine may be searched");
            sched.topology.shared[shared].nr_idle_scan = 0;
            let env = LbEnv::new(sd, cpu, idle, sched.topology.domains[sd].span, Vec::new());
            let sds = SdLbStats { total_util, ..SdLbStats::new(sched.topology.domains[sd].first_group) };
            sched.update_idle_cpu_scan(&env, &sds);
            sched.topology.shared[shared].nr_idle_scan
        };
        let half = 112 * 512;
        for idle in [CpuIdleType::Idle, CpuIdleType::NotIdle] {
            assert_eq!(nr_after(idle, true, half, "SIS_UTIL"), 73);
        }
        assert_eq!(nr_after(CpuIdleType::NewlyIdle, true, half, "SIS_UTIL"), 0);
        assert_eq!(nr_after(CpuIdleType::Idle, false, half, "SIS_UTIL"), 0);
        assert_eq!(nr_after(CpuIdleType::Idle, true, half, "NO_SIS_UTIL"), 0);
    }
}
