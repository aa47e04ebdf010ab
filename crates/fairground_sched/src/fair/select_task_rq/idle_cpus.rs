//! Which CPUs are idle, as a set.

use crate::Sched;
use fairground_model::Policy;
use fairground_stdx::CpuId;

impl Sched {
    /// What makes a CPU idle has changed there: its running task, its queue or its wake list.
    #[inline]
    pub(crate) fn note_idleness(&mut self, cpu: CpuId) {
        self.group_stats.cpu_changes(cpu);
        if self.idle_cpu(cpu) {
            self.idle_cpus.insert(cpu);
        } else {
            self.idle_cpus.remove(cpu);
        }
    }

    /// A task has this policy from now on: only with tasks of policy SCHED_IDLE a CPU that is not idle may be free.
    pub(crate) fn note_policy(&mut self, policy: Policy) {
        self.has_idle_policy |= policy == Policy::Idle;
        self.note_class(policy);
    }
}
