//! The period timer refills a pool and pays the throttled queues, and so does the slack timer with what was given back.

use crate::Sched;
use crate::ctx::{Ctx, Request};
use crate::seam::{PeriodScale, Refill, Unthrottle};
use fairground_model::{Decision, Distributed, Op, Reason};
use fairground_stdx::{CfsRqId, CpuId, Instant, Ns, TgId};

/// How often the period timer may find in one interrupt that a period is over already, before the period is scaled.
///
/// Kernel: fair.c sched_cfs_period_timer(), v5.1–
const MAX_OVERRUNS: u32 = 3;

/// One call of distribute_cfs_runtime(), between two of the throttled queues that it visits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Distribution {
    group: TgId,
    /// Which call of one interrupt of the period timer it is, from 1; 0 for one of the slack timer.
    pass: u32,
    /// The number of the last visited queue in the list of throttled ones; 0 before the first.
    number: u64,
    /// Some queue is still throttled.
    throttled: bool,
    /// The queue of this CPU, which is released last.
    local: Option<CfsRqId>,
}

/// What the call of a CPU that hands out quota has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Call {
    since: Instant,
    before: u64,
    visits: u32,
    local: u32,
}

/// The interrupt of a period timer, from one phase to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeriodTick {
    group: TgId,
    distribution: Option<Distribution>,
    passes: u32,
    overruns: u32,
    idle: bool,
    has_begun: bool,
}

impl PeriodTick {
    /// The period timer of a group has fired.
    pub fn new(group: TgId) -> PeriodTick {
        PeriodTick { group, distribution: None, passes: 0, overruns: 0, idle: false, has_begun: false }
    }

    /// The distribution that its present phase makes, if any.
    pub fn distribution(&self) -> Option<&Distribution> {
        self.distribution.as_ref()
    }

    fn distribute(&mut self) {
        self.passes += 1;
        self.distribution = Some(Distribution::new(self.group, self.passes));
    }
}

impl Sched {
    /// Runs the next phase of a period timer's interrupt. Returns false when it is over; then the timer is armed again if
    /// anybody may need it.
    ///
    /// Kernel: fair.c sched_cfs_period_timer(), do_sched_cfs_period_timer(), v4.12–
    pub fn sched_cfs_period_timer(&mut self, cx: &mut Ctx<'_, '_>, tick: &mut PeriodTick) -> bool {
        if !std::mem::replace(&mut tick.has_begun, true) {
            cx.decide_who(Reason::PeriodTimer, Decision::group(tick.group), 0);
        }
        if let Some(distribution) = &mut tick.distribution {
            if self.distribute_cfs_runtime(cx, distribution) {
                return true;
            }
            let throttled = distribution.throttled;
            let pool = self.pool(tick.group).expect("invariant: a timer has a pool");
            if throttled && pool.runtime > 0 {
                tick.distribute();
                return true;
            }
            pool.idle = false;
            tick.distribution = None;
        }
        let (now, clock, rule) = (cx.clock().ns(), cx.sched_clock(), self.profile.refill);
        let pool = self.pool(tick.group).expect("invariant: a timer has a pool");
        let overrun = pool.forward(now);
        if overrun == 0 {
            // Others may have asked or lined up since the tick: in the kernel they wait for the lock until the timer has stopped.
            let stops = tick.idle && pool.throttled.is_empty() && (pool.idle || pool.limit.quota.is_none());
            pool.period_active = !stops;
            if !stops {
                let at = Instant::from_ns(pool.expires);
                cx.requests.push(Request::PeriodTimer { group: tick.group, at });
            }
            return false;
        }
        tick.idle = pool.tick(overrun, rule, clock);
        if !tick.idle && !pool.throttled.is_empty() {
            tick.distribute();
        }
        tick.overruns += 1;
        if tick.overruns > MAX_OVERRUNS {
            tick.overruns = 0;
            let scale = self.profile.period_scale;
            self.pool(tick.group).expect("invariant: a timer has a pool").scale_period(scale);
        }
        true
    }

    /// Begins the distribution of a group's slack timer. `None`: there is nothing to distribute.
    ///
    /// Kernel: fair.c do_sched_cfs_slack_timer(), v4.12–
    pub fn sched_cfs_slack_timer(&mut self, cx: &mut Ctx<'_, '_>, group: TgId) -> Option<Distribution> {
        let (now, slice) = (cx.clock().ns(), self.tunables.cfs_bandwidth_slice_ns);
        let pool = self.pool(group)?;
        pool.slack_started = false;
        let refresh_is_near = pool.expires.saturating_sub(now) < super::slack::MIN_BANDWIDTH_EXPIRATION;
        let enough = pool.limit.quota.is_some() && pool.runtime > slice;
        (!refresh_is_near && enough).then(|| Distribution::new(group, 0))
    }

    /// Pays the next queue in the list of throttled ones. Returns false when the distribution is over.
    ///
    /// Kernel: fair.c distribute_cfs_runtime(), v4.12–
    pub fn distribute_cfs_runtime(&mut self, cx: &mut Ctx<'_, '_>, distribution: &mut Distribution) -> bool {
        let group = distribution.group;
        if distribution.number == 0 {
            self.begin_call(cx, distribution);
        }
        let pool = self.pool(group).expect("invariant: a distribution has a pool");
        let next = pool.next_in_line(distribution.number);
        if next.is_some() && pool.runtime == 0 {
            distribution.throttled = true;
        }
        let Some((number, cpu)) = next.filter(|_| pool.runtime > 0) else {
            let Some(queue) = distribution.local.take() else {
                self.end_call(cx, distribution);
                return false;
            };
            self.release_paid(cx, queue);
            return true;
        };
        distribution.number = number;
        self.count_rq_lock(cx, cpu);
        self.count_visit(cx, cpu);
        let queue = self.groups[group].queues[cpu].expect("invariant: a throttled queue was used");
        let pool = self.pool(group).expect("invariant: a distribution has a pool");
        if pool.accounts[cpu].csd_pending {
            return true;
        }
        self.charge_up_to_now(cx, queue);
        if !self.pool(group).expect("invariant: a distribution has a pool").pay_debt(cpu) {
            distribution.throttled = true;
            return true;
        }
        match self.profile.unthrottle {
            Unthrottle::Inline => self.unthrottle_cfs_rq(cx, queue),
            Unthrottle::OnItsCpu if cpu == cx.cpu => {
                self.pool(group).expect("invariant: a distribution has a pool").accounts[cpu].csd_pending = true;
                distribution.local = Some(queue);
            }
            Unthrottle::OnItsCpu => self.unthrottle_remotely(cx, group, queue, cpu),
        }
        true
    }

    /// The CPU whose queue is visited next, and whose run queue is locked for that.
    pub fn next_visit(&self, distribution: &Distribution) -> Option<CpuId> {
        let pool = self.cfs_bandwidth(distribution.group)?;
        let next = pool.next_in_line(distribution.number).filter(|_| pool.runtime > 0).map(|row| row.1);
        next.or_else(|| distribution.local.map(|queue| self.cfs_rqs[queue].cpu))
    }

    fn count_visit(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let call = &mut self.bandwidth.calls[cx.cpu];
        call.visits += 1;
        call.local += u32::from(cpu == cx.cpu);
        if cpu != cx.cpu {
            let near = cx.machine.cpus[cpu].package == cx.machine.cpus[cx.cpu].package;
            cx.meter.count(if near { Op::BwVisit } else { Op::BwVisitSocket });
        }
    }

    fn begin_call(&mut self, cx: &Ctx<'_, '_>, distribution: &Distribution) {
        let before = self.cfs_bandwidth(distribution.group).map_or(0, |pool| pool.runtime);
        self.bandwidth.calls[cx.cpu] = Call { since: cx.clock(), before, visits: 0, local: 0 };
    }

    /// Tells whoever watches what the call has done, which ends here.
    fn end_call(&self, cx: &mut Ctx<'_, '_>, distribution: &Distribution) {
        let &Distribution { group, pass, .. } = distribution;
        let Call { since, before, visits, local } = self.bandwidth.calls[cx.cpu];
        let after = self.cfs_bandwidth(group).map_or(0, |pool| pool.runtime);
        let (before, after, took) = (Ns(before), Ns(after), cx.clock().since(since));
        let slack = pass == 0;
        cx.trace.distributed(cx.now, cx.cpu, &Distributed { group, slack, pass, visits, local, before, after, took });
    }

    /// A queue is released by its own CPU, which is interrupted for that if it is not already.
    ///
    /// Kernel: fair.c __unthrottle_cfs_rq_async(), v6.3–
    fn unthrottle_remotely(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, queue: CfsRqId, cpu: CpuId) {
        self.pool(group).expect("invariant: a distribution has a pool").accounts[cpu].csd_pending = true;
        self.rqs[cpu].cfsb_csd.push(queue);
        if self.rqs[cpu].cfsb_csd.len() == 1 {
            self.interrupt_cpu(cx, cpu, |cpu, at| Request::UnthrottleIpi { cpu, at });
        }
    }

    /// Whether queues that others have paid for wait for `cpu` to release them.
    #[inline]
    pub fn cfsb_csd_pending(&self, cpu: CpuId) -> bool {
        !self.rqs[cpu].cfsb_csd.is_empty()
    }

    /// Releases the next queue of the calling CPU that another CPU has paid for. Returns false if there is none.
    ///
    /// Kernel: fair.c __cfsb_csd_unthrottle(), v6.3–
    pub fn cfsb_csd_unthrottle(&mut self, cx: &mut Ctx<'_, '_>) -> bool {
        let list = &mut self.rqs[cx.cpu].cfsb_csd;
        if list.is_empty() {
            return false;
        }
        let queue = list.remove(0);
        self.release_paid(cx, queue);
        true
    }

    /// A queue whose debt is paid is released, unless it was meanwhile: by a new limit, or since a CPU went off line.
    fn release_paid(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        let (cpu, group, _) = self.group_queue_names(queue);
        let account = &mut self.pool(group).expect("invariant: a distribution has a pool").accounts[cpu];
        account.csd_pending = false;
        if account.throttled {
            self.unthrottle_cfs_rq(cx, queue);
        }
    }

    /// Starts the period timer of a group, unless it runs already.
    ///
    /// Kernel: fair.c start_cfs_bandwidth(), v4.12–
    pub(super) fn start_cfs_bandwidth(&mut self, cx: &mut Ctx<'_, '_>, group: TgId) {
        let now = cx.clock().ns();
        let pool = self.pool(group).expect("invariant: a quota has a pool");
        if pool.period_active || pool.limit.quota.is_none() {
            return;
        }
        pool.period_active = true;
        pool.forward(now);
        let at = Instant::from_ns(pool.expires);
        cx.requests.push(Request::PeriodTimer { group, at });
    }
}

impl Distribution {
    pub(crate) fn new(group: TgId, pass: u32) -> Distribution {
        Distribution { group, pass, number: 0, throttled: false, local: None }
    }
    /// Whose pool it is.
    pub fn group(&self) -> TgId {
        self.group
    }
}

impl super::CfsBandwidth {
    /// So many periods are over. True: nobody needs the timer.
    ///
    /// Kernel: fair.c do_sched_cfs_period_timer(), v4.12–
    fn tick(&mut self, overrun: u64, rule: Refill, clock: u64) -> bool {
        if self.limit.quota.is_none() {
            return true;
        }
        let throttled = !self.throttled.is_empty();
        self.stats.nr_periods += overrun;
        self.note_debts();
        let stops = self.idle && !throttled;
        if rule == Refill::Adds || !stops {
            self.refill(rule, clock);
        }
        if stops {
            return true;
        }
        match throttled {
            true => self.stats.nr_throttled += overrun,
            false => self.idle = true,
        }
        false
    }

    /// The interrupt takes longer than a period: the period is scaled, and with it what may be used and saved in one.
    ///
    /// Kernel: fair.c sched_cfs_period_timer(), v5.1–
    fn scale_period(&mut self, scale: PeriodScale) {
        let Some(quota) = self.limit.quota.as_mut() else { return };
        let old = self.limit.period.0;
        let new = scale.scaled(old);
        let by_ratio = |ns: u64| (u128::from(ns) * u128::from(new) / u128::from(old)) as u64;
        (self.limit.period.0, quota.0, self.limit.burst.0) = (new, by_ratio(quota.0), by_ratio(self.limit.burst.0));
    }
}
