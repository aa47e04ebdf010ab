//! How often a domain is balanced.

use super::domain::MAX_INTERVAL_FACTOR;
use super::{SchedDomain, Topology};
use fairground_stdx::{CpuId, IndexVec, RngStream, SdId, StreamKind};

/// Milliseconds in jiffies, rounded up.
///
/// Kernel: jiffies.h msecs_to_jiffies(), v4.12–
pub(crate) fn msecs_to_jiffies(ms: u64, hz: u64) -> u64 {
    (ms * hz).div_ceil(1000)
}

impl Topology {
    /// Jiffies between two balances of a domain: balance_interval ms, `busy_factor` times as long on a busy CPU
    /// (from v5.10 less one, so that levels do not meet), within 1 and max_load_balance_interval.
    ///
    /// Kernel: fair.c get_sd_balance_interval(), v4.12–
    pub fn get_sd_balance_interval(&self, sd: SdId, cpu_busy: bool) -> u64 {
        self.domains[sd].interval(self.hz, cpu_busy, self.short_intervals).clamp(1, self.max_load_balance_interval.max(1))
    }
}

impl Topology {
    /// The machine was busy before the run began: each CPU balanced its domains last at a moment of its own, less than
    /// a busy interval ago. Nothing in the kernel ties the CPUs' intervals to each other.
    pub(crate) fn shift_balance_phases(&mut self, seed: u64) {
        let mut streams: IndexVec<CpuId, RngStream> =
            self.cpus.ids().map(|cpu| RngStream::new(seed, StreamKind::BalancePhase, cpu.get())).collect();
        for sd in self.domains.ids() {
            let interval = self.get_sd_balance_interval(sd, true);
            let domain = &mut self.domains[sd];
            domain.last_balance = -(streams[domain.cpu].below(interval) as i64);
        }
    }
}

impl SchedDomain {
    /// The interval begins with 1 ms for each of so many CPUs, and is at most twice that.
    ///
    /// Kernel: topology.c sd_init(), v4.12–
    pub(super) fn begin_interval(&mut self, cpus: u32) {
        (self.min_interval, self.max_interval, self.balance_interval) = (cpus, MAX_INTERVAL_FACTOR * cpus, cpus);
    }

    /// Nothing could be moved: it will be longer until the next try.
    pub(crate) fn wait_longer(&mut self) {
        if self.balance_interval < self.max_interval {
            self.balance_interval *= 2;
        }
    }

    /// jiffies at which it is due, so many after its last balance.
    pub(crate) fn due_at(&self, interval: u64) -> u64 {
        self.last_balance.saturating_add_unsigned(interval).max(0) as u64
    }

    /// The same before it is kept within bounds.
    fn interval(&self, hz: u64, cpu_busy: bool, short: bool) -> u64 {
        let ms = u64::from(self.balance_interval);
        if !cpu_busy {
            return msecs_to_jiffies(ms, hz);
        }
        let busy = msecs_to_jiffies(ms * u64::from(self.busy_factor), hz);
        if short { busy.saturating_sub(1) } else { busy }
    }
}
