//! What is known of idle cores, and the siblings of a CPU.

use super::Placing;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::IdleSearch;
use fairground_stdx::{CpuId, SdId};

impl Sched {
    /// Whether there may be an idle core in the cache domain of `cpu`, or from v7.2 on among all capacities where they differ.
    ///
    /// Kernel: fair.c test_idle_cores(), v4.12–
    pub(super) fn test_idle_cores(&self, cpu: CpuId) -> bool {
        self.topology.cpus[cpu].idle_cores_shared.is_some_and(|shared| self.topology.shared[shared].has_idle_cores)
    }

    /// Kernel: fair.c set_idle_cores(), v4.12–
    pub(super) fn set_idle_cores(&mut self, cpu: CpuId, any: bool) {
        if let Some(shared) = self.topology.cpus[cpu].idle_cores_shared {
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

    /// A free thread of the core of `of`.
    ///
    /// Kernel: fair.c select_idle_smt(), v4.12–
    pub(super) fn select_idle_smt(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId, of: CpuId) -> Option<CpuId> {
        let others_only = self.profile.idle_search == IdleSearch::OnePassOthers;
        for index in 0..self.topology.threads.of(of).len() {
            let sibling = self.topology.threads.of(of)[index];
            let allowed = self.tasks[placing.task].cpus_allowed.contains(sibling);
            let usable = allowed && self.topology.domains[sd].span.contains(sibling);
            if others_only && (sibling == of || !usable) {
                continue;
            }
            self.look(cx, sibling);
            if usable && self.is_free(placing.task, sibling) {
                return Some(sibling);
            }
        }
        None
    }
}
