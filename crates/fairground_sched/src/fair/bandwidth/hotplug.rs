//! A CPU on which nothing may be throttled: one that goes off line, since its tasks could not leave.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::HotplugQuota;
use fairground_stdx::{CpuId, Id, TgId};

impl Sched {
    /// The domains are built anew since `cpu` leaves or comes: what stands still there, or on every CPU, is released, and
    /// goes on with 1 ns.
    ///
    /// Kernel: fair.c rq_offline_fair(), rq_online_fair(), v4.12–
    pub(crate) fn hotplug_releases_quota(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if !self.cfs_bandwidth_used() {
            // A release may be under way still.
            return self.forget_releases(cpu);
        }
        let every_cpu = self.profile.hotplug_quota == HotplugQuota::EveryCpu;
        for other in self.rqs.ids().filter(|&other| other == cpu || every_cpu).collect::<Vec<CpuId>>() {
            self.unthrottle_offline_cfs_rqs(cx, other);
            self.update_runtime_enabled(other);
        }
    }

    /// Kernel: fair.c unthrottle_offline_cfs_rqs(), v4.12–
    fn unthrottle_offline_cfs_rqs(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.forget_releases(cpu);
        let mut released = 0;
        for group in self.groups.ids().collect::<Vec<TgId>>() {
            let Some(pool) = self.pool(group) else { continue };
            if !std::mem::take(&mut pool.accounts[cpu].enabled) {
                continue;
            }
            pool.reset(cpu, 1);
            if pool.accounts[cpu].throttled {
                let queue = self.groups[group].queues[cpu].expect("invariant: a throttled queue was used");
                released += 1;
                self.warn_double_clock(cx, cpu, released);
                self.unthrottle_cfs_rq(cx, queue);
            }
        }
    }

    /// What others have paid for on `cpu` is released with the rest.
    fn forget_releases(&mut self, cpu: CpuId) {
        self.rqs[cpu].cfsb_csd.clear();
        for row in 0..self.bandwidth.pools.len() {
            if let Some(pool) = self.pool(TgId::from_index(row)) {
                pool.accounts[cpu].csd_pending = false;
            }
        }
    }

    /// Kernel: fair.c update_runtime_enabled(), v4.12–
    fn update_runtime_enabled(&mut self, cpu: CpuId) {
        let online = self.rqs[cpu].online;
        for row in 0..self.bandwidth.pools.len() {
            if let Some(pool) = self.pool(TgId::from_index(row)) {
                pool.accounts[cpu].enabled = online && pool.limit.quota.is_some();
            }
        }
    }
}
