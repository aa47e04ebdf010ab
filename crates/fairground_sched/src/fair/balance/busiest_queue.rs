//! From which CPU of the busiest group something is taken.

use super::busiest_group::{cpus_of, sched_asym_prefer};
use super::loads::capacity_greater;
use super::{LbEnv, MigrationType};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{AsymPacking, Balance, BiggerCapacity, EmptyQueue, RunnableBoost};
use crate::topology::SdFlags;
use fairground_stdx::{CpuId, SgId};

/// The CPU with the highest load over capacity so far; the first of equals stays.
#[derive(Clone, Copy)]
struct HighestLoad {
    cpu: Option<CpuId>,
    load: u64,
    capacity: u64,
}

impl HighestLoad {
    const NONE: HighestLoad = HighestLoad { cpu: None, load: 0, capacity: 1 };

    /// load(a) / capacity(a) > load(b) / capacity(b), without the divisions.
    fn consider(&mut self, cpu: CpuId, load: u64, capacity: u64) {
        if load.wrapping_mul(self.capacity) > self.load.wrapping_mul(capacity) {
            *self = HighestLoad { cpu: Some(cpu), load, capacity };
        }
    }
}

impl Sched {
    /// Finds the CPU of the busiest group that has most of what is to be moved.
    ///
    /// Kernel: fair.c find_busiest_queue(), sched_balance_find_src_rq() from v6.10, v4.12–
    pub(crate) fn find_busiest_queue(&mut self, cx: &mut Ctx<'_, '_>, env: &LbEnv, group: SgId) -> Option<CpuId> {
        match self.profile.balance {
            Balance::LoadBased => self.busiest_queue_by_load(env, group),
            Balance::GroupType => self.busiest_queue_by_type(cx, env, group),
        }
    }

    /// Kernel: fair.c find_busiest_queue(), v4.12–v5.4
    fn busiest_queue_by_load(&self, env: &LbEnv, group: SgId) -> Option<CpuId> {
        let asymmetric = self.topology.domains[env.sd].flags.has(SdFlags::ASYM_CPUCAPACITY);
        let mut highest = HighestLoad::NONE;
        for cpu in cpus_of(&self.topology.groups[group], env) {
            if env.busiest_misfit {
                highest.consider(cpu, self.rqs[cpu].lb.misfit_task_load, 1);
                continue;
            }
            let (capacity, load) = (self.capacity_of(cpu), self.weighted_cpuload(cpu));
            let alone = self.rqs[cpu].nr_running == 1;
            let bigger = self.knows_misfits() && asymmetric && self.capacity_of(env.dst_cpu) < capacity;
            if !(alone && (bigger || self.is_too_much(env, cpu, load))) {
                highest.consider(cpu, load, capacity);
            }
        }
        highest.cpu
    }

    /// Whether the load of a CPU is that of one task that is more than what is to be moved. On a CPU that lost much of
    /// its capacity it is taken all the same: an active balance will move it.
    fn is_too_much(&self, env: &LbEnv, cpu: CpuId, load: u64) -> bool {
        load as i64 > env.imbalance && !self.check_cpu_capacity(cpu, env.sd)
    }

    /// Kernel: fair.c find_busiest_queue(), sched_balance_find_src_rq() from v6.10, v5.5–
    fn busiest_queue_by_type(&self, cx: &Ctx<'_, '_>, env: &LbEnv, group: SgId) -> Option<CpuId> {
        let mut highest = HighestLoad::NONE;
        for cpu in cpus_of(&self.topology.groups[group], env) {
            let tasks = self.balance_h_nr_running(cpu);
            let passed_over = tasks == 0 && self.profile.empty_queue == EmptyQueue::PassedOver;
            if passed_over || (tasks == 1 && self.keeps_its_task(cx, env, cpu)) {
                continue;
            }
            match env.migration {
                MigrationType::Load => {
                    let load = self.cpu_load(cpu);
                    if !(tasks == 1 && self.is_too_much(env, cpu, load)) {
                        highest.consider(cpu, load, self.capacity_of(cpu));
                    }
                }
                // The one task of a CPU runs: nothing could be detached.
                MigrationType::Util if tasks <= 1 => {}
                MigrationType::Util => highest.consider(cpu, self.cpu_util_boosted(cpu), 1),
                MigrationType::Task => highest.consider(cpu, u64::from(tasks), 1),
                MigrationType::Misfit => highest.consider(cpu, self.rqs[cpu].lb.misfit_task_load, 1),
            }
        }
        highest.cpu
    }

    /// Whether the one task of a CPU is better off there: it is bigger, or of a higher priority.
    fn keeps_its_task(&self, cx: &Ctx<'_, '_>, env: &LbEnv, cpu: CpuId) -> bool {
        let flags = self.topology.domains[env.sd].flags;
        let (here, there) = (self.capacity_of(env.dst_cpu), self.capacity_of(cpu));
        let bigger = || match self.profile.bigger_capacity {
            BiggerCapacity::Quarter => here < there,
            BiggerCapacity::Twentieth => !capacity_greater(here, there),
        };
        let preferred = || match self.profile.asym_packing {
            AsymPacking::Priority => false,
            AsymPacking::BusyThreads => sched_asym_prefer(cpu, env.dst_cpu),
            AsymPacking::IdleCore => self.uses_asym_prio(cx, env.sd, cpu) && sched_asym_prefer(cpu, env.dst_cpu),
        };
        (flags.has(SdFlags::ASYM_CPUCAPACITY) && bigger()) || (flags.has(SdFlags::ASYM_PACKING) && preferred())
    }

    /// Utilisation of a CPU; where it is boosted, tasks that wait count too.
    ///
    /// Kernel: fair.c cpu_util_cfs_boost(), v6.5– (cpu_util() before)
    fn cpu_util_boosted(&self, cpu: CpuId) -> u64 {
        let util = self.cpu_util(cpu);
        match self.profile.runnable_boost {
            RunnableBoost::Off => util,
            RunnableBoost::On | RunnableBoost::WithTask => util.max(self.cpu_runnable(cpu)).min(self.capacity_orig_of(cpu)),
        }
    }
}
