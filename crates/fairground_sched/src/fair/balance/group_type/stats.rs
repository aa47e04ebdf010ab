//! Statistics of a domain: sums and type of each group, and which is the busiest.

use super::super::busiest_group::cpus_of;
use super::super::group::{GroupSums, GroupType, group_has_capacity, group_is_overloaded};
use super::{LbEnv, Pair, SdLbStats, SgLbStats};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{BalanceTasks, ReducedCapacity, SiblingBalance};
use crate::topology::{CpuIdleType, SdFlags};
use fairground_model::Op;
use fairground_stdx::{CpuId, SgId};

impl Sched {
    /// Kernel: fair.c find_busiest_group(), sched_balance_find_src_group() from v6.10, v5.5–
    pub(in super::super) fn busiest_group_by_type(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv) -> Option<SgId> {
        let sds = self.update_sd_lb_stats(cx, env);
        let busiest = sds.busiest?;
        let pair = self.pair(env, &sds, busiest);
        if !pair.is_imbalanced() {
            return None;
        }
        (env.migration, env.imbalance) = pair.calculate_imbalance();
        (env.imbalance != 0).then_some(busiest)
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
    fn update_sd_lb_stats(&mut self, cx: &mut Ctx<'_, '_>, env: &LbEnv) -> SdLbStats {
        let local = self.topology.domains[env.sd].first_group;
        self.refresh_local_group(cx, env, local);
        let (sds, overload) = if self.keeps_group_stats(env) {
            self.add_up_kept_groups(cx, env, local)
        } else {
            self.add_up_groups(cx, env, local)
        };
        self.set_root_overload(env, overload);
        sds
    }

    /// The sums of a domain, with each CPU looked at.
    fn add_up_groups(&self, cx: &mut Ctx<'_, '_>, env: &LbEnv, local: SgId) -> (SdLbStats, bool) {
        let mut overload = false;
        let local_stat = self.update_sg_lb_stats(cx, env, local, None, &mut overload);
        let mut sds = SdLbStats::of_local(local, local_stat);
        for group in self.topology.groups_of(env.sd).skip(1) {
            let stat = self.update_sg_lb_stats(cx, env, group, Some(&sds), &mut overload);
            self.add_group(env, &mut sds, group, &stat);
        }
        (sds, overload)
    }

    /// One more group beside the local one.
    // In the loop over all groups of the machine: a call would cost more than what most groups need.
    #[inline(always)]
    pub(super) fn add_group(&self, env: &LbEnv, sds: &mut SdLbStats, group: SgId, stat: &SgLbStats) {
        if self.is_busier(env, sds, group, stat) {
            (sds.busiest, sds.busiest_stat) = (Some(group), *stat);
        }
        sds.total_load += stat.group_load;
        sds.total_capacity += stat.sums.group_capacity;
    }

    /// Sums and type of a group. `sds` is what is known of the local group, if this is another.
    ///
    /// Kernel: fair.c update_sg_lb_stats(), v5.5–
    fn update_sg_lb_stats(
        &self,
        cx: &mut Ctx<'_, '_>,
        env: &LbEnv,
        group: SgId,
        sds: Option<&SdLbStats>,
        overload: &mut bool,
    ) -> SgLbStats {
        let row = &self.topology.groups[group];
        let (mut stat, looks) = self.add_up_cpus(env, group, sds.is_none(), overload);
        cx.meter.count_n(Op::LbCpu, looks);
        if let Some(sds) = sds {
            stat.group_asym_packing = self.group_asym(cx, env, sds, &stat, row);
            stat.group_smt_balance = self.group_smt(env, &stat, row);
        }
        stat.classify(self.topology.domains[env.sd].imbalance_pct, row.imbalance);
        stat
    }

    /// The sums over the CPUs of a group, and how many CPUs were looked at.
    pub(super) fn add_up_cpus(&self, env: &LbEnv, group: SgId, local: bool, overload: &mut bool) -> (SgLbStats, u64) {
        let row = &self.topology.groups[group];
        let sums = GroupSums { group_weight: u64::from(row.group_weight), group_capacity: row.capacity, ..GroupSums::default() };
        let mut stat = SgLbStats { sums, idle_cpus: 0, ..SgLbStats::IDLEST };
        let mut looks = 0;
        for cpu in cpus_of(row, env) {
            looks += 1;
            let idle = self.add_cpu(&mut stat, cpu, overload);
            if !idle && !local {
                self.look_for_misfit(env, &mut stat, cpu, overload);
            }
        }
        (stat, looks)
    }

    /// Adds a CPU to the sums of its group; whether it is idle.
    fn add_cpu(&self, stat: &mut SgLbStats, cpu: CpuId, overload: &mut bool) -> bool {
        let nr_running = self.rqs[cpu].nr_running;
        stat.group_load += self.cpu_load(cpu);
        stat.sums.group_util += self.cpu_util(cpu);
        stat.sums.group_runnable += self.cpu_runnable(cpu);
        stat.sums.sum_nr_running += u64::from(nr_running);
        stat.sum_h_nr_running += u64::from(self.balance_h_nr_running(cpu));
        *overload |= nr_running > 1;
        let idle = nr_running == 0 && self.idle_cpu(cpu);
        stat.idle_cpus += u64::from(idle);
        idle
    }

    /// The greatest load of a task that needs a bigger CPU, or one with fewer interrupts.
    fn look_for_misfit(&self, env: &LbEnv, stat: &mut SgLbStats, cpu: CpuId, overload: &mut bool) {
        let asymmetric = self.topology.domains[env.sd].flags.has(SdFlags::ASYM_CPUCAPACITY);
        let reduced = self.profile.reduced_capacity == ReducedCapacity::Misfit && env.idle != CpuIdleType::NotIdle;
        if asymmetric {
            let load = self.rqs[cpu].lb.misfit_task_load;
            if stat.group_misfit_task_load < load {
                stat.group_misfit_task_load = load;
                *overload = true;
            }
        } else if reduced && self.sched_reduced_capacity(env, cpu) {
            stat.group_misfit_task_load = stat.group_misfit_task_load.max(self.cpu_load(cpu));
        }
    }

    /// Whether a CPU with one task has lost much of its capacity.
    ///
    /// Kernel: fair.c sched_reduced_capacity(), v6.0–
    fn sched_reduced_capacity(&self, env: &LbEnv, cpu: CpuId) -> bool {
        self.balance_h_nr_running(cpu) == 1 && self.check_cpu_capacity(cpu, env.sd)
    }

    /// Fair tasks of a CPU, as balance counts them.
    ///
    /// Kernel: sched.h cfs_rq h_nr_running, h_nr_runnable from v6.14, v4.12–
    #[inline]
    pub(crate) fn balance_h_nr_running(&self, cpu: CpuId) -> u32 {
        let cfs = self.cfs_rq(cpu);
        match self.profile.balance_tasks {
            BalanceTasks::Queued => cfs.h_nr_running,
            BalanceTasks::Runnable => cfs.h_nr_runnable,
        }
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
    if group_is_overloaded(imbalance_pct, &stat.sums) {
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
