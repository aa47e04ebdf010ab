//! Active balance: the stopper takes the running task off its CPU, so that a task can be pushed to another.

use super::busiest_group::sched_asym_prefer;
use super::{BalanceStep, BalanceWork, LbEnv, MigrationType};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{ActiveBalance, LbPinned};
use crate::topology::{CpuIdleType, SdFlags};
use fairground_model::Reason;
use fairground_stdx::TaskId;

/// Failures beyond `cache_nice_tries` after which the running task is pushed.
const FAILURES_BEYOND_NICE_TRIES: u32 = 2;

/// A push between its phases: the task is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Push {
    pub(super) task: TaskId,
}

impl Push {
    /// The task that it pushes.
    pub(super) fn in_flight(&self) -> &[TaskId] {
        std::slice::from_ref(&self.task)
    }
}

impl Sched {
    /// Whether the running task of the source is to be pushed, since none that waits could be moved.
    ///
    /// Kernel: fair.c need_active_balance(), v4.12–
    pub(super) fn need_active_balance(&self, env: &LbEnv) -> bool {
        let domain = &self.topology.domains[env.sd];
        let counted = env.migration == MigrationType::Task || self.profile.active_balance != ActiveBalance::TaskCounts;
        let failed = domain.nr_balance_failed > domain.cache_nice_tries + FAILURES_BEYOND_NICE_TRIES;
        (failed && counted) || self.voluntary_active_balance(env)
    }

    /// Whether the running task is to be pushed for another reason than failures.
    ///
    /// Kernel: fair.c voluntary_active_balance(), v5.1–v5.11 (in need_active_balance() before and after)
    pub(super) fn voluntary_active_balance(&self, env: &LbEnv) -> bool {
        let Some(src) = env.src_cpu else { return false };
        let (rule, idle) = (self.profile.active_balance, env.idle != CpuIdleType::NotIdle);
        let packs = match rule {
            ActiveBalance::AfterFailures | ActiveBalance::Misfit => env.idle == CpuIdleType::NewlyIdle,
            ActiveBalance::AnyIdle | ActiveBalance::TaskCounts => idle,
        };
        if packs && self.topology.domains[env.sd].flags.has(SdFlags::ASYM_PACKING) && sched_asym_prefer(env.dst_cpu, src) {
            return true;
        }
        let alone = idle && self.balance_h_nr_running(src) == 1;
        if alone && self.check_cpu_capacity(src, env.sd) {
            let pct = u64::from(self.topology.domains[env.sd].imbalance_pct);
            if self.capacity_of(src) * pct < self.capacity_of(env.dst_cpu) * 100 {
                return true;
            }
        }
        (env.busiest_misfit || env.migration == MigrationType::Misfit) && rule != ActiveBalance::AfterFailures
    }

    /// Asks the stopper of the source to push a task to the CPU that this domain is of. Whether it was asked now: it may
    /// be at it already; `None` if the running task may not run here.
    pub(super) fn ask_stopper(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv) -> Option<bool> {
        let (this, src) = (self.topology.domains[env.sd].cpu, env.src_cpu?);
        self.count_rq_lock(cx, src);
        let tested = self.profile.lb_pinned == LbPinned::Tested;
        let curr = self.rqs[src].curr.filter(|&task| self.tasks[task].cpus_allowed.contains(this));
        if curr.is_none() {
            env.all_pinned |= !tested;
            return None;
        }
        env.all_pinned &= !tested;
        let newly = self.rqs[src].lb.push_cpu.is_none();
        if newly {
            self.rqs[src].lb.push_cpu = Some(this);
            cx.decide(Reason::MigrateAskStopper, curr, this.get());
            self.ask_for_stopper(cx, src);
        }
        if self.profile.active_balance != ActiveBalance::TaskCounts {
            let domain = &mut self.topology.domains[env.sd];
            domain.nr_balance_failed = domain.cache_nice_tries + 1;
        }
        Some(newly)
    }

    /// The stopper of `cx.cpu` runs, one phase of it. The task that ran there is put down by then: it is one of those
    /// that may be pushed.
    ///
    /// Kernel: fair.c active_load_balance_cpu_stop(), v4.12–
    pub fn active_load_balance_cpu_stop(&mut self, cx: &mut Ctx<'_, '_>) -> BalanceStep {
        match std::mem::take(&mut self.balance_works[cx.cpu]) {
            BalanceWork::Push(push) => {
                self.count_rq_lock(cx, self.tasks[push.task].cpu);
                self.update_rq_clock(cx, self.tasks[push.task].cpu);
                self.attach_if_on_its_way(cx, push.task);
                BalanceStep::Done
            }
            other => {
                assert!(matches!(other, BalanceWork::None), "invariant: the stopper does not run within a balance");
                let Some(task) = self.detach_for_push(cx) else { return BalanceStep::Done };
                self.balance_works[cx.cpu] = BalanceWork::Push(Push { task });
                BalanceStep::More
            }
        }
    }

    fn detach_for_push(&mut self, cx: &mut Ctx<'_, '_>) -> Option<TaskId> {
        let src = cx.cpu;
        let target = self.rqs[src].lb.push_cpu.take()?;
        let active = cx.machine.online.contains(src) && cx.machine.online.contains(target);
        if !active || self.rqs[src].nr_running == 0 {
            return None;
        }
        let mut domains = self.topology.domains_of(target);
        let sd = domains.find(|&sd| self.topology.domains[sd].span.contains(src))?;
        drop(domains);
        let mut env = LbEnv::new(sd, target, CpuIdleType::Idle, cx.machine.online, Vec::new());
        (env.src_cpu, env.active) = (Some(src), true);
        self.topology.domains[sd].stats.alb_count += 1;
        self.update_rq_clock(cx, src);
        let pushed = self.detach_one_task(cx, &mut env, src);
        let domain = &mut self.topology.domains[sd];
        match pushed {
            Some(_) => (domain.stats.alb_pushed, domain.nr_balance_failed) = (domain.stats.alb_pushed + 1, 0),
            None => domain.stats.alb_failed += 1,
        }
        pushed
    }
}
