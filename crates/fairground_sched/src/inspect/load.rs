//! What balance reads of a CPU's load, what is queued there, and the same state with the one in place of the other: did
//! the statistic mislead?

use crate::Sched;
use fairground_model::BalancePass;
use fairground_stdx::{CfsRqId, CpuId, CpuMask, SdId, SeId, TgId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The load of a CPU as balance reads it, and as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadReading {
    /// The CPU.
    pub cpu: CpuId,
    /// What is read.
    pub statistic: &'static str,
    /// Its value, 1024 = a task of nice 0 that always wants to run.
    pub read: u64,
    /// The sum of the loads of the tasks that are queued there, the running one included; for those of a group the share
    /// of the group that they make ([`Sched::read_queued_loads`]).
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
    /// The share of the group that the tasks make which are queued below it.
    pub queued: u64,
    /// How many they are.
    pub tasks: u32,
}

/// What is queued on a queue, the groups on it included.
#[derive(Clone, Copy, Default)]
struct Queued {
    load: u64,
    tasks: u32,
}

impl Queued {
    fn add(&mut self, other: Queued) {
        self.load += other.load;
        self.tasks += other.tasks;
    }
}

impl Sched {
    /// The entities of groups with queued tasks on `cpu`, outer ones first, as the queues on which they stand count them.
    ///
    /// Kernel: fair.c enqueue_entity_load_avg(), v4.12–v4.17; enqueue_load_avg(), v4.15–
    pub fn group_readings(&self, cpu: CpuId) -> Vec<GroupReading> {
        let mut readings = Vec::new();
        self.queued_on(cpu, |group, queued| readings.extend(self.group_reading(group, queued)));
        readings.sort_by_key(|row| (row.depth, row.group));
        readings
    }

    fn group_reading(&self, group: SeId, Queued { load: queued, tasks }: Queued) -> Option<GroupReading> {
        let avg = &self.pelt_se[group];
        let (statistic, read) = match self.profile.group_load.has_runnable_load() {
            true => ("runnable_load_avg", avg.runnable_avg),
            false => ("load_avg", avg.load_avg),
        };
        Some(GroupReading { group: self.ses[group].tg?, depth: self.se_depth(group), statistic, read, queued, tasks })
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
        let (statistic, read) = match self.profile.balance.is_load_based() {
            true if self.source_load(cpu, index) == self.weighted_cpuload(cpu) => {
                ("weighted_cpuload", self.weighted_cpuload(cpu))
            }
            true => ("source_load", self.source_load(cpu, index)),
            false => ("cpu_load", self.cpu_load(cpu)),
        };
        let Queued { load: queued, tasks } = self.queued_on(cpu, |_, _| ());
        LoadReading { cpu, statistic, read, queued, tasks }
    }

    /// What is queued on `cpu`, as its root queue should see it. `each` gets that of each entity of a group, inner ones
    /// first.
    ///
    /// ```text
    /// load of a queue           = loads of the tasks that are queued on it + those of the groups' entities on it
    /// load of a group's entity  = shares * L / (tg.load_avg - what its queue has told of its load + L)
    /// L                         = load of the queue below
    /// ```
    ///
    /// So sleepers do not count on their own CPU; on others they do in tg.load_avg, by which all kernels share a group out.
    ///
    /// Kernel: fair.c calc_cfs_shares(), calc_group_shares() from v4.15, v4.12–
    fn queued_on(&self, cpu: CpuId, mut each: impl FnMut(SeId, Queued)) -> Queued {
        let mut queues: BTreeMap<(Reverse<u32>, CfsRqId), Queued> = BTreeMap::new();
        let add = |queues: &mut BTreeMap<_, Queued>, queue: CfsRqId, queued: Queued| {
            queues.entry((Reverse(self.cfs_rqs[queue].depth), queue)).or_default().add(queued);
        };
        for task in self.cfs_tasks_of(cpu) {
            add(&mut queues, self.se(task).cfs_rq, Queued { load: self.se_avg(task).load_avg, tasks: 1 });
        }
        // The deepest queue is complete: nothing stands below it.
        while let Some(((_, queue), queued)) = queues.pop_first() {
            let Some(group) = self.cfs_rqs[queue].se else { return queued };
            let share = Queued { load: self.shares_scaled_down(queue, queued.load), ..queued };
            each(group, share);
            add(&mut queues, self.ses[group].cfs_rq, share);
        }
        Queued::default()
    }

    /// What if balance read the load that is queued on each CPU? From now on, until the next account of load, it does. A
    /// group counts on each CPU with the share of its weight that its queued tasks there make.
    pub fn read_queued_loads(&mut self) {
        for cpu in self.cpu_ids() {
            let queued = self.queued_on(cpu, |_, _| ()).load;
            let queue = self.rqs[cpu].cfs;
            if self.profile.balance.is_load_based() {
                self.pelt_cfs[queue].runnable_avg = queued;
                self.rqs[cpu].lb.cpu_load = [queued; 5];
            } else {
                self.pelt_cfs[queue].load_avg = queued;
            }
        }
        self.group_stats.forget();
    }

    /// The CPUs on line that have nothing to do and nothing on their way, as placement and balance see it.
    pub fn idle_cpus(&self) -> CpuMask {
        self.idle_cpus.iter().filter(|&cpu| self.rqs[cpu].online).collect()
    }
}
