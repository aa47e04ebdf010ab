//! What placement and balance read of CPUs and tasks: whether they are idle, how loaded, how capable.
//!
//! Kernels read these without locks, as they stand: nothing here ages an average, and the clock of an idle CPU stands
//! still. The one exception is [`Sched::task_h_load`], which the kernel caches for a jiffy, and so do we.
//!
//! Loads are unsigned longs that wrap, and so do their products with capacities and percents ([`SchedAvg`]).

use crate::Sched;
use crate::pelt::SchedAvg;
use crate::rq::Rq;
use crate::seam::Pressure;
use crate::task::TaskState;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, SdId, TaskId};

/// A task fits a CPU if that has a quarter more than the task uses: 1280/1024.
///
/// Kernel: fair.c fits_capacity(), v5.4– (capacity_margin before)
#[inline]
pub(crate) const fn fits_capacity(util: u64, capacity: u64) -> bool {
    util * 1280 < capacity * 1024
}

/// Whether a capacity is greater than another by more than 5 %.
///
/// Kernel: fair.c capacity_greater(), v5.13– (group_smaller_min_cpu_capacity() with the margin of a quarter before)
#[inline]
pub(crate) const fn capacity_greater(a: u64, b: u64) -> bool {
    a * 1024 > b * 1078
}

impl Sched {
    /// Whether a CPU has nothing to do and nothing on its way.
    ///
    /// Kernel: core.c idle_cpu(), v4.12–
    #[inline]
    pub(crate) fn idle_cpu(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].idle()
    }

    /// As [`Sched::idle_cpu`]; no CPU of the model is taken away by a hypervisor.
    ///
    /// Kernel: core.c available_idle_cpu(), v4.19–
    #[inline]
    pub(crate) fn available_idle_cpu(&self, cpu: CpuId) -> bool {
        self.idle_cpu(cpu)
    }

    /// Whether a CPU has tasks, but of policy SCHED_IDLE only.
    ///
    /// Kernel: fair.c sched_idle_cpu(), v5.4–
    #[inline]
    pub(crate) fn sched_idle_cpu(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        rq.nr_running != 0 && rq.nr_counted() == self.cfs_rqs[rq.cfs].idle_h_nr_running
    }

    /// Load of the tasks that want to run on a CPU.
    ///
    /// Kernel: fair.c weighted_cpuload(), v4.12–v5.2
    #[inline]
    pub(crate) fn weighted_cpuload(&self, cpu: CpuId) -> u64 {
        self.cfs_avg(cpu).runnable_avg
    }

    /// The load of a source: the present one or, if that is smaller, an older one. `index` chooses how old.
    ///
    /// Kernel: fair.c source_load(), v4.12–v5.2
    #[inline]
    pub(crate) fn source_load(&self, cpu: CpuId, index: u32) -> u64 {
        let now = self.weighted_cpuload(cpu);
        self.older_load(cpu, index).map_or(now, |old| old.min(now))
    }

    /// The load of a target: the present one or, if that is greater, an older one. `index` chooses how old.
    ///
    /// Kernel: fair.c target_load(), v4.12–v5.2
    #[inline]
    pub(crate) fn target_load(&self, cpu: CpuId, index: u32) -> u64 {
        let now = self.weighted_cpuload(cpu);
        self.older_load(cpu, index).map_or(now, |old| old.max(now))
    }

    fn older_load(&self, cpu: CpuId, index: u32) -> Option<u64> {
        let place = (index as usize).checked_sub(1).filter(|_| self.profile.feats.has(Feat::LB_BIAS))?;
        Some(self.rqs[cpu].lb.cpu_load[place])
    }

    /// Load of a CPU, that of its sleepers included.
    ///
    /// Kernel: fair.c cpu_load(), v5.5–
    #[inline]
    pub(crate) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.cfs_avg(cpu).load_avg
    }

    /// Load of a CPU without `h_load`, the hierarchical load of `task`, if the task slept there last.
    ///
    /// Kernel: fair.c cpu_load_without(), v5.5–
    pub(crate) fn cpu_load_without(&self, cpu: CpuId, task: TaskId, h_load: u64) -> u64 {
        let load = self.cpu_load(cpu);
        if self.contributes(cpu, task) { load.saturating_sub(h_load) } else { load }
    }

    /// Tasks that want to run on a CPU on average, times 1024.
    ///
    /// Kernel: fair.c cpu_runnable(), v5.7–
    #[inline]
    pub(crate) fn cpu_runnable(&self, cpu: CpuId) -> u64 {
        self.cfs_avg(cpu).runnable_avg
    }

    /// Average number of runnable tasks of a CPU, times 1024, without the part of `task`, which slept there last.
    ///
    /// Kernel: fair.c cpu_runnable_without(), v5.7–
    pub(crate) fn cpu_runnable_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let runnable = self.cpu_runnable(cpu);
        if self.contributes(cpu, task) { runnable.saturating_sub(self.se_avg(task).runnable_avg) } else { runnable }
    }

    /// Utilisation of a CPU by fair tasks, at most its capacity.
    ///
    /// Kernel: fair.c cpu_util(), cpu_util_cfs() from v6.6, v4.12–
    #[inline]
    pub(crate) fn cpu_util(&self, cpu: CpuId) -> u64 {
        self.cpu_util_cfs(&self.rqs[cpu], self.cfs_avg(cpu))
    }

    /// The same, of the averages of a CPU's root queue.
    #[inline]
    pub(crate) fn cpu_util_cfs(&self, rq: &Rq, avg: &SchedAvg) -> u64 {
        let estimated = if self.profile.feats.has(Feat::UTIL_EST) { avg.util_est.enqueued } else { 0 };
        u64::from(avg.util_avg.max(estimated)).min(u64::from(rq.lb.cpu_capacity_orig))
    }

    /// That utilisation without what `task` has in it. A task that is still queued there (exec) is in the estimate too.
    ///
    /// Kernel: fair.c cpu_util_without(), cpu_util_wake() before v4.19, v4.12–
    pub(crate) fn cpu_util_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        if !self.contributes(cpu, task) {
            return self.cpu_util(cpu);
        }
        let avg = self.cfs_avg(cpu);
        let mut util = u64::from(avg.util_avg).saturating_sub(self.task_util(task));
        if self.profile.feats.has(Feat::UTIL_EST) {
            let queued = matches!(self.tasks[task].state, TaskState::Running | TaskState::Queued);
            let own = if queued { self.profile.util_est.task_estimate(self.se_avg(task)) } else { 0 };
            util = util.max(u64::from(avg.util_est.enqueued.saturating_sub(own)));
        }
        util.min(self.capacity_orig_of(cpu))
    }

    /// Whether the averages of a CPU have a task in them: it ran there last, and is attached there.
    pub(crate) fn contributes(&self, cpu: CpuId, task: TaskId) -> bool {
        self.tasks[task].cpu == cpu && self.se_avg(task).last_update_time != 0
    }

    /// Utilisation of a task.
    ///
    /// Kernel: fair.c task_util(), v4.12–
    #[inline]
    pub(crate) fn task_util(&self, task: TaskId) -> u64 {
        u64::from(self.se_avg(task).util_avg)
    }

    /// Utilisation of a task, or its estimate from the last activations if that is larger.
    ///
    /// Kernel: fair.c task_util_est(), v4.17– (task_util() before)
    #[inline]
    pub(crate) fn task_util_est(&self, task: TaskId) -> u64 {
        let avg = self.se_avg(task);
        u64::from(avg.util_avg.max(self.profile.util_est.task_estimate(avg)))
    }

    /// Capacity of a CPU that is left for fair tasks.
    ///
    /// Kernel: fair.c capacity_of(), v4.12–
    #[inline]
    pub(crate) fn capacity_of(&self, cpu: CpuId) -> u64 {
        u64::from(self.rqs[cpu].lb.cpu_capacity)
    }

    /// Capacity of a CPU before interrupts and other classes take their part.
    ///
    /// Kernel: fair.c capacity_orig_of(), v4.12– (arch_scale_cpu_capacity() from v6.7)
    #[inline]
    pub(crate) fn capacity_orig_of(&self, cpu: CpuId) -> u64 {
        u64::from(self.rqs[cpu].lb.cpu_capacity_orig)
    }

    /// What is left of that under pressure: with thermal pressure what it has lost now, later on average.
    ///
    /// Kernel: fair.c get_actual_cpu_capacity(), v6.10– (capacity_orig_of() less arch_scale_thermal_pressure() before)
    #[inline]
    pub(crate) fn actual_capacity_of(&self, cpu: CpuId) -> u64 {
        let lost = match self.profile.pressure {
            Pressure::None => 0,
            Pressure::Thermal => u64::from(self.rqs[cpu].hw_pressure),
            Pressure::Hardware => self.rqs[cpu].lost_capacity(),
        };
        self.capacity_orig_of(cpu).saturating_sub(lost)
    }

    /// Whether a CPU lost so much of its capacity to interrupts and other classes that it matters in this domain.
    ///
    /// Kernel: fair.c check_cpu_capacity(), v4.12–
    #[inline]
    pub(crate) fn check_cpu_capacity(&self, cpu: CpuId, sd: SdId) -> bool {
        let pct = u64::from(self.topology.domains[sd].imbalance_pct);
        self.capacity_of(cpu) * pct < self.capacity_orig_of(cpu) * 100
    }
}
