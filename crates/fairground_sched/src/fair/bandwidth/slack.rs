//! Who has no task left gives back what it has, all but 1 ms; others may wait for it.

use crate::Sched;
use crate::ctx::{Ctx, Request};
use fairground_stdx::{CfsRqId, Instant, TgId};

/// What an account keeps, ns.
const MIN_CFS_RQ_RUNTIME: i64 = 1_000_000;
/// What is given back is not handed out shortly before a refill, ns.
pub(super) const MIN_BANDWIDTH_EXPIRATION: u64 = 2_000_000;
/// It is collected for so long first, ns.
const CFS_BANDWIDTH_SLACK_PERIOD: u64 = 5_000_000;

impl Sched {
    /// An entity has left a queue: if it was the last, the account gives back what it does not need.
    ///
    /// Kernel: fair.c return_cfs_rq_runtime(), v4.12–
    #[inline(always)]
    pub(crate) fn return_cfs_rq_runtime(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        if self.cfs_bandwidth_used() && self.cfs_rqs[queue].nr_running == 0 {
            self.return_slack(cx, queue);
        }
    }

    /// Kernel: fair.c __return_cfs_rq_runtime(), v4.12–
    #[inline(never)]
    fn return_slack(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        let (cpu, slice) = (self.cfs_rqs[queue].cpu, self.tunables.cfs_bandwidth_slice_ns);
        let expiry = self.profile.slice_expiry;
        let Some(pool) = self.pool_of(queue) else { return };
        let account = &pool.accounts[cpu];
        let slack = account.remaining - MIN_CFS_RQ_RUNTIME;
        if !account.enabled || slack <= 0 {
            return;
        }
        let to_pool = pool.limit.quota.is_some() && pool.takes_back(expiry, cpu);
        pool.give_back(cpu, slack as u64, to_pool);
        if to_pool && pool.runtime > slice && !pool.throttled.is_empty() {
            let group = self.cfs_rqs[queue].tg.expect("invariant: the root group has no quota");
            self.start_cfs_slack_bandwidth(cx, group);
        }
    }

    /// Kernel: fair.c start_cfs_slack_bandwidth(), v4.12–
    fn start_cfs_slack_bandwidth(&mut self, cx: &mut Ctx<'_, '_>, group: TgId) {
        let now = cx.clock().ns();
        let pool = self.pool(group).expect("invariant: a quota has a pool");
        let until_refill = pool.expires.saturating_sub(now);
        if until_refill < CFS_BANDWIDTH_SLACK_PERIOD + MIN_BANDWIDTH_EXPIRATION || pool.slack_started {
            return;
        }
        pool.slack_started = true;
        cx.requests.push(Request::SlackTimer { group, at: Instant::from_ns(now + CFS_BANDWIDTH_SLACK_PERIOD) });
    }
}
