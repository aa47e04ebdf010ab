//! Deadline tasks are pushed and pulled (`core/push_pull.rs`).

use super::{DlRq, DlSe};
use crate::Sched;
use crate::core::PushPull;
use crate::ctx::Ctx;
use crate::rq::Rq;
use fairground_model::Reason;
use fairground_stdx::{CpuId, CpuMask, TaskId};

impl PushPull for DlRq {
    type Urgency = u64;
    const PUSH: Reason = Reason::MigrateDlPush;
    const PULL: Reason = Reason::MigrateDlPull;

    fn nr_queued(rq: &Rq) -> usize {
        rq.dl.queue.len()
    }
    fn first(rq: &Rq) -> Option<u64> {
        rq.dl.queue.first().map(|row| row.0)
    }
    fn pushable(rq: &Rq) -> &[(u64, TaskId)] {
        &rq.dl.pushable
    }
    fn find(sched: &Sched, cx: &Ctx<'_, '_>, task: TaskId) -> Option<CpuMask> {
        sched.cpudl_find(cx, task)
    }
    fn holds(sched: &Sched, curr: TaskId, task: TaskId) -> bool {
        sched.is_dl(curr) && (sched.tasks[curr].cpus_allowed.weight() < 2 || !sched.is_before_dl(task, curr))
    }
    /// Kernels ask nobody for the class of who runs there: one that has left it still has the deadline of then.
    fn runs_soon(sched: &Sched, cpu: CpuId, task: TaskId) -> bool {
        let alone = sched.rqs[cpu].dl.queue.len() < 2;
        let before = |curr: TaskId| sched.tasks[task].dl.deadline < sched.tasks[curr].dl.deadline;
        alone || sched.rqs[cpu].curr.is_some_and(before)
    }
    /// If what runs may go elsewhere.
    fn stays(sched: &Sched, cpu: CpuId, task: TaskId) -> bool {
        let gives_way = |curr: TaskId| sched.is_before_dl(task, curr) && sched.tasks[curr].cpus_allowed.weight() > 1;
        sched.rqs[cpu].curr.is_some_and(gives_way)
    }
}

impl Sched {
    /// Whether the deadline of a task is before that of `curr`, which is a deadline task too.
    pub(super) fn is_before_dl(&self, task: TaskId, curr: TaskId) -> bool {
        self.is_dl(curr) && self.tasks[task].dl.deadline < self.tasks[curr].dl.deadline
    }

    /// Whether `cpu` has more deadline tasks than it can run (dl_rq.overloaded).
    pub(super) fn is_dl_overloaded(&self, cpu: CpuId) -> bool {
        let dl = &self.rqs[cpu].dl;
        let migratory =
            || dl.queue.iter().any(|row| matches!(row.1, DlSe::Task(task) if self.tasks[task].cpus_allowed.weight() > 1));
        self.profile.push_overload.is_overloaded(dl.queue.len(), migratory, !dl.pushable.is_empty())
    }

    /// `cpu` has had a deadline task, which is gone: others may come.
    ///
    /// Kernel: deadline.c pull_dl_task(), v4.12–
    #[cold]
    pub(crate) fn pull_dl_task(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.rqs[cpu].online {
            self.pull_tasks::<DlRq>(cx, cpu, cx.machine.online);
        }
    }

    /// Whether `prev`, which leaves its CPU, is a deadline task that is not queued there any more.
    ///
    /// Kernel: deadline.c balance_dl(), pick_next_task_dl() before v5.4 with need_pull_dl_task(), v4.12–
    pub(crate) fn needs_dl_pull_after(&self, prev: TaskId) -> bool {
        self.is_dl(prev) && !self.tasks[prev].dl.on_list
    }
}
