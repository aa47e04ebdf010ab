//! A task comes to the real-time class, leaves it, or gets another priority in it.

use super::{MAX_RT_PRIO, RtRq};
use crate::Sched;
use crate::ctx::Ctx;
use fairground_stdx::TaskId;

impl Sched {
    /// Kernel: rt.c switched_to_rt(), v4.12–
    pub(crate) fn switched_to_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let cpu = self.tasks[task].cpu;
        if self.rqs[cpu].curr == Some(task) {
            return self.update_rt_rq_load_avg(cx, cpu, false);
        }
        if !queued {
            return;
        }
        if self.tasks[task].prio() < self.curr_prio(cpu) && self.rqs[cpu].online {
            self.resched_curr(cx, cpu);
        }
        if self.tasks[task].cpus_allowed.weight() > 1 && self.has_pushable_tasks(cpu) {
            self.push_tasks::<RtRq>(cx, cpu);
        }
    }

    /// The last real-time task of a CPU is none any more: another one may come.
    ///
    /// Kernel: rt.c switched_from_rt(), v4.12–
    pub(crate) fn switched_from_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let cpu = self.tasks[task].cpu;
        if queued && self.rqs[cpu].rt.highest_prio() == MAX_RT_PRIO {
            self.pull_rt_task(cx, cpu);
        }
    }

    /// Kernel: rt.c prio_changed_rt(), v4.12–
    pub(crate) fn prio_changed_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool, old_prio: i32) {
        let (cpu, prio) = (self.tasks[task].cpu, self.tasks[task].prio());
        if !queued || prio == old_prio {
            return;
        }
        if self.rqs[cpu].curr != Some(task) {
            if prio < self.curr_prio(cpu) {
                self.resched_curr(cx, cpu);
            }
            return;
        }
        if prio > i32::from(self.rqs[cpu].rt.highest_prio()) {
            self.resched_curr(cx, cpu);
        }
        if old_prio < prio {
            self.pull_rt_task(cx, cpu);
        }
    }
}
