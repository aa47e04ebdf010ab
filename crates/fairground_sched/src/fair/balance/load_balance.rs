//! load_balance(): one domain of one CPU, in phases.
//!
//! ```text
//! Search   is it our turn? busiest group, busiest queue in it
//! Detach   under the source's lock: tasks leave it           again after a break, or for another destination
//! Attach   under the destination's lock: they are queued
//! end      nothing moved: one failure more, perhaps the stopper; the interval follows from how it went
//! ```

use super::detach::SYSCTL_SCHED_NR_MIGRATE;
use super::{LbEnv, MigrationType};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{LbInterval, LbLoop, LbPinned};
use crate::topology::{CpuIdleType, LbStats, SchedDomain};
use fairground_model::{BalanceFinding, Op};
use fairground_stdx::{CpuId, SdId};

/// Up to here the interval of a domain is doubled while all tasks of the busiest queue are pinned, ms.
///
/// Kernel: fair.c MAX_PINNED_INTERVAL, v4.12–
const MAX_PINNED_INTERVAL: u32 = 512;

/// A load_balance() that is under way.
#[derive(Clone, Debug)]
pub(crate) struct LoadBalance {
    pub(super) env: LbEnv,
    stage: Stage,
    /// Tasks moved so far.
    moved: u32,
}

/// Which phase comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Search,
    Detach,
    Attach,
}

impl LoadBalance {
    /// Which run queue the next phase locks.
    pub(super) fn locks(&self) -> Option<CpuId> {
        match self.stage {
            Stage::Search => None,
            Stage::Detach => self.env.src_cpu,
            Stage::Attach => Some(self.env.dst_cpu),
        }
    }
}

impl SchedDomain {
    fn lb_stats(&mut self, idle: CpuIdleType) -> &mut LbStats {
        &mut self.stats.lb[idle as usize]
    }
}

impl Sched {
    /// Begins to balance a domain for its CPU.
    pub(super) fn begin_load_balance(&mut self, cx: &mut Ctx<'_, '_>, sd: SdId, idle: CpuIdleType) -> LoadBalance {
        cx.meter.count(Op::LbDomain);
        let domain = &mut self.topology.domains[sd];
        domain.lb_stats(idle).count += 1;
        let cpus = match self.profile.lb_pinned {
            LbPinned::AnyCpu => cx.machine.online,
            LbPinned::OtherGroups | LbPinned::MarkStays | LbPinned::Tested => domain.span.and(&cx.machine.online),
        };
        let tasks = std::mem::take(&mut self.rqs[cx.cpu].lb.detached);
        LoadBalance { env: LbEnv::new(sd, domain.cpu, idle, cpus, tasks), stage: Stage::Search, moved: 0 }
    }

    /// One phase of it; the number of tasks moved when it is over. `continue_balancing` becomes false if another CPU
    /// of the group balances, so that larger domains need not be looked at either.
    ///
    /// Kernel: fair.c load_balance(), sched_balance_rq() from v6.10, v4.12–
    pub(super) fn load_balance(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        lb: &mut LoadBalance,
        continue_balancing: &mut bool,
    ) -> Option<u32> {
        let outcome = match lb.stage {
            Stage::Search => self.search(cx, lb, continue_balancing),
            Stage::Detach => self.detach(cx, lb),
            Stage::Attach => {
                self.attach_tasks(cx, &mut lb.env);
                self.after_look(cx, lb)
            }
        };
        if outcome.is_some() {
            self.rqs[cx.cpu].lb.detached = std::mem::take(&mut lb.env.tasks);
        }
        outcome
    }

    fn search(&mut self, cx: &mut Ctx<'_, '_>, lb: &mut LoadBalance, continue_balancing: &mut bool) -> Option<u32> {
        let env = &mut lb.env;
        if !self.should_we_balance(cx, env) {
            *continue_balancing = false;
            cx.balance_came_to(env, BalanceFinding::OtherBalances, (0, 0));
            return Some(self.out_balanced(env));
        }
        let Some(group) = self.find_busiest_group(cx, env) else {
            self.topology.domains[env.sd].lb_stats(env.idle).nobusyg += 1;
            return Some(self.out_balanced(env));
        };
        let Some(src) = self.find_busiest_queue(cx, env, group) else {
            self.topology.domains[env.sd].lb_stats(env.idle).nobusyq += 1;
            cx.balance_came_to(env, BalanceFinding::NoBusiestQueue, (0, 0));
            return Some(self.out_balanced(env));
        };
        let stats = self.topology.domains[env.sd].lb_stats(env.idle);
        stats.imbalance[env.migration as usize] += env.imbalance as u64;
        env.src_cpu = Some(src);
        // A stopper counts, too.
        let nr_running = self.rqs[src].nr_counted();
        env.all_pinned |= nr_running > 1 || self.profile.lb_pinned == LbPinned::Tested;
        if nr_running > 1 {
            env.loop_max = nr_running.min(SYSCTL_SCHED_NR_MIGRATE);
            lb.stage = Stage::Detach;
            return None;
        }
        cx.balance_came_to(env, BalanceFinding::OneTask, (0, 0));
        Some(self.end_load_balance(cx, lb))
    }

    fn detach(&mut self, cx: &mut Ctx<'_, '_>, lb: &mut LoadBalance) -> Option<u32> {
        let src = lb.env.src_cpu.expect("invariant: a queue was found before tasks are taken off it");
        self.count_rq_lock(cx, src);
        self.update_rq_clock(cx, src);
        let detached = self.detach_tasks(cx, &mut lb.env, src);
        if detached == 0 {
            cx.balance_came_to(&lb.env, BalanceFinding::NothingMoved, (0, 0));
            return self.after_look(cx, lb);
        }
        cx.balance_came_to(&lb.env, BalanceFinding::Moved, (u64::from(detached), 0));
        lb.moved += detached;
        lb.stage = Stage::Attach;
        None
    }

    /// After a look at the source: does it go on there, for another destination, with another source, or end?
    fn after_look(&mut self, cx: &mut Ctx<'_, '_>, lb: &mut LoadBalance) -> Option<u32> {
        let env = &mut lb.env;
        let src = env.src_cpu.expect("invariant: a queue was found before it was looked at");
        lb.stage = Stage::Detach;
        if std::mem::take(&mut env.need_break) && (self.profile.lb_loop == LbLoop::Max || env.loops < self.rqs[src].nr_counted())
        {
            return None;
        }
        if env.dst_pinned
            && env.imbalance > 0
            && let Some(other) = env.new_dst_cpu
        {
            env.cpus.remove(env.dst_cpu);
            (env.dst_cpu, env.dst_pinned) = (other, false);
            env.begin_loop_anew();
            return None;
        }
        let domain = &self.topology.domains[env.sd];
        if let Some(parent) = domain.parent
            && env.some_pinned
            && env.imbalance > 0
        {
            let group = self.topology.domains[parent].first_group;
            self.topology.groups[group].imbalance = true;
            self.group_stats.cpu_changes(domain.cpu);
        }
        if !env.all_pinned {
            return Some(self.end_load_balance(cx, lb));
        }
        env.cpus.remove(src);
        let others = match self.profile.lb_pinned {
            LbPinned::AnyCpu => !env.cpus.is_empty(),
            LbPinned::OtherGroups | LbPinned::MarkStays | LbPinned::Tested => {
                !env.cpus.is_subset(&self.topology.groups[domain.first_group].span)
            }
        };
        if others {
            env.begin_loop_anew();
            lb.stage = Stage::Search;
            return None;
        }
        Some(self.out_all_pinned(env))
    }

    /// There was an imbalance, and `lb.moved` tasks were moved for it.
    fn end_load_balance(&mut self, cx: &mut Ctx<'_, '_>, lb: &mut LoadBalance) -> u32 {
        let env = &mut lb.env;
        let mut asked = false;
        let domain = &mut self.topology.domains[env.sd];
        if lb.moved > 0 {
            domain.nr_balance_failed = 0;
        } else {
            domain.lb_stats(env.idle).failed += 1;
            let by_misfit = self.profile.lb_interval == LbInterval::NotByMisfit && env.migration == MigrationType::Misfit;
            if env.idle != CpuIdleType::NewlyIdle && !by_misfit {
                domain.nr_balance_failed += 1;
            }
            if self.need_active_balance(env) {
                match self.ask_stopper(cx, env) {
                    Some(newly) => asked = newly,
                    None => return self.out_one_pinned(env),
                }
            }
        }
        let backs_off = match self.profile.lb_interval {
            LbInterval::DoubledByAll => asked,
            LbInterval::NotByNewidle | LbInterval::LessOneBusy => asked && !self.voluntary_active_balance(env),
            LbInterval::NotByActive | LbInterval::NotByMisfit => false,
        };
        let domain = &mut self.topology.domains[env.sd];
        if !backs_off {
            domain.balance_interval = domain.min_interval;
        } else if domain.balance_interval < domain.max_interval {
            domain.balance_interval *= 2;
        }
        lb.moved
    }

    /// There is no imbalance that this CPU could do anything about.
    fn out_balanced(&mut self, env: &LbEnv) -> u32 {
        let keeps_mark = env.all_pinned && matches!(self.profile.lb_pinned, LbPinned::MarkStays | LbPinned::Tested);
        if let Some(parent) = self.topology.domains[env.sd].parent
            && !keeps_mark
        {
            let group = self.topology.domains[parent].first_group;
            if std::mem::take(&mut self.topology.groups[group].imbalance) {
                self.group_stats.cpu_changes(self.topology.domains[env.sd].cpu);
            }
        }
        self.out_all_pinned(env)
    }

    fn out_all_pinned(&mut self, env: &LbEnv) -> u32 {
        let domain = &mut self.topology.domains[env.sd];
        domain.lb_stats(env.idle).balanced += 1;
        domain.nr_balance_failed = 0;
        self.out_one_pinned(env)
    }

    /// Nothing can be moved: it will be longer until the next try.
    fn out_one_pinned(&mut self, env: &LbEnv) -> u32 {
        let rule = self.profile.lb_interval;
        let newidle = env.idle == CpuIdleType::NewlyIdle && rule != LbInterval::DoubledByAll;
        let misfit = env.migration == MigrationType::Misfit && rule == LbInterval::NotByMisfit;
        let domain = &mut self.topology.domains[env.sd];
        let pinned = env.all_pinned && domain.balance_interval < MAX_PINNED_INTERVAL;
        if !newidle && !misfit && (pinned || domain.balance_interval < domain.max_interval) {
            domain.balance_interval *= 2;
        }
        0
    }
}
