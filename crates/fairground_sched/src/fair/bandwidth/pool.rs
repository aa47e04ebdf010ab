//! The pool of a group: what it may use in a period, and what of that is not yet handed to any CPU.
//!
//! ```text
//! each period   pool += quota, at most quota + burst
//! a CPU's queue  takes up to a slice (5 ms) when it has used what it had, debts included
//! ```

use crate::seam::{Refill, SliceExpiry};
use fairground_model::CpuMax;
use fairground_stdx::{CpuId, IndexVec, Instant, Ns};
use std::collections::VecDeque;

/// What a queue that is released keeps at least to start with, ns.
const RELEASED_WITH: u64 = 1;

/// The pool of a group that has, or had, a quota.
///
/// Kernel: sched.h struct cfs_bandwidth, v4.12–
#[derive(Clone, Debug)]
pub struct CfsBandwidth {
    /// Quota, period and burst.
    pub limit: CpuMax,
    /// What no CPU has yet, ns.
    pub runtime: u64,
    /// The same right after the last refill.
    runtime_snap: u64,
    /// When what was refilled last is lost (sched_clock), and how often it was refilled.
    slices_expire: u64,
    nr_refills: u32,
    /// No slice was taken since the last tick of the period timer.
    pub(super) idle: bool,
    /// The period timer is armed.
    pub(crate) period_active: bool,
    /// The slack timer is armed.
    pub(super) slack_started: bool,
    /// On the grid of the period timer: one of its expiries, ns of the run. Later ones lie whole periods from here.
    pub(crate) expires: u64,
    /// What each CPU's queue has.
    pub(crate) accounts: IndexVec<CpuId, Account>,
    /// The throttled queues, first come first served, each with a number that grows.
    pub(crate) throttled: VecDeque<(u64, CpuId)>,
    pub(super) last_number: u64,
    /// As cpu.stat tells it.
    pub stats: BandwidthStats,
    /// What came and went, for the check that nothing is lost on the way.
    books: Books,
}

/// What came into a pool and left it and its accounts for good, ns.
///
/// came = pool + what all accounts have + used + lost
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Books {
    came: i128,
    used: i128,
    lost: i128,
}

/// What a group's queue on one CPU has of the pool.
///
/// Kernel: sched.h struct cfs_rq, its fields of CONFIG_CFS_BANDWIDTH, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// The group has a quota, and the CPU is on line.
    pub enabled: bool,
    /// What is left, ns; less than 0 is a debt.
    pub remaining: i64,
    /// When what is left is lost, if it ever is (clock of the run queue), and of which refill it is.
    expires: u64,
    refill: u32,
    /// The queue is throttled, and on the pool's list.
    pub throttled: bool,
    /// Since when (clock of the run queue).
    pub(crate) throttled_clock: u64,
    /// Its release is under way to its CPU.
    pub(crate) csd_pending: bool,
    /// A record tells that the next charge uses it up.
    pub(crate) told_exhausted: bool,
}

/// The counters of cpu.stat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BandwidthStats {
    /// Periods that the timer has counted.
    pub nr_periods: u64,
    /// Periods at whose end a queue was throttled.
    pub nr_throttled: u64,
    /// Time for which queues were throttled, of all CPUs; open intervals are not in it.
    pub throttled_time: Ns,
    /// Periods in which more than the quota was used.
    pub nr_burst: u64,
    /// What was used beyond it.
    pub burst_time: Ns,
    /// Stretches for which a queue was throttled.
    pub spans: Spans,
    /// The most that the queues had run beyond what they had, together, when a period ended: it is paid from the next.
    pub debt_max: Ns,
}

/// Stretches for which queues of a group were throttled. Those that end with the first period of a run do not count: it may be a part
/// of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spans {
    /// How many.
    pub count: u64,
    /// All together.
    pub sum: Ns,
    /// The shortest.
    pub min: Ns,
    /// The longest.
    pub max: Ns,
}

impl CfsBandwidth {
    /// When the pool is refilled next after an instant, if its timer runs.
    pub fn next_refill(&self, now: Instant) -> Option<Instant> {
        let period = self.limit.period.0.max(1);
        let phase = self.expires % period;
        let passed = (now.ns() + period - phase) / period;
        self.period_active.then(|| Instant::from_ns(phase + passed * period))
    }
}

impl Spans {
    fn add(&mut self, span: Ns) {
        self.min = if self.count == 0 { span } else { self.min.min(span) };
        self.max = self.max.max(span);
        self.count += 1;
        self.sum += span;
    }
    /// Their mean, rounded down; 0 if there is none.
    pub fn mean(&self) -> Ns {
        Ns(self.sum.0.checked_div(self.count).unwrap_or(0))
    }
}

impl BandwidthStats {
    /// Counts a time for which a queue was throttled.
    pub(super) fn unthrottled(&mut self, span: Ns) {
        self.throttled_time += span;
        if self.nr_periods > 1 {
            self.spans.add(span);
        }
    }
}

impl Account {
    /// How much the account lacks to have `target`, debts included.
    pub(crate) fn need(&self, target: u64) -> u64 {
        (target as i64 - self.remaining).max(0) as u64
    }
}

impl CfsBandwidth {
    /// The account of each CPU's queue.
    pub fn accounts(&self) -> &IndexVec<CpuId, Account> {
        &self.accounts
    }

    pub(super) fn new(nr_cpus: usize, expires: u64) -> CfsBandwidth {
        CfsBandwidth {
            limit: CpuMax::UNLIMITED,
            runtime: 0,
            runtime_snap: 0,
            slices_expire: 0,
            nr_refills: 0,
            idle: false,
            period_active: false,
            slack_started: false,
            expires,
            accounts: (0..nr_cpus).map(|_| Account::default()).collect(),
            throttled: VecDeque::new(),
            last_number: 0,
            stats: BandwidthStats::default(),
            books: Books::default(),
        }
    }

    /// Charges run time to the account of `cpu`.
    pub(super) fn charge(&mut self, cpu: CpuId, ran: Ns) {
        self.accounts[cpu].remaining -= ran.0 as i64;
        self.books.used += i128::from(ran.0);
    }

    /// Sets the account of `cpu` to `remaining`, whatever it had.
    pub(crate) fn reset(&mut self, cpu: CpuId, remaining: i64) {
        let had = std::mem::replace(&mut self.accounts[cpu].remaining, remaining);
        self.books.lost += i128::from(had - remaining);
    }

    /// What the pool has is lost.
    pub(crate) fn empty(&mut self) {
        self.books.lost += i128::from(std::mem::take(&mut self.runtime));
    }

    /// Takes `slack` from an account and gives it to the pool; without `to_pool` it is lost.
    pub(super) fn give_back(&mut self, cpu: CpuId, slack: u64, to_pool: bool) {
        self.accounts[cpu].remaining -= slack as i64;
        match to_pool {
            true => self.runtime += slack,
            false => self.books.lost += i128::from(slack),
        }
    }

    /// What the group has used in all while it had a quota.
    pub fn used(&self) -> Ns {
        Ns(u64::try_from(self.books.used).unwrap_or(u64::MAX))
    }

    /// Whether all refills are accounted for: in the pool, in an account, used, or lost by a rule.
    pub(crate) fn is_conserved(&self) -> bool {
        let remaining: i128 = self.accounts.iter().map(|account| i128::from(account.remaining)).sum();
        self.books.came == i128::from(self.runtime) + remaining + self.books.used + self.books.lost
    }

    /// Tops the account of `cpu` up to `target`, as far as the pool can. Returns whether it now has more than 0.
    ///
    /// Kernel: fair.c __assign_cfs_rq_runtime(), v5.7– (assign_cfs_rq_runtime() before)
    pub(super) fn assign(&mut self, cpu: CpuId, target: u64) -> bool {
        let account = &mut self.accounts[cpu];
        let need = account.need(target);
        let amount = match self.limit.quota {
            None => {
                self.books.came += i128::from(need);
                need
            }
            Some(_) => {
                let amount = need.min(self.runtime);
                if self.runtime > 0 {
                    self.runtime -= amount;
                    self.idle = false;
                }
                amount
            }
        };
        account.remaining += amount as i64;
        // The deadline only ever moves on.
        if account.refill != self.nr_refills {
            (account.expires, account.refill) = (self.slices_expire, self.nr_refills);
        }
        account.remaining > 0
    }

    /// Expires what is left of a slice, by the rule, when its deadline is past by `now`, the clock of its run queue.
    ///
    /// Kernel: fair.c expire_cfs_rq_runtime(), v4.12–v5.3
    pub(super) fn expire(&mut self, rule: SliceExpiry, cpu: CpuId, now: u64, tick: u64) {
        let account = &mut self.accounts[cpu];
        if now < account.expires || account.remaining < 0 {
            return;
        }
        let same_refill = account.refill == self.nr_refills;
        let lost = match rule {
            SliceExpiry::WithinItsPeriod => same_refill,
            SliceExpiry::AfterItsPeriod => !same_refill,
            SliceExpiry::Never => return,
        };
        if lost {
            self.reset(cpu, 0);
        } else {
            account.expires += tick;
        }
    }

    /// Whether what an account gives back belongs to the present period.
    pub(super) fn takes_back(&self, rule: SliceExpiry, cpu: CpuId) -> bool {
        rule == SliceExpiry::Never || self.accounts[cpu].refill == self.nr_refills
    }

    /// Refills the pool as a period begins at `now` (sched_clock).
    ///
    /// Kernel: fair.c __refill_cfs_bandwidth_runtime(), v4.12–
    pub(super) fn refill(&mut self, rule: Refill, now: u64) {
        let Some(quota) = self.limit.quota else { return };
        self.slices_expire = now + self.limit.period.0;
        self.nr_refills = self.nr_refills.wrapping_add(1);
        self.books.came += i128::from(quota.0);
        if rule == Refill::Sets {
            self.books.lost += i128::from(std::mem::replace(&mut self.runtime, quota.0));
            return;
        }
        self.runtime += quota.0;
        if let Some(beyond) = self.runtime_snap.checked_sub(self.runtime).filter(|&beyond| beyond > 0) {
            self.stats.burst_time += Ns(beyond);
            self.stats.nr_burst += 1;
        }
        let most = quota.0 + self.limit.burst.0;
        self.books.lost += i128::from(self.runtime.saturating_sub(most));
        self.runtime = self.runtime.min(most);
        self.runtime_snap = self.runtime;
    }

    /// Pays a throttled queue its debt and 1 ns, as far as the pool can. Returns whether it can be released.
    ///
    /// Kernel: fair.c distribute_cfs_runtime(), v4.12–
    pub(super) fn pay_debt(&mut self, cpu: CpuId) -> bool {
        let account = &mut self.accounts[cpu];
        let debt = (RELEASED_WITH as i64 - account.remaining).max(0) as u64;
        let paid = debt.min(self.runtime);
        self.runtime -= paid;
        account.remaining += paid as i64;
        (account.expires, account.refill) = (self.slices_expire, self.nr_refills);
        account.remaining > 0
    }

    /// Appends the queue of `cpu` to the list of throttled queues.
    pub(crate) fn line_up(&mut self, cpu: CpuId) {
        self.last_number += 1;
        self.throttled.push_back((self.last_number, cpu));
    }

    /// Removes the queue of `cpu` from the list of throttled queues.
    pub(crate) fn leave_line(&mut self, cpu: CpuId) {
        let place =
            self.throttled.iter().position(|row| row.1 == cpu).expect("invariant: a throttled queue is on its pool's list");
        self.throttled.remove(place);
    }

    /// Notes, at the end of a period, the debts of all throttled queues together.
    pub(super) fn note_debts(&mut self) {
        let debt = |&(_, cpu): &(u64, CpuId)| u64::try_from(-self.accounts[cpu].remaining).unwrap_or(0);
        let debts = Ns(self.throttled.iter().map(debt).sum());
        self.stats.debt_max = self.stats.debt_max.max(debts);
    }

    /// How often the queue of `cpu` is in the list of throttled queues.
    pub(crate) fn times_in_line(&self, cpu: CpuId) -> usize {
        self.throttled.iter().filter(|row| row.1 == cpu).count()
    }

    /// The first queue behind `number` in the list of throttled queues.
    pub(super) fn next_in_line(&self, number: u64) -> Option<(u64, CpuId)> {
        self.throttled.get(self.throttled.partition_point(|row| row.0 <= number)).copied()
    }

    /// The next expiry of the period timer after `now`, and how many lie between the last one and that.
    ///
    /// Kernel: hrtimer.c hrtimer_forward(), v4.12–
    pub(super) fn forward(&mut self, now: u64) -> u64 {
        let period = self.limit.period.0;
        let overrun = (now + period).saturating_sub(self.expires) / period;
        self.expires += overrun * period;
        overrun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const CPU: CpuId = CpuId::new(0);

    fn pool(quota: u64, burst: u64) -> CfsBandwidth {
        let limit = CpuMax { quota: Some(Ns(quota)), period: Ns(100 * MS), burst: Ns(burst) };
        CfsBandwidth { limit, ..CfsBandwidth::new(3, 0) }
    }

    /// Model: 10 T01
    #[test]
    fn a_queue_is_topped_up_to_a_slice_from_the_pool() {
        let slice = 5 * MS;
        for (local, in_pool, local_then, pool_then, ok) in [
            (0, 10 * MS, 5 * MS as i64, 5 * MS, true),
            (-(MS as i64), 10 * MS, 5 * MS as i64, 4 * MS, true),
            (-(MS as i64), 2 * MS, MS as i64, 0, true),
            (-(MS as i64), MS / 2, -(MS as i64 / 2), 0, false),
        ] {
            let mut pool = CfsBandwidth { runtime: in_pool, idle: true, ..pool(20 * MS, 0) };
            pool.accounts[CPU].remaining = local;
            assert_eq!(pool.assign(CPU, slice), ok);
            assert_eq!((pool.accounts[CPU].remaining, pool.runtime, pool.idle), (local_then, pool_then, false));
        }
        let mut empty = CfsBandwidth { idle: true, ..pool(20 * MS, 0) };
        assert!(!empty.assign(CPU, slice) && empty.idle, "who finds nothing leaves the mark");
    }

    /// Model: 10 T07
    #[test]
    fn a_refill_is_cut_at_quota_and_burst() {
        let refilled = |runtime, runtime_snap| {
            let mut pool = CfsBandwidth { runtime, runtime_snap, ..pool(20 * MS, 10 * MS) };
            pool.refill(Refill::Adds, 0);
            (pool.runtime, pool.stats.nr_burst, pool.stats.burst_time)
        };
        assert_eq!(refilled(18 * MS, 0), (30 * MS, 0, Ns::ZERO));
        assert_eq!(refilled(5 * MS, 0), (25 * MS, 0, Ns::ZERO));
        assert_eq!(refilled(2 * MS, 30 * MS), (22 * MS, 1, Ns(8 * MS)));
    }

    /// A slice that was taken a millisecond before the end of its period, and a clock that is 1.5 ms ahead of the timer's.
    ///
    /// Model: 10 T16
    #[test]
    fn a_clock_that_is_ahead_loses_a_slice_of_this_period() {
        let left = |rule, now: u64, refilled| {
            let mut pool = pool(20 * MS, 0);
            pool.refill(Refill::Sets, 0);
            assert!(pool.assign(CPU, 5 * MS));
            if refilled {
                pool.refill(Refill::Sets, 100 * MS);
            }
            pool.expire(rule, CPU, now, MS);
            pool.accounts[CPU].remaining
        };
        let (ahead, whole) = (100 * MS + MS / 2, 5 * MS as i64);
        assert_eq!(left(SliceExpiry::WithinItsPeriod, ahead, false), 0);
        assert_eq!(left(SliceExpiry::WithinItsPeriod, 100 * MS - 1, false), whole);
        assert_eq!(left(SliceExpiry::WithinItsPeriod, 105 * MS, true), whole, "one of an old period is kept");
        assert_eq!(left(SliceExpiry::AfterItsPeriod, ahead, false), whole);
        assert_eq!(left(SliceExpiry::AfterItsPeriod, 105 * MS, true), 0, "one of an old period is lost");
        assert_eq!([false, true].map(|refilled| left(SliceExpiry::Never, 999 * MS, refilled)), [whole; 2]);
    }

    /// Three queues with debts of 4 ms, and a quota of 9 ms.
    ///
    /// Model: 10 T17
    #[test]
    fn the_queue_throttled_first_is_paid_first() {
        let mut pool = pool(9 * MS, 0);
        let [one, two, three] = [0, 1, 2].map(CpuId::new);
        for cpu in [three, one, two] {
            pool.accounts[cpu].remaining = -4 * MS as i64;
            pool.line_up(cpu);
        }
        pool.refill(Refill::Adds, 0);
        assert_eq!([three, one, two].map(|cpu| pool.pay_debt(cpu)), [true, true, false]);
        assert_eq!([one, two, three].map(|cpu| pool.accounts[cpu].remaining), [1, 999_998 - 4 * MS as i64, 1]);
        assert_eq!(pool.runtime, 0);
        pool.leave_line(three);
        pool.leave_line(one);
        pool.line_up(three);
        assert_eq!(pool.next_in_line(0).unwrap().1, two);
    }

    #[test]
    fn the_line_is_first_come_first_served_whoever_leaves_meanwhile() {
        let mut pool = pool(20 * MS, 0);
        let [a, b, c] = [0, 1, 2].map(CpuId::new);
        [c, a, b].into_iter().for_each(|cpu| pool.line_up(cpu));
        let (number, first) = pool.next_in_line(0).unwrap();
        assert_eq!(first, c);
        pool.leave_line(c);
        pool.leave_line(a);
        assert_eq!(pool.next_in_line(number).unwrap().1, b);
        pool.line_up(c);
        assert_eq!(pool.throttled.iter().map(|row| row.1).collect::<Vec<_>>(), [b, c]);
    }

    #[test]
    fn the_timer_goes_on_along_its_grid() {
        let mut pool = CfsBandwidth { expires: 100 * MS, ..pool(20 * MS, 0) };
        assert_eq!((pool.forward(100 * MS - 1), pool.expires), (0, 100 * MS));
        assert_eq!((pool.forward(100 * MS), pool.expires), (1, 200 * MS));
        assert_eq!((pool.forward(455 * MS), pool.expires), (3, 500 * MS));
    }
}
