//! Groups whose tasks belong elsewhere: on a CPU of higher priority, or on a core with an idle thread less.

use super::super::busiest_group::sched_asym_prefer;
use super::{LbEnv, SdLbStats, SgLbStats};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{AsymPacking, SiblingBalance};
use crate::topology::{CpuIdleType, SchedGroup, SdFlags};
use fairground_stdx::{CpuId, SdId};

impl Sched {
    /// Whether the idle balancing CPU has a higher priority than the group, which has tasks.
    ///
    /// Kernel: fair.c sched_asym(), sched_group_asym() from v6.9, v5.5–
    pub(super) fn group_asym(&self, cx: &Ctx<'_, '_>, env: &LbEnv, sds: &SdLbStats, stat: &SgLbStats, row: &SchedGroup) -> bool {
        let asked = self.topology.domains[env.sd].flags.has(SdFlags::ASYM_PACKING)
            && env.idle != CpuIdleType::NotIdle
            && stat.sum_h_nr_running > 0;
        if !asked {
            return false;
        }
        let busy_cpus = stat.sums.group_weight - stat.idle_cpus;
        let group_is_smt = row.flags.has(SdFlags::SHARE_CPUCAPACITY);
        let preferred = sched_asym_prefer(env.dst_cpu, row.asym_prefer_cpu);
        match self.profile.asym_packing {
            AsymPacking::Priority => preferred,
            AsymPacking::BusyThreads => self.relieves_busy_threads(env.sd, sds, group_is_smt, busy_cpus, preferred),
            AsymPacking::IdleCore => {
                (!group_is_smt || busy_cpus == 1) && self.uses_asym_prio(cx, env.sd, env.dst_cpu) && preferred
            }
        }
    }

    /// Kernel: fair.c asym_smt_can_pull_tasks(), v5.16–v6.4
    fn relieves_busy_threads(&self, sd: SdId, sds: &SdLbStats, group_is_smt: bool, busy_cpus: u64, preferred: bool) -> bool {
        let local = &sds.local_stat;
        let local_flags = self.topology.domains[sd].local_flags.unwrap_or(self.topology.groups[sds.local].flags);
        let local_is_smt = local_flags.has(SdFlags::SHARE_CPUCAPACITY);
        match (local_is_smt, group_is_smt) {
            (false, _) => busy_cpus >= 2 || preferred,
            (true, true) => busy_cpus == local.sums.group_weight - local.idle_cpus + 1 && preferred,
            (true, false) => local.sums.sum_nr_running == 0 && preferred,
        }
    }

    /// Whether the priority of a CPU counts in a domain: that of one core's threads always, else if the other threads
    /// of its core are idle.
    ///
    /// Kernel: fair.c sched_use_asym_prio(), v6.5–
    pub(in super::super) fn uses_asym_prio(&self, cx: &Ctx<'_, '_>, sd: SdId, cpu: CpuId) -> bool {
        let mut others = cx.machine.cpus[cpu].smt.iter().filter(|&sibling| sibling != cpu);
        self.topology.domains[sd].flags.has(SdFlags::SHARE_CPUCAPACITY) || others.all(|sibling| self.idle_cpu(sibling))
    }

    /// Whether the group is a core that shares its capacity among several tasks, and the balancing CPU is idle.
    ///
    /// Kernel: fair.c smt_balance(), v6.6–
    pub(super) fn group_smt(&self, env: &LbEnv, stat: &SgLbStats, row: &SchedGroup) -> bool {
        self.profile.sibling_balance == SiblingBalance::ByCores
            && env.idle != CpuIdleType::NotIdle
            && row.flags.has(SdFlags::SHARE_CPUCAPACITY)
            && stat.sum_h_nr_running > 1
    }
}
