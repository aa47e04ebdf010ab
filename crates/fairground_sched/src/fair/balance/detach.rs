//! Which tasks of the source are moved, and how many.

use super::{LbEnv, MigrationType};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{DetachAmount, HotGained, LbLoop, LbPinned, Migratable, NewidleBatch};
use crate::task::TaskState;
use crate::topology::{CpuIdleType, SdFlags};
use fairground_model::features::Feat;
use fairground_model::{Op, Policy, Reason, Refusal};
use fairground_stdx::{CpuId, TaskId};

/// Most tasks that one look at a queue goes through.
///
/// Kernel: fair.c sysctl_sched_nr_migrate, v4.12–
pub(super) const SYSCTL_SCHED_NR_MIGRATE: u32 = 32;

/// A task of a load below this is not worth a move (LB_MIN).
const LB_MIN_LOAD: u64 = 16;

impl Sched {
    /// Takes tasks off the source, whose lock is held, until the imbalance is gone. Returns how many.
    ///
    /// Kernel: fair.c detach_tasks(), v4.12–
    pub(super) fn detach_tasks(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv, src: CpuId) -> u32 {
        if self.profile.lb_pinned == LbPinned::Tested && self.rqs[src].nr_counted() <= 1 {
            // Another CPU has emptied it: no task was found pinned.
            env.all_pinned = false;
            return 0;
        }
        let mut detached = 0;
        while env.imbalance > 0
            && let Some(task) = self.cfs_tasks_candidate(src)
            && self.looks_on(env, src)
        {
            cx.meter.count(Op::LbDetach);
            if !self.can_migrate_task(cx, env, src, task) || !self.fits_imbalance(cx, env, src, task) {
                self.cfs_tasks_pass_over(src, task);
                continue;
            }
            self.detach_for(cx, env, task);
            env.tasks.push(task);
            detached += 1;
            if env.idle == CpuIdleType::NewlyIdle && self.profile.newidle_batch == NewidleBatch::One {
                break;
            }
        }
        self.topology.domains[env.sd].stats.lb[env.idle as usize].gained += u64::from(detached);
        detached
    }

    /// Whether one more task of the source is looked at.
    fn looks_on(&self, env: &mut LbEnv, src: CpuId) -> bool {
        if env.idle != CpuIdleType::NotIdle && self.rqs[src].nr_counted() <= 1 {
            return false;
        }
        env.loops += 1;
        let goes_past = self.profile.lb_loop == LbLoop::PastPinned && env.all_pinned;
        if env.loops > env.loop_max && !goes_past {
            return false;
        }
        if env.loops > env.loop_break {
            env.loop_break += super::env::SCHED_NR_MIGRATE_BREAK;
            env.need_break = true;
            return false;
        }
        true
    }

    /// Takes a task off the source, and tells why.
    fn detach_for(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv, task: TaskId) {
        self.count_hot_task(env);
        cx.decide(migration_reason(env, self.topology.domains[env.sd].cpu == cx.cpu), Some(task), env.dst_cpu.get());
        self.detach_queued_task(cx, task, env.dst_cpu);
    }

    /// Takes the first task that may move off the source.
    ///
    /// Kernel: fair.c detach_one_task(), v4.12–
    pub(super) fn detach_one_task(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv, src: CpuId) -> Option<TaskId> {
        let mut candidate = self.cfs_tasks_candidate(src);
        while let Some(task) = candidate {
            candidate = self.cfs_tasks_after(task);
            cx.meter.count(Op::LbDetach);
            if self.can_migrate_task(cx, env, src, task) {
                self.detach_for(cx, env, task);
                self.topology.domains[env.sd].stats.lb[env.idle as usize].gained += 1;
                return Some(task);
            }
        }
        None
    }

    /// Whether a task is small enough for what is left of the imbalance, from which it is then taken.
    fn fits_imbalance(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv, src: CpuId, task: TaskId) -> bool {
        let failed = self.topology.domains[env.sd].nr_balance_failed;
        let (amount, compared) = match env.migration {
            MigrationType::Load => {
                let load = self.task_h_load(cx, task);
                if self.profile.feats.has(Feat::LB_MIN) && load < LB_MIN_LOAD && failed == 0 {
                    return cx.leaves(env, task, Refusal::TooLittle);
                }
                match self.profile.lb_detach_amount {
                    DetachAmount::HalfLoad => (load, load / 2),
                    DetachAmount::ShiftedLoad | DetachAmount::ShiftedUtil => (load.max(1), shr_bound(load.max(1), failed)),
                }
            }
            MigrationType::Util => {
                let util = self.task_util_est(task);
                let shift = if self.profile.lb_detach_amount == DetachAmount::ShiftedUtil { failed } else { 0 };
                (util, shr_bound(util, shift))
            }
            MigrationType::Task => (1, 0),
            MigrationType::Misfit => {
                if self.task_fits_cpu(task, src) {
                    return cx.leaves(env, task, Refusal::Fits);
                }
                (env.imbalance as u64, 0)
            }
        };
        if compared > env.imbalance as u64 {
            return cx.leaves(env, task, Refusal::TooMuch);
        }
        env.imbalance = env.imbalance.wrapping_sub(amount as i64);
        true
    }

    /// Whether a task of the source may be moved to the destination at all.
    ///
    /// Kernel: fair.c can_migrate_task(), v4.12–
    pub(super) fn can_migrate_task(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv, src: CpuId, task: TaskId) -> bool {
        if self.profile.lb_migratable == Migratable::EligibleFirst
            && let Some(refusal) = self.stays_for_now(env, task)
        {
            return cx.leaves(env, task, refusal);
        }
        if self.throttled_lb_pair(task, env.dst_cpu) {
            return cx.leaves(env, task, Refusal::Throttled);
        }
        let allowed = self.tasks[task].cpus_allowed.and(&cx.machine.online);
        if !allowed.contains(env.dst_cpu) {
            env.some_pinned = true;
            if env.idle != CpuIdleType::NewlyIdle && !env.dst_pinned && !env.active {
                let group = &self.topology.groups[self.topology.domains[env.sd].first_group];
                env.new_dst_cpu = group.span.and(&env.cpus).and(&allowed).first();
                env.dst_pinned = env.new_dst_cpu.is_some();
            }
            return cx.leaves(env, task, Refusal::NotAllowed);
        }
        env.all_pinned = false;
        // Until the switch away from it is over a task runs still, whoever is current.
        if self.rqs[src].curr == Some(task) || self.tasks[task].on_cpu {
            return cx.leaves(env, task, Refusal::Runs);
        }
        if env.active && self.profile.lb_pinned == LbPinned::Tested {
            return true;
        }
        let hot = self.task_hot(env, src, task);
        let domain = &mut self.topology.domains[env.sd];
        if hot && domain.nr_balance_failed <= domain.cache_nice_tries {
            return cx.leaves(env, task, Refusal::Hot);
        }
        env.task_is_hot = hot;
        if self.profile.lb_hot_gained == HotGained::MayMove {
            self.count_hot_task(env);
        }
        true
    }

    /// A task that may move, or is moved, is cache hot: too many balances have failed.
    fn count_hot_task(&mut self, env: &mut LbEnv) {
        let hot = std::mem::take(&mut env.task_is_hot);
        self.topology.domains[env.sd].stats.lb[env.idle as usize].hot_gained += u64::from(hot);
    }

    /// Why balance leaves a task alone for now: it sleeps, or has had more than its share.
    ///
    /// Kernel: fair.c can_migrate_task(), task_is_ineligible_on_dst_cpu(), v6.14–
    fn stays_for_now(&self, env: &LbEnv, task: TaskId) -> Option<Refusal> {
        if self.tasks[task].state == TaskState::Delayed && env.migration != MigrationType::Load {
            return Some(Refusal::Sleeps);
        }
        let se = self.se(task);
        // Who waits on the queue of the task's own group there would have to let it pass.
        let waits_there = match self.tasks[task].group {
            None => self.cfs_rq(env.dst_cpu).nr_running > 0,
            Some(group) => self.groups[group].queues[env.dst_cpu].is_some_and(|queue| self.cfs_rqs[queue].nr_running > 0),
        };
        let ineligible = self.topology.domains[env.sd].nr_balance_failed == 0
            && self.profile.feats.has(Feat::PLACE_LAG)
            && waits_there
            && !self.averages(se.cfs_rq).eligible(se.vruntime);
        ineligible.then_some(Refusal::NotEligible)
    }

    /// Whether what a task uses is likely to be in the caches of the source still.
    ///
    /// Kernel: fair.c task_hot(), v4.12–
    pub(super) fn task_hot(&self, env: &LbEnv, src: CpuId, task: TaskId) -> bool {
        if self.tasks[task].policy == Policy::Idle {
            return false;
        }
        let siblings = self.topology.domains[env.sd].flags.has(SdFlags::SHARE_CPUCAPACITY);
        if siblings && self.profile.lb_migratable != Migratable::All {
            return false;
        }
        let (id, se) = (self.se_of(task), self.se(task));
        let queue = &self.cfs_rqs[se.cfs_rq];
        let buddy = queue.next == Some(id) || queue.last == Some(id);
        if self.profile.feats.has(Feat::CACHE_HOT_BUDDY) && buddy && self.rqs[env.dst_cpu].nr_counted() > 0 {
            return true;
        }
        let since = self.rqs[src].clocks.clock_task.wrapping_sub(se.exec_start) as i64;
        since < self.tunables.migration_cost_ns as i64
    }
}

/// A value halved for each failure; it may not be shifted by more than its width.
///
/// Kernel: sched.h shr_bound(), v5.12–
const fn shr_bound(value: u64, shift: u32) -> u64 {
    value >> if shift < u64::BITS { shift } else { u64::BITS - 1 }
}

/// Which kind of balance moves a task; `own`: a CPU balances for itself.
fn migration_reason(env: &LbEnv, own: bool) -> Reason {
    match env.idle {
        _ if env.active => Reason::MigrateActive,
        CpuIdleType::NewlyIdle => Reason::MigrateNewidle,
        CpuIdleType::NotIdle => Reason::MigrateBusyTick,
        CpuIdleType::Idle if own => Reason::MigrateIdleTick,
        CpuIdleType::Idle => Reason::MigrateNoTick,
    }
}
