//! Statistics of a domain: sums and class of each group, and which is the busiest.

use super::super::LbEnv;
use super::super::busiest_group::{cpus_of, sched_asym_prefer};
use super::super::loads::fits_capacity;
use super::{GroupClass, Pair, SdLbStats, SgLbStats, prefers_siblings};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{Misfit, PreferSibling, ZeroImbalance};
use crate::topology::{CpuIdleType, SchedGroup, SdFlags};
use fairground_model::{BalanceFinding, Op};
use fairground_stdx::{CpuId, SgId};

/// Which CPUs of a group are summed up, and how.
#[derive(Clone, Copy)]
struct Look {
    local: bool,
    /// Which of the older loads counts.
    load_idx: u32,
    /// Tasks that need a bigger CPU are looked for.
    misfit: bool,
}

impl Sched {
    /// Kernel: fair.c find_busiest_group(), v4.12–v5.4
    pub(in super::super) fn busiest_group_by_load(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv) -> Option<SgId> {
        let sds = self.sum_up_loads(cx, env);
        let Some(busiest) = sds.busiest else {
            cx.balance_came_to(env, BalanceFinding::NoBusiestGroup, (0, 0));
            return None;
        };
        if self.energy_comes_first(sds.busiest_stat.group_class == GroupClass::MisfitTask) {
            cx.balance_came_to(env, BalanceFinding::EnergyFirst, (0, 0));
            return None;
        }
        if let Some(imbalance) = self.check_asym_packing(env, busiest, &sds.busiest_stat) {
            env.imbalance = imbalance;
            return Some(busiest);
        }
        let pair = self.load_pair(env, &sds);
        let loads = (pair.busiest.avg_load, pair.local.avg_load);
        if !pair.is_imbalanced() {
            cx.balance_came_to(env, BalanceFinding::Balanced, loads);
            return None;
        }
        env.imbalance = pair.calculate_imbalance() as i64;
        env.busiest_misfit = pair.busiest.group_class == GroupClass::MisfitTask;
        let balanced = env.imbalance == 0 && self.profile.zero_imbalance == ZeroImbalance::Balance;
        if balanced {
            cx.balance_came_to(env, BalanceFinding::Balanced, loads);
        }
        (!balanced).then_some(busiest)
    }

    fn load_pair(&self, env: &LbEnv, sds: &SdLbStats) -> Pair<'_> {
        let tasks = u64::from(self.cfs_rq(env.dst_cpu).h_nr_running);
        Pair {
            profile: &self.profile,
            domain: &self.topology.domains[env.sd],
            idle: env.idle,
            local: sds.local_stat,
            busiest: sds.busiest_stat,
            avg_load: sds.total_load.wrapping_mul(1024) / sds.total_capacity,
            dst_load_per_task: self.weighted_cpuload(env.dst_cpu).checked_div(tasks).unwrap_or(0),
        }
    }

    /// Sums of all groups, the local one first.
    ///
    /// Kernel: fair.c update_sd_lb_stats(), v4.12–v5.4
    fn sum_up_loads(&mut self, cx: &mut Ctx<'_, '_>, env: &LbEnv) -> SdLbStats {
        let local = self.topology.domains[env.sd].first_group;
        self.refresh_local_group(cx, env, local);
        let domain = &self.topology.domains[env.sd];
        let prefer_sibling = prefers_siblings(domain.child.map(|child| &self.topology.domains[child]));
        let load_idx = match env.idle {
            CpuIdleType::NotIdle => domain.busy_idx,
            CpuIdleType::NewlyIdle => 0,
            CpuIdleType::Idle => domain.idle_idx,
        };
        let misfit = self.profile.misfit != Misfit::Ignored && domain.flags.has(SdFlags::ASYM_CPUCAPACITY);
        let mut look = Look { local: true, load_idx, misfit };
        let mut overload = false;
        let local_stat = self.sum_up_group(cx, env, local, look, &mut overload);
        let mut sds = SdLbStats {
            local,
            local_stat,
            busiest: None,
            busiest_stat: SgLbStats::EMPTY,
            total_load: local_stat.group_load,
            total_capacity: local_stat.group_capacity,
        };
        look.local = false;
        for group in self.topology.groups_of(env.sd).skip(1) {
            let mut stat = self.sum_up_group(cx, env, group, look, &mut overload);
            if prefer_sibling && self.shall_spread(env, &sds.local_stat, &stat) {
                stat.group_no_capacity = true;
                stat.group_class = stat.classify(self.topology.groups[group].imbalance);
            }
            if self.has_higher_load(env, &sds, group, &stat) {
                (sds.busiest, sds.busiest_stat) = (Some(group), stat);
            }
            sds.total_load += stat.group_load;
            sds.total_capacity += stat.group_capacity;
        }
        self.set_root_overload(env, overload);
        sds
    }

    /// Whether a group has so many tasks more than the local one that they go to siblings first.
    fn shall_spread(&self, env: &LbEnv, local: &SgLbStats, stat: &SgLbStats) -> bool {
        let enough = match self.profile.prefer_sibling {
            PreferSibling::AnyExcess => 1,
            PreferSibling::BeyondLocal => local.sum_nr_running + 1,
        };
        local.has_capacity(self.topology.domains[env.sd].imbalance_pct) && stat.sum_nr_running > enough
    }

    /// Sums and class of a group.
    ///
    /// Kernel: fair.c update_sg_lb_stats(), v4.12–v5.4
    fn sum_up_group(&self, cx: &mut Ctx<'_, '_>, env: &LbEnv, group: SgId, look: Look, overload: &mut bool) -> SgLbStats {
        let (row, pct) = (&self.topology.groups[group], self.topology.domains[env.sd].imbalance_pct);
        let mut stat = SgLbStats { group_capacity: row.capacity, group_weight: u64::from(row.group_weight), ..SgLbStats::EMPTY };
        for cpu in cpus_of(row, env) {
            cx.meter.count(Op::LbCpu);
            self.add_loads_of(cpu, look, &mut stat, overload);
        }
        stat.avg_load = stat.group_load.wrapping_mul(1024) / stat.group_capacity;
        stat.load_per_task = stat.sum_weighted_load.checked_div(stat.sum_nr_running).unwrap_or(0);
        stat.group_no_capacity = stat.is_overloaded(pct);
        stat.group_class = stat.classify(row.imbalance);
        stat
    }

    /// Adds a CPU to the sums of its group.
    fn add_loads_of(&self, cpu: CpuId, look: Look, stat: &mut SgLbStats, overload: &mut bool) {
        let nr_running = self.rqs[cpu].nr_counted();
        stat.group_load += if look.local { self.target_load(cpu, look.load_idx) } else { self.source_load(cpu, look.load_idx) };
        stat.sum_weighted_load += self.weighted_cpuload(cpu);
        stat.group_util += self.cpu_util(cpu);
        stat.sum_nr_running += u64::from(self.cfs_rq(cpu).h_nr_running);
        stat.idle_cpus += u64::from(nr_running == 0 && self.idle_cpu(cpu));
        *overload |= nr_running > 1;
        let misfit_load = self.rqs[cpu].lb.misfit_task_load;
        if look.misfit && stat.group_misfit_task_load < misfit_load {
            stat.group_misfit_task_load = misfit_load;
            *overload = true;
        }
    }

    /// Whether a group is busier than the busiest so far.
    ///
    /// Kernel: fair.c update_sd_pick_busiest(), v4.12–v5.4
    fn has_higher_load(&self, env: &LbEnv, sds: &SdLbStats, group: SgId, stat: &SgLbStats) -> bool {
        let (row, local) = (&self.topology.groups[group], &self.topology.groups[sds.local]);
        let domain = &self.topology.domains[env.sd];
        let best = &sds.busiest_stat;
        let can_help =
            || fits_capacity(row.max_capacity, local.max_capacity) && sds.local_stat.has_capacity(domain.imbalance_pct);
        if stat.group_class == GroupClass::MisfitTask && !can_help() {
            return false;
        }
        if stat.group_class != best.group_class {
            return stat.group_class > best.group_class;
        }
        if stat.avg_load <= best.avg_load {
            return false;
        }
        if domain.flags.has(SdFlags::ASYM_CPUCAPACITY) {
            let no_queue = stat.sum_nr_running <= stat.group_weight;
            let smaller_misfit =
                stat.group_class == GroupClass::MisfitTask && stat.group_misfit_task_load < best.group_misfit_task_load;
            if (no_queue && fits_capacity(local.min_capacity, row.min_capacity)) || smaller_misfit {
                return false;
            }
        }
        self.is_of_lower_priority(env, sds, row, stat)
    }

    /// Where priorities matter to an idle balancer: only groups with tasks that belong on the balancing CPU, that of
    /// the lowest priority first.
    fn is_of_lower_priority(&self, env: &LbEnv, sds: &SdLbStats, row: &SchedGroup, stat: &SgLbStats) -> bool {
        let asked = self.topology.domains[env.sd].flags.has(SdFlags::ASYM_PACKING) && env.idle != CpuIdleType::NotIdle;
        if !asked {
            return true;
        }
        let best = sds.busiest.map(|busiest| self.topology.groups[busiest].asym_prefer_cpu);
        stat.sum_nr_running > 0
            && sched_asym_prefer(env.dst_cpu, row.asym_prefer_cpu)
            && best.is_none_or(|best| sched_asym_prefer(best, row.asym_prefer_cpu))
    }

    /// The idle balancing CPU has a higher priority than the busiest group: all of its load is to be moved.
    ///
    /// Kernel: fair.c check_asym_packing(), v4.12–v5.4
    fn check_asym_packing(&self, env: &LbEnv, busiest: SgId, stat: &SgLbStats) -> Option<i64> {
        let asked = self.topology.domains[env.sd].flags.has(SdFlags::ASYM_PACKING) && env.idle != CpuIdleType::NotIdle;
        let preferred = !sched_asym_prefer(self.topology.groups[busiest].asym_prefer_cpu, env.dst_cpu);
        (asked && preferred).then_some((stat.avg_load.wrapping_mul(stat.group_capacity).wrapping_add(512) / 1024) as i64)
    }
}
