//! A group gets a limit, another one, or none.

use super::CfsBandwidth;
use super::distribute::Call;
use crate::Sched;
use crate::ctx::{Ctx, SCHED_CLOCK_AT_START};
use crate::seam::PeriodPhase;
use fairground_model::CpuMax;
use fairground_stdx::{CpuId, Id, IndexVec, Ns, RngStream, StreamKind, TgId};

impl Sched {
    /// Sets the limit of a group, which may have it ([`CpuMax::check`]). Whoever is throttled on a CPU on line is released: it may be
    /// throttled again when it asks for more.
    ///
    /// Kernel: core.c tg_set_cfs_bandwidth(), v4.12–
    pub fn tg_set_cfs_bandwidth(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, limit: CpuMax) {
        let (rule, now_ns) = (self.profile.refill, cx.sched_clock());
        let remaining = self.profile.remaining_on_set.ns();
        let before = self.cpu_max(group).quota.is_some();
        let now = limit.quota.is_some();
        if !before && !now {
            return;
        }
        self.bandwidth.used += u32::from(now && !before);
        self.make_pool(group, limit.period);
        let pool = self.pool(group).expect("invariant: it was just made");
        pool.limit = limit;
        pool.refill(rule, now_ns);
        if now {
            self.start_cfs_bandwidth(cx, group);
        }
        for cpu in self.rqs.ids().filter(|&cpu| self.rqs[cpu].online).collect::<Vec<CpuId>>() {
            self.count_rq_lock(cx, cpu);
            let pool = self.pool(group).expect("invariant: it was just made");
            pool.reset(cpu, remaining);
            pool.accounts[cpu].enabled = now;
            if pool.accounts[cpu].throttled {
                let queue = self.groups[group].queues[cpu].expect("invariant: a throttled queue was used");
                self.unthrottle_cfs_rq(cx, queue);
            }
        }
        self.bandwidth.used -= u32::from(before && !now);
    }

    /// A group has had its limit since long before the run: its pool is full, its timer has stopped, and CPUs have what its
    /// specification says.
    pub fn begin_with_limit(&mut self, group: TgId, limit: CpuMax) {
        if limit.quota.is_none() {
            return;
        }
        let (rule, left) = (self.profile.refill, self.groups[group].left_on_cpus.0 as i64);
        self.bandwidth.used += 1;
        self.make_pool(group, limit.period);
        let pool = self.bandwidth.pools[group].as_mut().expect("invariant: it was just made");
        pool.limit = limit;
        // Twice: what may be saved for later periods has been.
        pool.refill(rule, SCHED_CLOCK_AT_START);
        pool.refill(rule, SCHED_CLOCK_AT_START);
        for cpu in self.rqs.ids() {
            pool.reset(cpu, left);
            pool.accounts[cpu].enabled = true;
        }
    }

    fn make_pool(&mut self, group: TgId, period: Ns) {
        let nr_cpus = self.rqs.len();
        if self.bandwidth.calls.is_empty() {
            self.bandwidth.calls = IndexVec::filled(Call::default(), nr_cpus);
        }
        while self.bandwidth.pools.len() <= group.index() {
            self.bandwidth.pools.push(None);
        }
        let phase = match (self.groups[group].period_phase, self.profile.period_phase) {
            (Some(phase), _) => phase.0 % period.0,
            (None, PeriodPhase::Boot) => 0,
            (None, PeriodPhase::Random) => {
                let mut dice = RngStream::new(self.bandwidth.seed, StreamKind::PeriodPhase, group.get());
                // Drawn long before the run: on the grid of the period that is set now.
                dice.below(CpuMax::DEFAULT_PERIOD.0) % period.0
            }
        };
        self.bandwidth.pools[group].get_or_insert_with(|| Box::new(CfsBandwidth::new(nr_cpus, phase)));
    }
}
