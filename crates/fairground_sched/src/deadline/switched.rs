//! A task comes to the deadline class, leaves it, or gets other parameters in it.

use super::{DlRq, DlSe};
use crate::Sched;
use crate::core::PushPull;
use crate::ctx::Ctx;
use crate::seam::{DlBandwidth, DlPrioChanged};
use fairground_stdx::TaskId;

impl Sched {
    /// Kernel: deadline.c switched_to_dl(), v4.12–
    pub(crate) fn switched_to_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let (cpu, se) = (self.tasks[task].cpu, DlSe::Task(task));
        self.cancel_zero_lag(cx, se);
        if !queued {
            return self.add_rq_bw(se);
        }
        match self.rqs[cpu].curr {
            Some(curr) if curr == task => return self.update_dl_rq_load_avg(cx, cpu, false),
            Some(curr) if self.is_dl(curr) => self.check_preempt_curr_dl(cx, cpu, curr, task),
            _ => self.resched_curr(cx, cpu),
        }
        // A CPU that idles, or runs others, pushes too: when the change is complete.
        if self.tasks[task].cpus_allowed.weight() > 1 && self.is_dl_overloaded(cpu) {
            self.push_tasks::<DlRq>(cx, cpu);
        }
    }

    /// A task has left the class. Its share is free at its 0-lag time. That of one that slept through it already is never given
    /// back: kernels look at the timer only. Its timer goes on: if it comes back before, it is throttled still, and goes on with its
    /// runtime and deadline. If it comes back after, it is throttled still from v4.13 on, and
    /// nothing replenishes it. Who waits for one which runs, and has become less urgent by that as a real-time task, waits for the next
    /// reschedule: nobody asks for one.
    ///
    /// Kernel: deadline.c switched_from_dl(), v4.12–
    pub(crate) fn switched_from_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let se = DlSe::Task(task);
        if queued || self.profile.dl_bandwidth == DlBandwidth::WallTime {
            self.task_non_contending(cx, se, true);
        } else {
            if self.tasks[task].dl.non_contending {
                self.sub_running_bw(cx, se);
            }
            self.sub_rq_bw(se);
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

    /// The deadline of a task that is about to get other parameters. One that runs is accounted first.
    ///
    /// Kernel: deadline.c get_prio_dl(), v6.19–
    pub(crate) fn dl_deadline(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> u64 {
        let cpu = self.tasks[task].cpu;
        let (looks, runs) = (self.profile.dl_prio_changed == DlPrioChanged::OtherDeadline, self.rqs[cpu].curr == Some(task));
        if looks && runs && self.is_dl(task) {
            self.update_curr_dl(cx, cpu);
        }
        self.tasks[task].dl.deadline
    }

    /// The parameters of a deadline task have changed; its deadline stays until its next period, unless it is past.
    ///
    /// Kernel: deadline.c prio_changed_dl(), v4.12–
    pub(crate) fn prio_changed_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool, old_deadline: u64) {
        let cpu = self.tasks[task].cpu;
        if !queued {
            // Its new share belongs to the CPU from now on, though it sleeps (dl_change_utilization()).
            return self.add_rq_bw(DlSe::Task(task));
        }
        let (deadline, curr) = (self.tasks[task].dl.deadline, self.rqs[cpu].curr);
        let (pulls, rule) = match self.profile.dl_prio_changed {
            DlPrioChanged::OtherDeadline if deadline == old_deadline => return,
            DlPrioChanged::OtherDeadline => (old_deadline < deadline, DlPrioChanged::RunsOrWaits),
            rule => (!self.is_dl_overloaded(cpu), rule),
        };
        // Where nobody is queued the first deadline is 0.
        let behind = DlRq::first(&self.rqs[cpu]).is_none_or(|earliest| earliest < deadline);
        let resched = match rule {
            DlPrioChanged::Behind => behind,
            _ if curr == Some(task) => behind,
            _ => curr.is_none_or(|curr| !self.is_dl(curr) || self.is_before_dl(task, curr)),
        };
        if resched {
            self.resched_curr(cx, cpu);
        }
        if pulls {
            self.pull_dl_task(cx, cpu);
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
