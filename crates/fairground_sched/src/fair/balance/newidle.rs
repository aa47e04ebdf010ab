//! Newidle balance: a CPU that runs out of tasks looks for some elsewhere before it goes idle.

use super::load_balance::LoadBalance;
use super::nohz::NohzPass;
use super::{BalanceStep, BalanceWork};
use crate::Sched;
use crate::core::Leaving;
use crate::ctx::Ctx;
use crate::seam::{NewidleClock, NewidleCost, NohzBalance, ShouldWeBalance};
use crate::topology::{CpuIdleType, NewidleRate, SdFlags};
use fairground_model::BalanceFinding;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, SdId, TaskId};

/// One in the rate of success, and the number of faces of the die.
const RATE_SCALE: u32 = 1024;

/// How many places the time between two rates is shifted down by before it counts as successes.
///
/// Kernel: fair.c update_newidle_stats() with NI_RATE, v7.2–
const NI_RATE_SHIFT: u32 = 22;

/// A newidle balance between its phases.
#[derive(Clone, Debug)]
pub(crate) struct Newidle {
    /// The domain that is looked at.
    sd: Option<SdId>,
    next_balance: u64,
    /// What the balances so far cost, ns.
    curr_cost: u64,
    /// When the measurement of the present domain began.
    t0: u64,
    /// How much a success counts: the inverse of the probability of the try.
    weight: u32,
    /// Its lock was free meanwhile, as domains were looked at.
    looked: bool,
    pulled: bool,
    /// The balance of `sd`, while it goes on.
    lb: Option<LoadBalance>,
    /// The pass over idle CPUs whose load is aged instead, while it goes on.
    pass: Option<NohzPass>,
}

impl Newidle {
    /// The tasks that are detached and not yet attached.
    pub(super) fn in_flight(&self) -> &[TaskId] {
        self.lb.as_ref().map_or(&[], |lb| &lb.env.tasks)
    }
    /// The balance of a domain that is under way.
    pub(super) fn balance(&self) -> Option<&LoadBalance> {
        self.lb.as_ref()
    }
}

impl NewidleRate {
    /// How much a success of the next try counts; `None` if the die, 0 to 1023, forbids a try.
    ///
    /// Kernel: fair.c sched_balance_newidle() with NI_RANDOM, v6.18– (carried back into stable kernels)
    pub(super) fn weight(&self, die: u32) -> Option<u32> {
        let odds = 1 + self.ratio;
        (die <= odds).then(|| (RATE_SCALE + odds / 2) / odds)
    }

    /// Counts a call with that much success. With NI_RATE, which gives the time, a domain with few calls gets some for that:
    /// 1 in 1024 for each 4.2 ms that they take.
    ///
    /// ```text
    /// ratio = successes of 1024 calls + (ns since the last ratio >> 22), at most 1024         NI_RATE
    /// ```
    ///
    /// Kernel: fair.c update_newidle_stats(), v6.18– (carried back into stable kernels)
    pub(in crate::fair) fn count(&mut self, success: u32, now: Option<u64>) {
        self.call += 1;
        self.success += success;
        if self.call >= RATE_SCALE {
            self.ratio = self.success;
            if let Some(now) = now {
                let by_time = now.saturating_sub(std::mem::replace(&mut self.stamp, now)) >> NI_RATE_SHIFT;
                self.ratio = (u64::from(self.ratio) + by_time).min(u64::from(RATE_SCALE)) as u32;
            }
            self.call /= 2;
            self.success /= 2;
        }
    }
}

impl Sched {
    /// Whether `cpu`, in the middle of schedule(), has found nothing to run: newidle balance comes before the switch.
    ///
    /// Kernel: fair.c pick_next_task_fair(), balance_fair() from v5.4, v4.12–
    #[inline]
    pub fn wants_newidle_balance(&self, cpu: CpuId, leaving: &Leaving) -> bool {
        let rq = &self.rqs[cpu];
        let looks = rq.nr_running == 0 || rq.lb.server_looks || leaving.balances_first;
        looks && !leaving.stays_idle && !leaving.picks_only
    }

    /// `cx.cpu`, in the middle of schedule(), looks for a task before it goes idle, one phase of it. Its lock is free
    /// between the phases: a wake-up may come, which ends the search.
    ///
    /// Kernel: fair.c idle_balance(), newidle_balance() from v5.4, sched_balance_newidle() from v6.10, v4.12–
    pub fn newidle_balance(&mut self, cx: &mut Ctx<'_, '_>) -> BalanceStep {
        let cpu = cx.cpu;
        if matches!(self.balance_works[cpu], BalanceWork::None) {
            let Some(work) = self.begin_newidle(cx) else { return BalanceStep::Done };
            self.balance_works[cpu] = BalanceWork::Newidle(work);
        }
        let mut works = std::mem::take(&mut self.balance_works);
        let work = works[cpu].as_newidle().expect("invariant: no newidle balance begins within another balance");
        let step = self.newidle_step(cx, work);
        if step == BalanceStep::Done {
            works[cpu] = BalanceWork::None;
        }
        self.balance_works = works;
        step
    }

    /// Looks whether it is worth it; `None`: the CPU goes idle, or runs what it has.
    fn begin_newidle(&mut self, cx: &mut Ctx<'_, '_>) -> Option<Newidle> {
        let cpu = cx.cpu;
        self.update_misfit_status(cx, cpu, None);
        let measured = self.profile.newidle_cost == NewidleCost::Measured;
        let rq = &mut self.rqs[cpu];
        if measured && rq.ttwu_pending() {
            return None;
        }
        rq.lb.idle_stamp = rq.clocks.clock;
        if !cx.machine.online.contains(cpu) {
            return None;
        }
        let t0 = cx.sched_clock();
        let mut work = Newidle {
            sd: self.topology.cpus[cpu].base,
            next_balance: cx.jiffies + cx.machine.hz(),
            curr_cost: 0,
            t0,
            weight: 1,
            looked: true,
            pulled: false,
            lb: None,
            pass: None,
        };
        match self.expects_gain(cpu, &work) {
            Ok(()) => {
                match self.profile.newidle_clock {
                    NewidleClock::Read => self.update_blocked_averages(cx, cpu),
                    NewidleClock::OfSchedule => self.age_blocked_averages(cx, cpu),
                }
                return Some(work);
            }
            Err((finding, numbers)) => cx.no_balance(cpu, None, CpuIdleType::NewlyIdle, finding, numbers),
        }
        if let Some(sd) = work.sd.take() {
            self.update_next_balance(&mut work, sd);
        }
        work.looked = false;
        if matches!(self.profile.nohz_balance, NohzBalance::Stats | NohzBalance::CapacityFirst) {
            work.pass = self.wants_stats_pass(cx).then(NohzPass::newidle);
        }
        Some(work)
    }

    /// Whether some CPU has tasks to give, and this one expects to be idle for long enough; if not, why.
    fn expects_gain(&self, cpu: CpuId, work: &Newidle) -> Result<(), (BalanceFinding, (u64, u64))> {
        if !self.topology.overload {
            return Err((BalanceFinding::NobodyWaits, (0, 0)));
        }
        let needed = match (self.profile.newidle_cost, work.sd) {
            // Without domains there is nobody to take from, but what has left the CPU is aged.
            (NewidleCost::Fixed, _) => self.tunables.migration_cost_ns,
            (NewidleCost::Measured, Some(sd)) => self.topology.domains[sd].max_newidle_lb_cost,
            (NewidleCost::Measured, None) => return Err((BalanceFinding::NobodyWaits, (0, 0))),
        };
        let avg_idle = self.rqs[cpu].lb.avg_idle;
        if avg_idle >= needed { Ok(()) } else { Err((BalanceFinding::ShortIdle, (avg_idle, needed))) }
    }

    fn newidle_step(&mut self, cx: &mut Ctx<'_, '_>, work: &mut Newidle) -> BalanceStep {
        if let Some(pass) = &mut work.pass {
            if self.nohz_pass(cx, pass, &mut None) == BalanceStep::More {
                return BalanceStep::More;
            }
            work.pass = None;
        }
        while let Some(sd) = work.sd {
            if let Some(lb) = &mut work.lb {
                let mut continue_balancing = true;
                if let Some(moved) = self.load_balance(cx, lb, &mut continue_balancing) {
                    work.lb = None;
                    work.pulled = moved > 0;
                    self.account_newidle(cx, work, sd);
                    self.go_on_newidle(cx, work, sd, continue_balancing);
                }
                return BalanceStep::More;
            }
            let first = self.profile.newidle_cost == NewidleCost::Measured;
            let domain = &self.topology.domains[sd];
            let (avg_idle, needed) = (self.rqs[cx.cpu].lb.avg_idle, work.curr_cost + domain.max_newidle_lb_cost);
            let short = avg_idle < needed;
            if first || short {
                self.update_next_balance(work, sd);
            }
            if short {
                cx.no_balance(cx.cpu, Some(sd), CpuIdleType::NewlyIdle, BalanceFinding::ShortIdle, (avg_idle, needed));
                work.sd = None;
            } else if let Err(finding) = self.dares_newidle(cx, work, sd) {
                cx.no_balance(cx.cpu, Some(sd), CpuIdleType::NewlyIdle, finding, (0, 0));
                self.go_on_newidle(cx, work, sd, true);
            } else {
                if self.profile.newidle_cost == NewidleCost::Fixed {
                    work.t0 = cx.sched_clock();
                }
                work.lb = Some(self.begin_load_balance(cx, sd, CpuIdleType::NewlyIdle));
            }
        }
        self.end_newidle(cx, work);
        BalanceStep::Done
    }

    /// Whether a domain is for newidle balance and, with NI_RANDOM, the die allows a try by the rate of success so far.
    fn dares_newidle(&mut self, cx: &Ctx<'_, '_>, work: &mut Newidle, sd: SdId) -> Result<(), BalanceFinding> {
        if !self.topology.domains[sd].flags.has(SdFlags::BALANCE_NEWIDLE) {
            return Err(BalanceFinding::NoNewidle);
        }
        work.weight = 1;
        if !self.profile.feats.has(Feat::NI_RANDOM) {
            return Ok(());
        }
        let die = self.newidle_dice[cx.cpu].below(u64::from(RATE_SCALE)) as u32;
        let now = self.newidle_rate_clock(cx);
        let rate = &mut self.topology.domains[sd].newidle;
        match rate.weight(die) {
            Some(weight) => {
                work.weight = weight;
                Ok(())
            }
            None => {
                rate.count(0, now);
                Err(BalanceFinding::Dice)
            }
        }
    }

    /// The time, if it counts for the rate of newidle balance.
    fn newidle_rate_clock(&self, cx: &Ctx<'_, '_>) -> Option<u64> {
        self.profile.feats.has(Feat::NI_RATE).then(|| cx.sched_clock())
    }

    /// The balance of a domain is over: what did it cost, and was it worth it?
    ///
    /// Kernel: fair.c newidle_balance(), update_newidle_cost() from v5.16, v4.12–
    fn account_newidle(&mut self, cx: &Ctx<'_, '_>, work: &mut Newidle, sd: SdId) {
        let t1 = cx.sched_clock();
        let cost = t1.saturating_sub(work.t0);
        (work.t0, work.curr_cost) = (t1, work.curr_cost + cost);
        if self.profile.feats.has(Feat::NI_RANDOM) {
            let success = if work.pulled { work.weight } else { 0 };
            let now = self.newidle_rate_clock(cx);
            self.topology.domains[sd].newidle.count(success, now);
        }
        let measured = self.profile.newidle_cost == NewidleCost::Measured;
        let domain = &mut self.topology.domains[sd];
        if cost > domain.max_newidle_lb_cost {
            domain.max_newidle_lb_cost = cost;
            if measured {
                domain.last_decay_max_lb_cost = cx.jiffies;
            }
        } else if measured {
            self.decay_newidle_cost(cx, sd);
        }
    }

    /// A domain is done: the next larger one follows, unless the CPU has got something to do.
    fn go_on_newidle(&mut self, cx: &Ctx<'_, '_>, work: &mut Newidle, sd: SdId, continue_balancing: bool) {
        if self.profile.newidle_cost == NewidleCost::Fixed {
            self.update_next_balance(work, sd);
        }
        let rq = &self.rqs[cx.cpu];
        let fed = match self.profile.should_we_balance {
            // A pending wake-up shows from v5.19 on; before, wakees of the same cache are never pending.
            ShouldWeBalance::FirstIdle => rq.nr_counted() > 0 || rq.ttwu_pending(),
            _ => !continue_balancing,
        };
        work.sd = self.topology.domains[sd].parent.filter(|_| !work.pulled && !fed);
    }

    /// An idle CPU balances a domain earlier than a busy one. Up to v5.15 the interval is the one that the balance has left behind,
    /// since then the one before it.
    ///
    /// Kernel: fair.c update_next_balance(), v4.12–
    fn update_next_balance(&self, work: &mut Newidle, sd: SdId) {
        let next = self.topology.domains[sd].due_at(self.topology.get_sd_balance_interval(sd, false));
        work.next_balance = work.next_balance.min(next);
    }

    fn end_newidle(&mut self, cx: &Ctx<'_, '_>, work: &Newidle) {
        let stats_later = self.profile.nohz_balance == NohzBalance::Wrap && self.wants_stats_pass(cx);
        let fair = self.cfs_rqs[self.rqs[cx.cpu].cfs].h_nr_running;
        let rq = &mut self.rqs[cx.cpu];
        rq.lb.max_idle_balance_cost = rq.lb.max_idle_balance_cost.max(work.curr_cost);
        rq.lb.next_balance = rq.lb.next_balance.min(work.next_balance);
        rq.lb.newidle_found = work.pulled || fair > 0 || (work.looked && rq.nr_counted() > 0 && !rq.lb.server_looks);
        if rq.lb.newidle_found {
            rq.lb.idle_stamp = 0;
        } else {
            rq.lb.stats_pass_due = stats_later;
        }
    }
}
