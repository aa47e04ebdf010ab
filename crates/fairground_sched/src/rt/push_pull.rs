//! Real-time tasks go where they can run: a CPU that has several pushes those that wait, one whose priority drops pulls.
//!
//! Both happen at one instant, under both locks. With RT_PUSH_IPI a CPU does not pull: it asks the overloaded ones to push
//! (`push_ipi.rs`).

use super::MAX_RT_PRIO;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::DequeueFlags;
use crate::features::Feat;
use fairground_model::Reason;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// Pushes tasks that wait on `cpu` until none can go anywhere.
    ///
    /// Kernel: rt.c push_rt_tasks(), v4.12–
    pub(crate) fn push_rt_tasks(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        while self.push_rt_task(cx, cpu) {}
    }

    /// Pushes the first task that waits on `cpu`. False: none could be.
    ///
    /// Kernel: rt.c push_rt_task(), v4.12–
    fn push_rt_task(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> bool {
        if !self.is_rt_overloaded(cpu) {
            return false;
        }
        let Some(&(prio, task)) = self.rqs[cpu].rt.pushable.first() else { return false };
        if i32::from(prio) < self.curr_prio(cpu) {
            // It runs here as soon as the CPU looks.
            self.resched_curr(cx, cpu);
            return false;
        }
        let Some(target) = self.find_lowest_rq(cx, task).filter(|&target| target != cpu && self.is_below(target, task)) else {
            return false;
        };
        cx.decide(Reason::MigrateRtPush, Some(task), target.get());
        self.deactivate_task(cx, task, DequeueFlags::MIGRATING);
        self.push_moved_task(cx, task, target);
        true
    }

    /// After a wake-up: the wakee, which waits behind a real-time task that does not give way, goes elsewhere at once.
    ///
    /// Kernel: rt.c task_woken_rt(), v4.12–
    #[cold]
    pub(crate) fn task_woken_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        let rq = &self.rqs[cpu];
        let waits = |curr: TaskId| {
            let row = &self.tasks[curr];
            !row.policy.is_fair() && (row.cpus_allowed.weight() < 2 || row.prio() <= self.tasks[task].prio())
        };
        if !rq.need_resched && self.tasks[task].cpus_allowed.weight() > 1 && rq.curr.is_some_and(waits) {
            self.push_rt_tasks(cx, cpu);
        }
    }

    /// The priority of `cpu` has dropped: it takes from other CPUs, in order of their numbers, tasks that wait there and are more
    /// urgent than all that it has.
    ///
    /// Kernel: rt.c pull_rt_task(), v4.12–
    #[cold]
    pub(crate) fn pull_rt_task(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.rt.overloaded.is_empty() || !self.rqs[cpu].online {
            return;
        }
        let overloaded = self.rt.overloaded;
        if overloaded.iter().all(|other| other == cpu) {
            return;
        }
        if self.profile.feats.has(Feat::RT_PUSH_IPI) {
            return self.tell_cpu_to_push(cx);
        }
        let mut pulled = false;
        for src in overloaded.iter().filter(|&src| src != cpu) {
            if self.rqs[src].rt.highest_pushable() >= self.rqs[cpu].rt.highest_prio() {
                continue;
            }
            self.count_rq_lock(cx, src);
            let Some(task) = self.pick_highest_pushable_task(src, cpu) else { continue };
            let prio = self.rt_prio(task);
            // One that is more urgent than what runs there is about to run there.
            if prio >= self.rqs[cpu].rt.highest_prio() || i32::from(prio) < self.curr_prio(src) {
                continue;
            }
            cx.decide(Reason::MigrateRtPull, Some(task), cpu.get());
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
    /// Kernel: rt.c pick_highest_pushable_task(), v4.12–
    fn pick_highest_pushable_task(&self, src: CpuId, cpu: CpuId) -> Option<TaskId> {
        self.rqs[src].rt.pushable.iter().map(|row| row.1).find(|&task| self.tasks[task].cpus_allowed.contains(cpu))
    }

    /// Whether `prev`, which leaves its CPU, was more urgent than all real-time tasks that are left there. With deadline tasks there
    /// is nothing to pull for.
    ///
    /// Kernel: rt.c balance_rt(), pick_next_task_rt() before v5.4 with need_pull_rt_task(), v4.12–
    pub(crate) fn needs_pull_after(&self, prev: TaskId) -> bool {
        let row = &self.tasks[prev];
        !row.policy.is_fair()
            && !self.rqs[row.cpu].dl.is_runnable()
            && !row.rt.on_list
            && i32::from(self.rqs[row.cpu].rt.highest_prio()) > row.prio()
    }

    /// Whether tasks wait on a CPU that may run elsewhere.
    pub(crate) fn has_pushable_tasks(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].rt.highest_pushable() < MAX_RT_PRIO
    }
}
