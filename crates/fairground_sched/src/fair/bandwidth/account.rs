//! Run time is charged to the account of its queue, which asks the pool for more when it is used up.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{SliceExpiry, ThrottledTime};
use fairground_model::CpuMax;
use fairground_stdx::{CfsRqId, Ns, TgId};

impl Sched {
    /// Charges what ran on a queue to its account, if its group has a quota.
    ///
    /// Kernel: fair.c account_cfs_rq_runtime(), v4.12–
    #[inline(always)]
    pub(crate) fn account_cfs_rq_runtime(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, ran: Ns) {
        if self.cfs_bandwidth_used() && ran > Ns::ZERO {
            self.charge(cx, queue, ran);
        }
    }

    /// Kernel: fair.c __account_cfs_rq_runtime(), v4.12–
    #[inline(never)]
    fn charge(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, ran: Ns) {
        let cpu = self.cfs_rqs[queue].cpu;
        let (expiry, clock) = (self.profile.slice_expiry, self.rqs[cpu].clocks.clock);
        let Some(pool) = self.pool_of(queue) else { return };
        if !pool.accounts[cpu].enabled {
            return;
        }
        pool.charge(cpu, ran);
        if expiry != SliceExpiry::Never {
            pool.expire(expiry, cpu, clock, cx.machine.tick.ns());
        }
        let account = &pool.accounts[cpu];
        if account.remaining > 0 || account.throttled {
            return;
        }
        if !self.assign_slice(cx, queue) && self.cfs_rqs[queue].curr.is_some() {
            self.resched_curr(cx, cpu);
        }
    }

    /// The account asks for a slice. True: it has something now.
    fn assign_slice(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) -> bool {
        let slice = self.tunables.cfs_bandwidth_slice_ns;
        self.assign_cfs_rq_runtime(cx, queue, slice)
    }

    /// The account of a queue asks the pool to have `target`; that starts the period timer.
    ///
    /// Kernel: fair.c __assign_cfs_rq_runtime(), v4.12–
    pub(super) fn assign_cfs_rq_runtime(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, target: u64) -> bool {
        let (cpu, group) = (self.cfs_rqs[queue].cpu, self.cfs_rqs[queue].tg);
        let group = group.expect("invariant: the root group has no quota");
        self.start_cfs_bandwidth(cx, group);
        self.pool(group).expect("invariant: an account has a pool").assign(cpu, target)
    }

    /// Whether the account of a queue is used up: then the queue is throttled, unless the pool has something after all.
    ///
    /// Kernel: fair.c check_cfs_rq_runtime(), v4.12–v7.1
    #[inline(always)]
    pub(crate) fn check_cfs_rq_runtime(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) -> bool {
        self.cfs_bandwidth_used() && self.check_account(cx, queue)
    }

    #[inline(never)]
    fn check_account(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) -> bool {
        let cpu = self.cfs_rqs[queue].cpu;
        let Some(account) = self.pool_of(queue).map(|pool| pool.accounts[cpu]) else { return false };
        if !account.enabled || account.remaining > 0 {
            return false;
        }
        account.throttled || self.throttle_cfs_rq(cx, queue)
    }

    /// The first entity comes onto a queue, whose account may have nothing, or debts.
    ///
    /// Kernel: fair.c check_enqueue_throttle(), v4.12–v7.1
    #[inline(never)]
    pub(crate) fn check_enqueue_throttle(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        let cpu = self.cfs_rqs[queue].cpu;
        let Some(account) = self.pool_of(queue).map(|pool| pool.accounts[cpu]) else { return };
        if !account.enabled || self.cfs_rqs[queue].curr.is_some() || account.throttled {
            return;
        }
        // Nothing ran, but what was left of a slice may be lost by now.
        self.charge(cx, queue, Ns::ZERO);
        if self.pool_of(queue).is_some_and(|pool| pool.accounts[cpu].remaining <= 0) {
            self.throttle_cfs_rq(cx, queue);
        }
    }

    /// The first entity came onto a queue, which may have been throttled while nobody was there.
    ///
    /// Kernel: fair.c enqueue_entity() with throttled_clock, v6.6–v6.17
    pub(crate) fn start_throttled_clock(&mut self, queue: CfsRqId) {
        if self.profile.throttled_time != ThrottledTime::FirstTask {
            return;
        }
        let cpu = self.cfs_rqs[queue].cpu;
        let clock = self.rqs[cpu].clocks.clock;
        let account = self.pool_of(queue).map(|pool| &mut pool.accounts[cpu]);
        if let Some(account) = account.filter(|account| account.throttled && account.throttled_clock == 0) {
            account.throttled_clock = clock;
        }
    }

    /// Whether a queue itself is out of quota.
    ///
    /// Kernel: fair.c cfs_rq_throttled(), v4.12–
    #[inline]
    pub(crate) fn cfs_rq_throttled(&self, queue: CfsRqId) -> bool {
        self.cfs_bandwidth_used() && self.is_throttled(queue)
    }

    fn is_throttled(&self, queue: CfsRqId) -> bool {
        let row = &self.cfs_rqs[queue];
        row.tg.and_then(|tg| self.cfs_bandwidth(tg)).is_some_and(|pool| pool.accounts[row.cpu].throttled)
    }

    /// The limit of a group. One that never had a quota shows the default period.
    pub fn cpu_max(&self, group: TgId) -> CpuMax {
        self.cfs_bandwidth(group).map_or(CpuMax::UNLIMITED, |pool| pool.limit)
    }
}
