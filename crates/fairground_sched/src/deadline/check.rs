//! What must always hold of the deadline queues.

use super::DlSe;
use crate::Sched;
use crate::check::{Broken, hold};
use crate::task::{Task, TaskState};
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// The first deadline task of a CPU, unless the server of the fair class has an earlier deadline.
    pub fn first_dl_task(&self, cpu: CpuId) -> Option<TaskId> {
        match self.rqs[cpu].dl.queue.first() {
            Some(&(_, DlSe::Task(task))) => Some(task),
            _ => None,
        }
    }

    /// Whether the server of the fair class of a CPU lets fair tasks run before real-time ones.
    pub fn fair_server_runs(&self, cpu: CpuId) -> bool {
        matches!(self.rqs[cpu].dl.queue.first(), Some((_, DlSe::FairServer(_))))
    }

    /// The server of the fair class of a CPU: runtime that is left, ns, its deadline by the clock of the run queue, whether it is
    /// active, whether it is throttled; `None`: it is not at work.
    pub fn fair_server(&self, cpu: CpuId) -> Option<(i64, u64, bool, bool)> {
        let server = &self.rqs[cpu].dl.server;
        self.dl_root.serves.then_some((server.runtime, server.deadline, server.active, server.throttled))
    }

    /// What is left of the runtime of a deadline task, ns, and its deadline by the clock of its run queue.
    pub fn dl_state(&self, task: TaskId) -> Option<(i64, u64)> {
        let entity = &self.tasks[task].dl;
        self.is_dl(task).then_some((entity.runtime, entity.deadline))
    }

    /// Whether a task waits for its next period.
    pub fn is_dl_throttled(&self, task: TaskId) -> bool {
        self.is_dl(task) && self.tasks[task].dl.throttled
    }

    /// How many tasks wait on a CPU that nobody takes them from. A throttled deadline task stays with a CPU that goes off line. If it changes
    /// its class then, it is queued there, and the CPU runs it when it is back.
    ///
    /// Kernel: core.c __sched_setscheduler(), v4.12–
    pub(crate) fn left_behind(&self, cpu: CpuId) -> u32 {
        let is_left = |task: &Task| task.cpu == cpu && task.state == TaskState::Queued && task.policy.deadline().is_none();
        self.tasks.iter().filter(|task| is_left(task) && task.dl.throttled).count() as u32
    }

    /// Whether a deadline task stands on a queue.
    pub(crate) fn is_queued_dl(&self, task: TaskId) -> bool {
        self.tasks[task].dl.on_list
    }

    /// A deadline task is queued in its own class only, and where its state says, unless it is throttled.
    pub(crate) fn check_dl_task(&self, task: TaskId) -> Result<(), Broken> {
        let (row, current) = (&self.tasks[task], self.rqs[self.tasks[task].cpu].curr == Some(task));
        let stands = row.dl.on_list || row.dl.throttled;
        let right = match row.state {
            TaskState::Running => current && stands,
            TaskState::Queued => !current && stands,
            TaskState::Asleep => !current && !row.dl.on_list && !row.on_cpu,
            TaskState::Delayed | TaskState::Migrating | TaskState::Limbo => false,
            _ => (!current || row.on_cpu) && !row.dl.on_list,
        };
        hold(right, || {
            let dl = &row.dl;
            format!(
                "{task:?}, a deadline task, is {:?}: current {current}, queued {}, throttled {}",
                row.state, dl.on_list, dl.throttled
            )
        })?;
        hold(!row.dl.on_list || row.dl.runtime >= 0 || row.dl.came_back, || {
            format!("{task:?} is queued without runtime: {} ns", row.dl.runtime)
        })?;
        hold(!row.dl.throttled || !row.dl.on_list, || format!("{task:?} is throttled and queued"))?;
        let waits = row.dl.throttled && row.state.is_on_rq();
        hold(!waits || row.dl.timer.is_some() || row.dl.forgotten, || {
            format!("{task:?} is throttled and no timer will replenish it")
        })?;
        let se = &self.ses[row.se];
        hold(!se.on_rq && !se.sched_delayed && !row.rt.is_on_list(), || {
            format!("{task:?} is a deadline task, and queued among others")
        })
    }

    /// Queues are in order of deadline and hold who is queued; the shares of each CPU are the sums of those of its entities.
    pub(crate) fn check_dl(&self) -> Result<(), Broken> {
        let mut sums = vec![(0, 0); self.rqs.len()];
        let mut total = self.dl_root.lost_bw;
        let servers = self.rqs.ids().map(DlSe::FairServer);
        for se in self.tasks.ids().map(DlSe::Task).chain(servers) {
            let entity = self.dl(se);
            let sum = &mut sums[fairground_stdx::Id::index(self.dl_cpu(se))];
            sum.0 += if entity.counted { entity.dl_bw } else { 0 };
            sum.1 += if entity.contends { entity.dl_bw } else { 0 };
            total += if entity.admitted { entity.dl_bw } else { 0 };
        }
        hold(total == self.dl_root.total_bw, || {
            format!("{} of deadline shares are granted, tasks have {total}", self.dl_root.total_bw)
        })?;
        for ((cpu, rq), sum) in self.rqs.iter_enumerated().zip(sums) {
            let dl = &rq.dl;
            hold(sum == (dl.this_bw, dl.running_bw), || {
                format!("CPU {cpu} counts shares {} of which {} are active, its entities have {sum:?}", dl.this_bw, dl.running_bw)
            })?;
            hold(dl.queue.is_sorted_by_key(|row| row.0), || format!("the deadline tasks of CPU {cpu} are out of order"))?;
            for &(deadline, se) in &dl.queue {
                let entity = self.dl(se);
                let right = entity.on_list && self.dl_cpu(se) == cpu && entity.deadline == deadline;
                hold(right, || format!("{se:?} of deadline {deadline} is not the one on the queue of CPU {cpu}"))?;
            }
            self.check_pushable(cpu)?;
        }
        Ok(())
    }

    fn check_pushable(&self, cpu: CpuId) -> Result<(), Broken> {
        let rq = &self.rqs[cpu];
        let waits = rq.dl.queue.iter().filter_map(|&(deadline, se)| match se {
            DlSe::Task(task) => Some((deadline, task)),
            DlSe::FairServer(_) => None,
        });
        let mut waits: Vec<_> =
            waits.filter(|row| rq.curr != Some(row.1) && self.tasks[row.1].cpus_allowed.weight() > 1).collect();
        let mut told = rq.dl.pushable.clone();
        hold(told.is_sorted_by_key(|row| row.0), || format!("the deadline tasks that CPU {cpu} may push are out of order"))?;
        waits.sort();
        told.sort();
        hold(waits == told, || format!("CPU {cpu} may push deadline tasks {told:?}, those that wait are {waits:?}"))
    }
}
