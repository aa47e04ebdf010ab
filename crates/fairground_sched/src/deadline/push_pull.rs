//! Deadline tasks go where they can run: a CPU that has several pushes those that wait, one whose task stops pulls.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::DequeueFlags;
use fairground_model::Reason;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// Pushes tasks that wait on `cpu` until none can go anywhere.
    ///
    /// Kernel: deadline.c push_dl_tasks(), v4.12–
    pub(crate) fn push_dl_tasks(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        while self.push_dl_task(cx, cpu) {}
    }

    /// Pushes the first task that waits on `cpu`. False: it could not be.
    ///
    /// Kernel: deadline.c push_dl_task(), v4.12–
    pub(super) fn push_dl_task(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> bool {
        let dl = &self.rqs[cpu].dl;
        // Who is pushable may run elsewhere.
        let pushable = !dl.pushable.is_empty();
        if !self.profile.push_overload.is_overloaded(dl.queue.len(), || pushable, pushable) {
            return false;
        }
        let Some(&(deadline, task)) = self.rqs[cpu].dl.pushable.first() else { return false };
        let gives_way = |curr: TaskId| {
            let row = &self.tasks[curr];
            self.is_dl(curr) && deadline < row.dl.deadline && row.cpus_allowed.weight() > 1
        };
        if self.rqs[cpu].curr.is_some_and(gives_way) {
            // It runs here as soon as the CPU looks.
            self.resched_curr(cx, cpu);
            return false;
        }
        let may_run = |target: &CpuId| *target != cpu && self.is_earliest_deadline(deadline, *target);
        let Some(target) = self.find_later_rq(cx, task).filter(may_run) else { return false };
        cx.decide(Reason::MigrateDlPush, Some(task), target.get());
        self.deactivate_task(cx, task, DequeueFlags::MIGRATING);
        self.push_moved_task(cx, task, target);
        true
    }

    /// After a wake-up: the wakee, which waits behind a deadline task that does not give way, goes elsewhere at once.
    ///
    /// Kernel: deadline.c task_woken_dl(), v4.12–
    #[cold]
    pub(crate) fn task_woken_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        let rq = &self.rqs[cpu];
        let waits = rq.curr.is_some_and(|curr| curr != task && self.holds_dl(curr, task));
        if !rq.need_resched && self.tasks[task].cpus_allowed.weight() > 1 && waits {
            self.push_dl_tasks(cx, cpu);
        }
    }

    /// `cpu` has had a deadline task: it takes from other CPUs, in order of their numbers, tasks that wait there with deadlines before
    /// all that it has.
    ///
    /// Kernel: deadline.c pull_dl_task(), v4.12–
    #[cold]
    pub(crate) fn pull_dl_task(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if !self.rqs[cpu].online {
            return;
        }
        let mut pulled = false;
        for src in cx.machine.online.iter().filter(|&src| src != cpu) {
            let Some(next) = self.rqs[src].dl.earliest_pushable() else { continue };
            if !self.is_earliest_deadline(next, cpu) {
                continue;
            }
            self.count_rq_lock(cx, src);
            let Some(task) = self.pick_earliest_pushable_dl_task(src, cpu) else { continue };
            let deadline = self.tasks[task].dl.deadline;
            // One that is earlier than what runs there is about to run there.
            let runs_soon = self.rqs[src].curr.is_some_and(|curr| self.is_dl(curr) && deadline < self.tasks[curr].dl.deadline);
            let alone = self.rqs[src].dl.queue.len() < 2;
            if alone || runs_soon || !self.is_earliest_deadline(deadline, cpu) {
                continue;
            }
            cx.decide(Reason::MigrateDlPull, Some(task), cpu.get());
            self.update_rq_clock(cx, src);
            self.deactivate_task(cx, task, DequeueFlags::MIGRATING);
            self.push_moved_task(cx, task, cpu);
            pulled = true;
        }
        if pulled {
            self.resched_curr(cx, cpu);
        }
    }

    /// The first task that waits on `src` and may run on `cpu`.
    ///
    /// Kernel: deadline.c pick_earliest_pushable_dl_task(), v4.12–
    fn pick_earliest_pushable_dl_task(&self, src: CpuId, cpu: CpuId) -> Option<TaskId> {
        self.rqs[src].dl.pushable.iter().map(|row| row.1).find(|&task| self.tasks[task].cpus_allowed.contains(cpu))
    }

    /// Whether `prev`, which leaves its CPU, is a deadline task that is not queued there any more.
    ///
    /// Kernel: deadline.c balance_dl(), pick_next_task_dl() before v5.4 with need_pull_dl_task(), v4.12–
    pub(crate) fn needs_dl_pull_after(&self, prev: TaskId) -> bool {
        self.is_dl(prev) && !self.tasks[prev].dl.on_list
    }
}
