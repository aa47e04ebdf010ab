//! Statistics of a domain: sums and type of each group, and which is the busiest.

use super::super::busiest_group::cpus_of;
use super::super::group::{GroupType, group_has_capacity, group_is_overloaded};
use super::{LbEnv, Pair, SdLbStats, SgLbStats};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{ReducedCapacity, SiblingBalance};
use crate::topology::{CpuIdleType, SchedGroup, SdFlags};
use fairground_model::{BalanceFinding, Op};
use fairground_stdx::{CpuId, SgId};

impl Sched {
    /// Kernel: fair.c find_busiest_group(), sched_balance_find_src_group() from v6.10, v5.5–
    pub(in super::super) fn busiest_group_by_type(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv) -> Option<SgId> {
        let sds = self.update_sd_lb_stats(cx, env);
        let Some(busiest) = sds.busiest else {
            cx.balance_came_to(env, BalanceFinding::NoBusiestGroup, (0, 0));
            return None;
        };
        if self.energy_comes_first(sds.busiest_stat.group_type == GroupType::MisfitTask) {
            cx.balance_came_to(env, BalanceFinding::EnergyFirst, (0, 0));
            return None;
        }
        let pair = self.pair(env, &sds, busiest);
        if pair.is_imbalanced() {
            (env.migration, env.imbalance) = pair.calculate_imbalance();
            if env.imbalance != 0 {
                return Some(busiest);
            }
        }
        let running = |stat: &SgLbStats| stat.sums.sum_nr_running;
        cx.balance_came_to(env, BalanceFinding::Balanced, (running(&sds.busiest_stat), running(&sds.local_stat)));
        None
    }

    /// The excess of tasks in the busiest group of a domain, for a test.
    #[cfg(test)]
    pub(in super::super) fn sibling_excess_of(&mut self, cx: &mut Ctx<'_, '_>, env: &LbEnv) -> Option<i64> {
        let sds = self.update_sd_lb_stats(cx, env);
        sds.busiest.map(|busiest| self.pair(env, &sds, busiest).sibling_excess())
    }

    fn pair<'a>(&'a self, env: &LbEnv, sds: &'a SdLbStats, busiest: SgId) -> Pair<'a> {
        let domain = &self.topology.domains[env.sd];
        let busiest_group = &self.topology.groups[busiest];
        let child_prefers = || domain.child.is_some_and(|child| self.topology.domains[child].flags.has(SdFlags::PREFER_SIBLING));
        let prefer_sibling = match self.profile.sibling_balance {
            SiblingBalance::TaskCount => child_prefers(),
            SiblingBalance::ByCores => busiest_group.flags.has(SdFlags::PREFER_SIBLING),
        };
        let local_group = &self.topology.groups[sds.local];
        Pair { profile: &self.profile, domain, idle: env.idle, local_group, busiest_group, sds, prefer_sibling }
    }

    /// Sums of all groups, the local one first.
    ///
    /// Kernel: fair.c update_sd_lb_stats(), v5.5–
    #[inline]
    fn update_sd_lb_stats(&mut self, cx: &mut Ctx<'_, '_>, env: &LbEnv) -> SdLbStats {
        let mut sds = SdLbStats::new(self.topology.domains[env.sd].first_group);
        self.refresh_local_group(cx, env, sds.local);
        match self.kept_ring(env) {
            Some(ring) => self.add_up_kept_groups(cx, env, ring, &mut sds),
            None => self.add_up_groups(cx, env, &mut sds),
        }
        self.set_root_overload(env, sds.overload);
        self.update_idle_cpu_scan(env, &sds);
        sds
    }

    /// The sums of a domain, with each CPU looked at.
    fn add_up_groups(&self, cx: &mut Ctx<'_, '_>, env: &LbEnv, sds: &mut SdLbStats) {
        let domain = &self.topology.domains[env.sd];
        sds.local_stat = self.update_sg_lb_stats(cx, env, sds, sds.local);
        let local = sds.local_stat;
        sds.add_to_totals(&local);
        for part in [domain.ring_start + 1..domain.groups.end, domain.groups.start..domain.ring_start] {
            for &group in &self.topology.rings[part.start as usize..part.end as usize] {
                let stat = self.update_sg_lb_stats(cx, env, sds, group);
                self.note_if_busier(env, sds, group, &stat);
                sds.add_to_totals(&stat);
            }
        }
    }

    /// Takes a group other than the local one as the busiest so far, if it is.
    pub(super) fn note_if_busier(&self, env: &LbEnv, sds: &mut SdLbStats, group: SgId, stat: &SgLbStats) {
        if self.is_busier(env, sds, group, stat) {
            (sds.busiest, sds.busiest_stat) = (Some(group), *stat);
        }
    }

    /// Sums and type of a group.
    ///
    /// Kernel: fair.c update_sg_lb_stats(), v5.5–
    // In the loop over groups, of which most have one CPU where nothing is kept.
    #[inline(always)]
    fn update_sg_lb_stats(&self, cx: &mut Ctx<'_, '_>, env: &LbEnv, sds: &mut SdLbStats, group: SgId) -> SgLbStats {
        let (local, group) = (group == sds.local, &self.topology.groups[group]);
        let domain = &self.topology.domains[env.sd];
        let mut stat = SgLbStats::without_cpus(group);
        for cpu in cpus_of(group, env) {
            cx.meter.count(Op::LbCpu);
            let cpu = self.cpu_stat(cpu);
            sds.overload |= cpu.overloaded > 0;
            stat.add(&cpu);
        }
        stat.never_overloaded = self.overload_needs_overutilized() && !self.is_any_overutilized(cpus_of(group, env));
        if !local {
            self.look_for_needs(env, group, &mut stat);
            sds.overload |= domain.flags.has(SdFlags::ASYM_CPUCAPACITY) && stat.group_misfit_task_load > 0;
            stat.group_asym_packing = self.group_asym(cx, env, sds, &stat, group);
        }
        stat.classify(domain.imbalance_pct, group.imbalance);
        stat
    }

    /// What makes other CPUs help a group.
    pub(super) fn look_for_needs(&self, env: &LbEnv, group: &SchedGroup, stat: &mut SgLbStats) {
        stat.group_smt_balance = self.group_smt(env, stat, group);
        stat.group_misfit_task_load = self.greatest_misfit(env, group);
    }

    /// The greatest load of a task of a group that needs a bigger CPU, or one with fewer interrupts.
    #[inline]
    pub(super) fn greatest_misfit(&self, env: &LbEnv, group: &SchedGroup) -> u64 {
        let asymmetric = self.topology.domains[env.sd].flags.has(SdFlags::ASYM_CPUCAPACITY);
        let reduced = self.profile.reduced_capacity == ReducedCapacity::Misfit && env.idle != CpuIdleType::NotIdle;
        if asymmetric || reduced { self.search_misfit(env, group, asymmetric) } else { 0 }
    }

    /// The same among CPUs that differ in capacity (`asymmetric`), or else among those that have lost some.
    fn search_misfit(&self, env: &LbEnv, group: &SchedGroup, asymmetric: bool) -> u64 {
        let load = |cpu| match asymmetric {
            true => self.rqs[cpu].lb.misfit_task_load,
            false if self.sched_reduced_capacity(env, cpu) => self.cpu_load(cpu),
            false => 0,
        };
        let busy = |&cpu: &CpuId| !self.idle_cpu(cpu);
        cpus_of(group, env).filter(busy).map(load).max().unwrap_or(0)
    }

    /// Whether a CPU with one task has lost much of its capacity.
    ///
    /// Kernel: fair.c sched_reduced_capacity(), v6.0–
    fn sched_reduced_capacity(&self, env: &LbEnv, cpu: CpuId) -> bool {
        self.balance_h_nr_running(cpu) == 1 && self.check_cpu_capacity(cpu, env.sd)
    }
}

impl SgLbStats {
    /// The sums are complete: they give the type.
    #[inline]
    pub(super) fn classify(&mut self, imbalance_pct: u32, imbalance_flag: bool) {
        self.group_type = group_classify(imbalance_pct, imbalance_flag, self);
        self.avg_load = if self.group_type == GroupType::Overloaded { self.load_over_capacity() } else { 0 };
    }
}

/// Kernel: fair.c group_classify(), v5.5–
fn group_classify(imbalance_pct: u32, imbalance_flag: bool, stat: &SgLbStats) -> GroupType {
    if !stat.never_overloaded && group_is_overloaded(imbalance_pct, &stat.sums) {
        GroupType::Overloaded
    } else if imbalance_flag {
        GroupType::Imbalanced
    } else if stat.group_asym_packing {
        GroupType::AsymPacking
    } else if stat.group_smt_balance {
        GroupType::SmtBalance
    } else if stat.group_misfit_task_load > 0 {
        GroupType::MisfitTask
    } else if !group_has_capacity(imbalance_pct, &stat.sums) {
        GroupType::FullyBusy
    } else {
        GroupType::HasSpare
    }
}
