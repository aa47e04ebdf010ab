//! Real-time tasks are pushed and pulled (`core/push_pull.rs`). With RT_PUSH_IPI a CPU does not pull: it asks the overloaded ones to
//! push (`push_ipi.rs`).

use super::RtRq;
use crate::Sched;
use crate::core::PushPull;
use crate::ctx::Ctx;
use crate::rq::Rq;
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, CpuMask, TaskId};

impl PushPull for RtRq {
    type Urgency = u8;
    const PUSH: Reason = Reason::MigrateRtPush;
    const PULL: Reason = Reason::MigrateRtPull;

    fn nr_queued(rq: &Rq) -> usize {
        rq.rt.queue.len()
    }
    fn first(rq: &Rq) -> Option<u8> {
        rq.rt.queue.first().map(|row| row.0)
    }
    fn pushable(rq: &Rq) -> &[(u8, TaskId)] {
        &rq.rt.pushable
    }
    fn find(sched: &Sched, cx: &Ctx<'_, '_>, task: TaskId) -> Option<CpuMask> {
        sched.cpupri_find(cx, task)
    }
    fn holds(sched: &Sched, curr: TaskId, task: TaskId) -> bool {
        let row = &sched.tasks[curr];
        !row.policy.is_fair() && (row.cpus_allowed.weight() < 2 || row.prio() <= sched.tasks[task].prio())
    }
    fn runs_soon(sched: &Sched, cpu: CpuId, task: TaskId) -> bool {
        sched.tasks[task].prio() < sched.curr_prio(cpu)
    }
}

impl Sched {
    /// The priority of `cpu` has dropped: others may come.
    ///
    /// Kernel: rt.c pull_rt_task(), v4.12–
    #[cold]
    pub(crate) fn pull_rt_task(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let overloaded = self.rt.overloaded;
        if self.is_led() || !self.rqs[cpu].online || overloaded.iter().all(|other| other == cpu) {
            return;
        }
        match self.profile.feats.has(Feat::RT_PUSH_IPI) {
            true => self.tell_cpu_to_push(cx),
            false => self.pull_tasks::<RtRq>(cx, cpu, overloaded),
        }
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

    /// The same of the stopper, which is as urgent as a task can be.
    pub(crate) fn needs_pull_after_stopper(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        rq.online && !rq.dl.is_runnable() && rq.rt.highest_prio() > 0
    }

    /// Whether tasks wait on a CPU that may run elsewhere.
    pub(crate) fn has_pushable_tasks(&self, cpu: CpuId) -> bool {
        !self.rqs[cpu].rt.pushable.is_empty()
    }
}
