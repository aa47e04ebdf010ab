//! Balance on behalf of idle CPUs whose tick is stopped.
//!
//! ```text
//! busy tick ──► nohz_balancer_kick ──interrupt──► an idle CPU: nohz_csd_func ──► softirq: a pass over idle CPUs
//! ```

use super::BalanceStep;
use super::busiest_group::sched_asym_prefer;
use super::rebalance::Rebalance;
use crate::Sched;
use crate::ctx::{Ctx, Request};
use crate::rq::NohzKick;
use crate::seam::NohzBalance;
use crate::topology::CpuIdleType;
use fairground_model::{BalanceFinding, Op};
use fairground_stdx::{CpuId, CpuMask, SdId};

/// The blocked load of idle CPUs is aged at most that often: the half-life of load tracking, ms.
const BLOCKED_LOAD_PERIOD_MS: u64 = 32;

/// What all CPUs share of no-tick balance.
///
/// Kernel: fair.c nohz, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Nohz {
    /// The CPUs whose tick is stopped.
    pub(crate) idle_cpus_mask: CpuMask,
    /// Their number.
    pub(crate) nr_cpus: u32,
    /// jiffies from when on an idle CPU has a domain that is due.
    pub(crate) next_balance: u64,
    /// jiffies from when on their blocked load is to be aged.
    pub(crate) next_blocked: u64,
    /// Whether they have any.
    pub(crate) has_blocked: bool,
    /// A CPU became one of them since `next_balance` was last computed.
    pub(crate) needs_update: bool,
}

impl Nohz {
    /// The state in which no CPU is idle.
    pub(crate) const fn new() -> Nohz {
        Nohz {
            idle_cpus_mask: CpuMask::EMPTY,
            nr_cpus: 0,
            next_balance: 0,
            next_blocked: 0,
            has_blocked: false,
            needs_update: false,
        }
    }
}

/// A pass over the idle CPUs between its phases.
///
/// Kernel: fair.c nohz_idle_balance(), _nohz_idle_balance() from v4.17, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NohzPass {
    kick: NohzKick,
    idle: CpuIdleType,
    /// How many CPU numbers were looked at.
    visited: u32,
    /// The CPU whose domains are balanced now.
    at: Option<CpuId>,
    next_balance: Option<u64>,
    has_blocked: bool,
}

impl NohzPass {
    fn new(kick: NohzKick, idle: CpuIdleType) -> NohzPass {
        NohzPass { kick, idle, visited: 0, at: None, next_balance: None, has_blocked: false }
    }

    /// A pass of a CPU that goes idle: it ages the load of those that are idle already.
    pub(super) fn newidle() -> NohzPass {
        NohzPass::new(NohzKick { stats: true, ..NohzKick::default() }, CpuIdleType::NewlyIdle)
    }
}

impl Sched {
    /// The tick of the idle `cx.cpu` stops: from now on others balance for it. What newidle balance left to do is done
    /// first.
    ///
    /// Kernel: fair.c nohz_run_idle_balance(), nohz_balance_enter_idle(), v4.12–
    pub fn nohz_balance_enter_idle(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        if std::mem::take(&mut self.rqs[cpu].lb.stats_pass_due) && !self.rqs[cpu].need_resched {
            let mut pass = NohzPass::newidle();
            while self.nohz_pass(cx, &mut pass, &mut None) == BalanceStep::More {}
        }
        if !cx.machine.online.contains(cpu) {
            return;
        }
        self.rqs[cpu].lb.has_blocked_load = true;
        self.nohz.has_blocked = true;
        if self.rqs[cpu].lb.nohz_tick_stopped || self.topology.cpus[cpu].base.is_none() {
            return;
        }
        self.cpu_load_update_nohz_start(cpu);
        self.rqs[cpu].lb.nohz_tick_stopped = true;
        self.nohz.idle_cpus_mask.insert(cpu);
        self.nohz.nr_cpus += 1;
        self.nohz.needs_update = self.profile.nohz_balance == NohzBalance::Wrap;
        self.set_cpu_sd_state(cpu, false);
    }

    /// The first busy tick after an idle time without ticks: the CPU balances for itself again.
    ///
    /// Kernel: fair.c nohz_balance_exit_idle(), v4.12–
    #[inline]
    pub(crate) fn nohz_balance_exit_idle(&mut self, cpu: CpuId) {
        if self.rqs[cpu].lb.nohz_tick_stopped {
            self.rqs[cpu].lb.nohz_tick_stopped = false;
            self.nohz.idle_cpus_mask.remove(cpu);
            self.nohz.nr_cpus -= 1;
            self.set_cpu_sd_state(cpu, true);
        }
    }

    /// Counts the CPU among the busy ones of its cache, or out.
    ///
    /// Kernel: fair.c set_cpu_sd_state_busy(), set_cpu_sd_state_idle(), v4.12–
    fn set_cpu_sd_state(&mut self, cpu: CpuId, busy: bool) {
        if let Some(shared) = self.topology.cpus[cpu].sd_llc_shared
            && self.rqs[cpu].lb.counted_idle == busy
        {
            let nr_busy = &mut self.topology.shared[shared].nr_busy_cpus;
            *nr_busy = if busy { *nr_busy + 1 } else { *nr_busy - 1 };
            self.rqs[cpu].lb.counted_idle = !busy;
        }
    }

    /// The tick of a busy CPU: are there idle CPUs without a tick, and is there something that one of them should do?
    ///
    /// Kernel: fair.c nohz_balancer_kick(), v4.12–
    pub(super) fn nohz_balancer_kick(&mut self, cx: &mut Ctx<'_, '_>) {
        let (cpu, now, rule) = (cx.cpu, cx.jiffies, self.profile.nohz_balance);
        self.nohz_balance_exit_idle(cpu);
        if self.nohz.nr_cpus == 0 {
            return;
        }
        let ages = rule != NohzBalance::BalanceOnly;
        let balance = now >= self.nohz.next_balance && self.wants_idle_help(cpu);
        if cx.trace.wants_verdicts() && now < self.nohz.next_balance && self.wants_idle_help(cpu) {
            let idle = self.nohz.idle_cpus_mask.first().unwrap_or(cpu);
            cx.no_balance(idle, None, CpuIdleType::Idle, BalanceFinding::NotDue, (now, self.nohz.next_balance));
        }
        let stats = ages && (balance || (self.nohz.has_blocked && now > self.nohz.next_blocked));
        let kick = NohzKick { stats, balance, next: self.nohz.needs_update };
        if kick != NohzKick::default() {
            self.kick_ilb(cx, kick);
        }
    }

    /// Whether a busy CPU has something that idle ones should take off it.
    pub(super) fn wants_idle_help(&self, cpu: CpuId) -> bool {
        let (rq, domains) = (&self.rqs[cpu], &self.topology.cpus[cpu]);
        let rule = self.profile.nohz_balance;
        if rq.nr_counted() >= 2 || (rule == NohzBalance::Stats && rq.lb.misfit_task_load > 0) {
            return true;
        }
        let shared = domains.sd_llc_shared.map(|shared| self.topology.shared[shared].nr_busy_cpus);
        let siblings_busy = shared.is_some_and(|nr_busy| nr_busy > 1);
        let has_task = self.balance_h_nr_running(cpu) >= 1;
        let lost_capacity = domains.base.is_some_and(|sd| has_task && self.check_cpu_capacity(cpu, sd));
        if lost_capacity || self.preferred_cpu_is_idle(cpu) {
            return true;
        }
        let by_capacity = matches!(rule, NohzBalance::CapacityFirst | NohzBalance::Wrap);
        match domains.sd_asym_cpucapacity.filter(|_| by_capacity) {
            Some(sd) => self.check_misfit_status(cpu, sd),
            None => siblings_busy,
        }
    }

    /// Whether a CPU that tasks are packed on first is idle.
    fn preferred_cpu_is_idle(&self, cpu: CpuId) -> bool {
        let Some(sd) = self.topology.cpus[cpu].sd_asym_packing else { return false };
        let span = &self.topology.domains[sd].span;
        span.and(&self.nohz.idle_cpus_mask).iter().any(|other| sched_asym_prefer(other, cpu))
    }

    /// Whether a CPU has a task that does not fit it, and there are bigger ones or it lost capacity.
    ///
    /// Kernel: fair.c check_misfit_status(), v4.20–
    fn check_misfit_status(&self, cpu: CpuId, sd: SdId) -> bool {
        let lb = &self.rqs[cpu].lb;
        let bigger = lb.cpu_capacity_orig < self.topology.max_cpu_capacity;
        lb.misfit_task_load > 0 && (bigger || self.check_cpu_capacity(cpu, sd))
    }

    /// Asks an idle CPU to do what `kick` says.
    ///
    /// Kernel: fair.c kick_ilb(), nohz_balancer_kick() before v4.17, v4.12–
    fn kick_ilb(&mut self, cx: &mut Ctx<'_, '_>, kick: NohzKick) {
        if kick.balance {
            // One second's worth of busy ticks must not ask for the same balance.
            self.nohz.next_balance = match self.profile.nohz_balance {
                NohzBalance::BalanceOnly => self.nohz.next_balance + 1,
                NohzBalance::Stats | NohzBalance::CapacityFirst | NohzBalance::Wrap => cx.jiffies + 1,
            };
        }
        let Some(target) = self.find_new_ilb(cx.cpu) else { return };
        let pending = &mut self.rqs[target].lb.nohz_kick;
        let interrupt = *pending == NohzKick::default();
        *pending = pending.with(kick);
        if interrupt {
            cx.meter.count(Op::IpiSend);
            let at = cx.clock();
            cx.requests.push(Request::NohzKick { cpu: target, at });
        }
    }

    /// The idle CPU that is asked.
    ///
    /// Kernel: fair.c find_new_ilb(), v4.12–
    fn find_new_ilb(&self, this: CpuId) -> Option<CpuId> {
        let mask = &self.nohz.idle_cpus_mask;
        match self.profile.nohz_balance {
            NohzBalance::BalanceOnly | NohzBalance::Stats => mask.first().filter(|&cpu| self.idle_cpu(cpu)),
            NohzBalance::CapacityFirst | NohzBalance::Wrap => mask.iter().find(|&cpu| cpu != this && self.idle_cpu(cpu)),
        }
    }

    /// The interrupt that asks the idle `cx.cpu` to balance on behalf of all idle CPUs has arrived.
    ///
    /// Kernel: fair.c nohz_csd_func(), v5.8– (core.c scheduler_ipi() before)
    pub fn nohz_csd_func(&mut self, cx: &mut Ctx<'_, '_>) {
        let idle = self.idle_cpu(cx.cpu) && !self.rqs[cx.cpu].need_resched;
        let lb = &mut self.rqs[cx.cpu].lb;
        let kick = std::mem::take(&mut lb.nohz_kick);
        lb.idle_at_tick = idle;
        if idle {
            lb.nohz_idle_balance = kick;
            lb.softirq_raised = true;
        }
    }

    /// The pass that this CPU was asked to make, if it is idle still.
    pub(super) fn begin_nohz_idle_balance(&mut self, cx: &Ctx<'_, '_>, idle: CpuIdleType) -> Option<NohzPass> {
        let kick = std::mem::take(&mut self.rqs[cx.cpu].lb.nohz_idle_balance);
        if kick == NohzKick::default() || idle != CpuIdleType::Idle {
            return None;
        }
        self.nohz.needs_update &= !kick.next;
        Some(NohzPass::new(kick, idle))
    }

    /// One phase of a pass over the idle CPUs: one CPU's load is aged, or one phase of its balance.
    pub(super) fn nohz_pass(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        pass: &mut NohzPass,
        rebalance: &mut Option<Rebalance>,
    ) -> BalanceStep {
        if pass.visited == 0 && pass.kick.stats {
            self.nohz.has_blocked = false;
        }
        loop {
            if let (Some(cpu), Some(work)) = (pass.at, rebalance.as_mut()) {
                if self.rebalance_domains(cx, work) == BalanceStep::More {
                    return BalanceStep::More;
                }
                self.note_next_of(pass, cpu);
                (pass.at, *rebalance) = (None, None);
            }
            let Some(cpu) = self.next_idle_cpu(cx, pass) else { break };
            cx.meter.count(Op::ScanCpu);
            if self.rqs[cx.cpu].need_resched {
                // This CPU has got work; the next that is asked goes on.
                pass.has_blocked |= pass.kick.stats;
                self.nohz.needs_update |= pass.kick.next;
                self.nohz.has_blocked |= pass.has_blocked;
                return BalanceStep::Done;
            }
            let aged = pass.kick.stats && self.update_nohz_stats(cx, pass, cpu);
            if self.begin_for_idle(cx, pass, cpu) {
                pass.at = Some(cpu);
                *rebalance = Some(self.begin_rebalance(cx, cpu, CpuIdleType::Idle));
            } else {
                self.note_next_of(pass, cpu);
            }
            if aged {
                return BalanceStep::More;
            }
        }
        self.end_nohz_pass(cx, pass);
        BalanceStep::Done
    }

    fn end_nohz_pass(&mut self, cx: &Ctx<'_, '_>, pass: &NohzPass) {
        if let Some(next) = pass.next_balance {
            self.nohz.next_balance = next;
        }
        if pass.kick.stats {
            let period = (BLOCKED_LOAD_PERIOD_MS * 1_000_000).div_ceil(cx.machine.tick.ns());
            self.nohz.next_blocked = cx.jiffies + period;
        }
        self.nohz.has_blocked |= pass.has_blocked;
    }

    /// The next CPU of a pass. The order is that of the kernel: by number, from v5.13 beginning behind the CPU that
    /// makes the pass. That one comes last, in the oldest kernels and while it goes idle not at all.
    fn next_idle_cpu(&self, cx: &Ctx<'_, '_>, pass: &mut NohzPass) -> Option<CpuId> {
        let (nr_cpus, this) = (self.rqs.len() as u32, cx.cpu);
        while pass.visited < nr_cpus {
            let place = pass.visited;
            pass.visited += 1;
            let cpu = match self.profile.nohz_balance {
                NohzBalance::Wrap => CpuId::new((this.get() + 1 + place) % nr_cpus),
                NohzBalance::BalanceOnly | NohzBalance::Stats | NohzBalance::CapacityFirst => CpuId::new(place),
            };
            let own = cpu == this && self.profile.nohz_balance != NohzBalance::Wrap;
            if !own && self.nohz.idle_cpus_mask.contains(cpu) && self.idle_cpu(cpu) {
                return Some(cpu);
            }
        }
        let itself = matches!(self.profile.nohz_balance, NohzBalance::Stats | NohzBalance::CapacityFirst);
        let last = itself && pass.visited == nr_cpus && pass.idle == CpuIdleType::Idle;
        pass.visited = nr_cpus + 1;
        last.then_some(this)
    }

    /// Ages the load of an idle CPU, at most once a jiffy. Whether there was something to do.
    ///
    /// Kernel: fair.c update_nohz_stats(), v4.17–
    fn update_nohz_stats(&mut self, cx: &mut Ctx<'_, '_>, pass: &mut NohzPass, cpu: CpuId) -> bool {
        let lb = &self.rqs[cpu].lb;
        if !lb.has_blocked_load {
            return false;
        }
        if lb.last_blocked_load_update_tick == cx.jiffies {
            pass.has_blocked = true;
            return false;
        }
        self.rqs[cpu].lb.last_blocked_load_update_tick = cx.jiffies;
        self.update_blocked_averages(cx, cpu);
        pass.has_blocked |= self.rqs[cpu].lb.has_blocked_load;
        true
    }

    /// An idle CPU's clock is brought up to now if one of its domains may be due. Whether they are to be balanced.
    fn begin_for_idle(&mut self, cx: &mut Ctx<'_, '_>, pass: &NohzPass, cpu: CpuId) -> bool {
        if pass.idle == CpuIdleType::NewlyIdle {
            return false;
        }
        let due_at = self.rqs[cpu].lb.next_balance;
        if cx.jiffies < due_at {
            cx.no_balance(cpu, None, CpuIdleType::Idle, BalanceFinding::NotDue, (cx.jiffies, due_at));
            return false;
        }
        self.count_rq_lock(cx, cpu);
        self.update_rq_clock(cx, cpu);
        self.cpu_load_update_idle(cx, cpu);
        if pass.kick.balance && self.profile.nohz_balance == NohzBalance::BalanceOnly {
            self.update_blocked_averages(cx, cpu);
        }
        pass.kick.balance
    }

    fn note_next_of(&self, pass: &mut NohzPass, cpu: CpuId) {
        let next = self.rqs[cpu].lb.next_balance;
        pass.next_balance = Some(pass.next_balance.map_or(next, |before| before.min(next)));
    }

    /// Whether a CPU that goes idle shall age the load of those that are.
    ///
    /// Kernel: fair.c nohz_newidle_balance(), v4.17–
    pub(super) fn wants_stats_pass(&self, cx: &Ctx<'_, '_>) -> bool {
        self.rqs[cx.cpu].lb.avg_idle >= self.tunables.migration_cost_ns
            && self.nohz.has_blocked
            && cx.jiffies >= self.nohz.next_blocked
    }
}
