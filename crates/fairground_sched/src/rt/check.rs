//! What must always hold of the real-time queues.

use crate::Sched;
use crate::check::{Broken, hold};
use crate::task::TaskState;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// Whether the real-time tasks of a CPU have used up their part of the period.
    pub fn is_rt_throttled(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].rt.throttled
    }

    /// The first real-time task of a CPU that may be picked there.
    pub fn first_rt_task(&self, cpu: CpuId) -> Option<TaskId> {
        let rt = &self.rqs[cpu].rt;
        rt.queue.first().filter(|_| rt.is_runnable()).map(|row| row.1)
    }

    /// Whether a real-time task stands on a queue.
    pub(crate) fn is_queued_rt(&self, task: TaskId) -> bool {
        self.tasks[task].rt.on_list
    }

    /// A real-time task is queued in its own class only, and where its state says.
    pub(crate) fn check_rt_task(&self, task: TaskId) -> Result<(), Broken> {
        let (row, current) = (&self.tasks[task], self.rqs[self.tasks[task].cpu].curr == Some(task));
        let right = match row.state {
            TaskState::Running => current && row.rt.on_list,
            TaskState::Queued => !current && row.rt.on_list,
            TaskState::Asleep => !current && !row.rt.on_list && !row.on_cpu,
            // Balance knows no real-time tasks, and they neither sleep on a queue nor wait for quota.
            TaskState::Delayed | TaskState::Migrating | TaskState::Limbo => false,
            _ => (!current || row.on_cpu) && !row.rt.on_list,
        };
        hold(right, || format!("{task:?}, a real-time task, is {:?}: current {current}, queued {}", row.state, row.rt.on_list))?;
        let se = &self.ses[row.se];
        hold(!se.on_rq && !se.sched_delayed, || format!("{task:?} is a real-time task, and queued among the fair ones"))
    }

    /// Queues are in order, hold who is queued, and tell the others of those that may be pushed.
    pub(crate) fn check_rt(&self) -> Result<(), Broken> {
        for (cpu, rq) in self.rqs.iter_enumerated() {
            let rt = &rq.rt;
            for list in [&rt.queue, &rt.pushable] {
                hold(list.is_sorted_by_key(|row| row.0), || format!("the real-time tasks of CPU {cpu} are out of order"))?;
                for &(prio, task) in list {
                    let row = &self.tasks[task];
                    let right = row.rt.on_list && row.cpu == cpu && row.prio() == i32::from(prio);
                    hold(right, || format!("{task:?} of priority {} is not the one on the queue of CPU {cpu}", row.prio()))?;
                }
            }
            let waits = rt.queue.iter().filter(|row| rq.curr != Some(row.1) && self.tasks[row.1].cpus_allowed.weight() > 1);
            let mut waits: Vec<_> = waits.collect();
            let mut told: Vec<_> = rt.pushable.iter().collect();
            waits.sort();
            told.sort();
            hold(waits == told, || format!("CPU {cpu} may push {told:?}, those that wait are {waits:?}"))?;
            let overloaded = self.rt.overloaded.contains(cpu);
            hold(overloaded == (rq.online && self.is_rt_overloaded(cpu)), || {
                format!("CPU {cpu} is overloaded: {overloaded}, and has {:?}, of which may be pushed {told:?}", rt.queue)
            })?;
            hold(rt.queued != (rt.throttled || rt.queue.is_empty()), || {
                format!("the real-time queue of CPU {cpu} counts: {}, throttled: {}", rt.queued, rt.throttled)
            })?;
        }
        let queued = self.tasks.iter().filter(|row| row.rt.on_list).count();
        let held: usize = self.rqs.iter().map(|rq| rq.rt.queue.len()).sum();
        hold(queued == held, || format!("{queued} real-time tasks are queued, the queues hold {held}"))
    }
}
