//! Following a record of quota: the accounts of one group without its tasks, whose run time, coming and going a record tells.
//!
//! Each call is a place where the kernel comes to an account. Nothing here counts for itself: it calls what tasks would.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::bandwidth::Distribution;
use fairground_model::CpuMax;
use fairground_stdx::{CfsRqId, CpuId, Ns, TaskId, TgId};

impl Sched {
    /// What ran on the group's queue of `cx.cpu` is charged to its account.
    ///
    /// Kernel: fair.c update_curr() with account_cfs_rq_runtime(), v4.12–
    pub fn follow_update_curr(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, ran: Ns) {
        let queue = self.group_queue(Some(group), cx.cpu);
        self.account_runtime_of_somebody(cx, queue, ran);
    }

    /// The first entity comes onto the group's queue of `cx.cpu`.
    ///
    /// Kernel: fair.c enqueue_entity() with check_enqueue_throttle(), v4.12–v7.1
    pub fn follow_first_enqueue(&mut self, cx: &mut Ctx<'_, '_>, group: TgId) {
        let queue = self.group_queue(Some(group), cx.cpu);
        self.check_enqueue_throttle(cx, queue);
    }

    /// The last entity leaves the group's queue of `cx.cpu`.
    ///
    /// Kernel: fair.c dequeue_entity() with return_cfs_rq_runtime(), v4.12–
    pub fn follow_last_dequeue(&mut self, cx: &mut Ctx<'_, '_>, group: TgId) {
        let queue = self.group_queue(Some(group), cx.cpu);
        self.return_cfs_rq_runtime(cx, queue);
    }

    /// The group's queue of `cx.cpu` is put down, or looked at for a pick. True: it is throttled.
    ///
    /// Kernel: fair.c put_prev_entity(), pick_next_entity() with check_cfs_rq_runtime(), v4.12–v7.1
    pub fn follow_check_throttle(&mut self, cx: &mut Ctx<'_, '_>, group: TgId) -> bool {
        let queue = self.group_queue(Some(group), cx.cpu);
        self.check_cfs_rq_runtime(cx, queue)
    }

    /// The period timer of a group fires now, as the record tells, whatever phase it was given.
    pub fn follow_period_expiry(&mut self, cx: &Ctx<'_, '_>, group: TgId) {
        if let Some(pool) = self.pool(group) {
            pool.expires = cx.now.ns();
            pool.period_active = true;
        }
    }

    /// A distribution of the group's pool that the record has and the core would not make.
    pub fn follow_distribution(&self, group: TgId) -> Distribution {
        Distribution::new(group, 0)
    }

    /// The account of the group's queue on `cx.cpu` becomes what was recorded.
    pub fn follow_account(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, remaining: i64, throttled: bool) {
        let cpu = cx.cpu;
        let queue = self.group_queue(Some(group), cpu);
        self.forget_release(queue, cpu);
        let Some(pool) = self.pool(group) else { return };
        pool.reset(cpu, remaining);
        let account = &mut pool.accounts[cpu];
        let was_throttled = std::mem::replace(&mut account.throttled, throttled);
        account.throttled_clock = 0;
        match (was_throttled, throttled) {
            (false, true) => {
                pool.line_up(cpu);
                self.throttle_below(cx, group, cpu);
            }
            (true, false) => {
                pool.leave_line(cpu);
                self.unthrottle_below(cx, group, cpu);
            }
            _ => {}
        }
    }

    /// The limit of a group whose throttles and releases a record tells: its accounts charge nothing by themselves.
    pub fn follow_limit(&mut self, group: TgId, limit: CpuMax) {
        self.begin_with_limit(group, limit);
        if let Some(pool) = self.pool(group) {
            pool.accounts.iter_mut().for_each(|account| account.enabled = false);
        }
    }

    /// The group's queue on `cpu` is about to be throttled, by the record: where the core comes to its account next, nothing is left
    /// there, nor in the pool.
    pub fn follow_exhausted(&mut self, group: TgId, cpu: CpuId) {
        if let Some(pool) = self.pool(group) {
            pool.empty();
            pool.reset(cpu, 0);
            (pool.accounts[cpu].enabled, pool.accounts[cpu].told_exhausted) = (true, false);
        }
    }

    /// The next charge of the group's account on `cpu` uses it up, by the record, so that who runs there is to give way. Whether the
    /// queue is throttled then is told apart from it.
    pub fn follow_last_charge(&mut self, group: TgId, cpu: CpuId) {
        if let Some(pool) = self.pool(group) {
            pool.accounts[cpu].told_exhausted = true;
        }
    }

    /// Since [`Sched::follow_exhausted`] the core has passed the place at which the group's queue on `cx.cpu` is throttled: at the latest
    /// now it is.
    pub fn follow_throttled(&mut self, cx: &mut Ctx<'_, '_>, group: TgId) {
        let cpu = cx.cpu;
        let Some(pool) = self.pool(group) else { return };
        pool.accounts[cpu].enabled = false;
        if !pool.accounts[cpu].throttled {
            let queue = self.group_queue(Some(group), cpu);
            self.update_rq_clock(cx, cpu);
            self.throttle_queue(cx, queue);
        }
    }

    /// The group's queue on `cpu` is released by `cx.cpu`, by the record. False: it was not throttled.
    pub fn follow_released(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, cpu: CpuId) -> bool {
        let queue = self.group_queue(Some(group), cpu);
        let Some(pool) = self.pool(group) else { return false };
        pool.accounts[cpu].enabled = false;
        let throttled = pool.accounts[cpu].throttled;
        if throttled {
            self.unthrottle_cfs_rq(cx, queue);
        }
        throttled
    }

    /// Whether the group's queue on `cpu` is throttled.
    pub fn is_group_throttled(&self, group: TgId, cpu: CpuId) -> bool {
        self.cfs_bandwidth(group).is_some_and(|pool| pool.accounts[cpu].throttled)
    }

    /// A group whose throttled queue keeps a task from running.
    pub fn group_that_holds(&self, task: TaskId) -> Option<TgId> {
        let row = &self.tasks[task];
        let path = std::iter::successors(row.group, |&group| self.groups[group].parent);
        path.into_iter().find(|&group| self.is_group_throttled(group, row.cpu))
    }

    /// A release that was on its way to a CPU is not any more.
    fn forget_release(&mut self, queue: CfsRqId, cpu: CpuId) {
        self.rqs[cpu].cfsb_csd.retain(|&waiting| waiting != queue);
        if let Some(pool) = self.pool_of(queue) {
            pool.accounts[cpu].csd_pending = false;
        }
    }

    /// What an account would ask its pool for if so much more were charged; `None` if it would not ask.
    pub fn would_ask_for(&self, group: TgId, cpu: CpuId, ran: Ns) -> Option<Ns> {
        let pool = self.cfs_bandwidth(group)?;
        let mut account = pool.accounts[cpu];
        account.remaining -= ran.0 as i64;
        let asks = account.enabled && !account.throttled && account.remaining <= 0;
        asks.then(|| Ns(account.need(self.tunables.cfs_bandwidth_slice_ns)))
    }

    /// Whether the release of the group's queue on `cpu` is paid for, and the interrupt for it on its way.
    pub fn release_is_on_its_way(&self, group: TgId, cpu: CpuId) -> bool {
        self.cfs_bandwidth(group).is_some_and(|pool| pool.accounts[cpu].csd_pending)
    }
}
