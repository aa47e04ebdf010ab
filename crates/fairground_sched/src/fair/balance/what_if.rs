//! What balance reads of a CPU's load, what is queued there, and the same state with the one in place of the other: did
//! the statistic mislead?

use crate::Sched;
use crate::seam::Balance;
use fairground_model::BalancePass;
use fairground_stdx::{CpuId, CpuMask, SdId, TaskId};

/// The load of a CPU as balance reads it, and as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadReading {
    /// The CPU.
    pub cpu: CpuId,
    /// What is read.
    pub statistic: &'static str,
    /// Its value, 1024 = a task of nice 0 that always wants to run.
    pub read: u64,
    /// The sum of the loads of the tasks that are queued there, the running one included.
    pub queued: u64,
    /// How many they are.
    pub tasks: u32,
}

impl Sched {
    /// The load of `cpu` as a balance of `domain` reads it.
    ///
    /// Kernel: fair.c source_load(), v4.12–v5.2; cpu_load(), v5.5–
    pub fn load_reading(&self, cpu: CpuId, domain: SdId, pass: BalancePass) -> LoadReading {
        let row = &self.topology.domains[domain];
        let index = match pass {
            BalancePass::Newidle => 0,
            BalancePass::BusyTick => row.busy_idx,
            BalancePass::Idle => row.idle_idx,
        };
        let (statistic, read) = match self.profile.balance {
            Balance::LoadBased if self.source_load(cpu, index) == self.weighted_cpuload(cpu) => {
                ("weighted_cpuload", self.weighted_cpuload(cpu))
            }
            Balance::LoadBased => ("source_load", self.source_load(cpu, index)),
            Balance::GroupType => ("cpu_load", self.cpu_load(cpu)),
        };
        let tasks = self.cfs_tasks_of(cpu).count() as u32;
        LoadReading { cpu, statistic, read, queued: self.queued_load(cpu), tasks }
    }

    /// Sum of the loads of the tasks that are queued on `cpu`, each as its CPU's root queue should see it.
    fn queued_load(&self, cpu: CpuId) -> u64 {
        self.cfs_tasks_of(cpu).map(|task| self.scaled_load(task)).sum()
    }

    /// The load of a task, scaled at each group above it by what the group's entity weighs over what its queue weighs.
    /// A group of few tasks does not make them heavier: load is propagated unscaled then.
    ///
    /// Kernel: fair.c calc_cfs_shares(), update_tg_cfs_load(), v4.12–
    fn scaled_load(&self, task: TaskId) -> u64 {
        let mut load = self.se_avg(task).load_avg;
        let mut entity = self.se(task);
        while let Some(parent) = entity.parent {
            let queue = self.cfs_rqs[entity.cfs_rq].load.weight().max(1);
            let group = &self.ses[parent];
            load = load * group.load.weight().min(queue) / queue;
            entity = group;
        }
        load
    }

    /// What if balance read the load that is queued on each CPU? From now on, until the next account of load, it does.
    pub fn read_queued_loads(&mut self) {
        for cpu in self.cpu_ids() {
            let queued = self.queued_load(cpu);
            let queue = self.rqs[cpu].cfs;
            match self.profile.balance {
                Balance::LoadBased => {
                    self.pelt_cfs[queue].runnable_avg = queued;
                    self.rqs[cpu].lb.cpu_load = [queued; 5];
                }
                Balance::GroupType => self.pelt_cfs[queue].load_avg = queued,
            }
        }
        self.group_stats.forget();
    }

    /// The CPUs that have nothing to do and nothing on their way, as placement and balance see it.
    pub fn idle_cpus(&self) -> CpuMask {
        self.cpu_ids().filter(|&cpu| self.idle_cpu(cpu)).collect()
    }
}
