//! How many CPUs a search for an idle one may look at.

use super::avg_idle::update_avg;
use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, SdId};

/// No limit.
pub(super) const UNLIMITED: u64 = u64::MAX;

/// From how many CPUs on the counter of a search starts that knows how long this CPU will be idle and what a look
/// costs. The counter is lowered before each look and the search ends when it is 0.
///
/// nr = span / cost if span > 4 * cost, else 4; span = CPUs * idle time, cost = average cost of a search + 1
///
/// Kernel: fair.c select_idle_cpu() under SIS_PROP, v4.12–v6.6
pub(super) fn sis_prop_nr(llc_weight: u32, idle_ns: u64, avg_scan_cost: u64) -> u64 {
    let (span, cost) = (u64::from(llc_weight) * idle_ns, avg_scan_cost + 1);
    if span > 4 * cost { span / cost } else { 4 }
}

/// A search whose cost is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanClock {
    this: CpuId,
    this_sd: SdId,
    /// When it began, by what the present call has lasted, ns; wraps below 0 for one that began in an earlier call.
    began: u64,
}

impl ScanClock {
    pub(super) fn start(cx: &Ctx<'_, '_>, this_sd: SdId) -> ScanClock {
        ScanClock { this: cx.cpu, this_sd, began: cx.lasted().0 }
    }
    /// The search goes on in another call; this one has lasted so long.
    pub(super) fn interrupt(&mut self, lasted: u64) {
        self.began = self.began.wrapping_sub(lasted);
    }
}

impl Sched {
    /// The counter of the searches that go by the mean idle time of the searching CPU; `None`: not worth a search.
    ///
    /// Kernel: fair.c select_idle_cpu(), v4.12–v5.11
    pub(super) fn budget_by_avg_idle(&self, this: CpuId, this_sd: SdId, llc_weight: u32) -> Option<u64> {
        // The mean idle time is far from certain: 1/512 of it may be spent.
        let avg_idle = self.rqs[this].lb.avg_idle / 512;
        let avg_scan_cost = self.topology.domains[this_sd].avg_scan_cost;
        if self.profile.feats.has(Feat::SIS_AVG_CPU) && avg_idle < avg_scan_cost + 1 {
            return None;
        }
        Some(if self.profile.feats.has(Feat::SIS_PROP) { sis_prop_nr(llc_weight, avg_idle, avg_scan_cost) } else { UNLIMITED })
    }

    /// The counter of the searches that go by what is left of the idle time that was predicted at the last wake-up
    /// of the searching CPU: it is halved each jiffy, and each search is taken off it.
    ///
    /// Kernel: fair.c select_idle_cpu(), v5.14–v6.6
    pub(super) fn budget_by_wake_avg_idle(&mut self, cx: &Ctx<'_, '_>, this_sd: SdId, llc_weight: u32) -> u64 {
        let lb = &mut self.rqs[cx.cpu].lb;
        age_wake_avg_idle(&mut lb.wake_stamp, &mut lb.wake_avg_idle, cx.jiffies);
        sis_prop_nr(llc_weight, lb.wake_avg_idle, self.topology.domains[this_sd].avg_scan_cost)
    }

    /// The counter of the searches that go by how much the target's cache domain is used, as the last balance of all of it
    /// found: one more than the CPUs that may be looked at. `None`: no limit is known.
    ///
    /// Kernel: fair.c select_idle_cpu() under SIS_UTIL, v6.0–
    pub(super) fn budget_by_util(&self, target: CpuId) -> Option<u64> {
        if !self.profile.feats.has(Feat::SIS_UTIL) {
            return None;
        }
        let shared = self.topology.cpus[target].sd_llc_shared?;
        Some(u64::from(self.topology.shared[shared].nr_idle_scan) + 1)
    }

    /// A search that ended by itself: its cost goes into the average of the domain. Returns the cost, ns.
    pub(super) fn update_avg_scan_cost(&mut self, cx: &Ctx<'_, '_>, clock: &ScanClock) -> u64 {
        let took = cx.lasted().0.wrapping_sub(clock.began);
        update_avg(&mut self.topology.domains[clock.this_sd].avg_scan_cost, took);
        took
    }

    /// Likewise; the searching CPU's predicted idle time is less by that.
    pub(super) fn charge_wake_avg_idle(&mut self, cx: &Ctx<'_, '_>, clock: &ScanClock) {
        let took = self.update_avg_scan_cost(cx, clock);
        let left = &mut self.rqs[clock.this].lb.wake_avg_idle;
        *left = left.saturating_sub(took);
    }
}

/// Halves the predicted idle time for each jiffy since `stamp`; once it is 0 the stamp stays behind.
pub(super) fn age_wake_avg_idle(stamp: &mut u64, wake_avg_idle: &mut u64, jiffies: u64) {
    while *stamp < jiffies && *wake_avg_idle > 0 {
        *stamp += 1;
        *wake_avg_idle >>= 1;
    }
}
