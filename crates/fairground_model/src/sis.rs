//! Counters of the searches for an idle CPU, and the indicators that are made of them.

/// Counters of the searches that wake-ups of a CPU make.
///
/// Of a patch that was never merged; no kernel release has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SisStats {
    /// Calls of select_idle_sibling().
    pub sis_search: u64,
    /// Looks: one per call for the CPUs known by name, and one per run queue that is looked at.
    pub sis_scanned: u64,
    /// Calls that found none of the CPUs known by name idle and came to the cache domain.
    pub sis_domain_search: u64,
    /// Those that found nothing there either.
    pub sis_failed: u64,
}

/// Percentages in thousandths.
pub const PERCENT: u64 = 1000;

impl SisStats {
    /// Adds those of another CPU.
    pub fn add(&mut self, other: &SisStats) {
        self.sis_search += other.sis_search;
        self.sis_scanned += other.sis_scanned;
        self.sis_domain_search += other.sis_domain_search;
        self.sis_failed += other.sis_failed;
    }
    /// What was counted since `before`. A search that was under way then counts with its end only.
    pub fn since(&self, before: &SisStats) -> SisStats {
        SisStats {
            sis_search: self.sis_search - before.sis_search,
            sis_scanned: self.sis_scanned - before.sis_scanned,
            sis_domain_search: self.sis_domain_search - before.sis_domain_search,
            sis_failed: self.sis_failed - before.sis_failed,
        }
    }
    /// Searches that found something per look, in units of 1/1000 percent: (search - failed) / scanned.
    pub fn se_eff(&self) -> u64 {
        ratio(self.sis_search.saturating_sub(self.sis_failed), self.sis_scanned)
    }
    /// The same for cache domains only: (domain search - failed) / (scanned - (search - domain search)).
    pub fn dom_eff(&self) -> u64 {
        ratio(self.sis_domain_search.saturating_sub(self.sis_failed), self.sis_scanned - self.found_by_name())
    }
    /// Searches that a CPU known by name ended, in units of 1/1000 percent.
    pub fn fast_rate(&self) -> u64 {
        ratio(self.found_by_name(), self.sis_search)
    }
    /// Searches that found something, in units of 1/1000 percent.
    pub fn success_rate(&self) -> u64 {
        ratio(self.sis_search.saturating_sub(self.sis_failed), self.sis_search)
    }
    /// Looks at run queues per search of a cache domain, in thousandths: (scanned - search) / domain search.
    pub fn looks_per_domain_search(&self) -> u64 {
        ratio(self.sis_scanned - self.sis_search, self.sis_domain_search) / 100
    }
    fn found_by_name(&self) -> u64 {
        self.sis_search - self.sis_domain_search
    }
}

/// `part` in `whole` in units of 1/1000 percent, rounded to the nearest; 0 of nothing.
fn ratio(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part) * u128::from(100 * PERCENT), u128::from(whole));
    (part + whole / 2).checked_div(whole).unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means per CPU of 112 with 224 pairs of netperf, as published: without and with SIS_UTIL.
    ///
    /// Model: 08 T01
    #[test]
    fn the_published_search_counters_give_the_published_indicators() {
        let [vanilla, patched] = [(5_842_896, 128_300_000, 4_544_492, 38_539), (15_347_978, 15_551_326, 15_338_634, 15_333_634)]
            .map(|(sis_search, sis_scanned, sis_domain_search, sis_failed)| SisStats {
                sis_search,
                sis_scanned,
                sis_domain_search,
                sis_failed,
            });
        let all = |s: SisStats| [s.se_eff(), s.dom_eff(), s.fast_rate(), s.success_rate()];
        assert_eq!(all(vanilla), [4_524, 3_548, 22_222, 99_340]);
        assert_eq!(all(patched), [92, 32, 61, 93]);
        assert_eq!(vanilla.looks_per_domain_search(), 26_946);
        assert_eq!(all(SisStats::default()), [0; 4], "nothing of nothing");
    }
}
