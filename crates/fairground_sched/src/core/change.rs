//! Changes to a task while it lives: nice, policy, slice, affinity, yield.

use crate::Sched;
use crate::core::Arrival;
use crate::ctx::Ctx;
use crate::deadline::Refused;
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::seam::{NiceClock, NicePreempt};
use crate::task::TaskState;
use fairground_model::{Policy, Reason};
use fairground_stdx::{CpuId, CpuMask, Ns, TaskId};

impl Sched {
    /// Changes the nice value of a task. The value that it has already changes nothing.
    ///
    /// Kernel: core.c set_user_nice(), v4.12–
    pub fn set_user_nice(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, nice: i8) {
        let old = self.tasks[task].prio();
        if !self.is_fair(task) {
            // It counts when the task is a fair one again, but the clock may be read.
            let changes = std::mem::replace(&mut self.tasks[task].nice, nice) != nice;
            if self.tasks[task].state == TaskState::New {
                // One that is not born yet has the weight of what it is born with, as from a parent that is so nice.
                self.reweight_task(task);
            }
            if changes && self.profile.nice_clock == NiceClock::Read {
                self.update_clock_of(cx, task);
            }
            return;
        }
        if self.tasks[task].nice != nice && self.change_weight(cx, task, |row| row.nice = nice) {
            self.prio_changed(cx, task, old);
        }
    }

    /// Changes the policy of a task. Within the fair class its priority stays, so nobody is preempted by that. A deadline task must
    /// be admitted; if it is not, nothing changes.
    ///
    /// Kernel: core.c __sched_setscheduler(), v4.12–
    pub fn sched_setscheduler(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, policy: Policy) -> Result<(), Refused> {
        // What a task that is not born yet was to ask for no longer counts.
        self.tasks[task].asks_for = None;
        let old = self.tasks[task].policy;
        if old == policy {
            let has_own_slice = self.ses[self.tasks[task].se].custom_slice;
            if !matches!(old, Policy::Normal | Policy::Batch) || !self.profile.task_slice.is_custom() || has_own_slice {
                self.update_clock_of(cx, task);
            } else {
                // It asks for no slice, which is never the one that it has: it is taken off its queue, gets its weight anew, and is put
                // back. A sleeper's part in the load of its queue is then what it was when the sleeper was last looked at.
                self.change_off_queue(cx, task, |sched| sched.reweight_task(task));
            }
            return Ok(());
        }
        if !old.is_fair() || !policy.is_fair() {
            return self.change_class(cx, task, policy);
        }
        self.note_policy(policy);
        self.change_weight(cx, task, |row| row.policy = policy);
        Ok(())
    }

    /// Gives a task a slice of its own, cut to 100 us to 100 ms, or the base slice again. Kernels that know no
    /// such slices do not look at what they are asked, nor does this; none changes anything if the task has that
    /// slice already.
    ///
    /// Kernel: syscalls.c __setparam_fair(), v6.12–
    pub fn set_slice(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, slice: Option<Ns>) {
        let se = self.tasks[task].se;
        let granted = slice.and_then(|slice| self.profile.task_slice.granted(slice));
        if !self.profile.task_slice.is_custom() || slice == Some(Ns(self.ses[se].slice)) {
            return;
        }
        let wanted = granted.map_or(self.tunables.base_slice_ns, |slice| slice.0);
        self.change_off_queue(cx, task, |sched| {
            let entity = &mut sched.ses[se];
            (entity.slice, entity.custom_slice) = (wanted, granted.is_some());
        });
    }

    fn change_weight(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, change: impl FnOnce(&mut crate::task::Task)) -> bool {
        self.change_off_queue(cx, task, |sched| {
            change(&mut sched.tasks[task]);
            sched.reweight_task(task);
        })
    }

    /// A change that moves no task to another queue: one that is on none, be it that its CPU has not left it yet, has it at once. Whether
    /// it was on one.
    pub(crate) fn change_off_queue(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, change: impl FnOnce(&mut Sched)) -> bool {
        self.end_migration(cx, task);
        self.update_clock_of(cx, task);
        if !self.tasks[task].state.is_on_rq() {
            change(self);
            return false;
        }
        self.sched_change(cx, task, DequeueFlags::SAVE, |sched, _| {
            change(sched);
            EnqueueFlags::empty()
        })
    }

    /// Whoever changes a task takes the lock of its run queue and reads the clock there, be the task asleep and the CPU idle.
    ///
    /// Kernel: core.c __sched_setscheduler(), set_user_nice(), __set_cpus_allowed_ptr(), sched_move_task(), v4.12–
    pub(crate) fn update_clock_of(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        if !matches!(self.tasks[task].state, TaskState::New | TaskState::Dead) {
            self.update_rq_clock(cx, self.tasks[task].cpu);
        }
    }

    /// Takes a task off its queue and its CPU, lets `change` act, and puts it back, as kernels do for every change: it must not find the
    /// task in an order or a sum. The task is placed anew for that, by the flags that `change` answers. Whether it was queued.
    ///
    /// Kernel: core.c sched_change_begin(), sched_change_end(), v6.19– (part of each caller before)
    pub(crate) fn sched_change<'a, 'b>(
        &mut self,
        cx: &mut Ctx<'a, 'b>,
        task: TaskId,
        flags: DequeueFlags,
        change: impl FnOnce(&mut Sched, &mut Ctx<'a, 'b>) -> EnqueueFlags,
    ) -> bool {
        let queued = self.tasks[task].state.is_on_rq();
        let running = self.rqs[self.tasks[task].cpu].curr == Some(task);
        if queued {
            self.dequeue_task(cx, task, flags);
        }
        if running {
            self.put_prev_task(cx, task);
        }
        let place = change(self, cx);
        if queued {
            self.enqueue_task(cx, task, EnqueueFlags::RESTORE.with(place));
        }
        if running {
            self.set_next_task(cx, task);
        }
        queued
    }

    /// After a change of priority: the running task gives way if it became less urgent, a queued one may preempt. Who is the only
    /// entity of its CPU's queue has nobody to give way to.
    ///
    /// Kernel: fair.c prio_changed_fair(), v5.6– (core.c set_user_nice() before)
    fn prio_changed(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, old: i32) {
        let (cpu, prio) = (self.tasks[task].cpu, self.tasks[task].prio());
        let runs = self.rqs[cpu].curr == Some(task);
        match self.profile.nice_preempt {
            NicePreempt::AsWakeUp if self.cfs_rq(cpu).nr_running == 1 => {}
            NicePreempt::AsWakeUp if !runs => self.check_preempt_curr(cx, cpu, task, Arrival::Plain),
            NicePreempt::Reschedules if !runs && prio >= old => {}
            NicePreempt::AsWakeUp if prio <= old => {}
            NicePreempt::Reschedules | NicePreempt::AsWakeUp => self.resched_curr(cx, cpu),
        }
    }

    /// Changes the allowed CPUs of a task; one that may no longer run where it is moves. The CPUs that it may use
    /// already change nothing. Those off line are remembered: the task may use them when they come back. If none is on
    /// line the answer is false (EINVAL), and nothing changes; nor does it for a deadline task that could not use all (EBUSY).
    ///
    /// Kernel: core.c __set_cpus_allowed_ptr(), do_set_cpus_allowed(), v4.12–
    pub fn set_cpus_allowed(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, cpus: CpuMask) -> bool {
        let cpus = cpus.and(&CpuMask::first_n(self.rqs.len()));
        let splits = self.is_dl(task) && !self.covers_root_domain(cx, &cpus);
        if splits || !cpus.intersects(&cx.machine.online) {
            return false;
        }
        if *self.tasks[task].cpus_allowed != cpus {
            let cpus = self.shared_mask(cpus);
            self.change_off_queue(cx, task, |sched| sched.tasks[task].cpus_allowed = cpus);
            self.leave_forbidden_cpu(cx, task);
        }
        true
    }

    /// A runnable task moves if its CPU is none of those that it may use.
    ///
    /// Kernel: core.c affine_move_task() from v5.10, part of __set_cpus_allowed_ptr() before, v4.12–
    pub(crate) fn leave_forbidden_cpu(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        if self.is_cpu_allowed(task, cpu) {
            self.tasks[task].migration_pending = None;
            return;
        }
        if !self.tasks[task].state.is_on_rq() {
            // A sleeper is placed by its next wake-up, a new task by its first; one that is just being
            // woken moves as soon as it is queued.
            return;
        }
        let target = self.cpu_to_go_to(cx, task);
        match self.rqs[cpu].curr == Some(task) {
            true => {
                // The kernel sends its stopper thread; the move happens at the task's next schedule().
                cx.decide(Reason::SelectAllowed, Some(task), target.get());
                self.tasks[task].migration_pending = Some(target);
                self.stopper_comes_for_curr(cpu);
                self.resched_curr(cx, cpu);
            }
            false => {
                cx.decide(Reason::SelectAllowed, Some(task), target.get());
                self.update_rq_clock(cx, cpu);
                self.deactivate_task(cx, task, DequeueFlags::MIGRATING);
                self.push_moved_task(cx, task, target);
            }
        }
    }

    /// Where a task goes that must leave its CPU: if that is off line, near it; else to the first CPU allowed.
    fn cpu_to_go_to(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> CpuId {
        let row = &self.tasks[task];
        let (cpu, first) = (row.cpu, row.cpus_allowed.and(&cx.machine.online).first());
        match first.filter(|_| self.rqs[cpu].online) {
            Some(first) => first,
            None => self.select_fallback_rq(cx, cpu, task),
        }
    }

    /// A runnable task that was taken off its queue arrives on `target`.
    ///
    /// Kernel: core.c move_queued_task(), v4.12–
    pub(crate) fn push_moved_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, mut target: CpuId) {
        if !self.is_cpu_allowed(task, target) {
            target = self.select_fallback_rq(cx, target, task);
        }
        self.arrive_on(cx, task, target);
        self.check_preempt_curr(cx, target, task, Arrival::Plain);
    }

    /// A runnable task that was taken off its queue is queued on `target`; nobody is asked to give way yet.
    ///
    /// Kernel: sched.h move_queued_task_locked(), v6.12– (spelt out by those that move before)
    pub(super) fn arrive_on(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        self.count_rq_lock(cx, target);
        // Who moves it holds its queue's lock, which a switch away from it gives up at its end only.
        self.tasks[task].on_cpu = false;
        self.set_task_cpu(cx, task, target);
        self.update_rq_clock(cx, target);
        self.activate_task(cx, task, EnqueueFlags::empty());
    }

    /// The current task of `cx.cpu` gives the CPU away; the caller calls schedule() next.
    ///
    /// Kernel: core.c do_sched_yield(), v4.12–
    pub fn sched_yield(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        let Some(task) = self.rqs[cpu].curr else { return };
        self.rqs[cpu].stats.yld_count += 1;
        let reason = match () {
            () if self.is_dl(task) => self.yield_task_dl(cx, task),
            () if self.is_rt(task) => self.yield_task_rt(task),
            () if self.rqs[cpu].nr_counted() == 1 => Reason::YieldAlone,
            () => self.yield_task_fair(cx, task),
        };
        cx.decide(reason, Some(task), 0);
    }
}
