//! What must always hold of the state of balance.

use super::BalanceWork;
use crate::Sched;
use crate::check::{Broken, hold};
use crate::pelt::SCHED_CAPACITY_SCALE;
use crate::task::TaskState;
use crate::topology::SchedDomain;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    pub(crate) fn check_balance(&self) -> Result<(), Broken> {
        self.rqs.ids().try_for_each(|cpu| self.check_cfs_tasks(cpu))?;
        self.check_detached()?;
        self.check_busy_counts()?;
        self.check_groups()?;
        self.check_group_stats()
    }

    /// The list of a CPU's tasks holds those that are queued there, each once.
    fn check_cfs_tasks(&self, cpu: CpuId) -> Result<(), Broken> {
        let mut listed: Vec<TaskId> = Vec::new();
        let mut next = self.cfs_tasks_candidate(cpu);
        while let Some(task) = next.filter(|_| listed.len() <= self.tasks.len()) {
            let here = self.tasks[task].cpu == cpu && self.ses[self.tasks[task].se].on_rq;
            hold(here, || format!("{task:?} stands on the list of CPU {cpu}, but is queued elsewhere or nowhere"))?;
            listed.push(task);
            next = self.cfs_tasks_after(task);
        }
        // Throttled ones too, which do not count as running.
        let queued = self.tasks.iter().filter(|task| task.cpu == cpu && self.ses[task.se].on_rq).count();
        let listed = listed.len();
        hold(listed == queued, || format!("CPU {cpu} has {queued} tasks and lists {listed} for balance"))
    }

    /// A task that is on its way is in the hands of a balance, or else it would never arrive.
    fn check_detached(&self) -> Result<(), Broken> {
        let carried: Vec<TaskId> = self.balance_works.iter().flat_map(BalanceWork::in_flight).copied().collect();
        for (id, task) in self.tasks.iter_enumerated() {
            let lost = task.state == TaskState::Migrating && !carried.contains(&id);
            hold(!lost, || format!("{id:?} was detached and no balance will attach it"))?;
        }
        let locked = self.balance_works.iter().filter(|work| work.holds_serialize_lock(self)).count();
        hold(locked == usize::from(self.balancing), || {
            format!("{locked} balances of domains that one at a time may balance; the lock says {}", self.balancing)
        })
    }

    /// The counts of idle and busy CPUs are those that a recount gives.
    fn check_busy_counts(&self) -> Result<(), Broken> {
        for (cpu, rq) in self.rqs.iter_enumerated() {
            let listed = self.nohz.idle_cpus_mask.contains(cpu);
            hold(listed == rq.lb.nohz_tick_stopped, || format!("CPU {cpu} has no tick, or has one, against idle_cpus_mask"))?;
        }
        let listed = self.nohz.idle_cpus_mask.weight();
        hold(listed == self.nohz.nr_cpus as usize, || {
            format!("{listed} CPUs without a tick are counted as {}", self.nohz.nr_cpus)
        })?;
        for (shared, row) in self.topology.shared.iter_enumerated() {
            let of_it = |sd: &&SchedDomain| sd.shared == Some(shared);
            let Some(begun) = self.topology.domains.iter().find(of_it).map(|sd| sd.span_weight) else { continue };
            let members = self.topology.cpus.iter_enumerated().filter(|cpu| cpu.1.sd_llc_shared == Some(shared));
            let (counted, idle) =
                members.fold((0, 0), |(all, idle), (cpu, _)| (all + 1, idle + u32::from(self.rqs[cpu].lb.counted_idle)));
            // It begins with all CPUs of its domain. In v7.2 one of them may have another record: it counts here for ever. Caches inside of
            // the last level have records of their own, which nobody counts.
            hold(counted == 0 || row.nr_busy_cpus + idle == begun, || {
                format!("a cache counts {} busy CPUs, and of {begun} {idle} are idle", row.nr_busy_cpus)
            })?;
        }
        Ok(())
    }

    /// A group's capacity lies between what its weakest CPU and as many full ones would give.
    fn check_groups(&self) -> Result<(), Broken> {
        for (id, group) in self.topology.groups.iter_enumerated() {
            let most = u64::from(group.group_weight) * SCHED_CAPACITY_SCALE;
            let between = group.min_capacity <= group.capacity && (1..=most).contains(&group.capacity);
            hold(between, || {
                format!("{id:?} of {} CPUs has capacity {}, the least {}", group.group_weight, group.capacity, group.min_capacity)
            })?;
        }
        Ok(())
    }
}

impl BalanceWork {
    /// The tasks that it has taken off one queue and will put on another.
    fn in_flight(&self) -> &[TaskId] {
        match self {
            BalanceWork::Softirq(softirq) => softirq.in_flight(),
            BalanceWork::Newidle(newidle) => newidle.in_flight(),
            BalanceWork::Push(push) => push.in_flight(),
            BalanceWork::None => &[],
        }
    }

    fn holds_serialize_lock(&self, sched: &Sched) -> bool {
        match self {
            BalanceWork::Softirq(softirq) => softirq.holds_serialize_lock(sched),
            _ => false,
        }
    }
}
