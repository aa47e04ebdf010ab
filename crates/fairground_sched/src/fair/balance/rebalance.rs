//! The balance softirq: which domains of a CPU are due, one after the other.

use super::load_balance::LoadBalance;
use super::nohz::NohzPass;
use super::{BalanceStep, BalanceWork};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{NewidleCost, NohzBalance};
use crate::topology::{CpuIdleType, SdFlags};
use fairground_model::BalanceFinding;
use fairground_stdx::{CpuId, SdId, TaskId};

/// A CPU without a domain that is due looks again after this time, s.
const NEXT_BALANCE_AT_MOST_S: u64 = 60;

/// The highest cost of newidle balance falls to 253/256 of itself.
const DECAY_NUMERATOR: u64 = 253;
const DECAY_SHIFT: u32 = 8;

/// The softirq of a CPU between its phases.
#[derive(Clone, Debug)]
pub(crate) struct Softirq {
    /// Whether the CPU was idle when it was raised.
    idle: CpuIdleType,
    /// The idle CPUs that it balances for, while it does.
    pass: Option<NohzPass>,
    /// The CPU's own domains are done, or not its business.
    own_done: bool,
    /// The domains of one CPU, while it goes through them.
    rebalance: Option<Rebalance>,
}

/// rebalance_domains() of one CPU between its phases.
#[derive(Clone, Debug)]
pub(super) struct Rebalance {
    cpu: CpuId,
    idle: CpuIdleType,
    /// The domain that is looked at.
    sd: Option<SdId>,
    next_balance: Option<u64>,
    need_decay: bool,
    max_cost: u64,
    continue_balancing: bool,
    /// The balance of `sd`, while it goes on.
    lb: Option<LoadBalance>,
}

impl Softirq {
    /// The balance of a domain that is under way.
    pub(super) fn balance(&self) -> Option<&LoadBalance> {
        self.rebalance.as_ref()?.lb.as_ref()
    }
    /// The tasks that are detached and not yet attached.
    pub(super) fn in_flight(&self) -> &[TaskId] {
        self.balance().map_or(&[], |lb| &lb.env.tasks)
    }
    /// Whether it balances a domain that only one CPU at a time may balance.
    pub(super) fn holds_serialize_lock(&self, sched: &Sched) -> bool {
        self.balance().is_some_and(|lb| sched.topology.domains[lb.env.sd].flags.has(SdFlags::SERIALIZE))
    }
}

impl Sched {
    /// At each tick: is it time to balance, here or on behalf of idle CPUs?
    ///
    /// Kernel: fair.c trigger_load_balance(), sched_balance_trigger() from v6.10, v4.12–
    #[inline]
    pub(crate) fn trigger_load_balance(&mut self, cx: &mut Ctx<'_, '_>) {
        let rq = &mut self.rqs[cx.cpu];
        let (idle, due) = (rq.idle(), cx.jiffies >= rq.lb.next_balance);
        rq.lb.idle_at_tick = idle;
        // A CPU whose own tick is stopped is among those that are counted.
        let ask_nohz = !idle && self.nohz.nr_cpus > 0;
        if (due || ask_nohz) && self.topology.cpus[cx.cpu].base.is_some() {
            rq.lb.softirq_raised |= due;
            if ask_nohz {
                self.nohz_balancer_kick(cx);
            }
        }
    }

    /// Whether the balance softirq of `cpu` is raised: it runs when the interrupt ends.
    #[inline]
    pub fn softirq_raised(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].lb.softirq_raised
    }

    /// The balance softirq of `cx.cpu`, one phase of it.
    ///
    /// Kernel: fair.c run_rebalance_domains(), sched_balance_softirq() from v6.10, v4.12–
    pub fn run_rebalance_domains(&mut self, cx: &mut Ctx<'_, '_>) -> BalanceStep {
        let cpu = cx.cpu;
        if matches!(self.balance_works[cpu], BalanceWork::None) {
            self.balance_works[cpu] = BalanceWork::Softirq(self.begin_softirq(cx));
        }
        let mut works = std::mem::take(&mut self.balance_works);
        let softirq = works[cpu].as_softirq().expect("invariant: a softirq does not begin within another balance");
        let step = self.softirq_step(cx, softirq);
        if step == BalanceStep::Done {
            works[cpu] = BalanceWork::None;
        }
        self.balance_works = works;
        step
    }

    /// The balance softirq of `cx.cpu`, if it is raised, but for its moves: loads are aged, and the domains that were due wait again.
    pub(crate) fn softirq_without_moves(&mut self, cx: &mut Ctx<'_, '_>) {
        let lb = &mut self.rqs[cx.cpu].lb;
        if !std::mem::take(&mut lb.softirq_raised) {
            return;
        }
        let idle = if lb.idle_at_tick { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
        self.update_blocked_averages(cx, cx.cpu);
        let mut work = self.begin_rebalance(cx, cx.cpu, idle);
        while let Some(sd) = work.sd {
            match self.is_due(cx, &work, sd) {
                true => {
                    self.topology.domains[sd].wait_longer();
                    self.balanced(cx, &mut work, sd, 0);
                }
                false => self.note_next_balance(cx, &mut work, sd),
            }
        }
        self.end_rebalance(cx, &work);
    }

    fn begin_softirq(&mut self, cx: &Ctx<'_, '_>) -> Softirq {
        let lb = &mut self.rqs[cx.cpu].lb;
        lb.softirq_raised = false;
        let idle = if lb.idle_at_tick { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
        let pass = self.begin_nohz_idle_balance(cx, idle);
        // The pass goes through the CPU that makes it, too, but in the oldest kernels.
        let own_done = pass.is_some() && self.profile.nohz_balance != NohzBalance::BalanceOnly;
        Softirq { idle, pass, own_done, rebalance: None }
    }

    fn softirq_step(&mut self, cx: &mut Ctx<'_, '_>, softirq: &mut Softirq) -> BalanceStep {
        if let Some(pass) = &mut softirq.pass {
            if self.nohz_pass(cx, pass, &mut softirq.rebalance) == BalanceStep::More {
                return BalanceStep::More;
            }
            softirq.pass = None;
            return if softirq.own_done { BalanceStep::Done } else { BalanceStep::More };
        }
        if softirq.own_done {
            return BalanceStep::Done;
        }
        if softirq.rebalance.is_none() {
            self.update_blocked_averages(cx, cx.cpu);
        }
        let rebalance = softirq.rebalance.get_or_insert_with(|| self.begin_rebalance(cx, cx.cpu, softirq.idle));
        self.rebalance_domains(cx, rebalance)
    }

    /// Begins to go through the domains of `cpu`.
    pub(super) fn begin_rebalance(&self, cx: &Ctx<'_, '_>, cpu: CpuId, idle: CpuIdleType) -> Rebalance {
        Rebalance {
            cpu,
            idle,
            sd: self.topology.cpus[cpu].base.filter(|_| cx.machine.online.contains(cpu)),
            next_balance: None,
            need_decay: false,
            max_cost: 0,
            continue_balancing: true,
            lb: None,
        }
    }

    /// One phase of going through the domains of a CPU, smallest first.
    ///
    /// Kernel: fair.c rebalance_domains(), sched_balance_domains() from v6.10, v4.12–
    pub(super) fn rebalance_domains(&mut self, cx: &mut Ctx<'_, '_>, work: &mut Rebalance) -> BalanceStep {
        while let Some(sd) = work.sd {
            if let Some(lb) = &mut work.lb {
                if let Some(moved) = self.load_balance(cx, lb, &mut work.continue_balancing) {
                    work.lb = None;
                    self.balanced(cx, work, sd, moved);
                }
                return BalanceStep::More;
            }
            let decayed = self.decay_newidle_cost(cx, sd);
            work.need_decay = decayed || (work.need_decay && self.profile.newidle_cost == NewidleCost::Fixed);
            work.max_cost += self.topology.domains[sd].max_newidle_lb_cost;
            if !work.continue_balancing {
                work.sd = self.topology.domains[sd].parent.filter(|_| work.need_decay);
            } else if self.is_due(cx, work, sd) {
                work.lb = Some(self.begin_load_balance(cx, sd, work.idle));
            } else {
                self.note_next_balance(cx, work, sd);
            }
        }
        self.end_rebalance(cx, work);
        BalanceStep::Done
    }

    /// Whether it is time for a domain, and nobody else is at one that only one CPU at a time may balance.
    fn is_due(&mut self, cx: &mut Ctx<'_, '_>, work: &Rebalance, sd: SdId) -> bool {
        let domain = &self.topology.domains[sd];
        let serialize = domain.flags.has(SdFlags::SERIALIZE);
        let due_at = domain.due_at(self.topology.get_sd_balance_interval(sd, self.is_busy(work)));
        if cx.jiffies < due_at {
            cx.no_balance(work.cpu, Some(sd), work.idle, BalanceFinding::NotDue, (cx.jiffies, due_at));
            return false;
        }
        if serialize && self.balancing {
            cx.no_balance(work.cpu, Some(sd), work.idle, BalanceFinding::Serialized, (0, 0));
            return false;
        }
        self.balancing |= serialize;
        true
    }

    /// The balance of a domain is over.
    fn balanced(&mut self, cx: &Ctx<'_, '_>, work: &mut Rebalance, sd: SdId, moved: u32) {
        if moved > 0 {
            // The destination may have been changed on the way: the CPU looks at itself.
            work.idle = if self.idle_cpu(work.cpu) { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
        }
        self.topology.domains[sd].last_balance = cx.jiffies as i64;
        if self.topology.domains[sd].flags.has(SdFlags::SERIALIZE) {
            self.balancing = false;
        }
        self.note_next_balance(cx, work, sd);
    }

    /// Notes when a domain is due next, and goes on to the next larger one.
    fn note_next_balance(&self, cx: &Ctx<'_, '_>, work: &mut Rebalance, sd: SdId) {
        let domain = &self.topology.domains[sd];
        let next = domain.due_at(self.topology.get_sd_balance_interval(sd, self.is_busy(work)));
        let before = work.next_balance.unwrap_or(cx.jiffies + NEXT_BALANCE_AT_MOST_S * cx.machine.hz());
        if next < before {
            work.next_balance = Some(next);
        }
        work.sd = domain.parent;
    }

    fn end_rebalance(&mut self, cx: &Ctx<'_, '_>, work: &Rebalance) {
        let lb = &mut self.rqs[work.cpu].lb;
        if work.need_decay {
            lb.max_idle_balance_cost = work.max_cost.max(self.tunables.migration_cost_ns);
        }
        let Some(next) = work.next_balance else { return };
        lb.next_balance = next;
        if work.cpu == cx.cpu && work.idle == CpuIdleType::Idle && self.profile.nohz_balance != NohzBalance::Wrap {
            self.nohz.next_balance = self.nohz.next_balance.min(next);
        }
    }

    fn is_busy(&self, work: &Rebalance) -> bool {
        let sched_idle = self.profile.lb_interval.busy_is_one_less() && self.sched_idle_cpu(work.cpu);
        work.idle != CpuIdleType::Idle && !sched_idle
    }

    /// The highest cost of newidle balance of a domain is forgotten by and by. Whether it fell now.
    ///
    /// Kernel: fair.c rebalance_domains(), update_newidle_cost() from v5.16, v4.12–
    pub(super) fn decay_newidle_cost(&mut self, cx: &Ctx<'_, '_>, sd: SdId) -> bool {
        let (now, hz) = (cx.jiffies, cx.machine.hz());
        let domain = &mut self.topology.domains[sd];
        let (due, stamp) = match self.profile.newidle_cost {
            NewidleCost::Fixed => (domain.last_decay_max_lb_cost, now + hz),
            NewidleCost::Measured => (domain.last_decay_max_lb_cost + hz, now),
        };
        if now <= due {
            return false;
        }
        domain.max_newidle_lb_cost = (domain.max_newidle_lb_cost * DECAY_NUMERATOR) >> DECAY_SHIFT;
        domain.last_decay_max_lb_cost = stamp;
        true
    }
}
