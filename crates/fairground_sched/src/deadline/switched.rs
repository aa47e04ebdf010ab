//! A task comes to the deadline class, leaves it, or gets other parameters in it.

use super::{DlRq, DlSe};
use crate::Sched;
use crate::core::PushPull;
use crate::ctx::Ctx;
use crate::seam::DlBandwidth;
use fairground_stdx::TaskId;

impl Sched {
    /// Kernel: deadline.c switched_to_dl(), v4.12–
    pub(crate) fn switched_to_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let (cpu, se) = (self.tasks[task].cpu, DlSe::Task(task));
        self.cancel_zero_lag(cx, se);
        if !queued {
            return self.add_rq_bw(se);
        }
        let Some(curr) = self.rqs[cpu].curr.filter(|&curr| curr != task) else {
            match self.rqs[cpu].curr {
                Some(_) => self.update_dl_rq_load_avg(cx, cpu, false),
                None => self.resched_curr(cx, cpu),
            }
            return;
        };
        if self.tasks[task].cpus_allowed.weight() > 1 && self.rqs[cpu].dl.queue.len() > 1 {
            self.push_tasks::<DlRq>(cx, cpu);
        }
        if self.tasks[task].cpu != cpu {
            return;
        }
        match self.is_dl(curr) {
            true => self.check_preempt_curr_dl(cx, cpu, curr, task),
            false => self.resched_curr(cx, cpu),
        }
    }

    /// A task has left the class. Its share is free at its 0-lag time; that of one that slept through it already, at once. Its timer goes
    /// on: if it comes back before, it is throttled still. Who waits for one which runs, and has become less urgent by that as a
    /// real-time task, waits for the next reschedule: nobody asks for one.
    ///
    /// Kernel: deadline.c switched_from_dl(), v4.12–
    pub(crate) fn switched_from_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let se = DlSe::Task(task);
        let at_once = self.profile.dl_bandwidth == DlBandwidth::WallTime;
        if queued || at_once {
            self.task_non_contending(cx, se, false);
        } else if self.tasks[task].dl.non_contending {
            self.sub_running_bw(cx, se);
            self.sub_rq_bw(se);
        } else {
            self.sub_rq_bw(se);
            self.dl_sub(se);
            self.tasks[task].dl.clear_params();
        }
        self.tasks[task].dl.non_contending = false;
    }

    /// After that: the last deadline task of a CPU is none any more, and another one may come.
    pub(crate) fn pull_after_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let cpu = self.tasks[task].cpu;
        if queued && !self.rqs[cpu].dl.is_runnable() {
            self.pull_dl_task(cx, cpu);
        }
    }

    /// The parameters of a deadline task have changed; its deadline stays until its next period.
    ///
    /// Kernel: deadline.c prio_changed_dl(), v4.12–
    pub(crate) fn prio_changed_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let cpu = self.tasks[task].cpu;
        if !queued {
            return;
        }
        self.pull_dl_task(cx, cpu);
        let deadline = self.tasks[task].dl.deadline;
        if DlRq::first(&self.rqs[cpu]).is_some_and(|earliest| earliest < deadline) {
            self.resched_curr(cx, cpu);
        }
    }

    /// A task that is on no queue leaves what counts of it, before it gets parameters.
    ///
    /// Kernel: deadline.c dl_change_utilization(), v4.13–
    pub(crate) fn uncount_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let se = DlSe::Task(task);
        self.sub_running_bw(cx, se);
        self.sub_rq_bw(se);
        self.tasks[task].dl.non_contending = false;
        self.cancel_zero_lag(cx, se);
    }

    /// A sleeper is woken on another CPU: what it still has on its old one ends there.
    ///
    /// Kernel: deadline.c migrate_task_rq_dl(), v4.13–
    pub(crate) fn migrate_task_rq_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let (cpu, se) = (self.tasks[task].cpu, DlSe::Task(task));
        if self.tasks[task].dl.non_contending {
            self.update_rq_clock(cx, cpu);
        }
        if std::mem::take(&mut self.tasks[task].dl.non_contending) {
            self.cancel_zero_lag(cx, se);
        }
        self.sub_running_bw(cx, se);
        self.sub_rq_bw(se);
    }
}
