//! Run time is charged to the account of its queue, which asks the pool for more when it is used up.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{SliceExpiry, ThrottleAt, ThrottledTime};
use fairground_model::{CpuMax, QueueAct};
use fairground_stdx::{CfsRqId, Ns, TaskId, TgId};

impl Sched {
    /// Charges what ran on a queue to its account, if its group has a quota; what a task ran also to the fair server of its CPU. The
    /// entity of a group may be accounted without the task that runs in it, which the server then is charged for later.
    ///
    /// Kernel: fair.c account_cfs_rq_runtime(), v4.12–; update_curr(), v6.12–
    #[inline(always)]
    pub(crate) fn account_cfs_rq_runtime(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, ran: Ns) {
        if self.dl_root.serves && self.cfs_rqs[queue].curr.is_some_and(|se| self.ses[se].task.is_some()) {
            self.dl_server_update(cx, self.cfs_rqs[queue].cpu, ran);
        }
        if self.cfs_bandwidth_used() && ran > Ns::ZERO {
            self.charge(cx, queue, ran);
        }
    }

    /// Kernel: fair.c __account_cfs_rq_runtime(), v4.12–
    #[inline(never)]
    fn charge(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, ran: Ns) {
        self.charge_who(cx, queue, ran, None);
    }

    /// As [`Sched::account_cfs_rq_runtime`], where a record tells that somebody runs on the queue.
    pub(crate) fn account_runtime_of_somebody(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, ran: Ns) {
        if self.cfs_bandwidth_used() && ran > Ns::ZERO {
            self.charge_who(cx, queue, ran, Some(true));
        }
    }

    /// `runs`: whether somebody runs on the queue; `None`: as the queue says.
    #[inline]
    fn charge_who(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, ran: Ns, runs: Option<bool>) {
        let cpu = self.cfs_rqs[queue].cpu;
        let (expiry, clock) = (self.profile.slice_expiry, self.rqs[cpu].clocks.clock);
        let Some(pool) = self.pool_of(queue) else { return };
        if !pool.accounts[cpu].enabled {
            if std::mem::take(&mut pool.accounts[cpu].told_exhausted) {
                self.resched_curr(cx, cpu);
            }
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
        if self.profile.throttle_at == ThrottleAt::Charge {
            let runs = runs.unwrap_or_else(|| self.runs_here(queue));
            return self.throttle_at_charge(cx, queue, runs);
        }
        if !self.assign_slice(cx, queue) && self.cfs_rqs[queue].curr.is_some() {
            if cx.trace.wants_samples() {
                self.tell(cx, cpu, QueueAct::Exhaust, (self.cfs_rqs[queue].tg, None));
            }
            self.resched_curr(cx, cpu);
        }
    }

    /// The account of a queue is used up: it asks for a slice if somebody runs there, else for 1 ns; if there is none the queue
    /// is throttled at once, and the task that runs is marked.
    ///
    /// Kernel: fair.c __account_cfs_rq_runtime(), throttle_cfs_rq(), v7.2–
    fn throttle_at_charge(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, runs: bool) {
        let target = if runs { self.tunables.cfs_bandwidth_slice_ns } else { 1 };
        if self.throttle_unless_given(cx, queue, target)
            && let Some(task) = self.rqs[self.cfs_rqs[queue].cpu].curr.filter(|_| runs)
        {
            self.mark_where_it_runs(cx, task);
        }
    }

    /// Whether the entity that runs on a queue is queued still.
    fn runs_here(&self, queue: CfsRqId) -> bool {
        self.cfs_rqs[queue].curr.is_some_and(|se| self.ses[se].on_rq)
    }

    /// All levels of a task are set, and `queue` is one: it asks for a slice if it has nothing. That one below it was throttled as the task
    /// came does not matter, so it may never have been asked for.
    ///
    /// Kernel: fair.c set_next_task_fair(), set_curr_task_fair() before v5.4, v4.12–v7.1
    #[inline]
    pub(crate) fn ask_at_set_next(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        if self.profile.throttle_at != ThrottleAt::Charge && self.cfs_bandwidth_used() {
            self.charge(cx, queue, Ns::ZERO);
        }
    }

    /// Checks the accounts of the levels that are set as a task is put on the CPU, up to `highest`: if one has nothing left, the task
    /// will stop on its way to user mode. Groups in which the last task was too go on, and are not looked at above the level on which
    /// both part: where one of them is throttled the next task is not marked, at no later charge either.
    ///
    /// Kernel: fair.c set_next_task_fair(), v7.2–
    pub(crate) fn charge_at_set_next(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, highest: CfsRqId) {
        if self.profile.throttle_at == ThrottleAt::Charge && self.cfs_bandwidth_used() {
            self.charge_levels(cx, task, highest);
        }
    }

    #[inline(never)]
    fn charge_levels(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, highest: CfsRqId) {
        let (mut level, mut throttled) = (Some(self.tasks[task].se), false);
        while let Some(se) = level {
            let queue = self.ses[se].cfs_rq;
            self.charge(cx, queue, Ns::ZERO);
            throttled |= self.has_nothing(queue);
            level = self.ses[se].parent.filter(|_| queue != highest);
        }
        if throttled {
            self.task_throttle_setup_work(cx, task);
        }
    }

    /// Charges what runs on a queue up to now, where queues are throttled at the charge, so that the whole debt is paid or
    /// released.
    ///
    /// Kernel: fair.c distribute_cfs_runtime(), unthrottle_cfs_rq(), tg_unthrottle_up(), v7.2–
    pub(super) fn charge_up_to_now(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        if self.profile.throttle_at == ThrottleAt::Charge && self.runs_here(queue) {
            self.update_rq_clock(cx, self.cfs_rqs[queue].cpu);
            self.update_curr(cx, queue);
        }
    }

    /// The account asks for a slice. True: it has something now.
    fn assign_slice(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) -> bool {
        let slice = self.tunables.cfs_bandwidth_slice_ns;
        self.assign_cfs_rq_runtime(cx, queue, slice)
    }

    /// Tops the account of a queue up to `target` from the pool, and starts the period timer.
    ///
    /// Kernel: fair.c __assign_cfs_rq_runtime(), v4.12–
    pub(super) fn assign_cfs_rq_runtime(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, target: u64) -> bool {
        let (cpu, group) = (self.cfs_rqs[queue].cpu, self.cfs_rqs[queue].tg);
        let group = group.expect("invariant: the root group has no quota");
        self.start_cfs_bandwidth(cx, group);
        self.pool(group).expect("invariant: an account has a pool").assign(cpu, target)
    }

    /// Throttles a queue whose account is used up, unless the pool can pay after all. Returns whether it is throttled.
    ///
    /// Kernel: fair.c check_cfs_rq_runtime(), v4.12–v7.1
    #[inline(always)]
    pub(crate) fn check_cfs_rq_runtime(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) -> bool {
        self.cfs_bandwidth_used() && self.profile.throttle_at == ThrottleAt::Pick && self.check_account(cx, queue)
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

    /// Checks the account of a queue onto which the first entity comes: it may have nothing, or debts.
    ///
    /// Kernel: fair.c check_enqueue_throttle(), v4.12–
    #[inline(never)]
    pub(crate) fn check_enqueue_throttle(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        let cpu = self.cfs_rqs[queue].cpu;
        let Some(account) = self.pool_of(queue).map(|pool| pool.accounts[cpu]) else { return };
        if !account.enabled || self.cfs_rqs[queue].curr.is_some() || account.throttled {
            return;
        }
        // Nothing ran, but what was left of a slice may be lost by now.
        self.charge(cx, queue, Ns::ZERO);
        let at_pick = self.profile.throttle_at == ThrottleAt::Pick;
        if at_pick && self.pool_of(queue).is_some_and(|pool| pool.accounts[cpu].remaining <= 0) {
            self.throttle_cfs_rq(cx, queue);
        }
    }

    /// Starts the throttled time of a queue with its first entity, if it was throttled while empty.
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

    /// Whether a queue itself is throttled, not only one above it.
    ///
    /// Kernel: fair.c cfs_rq_throttled(), v4.12–
    #[inline]
    pub(crate) fn cfs_rq_throttled(&self, queue: CfsRqId) -> bool {
        self.cfs_bandwidth_used() && self.is_throttled(queue)
    }

    /// Whether a throttled queue is not paid for yet.
    fn has_nothing(&self, queue: CfsRqId) -> bool {
        let row = &self.cfs_rqs[queue];
        let account = row.tg.and_then(|tg| self.cfs_bandwidth(tg)).map(|pool| pool.accounts[row.cpu]);
        account.is_some_and(|account| account.enabled && account.throttled && account.remaining <= 0)
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
