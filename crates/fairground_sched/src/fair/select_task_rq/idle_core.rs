//! Cores all of whose threads are idle.

use super::Placing;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::IdleSearch;
use fairground_model::Op;
use fairground_stdx::{CpuId, CpuMask, SdId};

impl Sched {
    /// Whether there may be an idle core in the cache domain of `cpu`.
    ///
    /// Kernel: fair.c test_idle_cores(), v4.12–
    pub(super) fn test_idle_cores(&self, cpu: CpuId) -> bool {
        self.topology.cpus[cpu].sd_llc_shared.is_some_and(|shared| self.topology.shared[shared].has_idle_cores)
    }

    /// Kernel: fair.c set_idle_cores(), v4.12–
    pub(super) fn set_idle_cores(&mut self, cpu: CpuId, any: bool) {
        if let Some(shared) = self.topology.cpus[cpu].sd_llc_shared {
            self.topology.shared[shared].has_idle_cores = any;
        }
    }

    /// `cpu` switches to its idle task: if its siblings are idle too, its cache domain has an idle core.
    ///
    /// Kernel: fair.c __update_idle_core(), v4.12–
    #[inline]
    pub(crate) fn update_idle_core(&mut self, cpu: CpuId) {
        if !self.topology.smt_active || self.test_idle_cores(cpu) {
            return;
        }
        let mut siblings = self.topology.threads.of(cpu).iter().filter(|&&sibling| sibling != cpu);
        if siblings.all(|&sibling| self.idle_cpus.contains(sibling)) {
            self.set_idle_cores(cpu, true);
        }
    }

    /// Whether all threads of the core of `cpu` are idle. A thread of a busy core that the task may use is kept in
    /// `candidate`; once there is one the first busy thread ends the look. `looks` counts them.
    ///
    /// Kernel: fair.c select_idle_core(), v5.12–
    #[inline]
    pub(super) fn is_core_idle(&self, allowed: &CpuMask, cpu: CpuId, candidate: &mut Option<CpuId>, looks: &mut u64) -> bool {
        let mut idle = true;
        for &sibling in self.topology.threads.of(cpu) {
            *looks += 1;
            if self.idle_cpus.contains(sibling) {
                if candidate.is_none() && allowed.contains(sibling) {
                    *candidate = Some(sibling);
                }
                continue;
            }
            idle = false;
            if candidate.is_some() {
                break;
            }
            if self.has_idle_policy && self.sched_idle_cpu(sibling) && allowed.contains(sibling) {
                *candidate = Some(sibling);
                break;
            }
        }
        idle
    }

    /// A free thread of the core of `of`.
    ///
    /// Kernel: fair.c select_idle_smt(), v4.12–
    pub(super) fn select_idle_smt(&self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId, of: CpuId) -> Option<CpuId> {
        let allowed = &self.tasks[placing.task].cpus_allowed;
        let span = &self.topology.domains[sd].span;
        let others_only = self.profile.idle_search == IdleSearch::OnePassOthers;
        let usable = |sibling: CpuId| allowed.contains(sibling) && span.contains(sibling);
        for &sibling in self.topology.threads.of(of) {
            if others_only && (sibling == of || !usable(sibling)) {
                continue;
            }
            cx.meter.count(Op::ScanCpu);
            if usable(sibling) && self.is_free(sibling) {
                return Some(sibling);
            }
        }
        None
    }

    /// Takes the threads of the core of `cpu` out of `cpus`.
    pub(super) fn remove_core(&self, cpus: &mut CpuMask, cpu: CpuId) {
        for &sibling in self.topology.threads.of(cpu) {
            cpus.remove(sibling);
        }
    }
}
