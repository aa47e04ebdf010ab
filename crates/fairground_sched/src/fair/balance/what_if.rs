//! What balance reads of a CPU's load, what is queued there, and the same state with the one in place of the other: did
//! the statistic mislead?

use crate::Sched;
use crate::seam::{Balance, GroupLoad};
use fairground_model::BalancePass;
use fairground_stdx::{CpuId, CpuMask, SdId, SeId, TaskId, TgId};

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

/// The load of a group's entity as its queue counts it, and as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupReading {
    /// The group.
    pub group: TgId,
    /// How many groups lie above it.
    pub depth: u32,
    /// What is counted.
    pub statistic: &'static str,
    /// Its value, 1024 = a task of nice 0 that always wants to run.
    pub read: u64,
    /// The sum of the loads of the tasks that are queued below it, as its queue should see them.
    pub queued: u64,
    /// How many they are.
    pub tasks: u32,
}

impl Sched {
    /// The entities of groups that are queued on `cpu`, outer ones first, as the queues on which they stand count them.
    ///
    /// Kernel: fair.c enqueue_entity_load_avg(), v4.12–v4.17; enqueue_load_avg(), v4.15–
    pub fn group_readings(&self, cpu: CpuId) -> Vec<GroupReading> {
        let queued = self.ses.ids().filter(|&id| {
            let entity = &self.ses[id];
            entity.on_rq && entity.my_q.is_some() && self.cfs_rqs[entity.cfs_rq].cpu == cpu
        });
        let mut readings: Vec<GroupReading> = queued.filter_map(|id| self.group_reading(cpu, id)).collect();
        readings.sort_by_key(|row| (row.depth, row.group));
        readings
    }

    fn group_reading(&self, cpu: CpuId, group: SeId) -> Option<GroupReading> {
        let (entity, avg) = (&self.ses[group], &self.pelt_se[group]);
        let (statistic, read) = match self.profile.group_load {
            GroupLoad::ViaLoadAvg | GroupLoad::RunnableAvg => ("load_avg", avg.load_avg),
            GroupLoad::Independent | GroupLoad::Reweighted => ("runnable_load_avg", avg.runnable_avg),
        };
        let below: Vec<u64> = self.cfs_tasks_of(cpu).filter_map(|task| self.scaled_load_of(task, Some(group))).collect();
        let (queued, tasks) = (below.iter().sum(), below.len() as u32);
        Some(GroupReading { group: entity.tg?, depth: self.se_depth(group), statistic, read, queued, tasks })
    }

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

    /// The load of a task on its CPU's root queue.
    fn scaled_load(&self, task: TaskId) -> u64 {
        self.scaled_load_of(task, None).expect("invariant: every task has a way up to the root queue")
    }

    /// The load of a task, scaled at each group above it, up to the entity `top` or to the root, by what the group's entity
    /// weighs over what its queue weighs. A group of few tasks does not make them heavier: load is propagated unscaled then.
    /// `None` if it does not lie below `top`.
    ///
    /// Kernel: fair.c calc_cfs_shares(), update_tg_cfs_load(), v4.12–
    fn scaled_load_of(&self, task: TaskId, top: Option<SeId>) -> Option<u64> {
        let mut load = self.se_avg(task).load_avg;
        let mut entity = self.se(task);
        while let Some(parent) = entity.parent {
            let queue = self.cfs_rqs[entity.cfs_rq].load.weight().max(1);
            let group = &self.ses[parent];
            load = load * group.load.weight().min(queue) / queue;
            if top == Some(parent) {
                return Some(load);
            }
            entity = group;
        }
        top.is_none().then_some(load)
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
