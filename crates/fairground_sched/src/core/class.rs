//! Which class a task is of, and what the core has its class do.

use crate::Sched;
use crate::cpufreq::FreqCause;
use crate::ctx::Ctx;
use crate::deadline::DlRq;
use crate::fair::{DequeueFlags, EnqueueFlags, Set};
use crate::pelt::SchedAvg;
use crate::rq::Rq;
use crate::rt::RtRq;
use crate::seam::{RepeatedRtPick, ScaleRtCapacity, ServerCounts};
use fairground_model::{Op, TraceEvent};
use fairground_stdx::{CpuId, Ns, TaskId};

impl Sched {
    /// Whether a task is of the fair class.
    #[inline]
    pub(crate) fn is_fair(&self, task: TaskId) -> bool {
        self.tasks[task].policy.is_fair()
    }

    /// Whether a task is of the real-time class.
    #[inline]
    pub(crate) fn is_rt(&self, task: TaskId) -> bool {
        self.tasks[task].policy.is_rt()
    }

    /// Queues a task on its CPU.
    ///
    /// Kernel: core.c enqueue_task(), v4.12–
    pub(crate) fn enqueue_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: EnqueueFlags) {
        if !flags.has(EnqueueFlags::RESTORE) {
            self.sched_info_enqueue(task);
        }
        self.uclamp_rq_inc(task);
        match () {
            () if self.is_fair(task) => self.enqueue_task_fair(cx, task, flags),
            () if self.is_rt(task) => self.enqueue_task_rt(cx, task, flags),
            () => self.enqueue_task_dl(cx, task, flags),
        }
    }

    /// Takes a task off its queue. False: it stays queued although it sleeps.
    ///
    /// Kernel: core.c dequeue_task(), v4.12–
    pub(crate) fn dequeue_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: DequeueFlags) -> bool {
        let still_waits = [DequeueFlags::SAVE, DequeueFlags::DELAYED, DequeueFlags::THROTTLE];
        if !still_waits.into_iter().any(|flag| flags.has(flag)) {
            self.sched_info_dequeue(task);
        }
        if !flags.has(DequeueFlags::THROTTLE) {
            self.uclamp_rq_dec(task);
        }
        match () {
            () if self.is_fair(task) => return self.dequeue_task_fair(cx, task, flags),
            () if self.is_rt(task) => self.dequeue_task_rt(cx, task, flags),
            () => self.dequeue_task_dl(cx, task, flags),
        }
        true
    }

    /// The running task leaves the CPU.
    ///
    /// Kernel: sched.h put_prev_task(), v4.12–
    pub(crate) fn put_prev_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        match () {
            () if self.is_fair(task) => self.put_prev_task_fair(cx, task),
            () if self.is_rt(task) => self.put_prev_task_rt(cx, task),
            () => self.put_prev_task_dl(cx, task),
        }
    }

    /// Sets the running task to go on after something about it has changed.
    ///
    /// Kernel: sched.h set_next_task(), set_curr_task() before v5.4, v4.12–
    pub(crate) fn set_next_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        match () {
            () if self.is_fair(task) => self.set_next_task_fair(cx, task, Set::Again),
            () if self.is_rt(task) => self.set_next_task_rt(cx, task, false, false),
            () => self.set_next_task_dl(cx, task, false, false),
        }
    }

    /// Picks the next task of the calling CPU, from the highest class that has one.
    ///
    /// Kernel: core.c __pick_next_task(), pick_next_task() before v5.11, v4.12–
    #[inline]
    pub(crate) fn pick_task(&mut self, cx: &mut Ctx<'_, '_>) -> Option<TaskId> {
        if self.has_fair_tasks_only(cx.cpu) {
            return self.pick_task_fair(cx);
        }
        if self.rqs[cx.cpu].dl.is_runnable() || self.rqs[cx.cpu].rt.is_runnable() {
            return self.pick_task_above(cx);
        }
        self.pick_task_fair(cx)
    }

    /// Whether the fair class picks without a question to the others, so that its server, which does not count, does not act: all
    /// tasks are fair ones, and so is who leaves the CPU.
    ///
    /// Kernel: core.c __pick_next_task(), v6.18– (a server that was queued counted as a task before)
    #[inline]
    fn has_fair_tasks_only(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        let counts = self.profile.server_counts == ServerCounts::AsTask;
        let leaves_above = rq.stop_running || rq.curr.is_some_and(|curr| !self.is_fair(curr));
        !counts && !leaves_above && rq.nr_counted() == self.cfs_rqs[rq.cfs].h_nr_running
    }

    /// As [`Sched::pick_task`] where a class above the fair one has an entity: the deadline class has the server of fair tasks too,
    /// which gives way if there are none.
    #[cold]
    fn pick_task_above(&mut self, cx: &mut Ctx<'_, '_>) -> Option<TaskId> {
        if let Some(task) = self.pick_task_dl(cx) {
            return Some(task);
        }
        match self.rqs[cx.cpu].rt.is_runnable() {
            _ if self.rqs[cx.cpu].lb.server_looks => None,
            true => Some(self.pick_task_rt(cx)),
            false => self.pick_task_fair(cx),
        }
    }

    /// Switches from `prev` to `next` where at least one of them is of a class above the fair one.
    ///
    /// Kernel: core.c put_prev_set_next_task(), v6.12– (inside pick_next_task() before)
    #[cold]
    pub(super) fn switch_classes(&mut self, cx: &mut Ctx<'_, '_>, prev: Option<TaskId>, next: Option<TaskId>) {
        if prev == next && self.profile.repeated_rt_pick == RepeatedRtPick::Kept {
            return;
        }
        let same = |next| prev.is_some_and(|prev| self.is_rt(prev) == self.is_rt(next) && self.is_dl(prev) == self.is_dl(next));
        let after_same = next.is_some_and(same);
        if let Some(prev) = prev {
            self.put_prev_task(cx, prev);
        }
        match next {
            Some(next) if self.is_rt(next) => self.set_next_task_rt(cx, next, true, after_same),
            Some(next) if self.is_dl(next) => self.set_next_task_dl(cx, next, true, after_same),
            Some(next) => {
                self.cfs_tasks_picked(cx.cpu, next, prev != Some(next));
                self.set_first_task_fair(cx, next);
            }
            None => self.rqs[cx.cpu].stats.sched_goidle += u64::from(!self.rqs[cx.cpu].stop_running),
        }
    }

    /// Accounts the running task of a class above the fair one. Returns how long it ran since the last account, if it did.
    ///
    /// Kernel: fair.c update_curr_common(), v6.8– (part of rt.c update_curr_rt() and deadline.c update_curr_dl() before)
    pub(crate) fn update_curr_common(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> Option<Ns> {
        let (se, cpu) = (self.tasks[task].se, self.tasks[task].cpu);
        let ran = self.ses[se].account_until(self.rqs[cpu].clocks.clock_task)?;
        cx.record(TraceEvent::SchedStatRuntime { task, runtime: ran, vruntime: None });
        if !self.profile.cpufreq_util.sees_all_classes() {
            self.cpufreq_update_util(cx, cpu, FreqCause::RtRan);
        }
        if self.profile.scale_rt_capacity == ScaleRtCapacity::HalvedMean {
            let rq = &mut self.rqs[cpu];
            rq.lb.rt_avg.add(rq.clocks.clock, ran.0, cx.scale(cpu).freq);
        }
        Some(ran)
    }

    /// Ages `avg`, what a class above the fair one used of a CPU. `running`: one of its tasks ran up to now.
    ///
    /// Kernel: pelt.c update_rt_rq_load_avg(), update_dl_rq_load_avg(), v4.19–
    pub(crate) fn update_class_load_avg(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        cpu: CpuId,
        running: bool,
        avg: impl FnOnce(&mut Rq) -> &mut SchedAvg,
    ) {
        let (pelt, scale) = (self.profile.pelt, cx.scale(cpu));
        let now = self.rqs[cpu].clocks.pelt(self.profile.pelt_clock);
        let avg = avg(&mut self.rqs[cpu]);
        if pelt.tracks_other_classes() {
            cx.meter.count_n(Op::PeltScale, pelt.scalings(now, avg));
        }
        pelt.update_class(now, avg, running, scale);
        self.group_stats.cpu_changes(cpu);
    }

    /// Accounts what the running task of the calling CPU has run, with all groups above it.
    pub(crate) fn update_curr_of_class(&mut self, cx: &mut Ctx<'_, '_>) {
        match self.rqs[cx.cpu].curr {
            Some(curr) if self.is_rt(curr) => self.update_curr_rt(cx, cx.cpu),
            Some(curr) if self.is_dl(curr) => self.update_curr_dl(cx, cx.cpu),
            _ => self.update_curr_of_all_levels(cx),
        }
    }

    /// After a wake-up, when the wakee is queued on `cpu`.
    ///
    /// Kernel: sched.h struct sched_class task_woken(), v4.12–
    #[inline]
    pub(super) fn task_woken(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        match () {
            () if self.is_fair(task) => {}
            () if self.is_rt(task) => self.push_woken_task::<RtRq>(cx, task),
            () => self.push_woken_task::<DlRq>(cx, task),
        }
    }

    /// Binds a task that is on no queue to another CPU.
    ///
    /// Kernel: core.c set_task_cpu(), v4.12–
    pub(super) fn migrate_task_rq(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        if self.is_fair(task) {
            self.migrate_task_rq_fair(cx, task);
            return self.set_task_rq(task, target);
        }
        if self.is_dl(task) {
            self.migrate_task_rq_dl(cx, task);
        }
        self.set_task_rq_detached(cx, task, target)
    }
}
