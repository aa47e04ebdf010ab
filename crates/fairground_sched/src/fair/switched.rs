//! A task leaves the fair class, or comes back: its load, and its place in virtual time.
//!
//! While it is away its averages are attached to no queue, though their clock goes on from that of its queue; its virtual time is
//! relative (CFS), its lag is kept (EEVDF).

use super::place::Placement;
use crate::Sched;
use crate::core::Arrival;
use crate::ctx::{Ctx, SCHED_CLOCK_AT_START};
use crate::task::TaskState;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// Kernel: fair.c switched_from_fair(), detach_task_cfs_rq(), v4.12–
    pub(crate) fn switched_from_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let se = self.tasks[task].se;
        let cfs_rq = self.ses[se].cfs_rq;
        let belongs_nowhere = self.pelt_se[se].last_update_time == 0;
        if !belongs_nowhere && !self.vruntime_normalized(task, queued) {
            // The sleep must not earn an unlimited bonus.
            self.place_entity(cx, cfs_rq, se, Placement::WakeUp);
            let floor = self.cfs_rqs[cfs_rq].min_vruntime.0;
            self.ses[se].vruntime = self.ses[se].vruntime.minus(floor);
        }
        self.detach_entity_cfs_rq(cx, se);
        if belongs_nowhere {
            self.pelt_se[se].last_update_time = self.cfs_rq_clock_pelt(cfs_rq);
        }
    }

    /// Kernel: fair.c switched_to_fair(), attach_task_cfs_rq(), v4.12–
    pub(crate) fn switched_to_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, queued: bool) {
        let (se, cpu) = (self.tasks[task].se, self.tasks[task].cpu);
        let cfs_rq = self.ses[se].cfs_rq;
        if self.profile.feats.has(Feat::ATTACH_AGE_LOAD) {
            self.age_unqueued_entity(cx, se);
        }
        self.attach_entity_cfs_rq(cx, se);
        if !self.vruntime_normalized(task, queued) {
            let floor = self.cfs_rqs[cfs_rq].min_vruntime.0;
            self.ses[se].vruntime = self.ses[se].vruntime.plus(floor);
        }
        if queued {
            match self.rqs[cpu].curr == Some(task) {
                true => self.resched_curr(cx, cpu),
                false => self.check_preempt_curr(cx, cpu, task, Arrival::Plain),
            }
        }
    }

    /// Whether the virtual time of a task that leaves the class or its group, or has come back, is relative to its queue by other means,
    /// or never is: it was taken off the queue, has never run for any time, or was woken onto another CPU that has not queued it yet.
    ///
    /// Kernel: fair.c vruntime_normalized(), v4.12–v6.5
    pub(super) fn vruntime_normalized(&self, task: TaskId, queued: bool) -> bool {
        let row = &self.tasks[task];
        let on_its_way = row.state == TaskState::Waking && row.sched_remote_wakeup && self.rqs[row.cpu].wake_list.contains(&task);
        let has_not_run = self.ses[row.se].sum_exec_runtime == 0;
        self.profile.place.keeps_lag() || queued || has_not_run || on_its_way
    }

    /// A new task of another class: the averages that it begins with are those of a task that has left this one.
    ///
    /// Kernel: fair.c post_init_entity_util_avg(), v4.12–
    pub(crate) fn begin_detached(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        let now = self.cfs_rq_clock_pelt(self.ses[se].cfs_rq);
        self.pelt_se[se].last_update_time = now.max(SCHED_CLOCK_AT_START);
    }

    /// Binds a task of another class to the queues of `cpu`. Its averages are aged up to what its old queue knows, and go on from what
    /// the new one does.
    ///
    /// Kernel: fair.c set_task_rq_fair(), v4.12–
    pub(crate) fn set_task_rq_detached(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, cpu: CpuId) {
        let se = self.tasks[task].se;
        if !self.profile.feats.has(Feat::ATTACH_AGE_LOAD) || self.pelt_se[se].last_update_time == 0 {
            return self.set_task_rq(task, cpu);
        }
        let last = self.pelt_cfs[self.ses[se].cfs_rq].last_update_time;
        self.sync_entity(cx, se, last);
        self.set_task_rq(task, cpu);
        // A queue that nobody has used yet counts as aged up to the beginning.
        let next = self.pelt_cfs[self.ses[se].cfs_rq].last_update_time.max(SCHED_CLOCK_AT_START);
        self.pelt_se[se].last_update_time = next;
    }
}
