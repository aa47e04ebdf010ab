//! schedule(): put the current task down, pick the next one.

use crate::Sched;
use crate::core::Leaving;
use crate::ctx::{Ctx, Request};
use crate::deadline::DlRq;
use crate::fair::DequeueFlags;
use crate::fair::balance::BalanceStep;
use crate::rq::Urgency;
use crate::rt::RtRq;
use crate::seam::{ClockSkip, IdleReentry, IdleTimeEnd, Preemption, RepeatedPick, RepeatedRtPick};
use crate::task::TaskState;
use fairground_model::{Op, PrevState, QueueAct, Reason, TraceEvent};
use fairground_stdx::{CpuId, Instant, TaskId};

/// What schedule() did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// The task that was current; `None` = idle.
    pub prev: Option<TaskId>,
    /// What it is from now on.
    pub prev_state: PrevState,
    /// The task that is current now; `None` = idle.
    pub next: Option<TaskId>,
}

/// Whether a task may go on in user mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UserReturn {
    /// It runs.
    Run,
    /// A reschedule is due first.
    Resched,
    /// It leaves its queue first, if that is throttled still ([`Sched::throttle_cfs_rq_work`]).
    ThrottleWork,
}

impl Sched {
    /// Announces that the current task of `cx.cpu` will sleep (or end) at its next schedule(). A
    /// wake-up that comes before takes the announcement back.
    ///
    /// Kernel: sched.h set_current_state(), v4.12–
    pub fn set_current_state(&mut self, cpu: CpuId, state: PrevState) {
        let curr = self.rqs[cpu].curr.expect("invariant: only a running task changes its own state");
        (self.tasks[curr].sleep_state, self.tasks[curr].in_iowait) = (Some(state), false);
    }

    /// Marks the announced sleep of the current task of `cpu` as a wait for a device.
    ///
    /// Kernel: core.c io_schedule_prepare(), v4.12–
    pub fn io_schedule(&mut self, cpu: CpuId) {
        let curr = self.rqs[cpu].curr.expect("invariant: only a running task waits for a device");
        self.tasks[curr].in_iowait = true;
    }

    /// Puts the current task of `cx.cpu` down and switches to the next one, all at one instant.
    ///
    /// Kernel: core.c __schedule(), v4.12–
    pub fn schedule(&mut self, cx: &mut Ctx<'_, '_>) -> Switch {
        let leaving = self.schedule_start(cx);
        let switch = loop {
            if leaving.found_nothing() && self.wants_newidle_balance(cx.cpu, &leaving) {
                while self.newidle_balance(cx) == BalanceStep::More {}
            }
            if let Some(switch) = self.schedule_finish(cx, leaving) {
                break switch;
            }
        };
        if let Some(prev) = switch.prev.filter(|_| switch.prev != switch.next) {
            self.finish_task_switch(prev);
        }
        switch
    }

    /// The first part of schedule() on `cx.cpu`: a task that goes to sleep leaves the queue, and the next one is picked
    /// if there is one. If there is none ([`Leaving::found_nothing`]) the CPU may balance before the second part; until
    /// that is over its current task stays the one that leaves.
    ///
    /// Kernel: core.c __schedule() with fair.c pick_task_fair(), v4.12–
    #[inline]
    pub fn schedule_start(&mut self, cx: &mut Ctx<'_, '_>) -> Leaving {
        let leaving = self.leave_cpu(cx);
        self.tell_no_runtime(cx, &leaving);
        if leaving.prev.is_some_and(|prev| self.needs_dl_pull_after(prev)) {
            self.pull_dl_task(cx, cx.cpu);
        }
        // The priority of the stopper is above all others.
        let from_stopper = leaving.from_stopper && self.needs_pull_after_stopper(cx.cpu);
        if from_stopper || leaving.prev.is_some_and(|prev| self.needs_pull_after(prev)) {
            self.pull_rt_task(cx, cx.cpu);
        }
        let leaving = self.balances_before_pick(cx.cpu, leaving);
        // Who is put down before the pick may be throttled by that, and is not picked then. No balance comes for that.
        let accounts = self.profile.repeated_rt_pick == RepeatedRtPick::Renewed;
        if leaving.prev.is_some_and(|prev| accounts && !self.is_fair(prev)) {
            self.update_curr_of_class(cx);
        }
        // A task that is called away gives the CPU to the stopper first; who follows is picked when that has moved it.
        match leaving.balances_first || leaving.moving.is_some() {
            true => leaving,
            false => Leaving { picked: self.pick_unless_idle(cx, &leaving), ..leaving },
        }
    }

    /// Who runs next. A CPU that idles on is not asked, so a server without tasks stays where it is.
    fn pick_unless_idle(&mut self, cx: &mut Ctx<'_, '_>, leaving: &Leaving) -> Option<TaskId> {
        if leaving.stays_idle && self.rqs[cx.cpu].nr_counted() == 0 {
            return None;
        }
        self.pick_task(cx)
    }

    /// Tells of a fair task that can go on and that schedule() will account for no time, though the clock was read.
    fn tell_no_runtime(&self, cx: &mut Ctx<'_, '_>, leaving: &Leaving) {
        let rq = &self.rqs[cx.cpu];
        let can_go_on = leaving.prev_state == PrevState::Running && leaving.moving.is_none() && !leaving.kept_clock;
        if let Some(task) = leaving.prev.filter(|&task| can_go_on && self.is_fair(task))
            && self.se(task).exec_start == rq.clocks.clock_task
        {
            cx.trace.no_runtime(cx.now, cx.cpu, task);
        }
    }

    /// The second part: the switch. What was queued in between is picked only if nothing had been before. `None`: newidle balance
    /// has found tasks, and the pick has put them all down again, since they sleep or are out of quota. The CPU balances once more.
    ///
    /// Kernel: core.c __schedule() from pick_next_task() on, with fair.c pick_next_task_fair() after `idle:`, v4.12–
    #[inline]
    pub fn schedule_finish(&mut self, cx: &mut Ctx<'_, '_>, leaving: Leaving) -> Option<Switch> {
        let lb = &mut self.rqs[cx.cpu].lb;
        let found = std::mem::take(&mut lb.newidle_found);
        let for_server = std::mem::take(&mut lb.server_looks) && leaving.found_nothing();
        lb.server_looked = for_server && !found;
        let next = match leaving.picked {
            Some(task) => Some(task),
            None if leaving.moving.is_some() => None,
            None => {
                let picked = self.pick_unless_idle(cx, &leaving);
                let again = !leaving.balances_once && self.wants_newidle_balance(cx.cpu, &leaving);
                if picked.is_none() && (found || for_server) && again {
                    return None;
                }
                self.picked_anew(cx, leaving.prev, picked);
                picked
            }
        };
        if std::mem::take(&mut self.rqs[cx.cpu].stop_running) {
            self.note_idleness(cx.cpu);
        }
        Some(match self.switches_plainly(cx, &leaving, next) {
            true => self.switch_to_plain(cx, &leaving, next),
            false => self.switch_to(cx, leaving, next),
        })
    }

    /// The first part of schedule(): a task that goes to sleep or must move leaves the queue.
    ///
    /// Kernel: core.c __schedule() up to pick_next_task(), v4.12–
    pub(crate) fn leave_cpu(&mut self, cx: &mut Ctx<'_, '_>) -> Leaving {
        let cpu = cx.cpu;
        self.hrtick_schedule_enter(cx);
        let skip = &mut self.rqs[cpu].clock_skip;
        skip.active = std::mem::take(&mut skip.requested);
        let kept_clock = skip.active;
        self.update_rq_clock(cx, cpu);
        if self.profile.clock_skip == ClockSkip::FirstReading {
            self.rqs[cpu].clock_skip.active = false;
        }
        self.tell_call(cx, QueueAct::Schedule);
        (self.rqs[cpu].lb.server_looks, self.rqs[cpu].lb.server_looked) = (false, false);

        // A stopper that has run goes to sleep.
        if self.rqs[cpu].stop_running {
            self.rqs[cpu].stopper_queued = false;
            self.note_idleness(cpu);
        }
        self.rqs[cpu].stats.sched_count += 1;
        let prev = self.rqs[cpu].curr;
        // It stays the current task until the switch: who is queued by a newidle balance finds it, not the idle task.
        if std::mem::take(&mut self.rqs[cpu].stopper_leaves) {
            self.rqs[cpu].stop_running = true;
            self.note_idleness(cpu);
        }
        let rq = &mut self.rqs[cpu];
        let from_stopper = rq.stop_running;
        let is_idle = prev.is_none() && !from_stopper && rq.nr_counted() == 0;
        let stays_idle = is_idle && self.profile.idle_reentry == IdleReentry::Stays;
        let mut leaving = Leaving {
            prev,
            prev_state: PrevState::Running,
            moving: None,
            picked: None,
            kept_clock,
            stays_idle,
            picks_only: false,
            balances_first: false,
            stands: false,
            balances_once: false,
            from_stopper,
        };
        if let Some(task) = prev {
            // A task that leaves the queue to sleep needs no push: its wake-up will choose among the CPUs that it may use.
            let push_to = self.tasks[task].migration_pending.take();
            if let Some(state) = self.tasks[task].sleep_state.take() {
                leaving.prev_state = state;
                self.tasks[task].state = self.block_task(cx, task, state);
            } else if let Some(target) = push_to {
                leaving.moving = Some((task, target));
                // The stopper that moves it is a task of the CPU meanwhile.
                let queued = std::mem::replace(&mut self.rqs[cpu].stopper_queued, true);
                self.deactivate_task(cx, task, DequeueFlags::MIGRATING);
                self.rqs[cpu].stopper_queued = queued;
                self.note_idleness(cpu);
            }
        }
        leaving
    }

    /// The last part of schedule(): `next` becomes current.
    ///
    /// Kernel: core.c __schedule() from pick_next_task() on, v4.12–
    pub(crate) fn switch_to(&mut self, cx: &mut Ctx<'_, '_>, leaving: Leaving, next: Option<TaskId>) -> Switch {
        let Leaving { prev, prev_state, moving, stays_idle, .. } = leaving;
        let from_idle = leaving.is_from_idle();
        if from_idle && (next.is_some() || self.rqs[cx.cpu].stop_running) {
            self.put_prev_task_idle(cx);
        }
        if from_idle && next.is_some() {
            self.dl_server_update_idle(cx, cx.cpu);
        }
        if !stays_idle {
            self.put_prev_set_next_task(cx, prev, next);
            self.hrtick_at_pick(cx, prev, next);
            self.misfit_at_pick(cx, prev, next);
            // The idle task that is picked again goes on where any other one would.
            let goes_on = from_idle && self.profile.repeated_rt_pick == RepeatedRtPick::Kept;
            if next.is_none() && !self.rqs[cx.cpu].stop_running && !goes_on {
                self.update_idle_core(cx.cpu);
            }
        }
        let rq = &mut self.rqs[cx.cpu];
        (rq.need_resched, rq.need_resched_lazy, rq.last_seen_need_resched) = (false, false, 0);
        if self.profile.clock_skip == ClockSkip::WholeCall {
            rq.clock_skip = Default::default();
        }
        if prev != next {
            self.context_switch(cx, prev, prev_state, next);
        }
        if next.is_none() && !from_idle && !self.rqs[cx.cpu].stop_running {
            self.dl_server_idles(cx.cpu);
        }
        if let Some((task, target)) = moving {
            self.push_moved_task(cx, task, target);
            // The stopper that moved it leaves the CPU to whom it finds.
            let rq = &mut self.rqs[cx.cpu];
            (rq.need_resched, rq.stopper_leaves) = (true, true);
            self.dl_server_sees_stopper(cx.cpu);
        } else if let Some(task) = prev.filter(|&task| self.may_be_forbidden(task) && !self.pushes_off(cx.cpu)) {
            self.leave_forbidden_cpu(cx, task);
        }
        if self.pushes_off(cx.cpu) {
            self.balance_push(cx, next);
            self.hrtick_schedule_exit(cx);
            return Switch { prev, prev_state, next };
        }
        let picked_anew = prev != next || self.profile.repeated_rt_pick == RepeatedRtPick::Renewed;
        if let Some(next) = next.filter(|&next| picked_anew && !self.is_fair(next)) {
            match self.is_dl(next) {
                true => self.push_tasks::<DlRq>(cx, cx.cpu),
                false => self.push_tasks::<RtRq>(cx, cx.cpu),
            }
        }
        self.hrtick_schedule_exit(cx);
        Switch { prev, prev_state, next }
    }

    /// Whether a task may stand on a queue where it may no longer run: it sleeps and is queued still, or its affinity changed while
    /// its CPU, which is about to leave it, looked for other work.
    pub(super) fn may_be_forbidden(&self, task: TaskId) -> bool {
        let row = &self.tasks[task];
        row.state == TaskState::Delayed || (row.state.is_on_rq() && row.migration_pending.is_some())
    }

    /// The current task goes to sleep, or ends. Returns where that leaves it.
    ///
    /// Kernel: core.c block_task(), v6.12– (__schedule() before)
    fn block_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, state: PrevState) -> TaskState {
        if state == PrevState::Dead {
            self.deactivate_task(cx, task, DequeueFlags::SLEEP.with(DequeueFlags::SPECIAL));
            return TaskState::Dead;
        }
        match self.deactivate_task(cx, task, DequeueFlags::SLEEP) {
            true => TaskState::OffCpuPending,
            false => TaskState::Delayed,
        }
    }

    #[inline(always)]
    pub(super) fn context_switch(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        prev: Option<TaskId>,
        prev_state: PrevState,
        next: Option<TaskId>,
    ) {
        cx.meter.count(Op::PickSwitch);
        self.sched_info_switch(cx.cpu, prev, prev_state, next);
        let rq = &mut self.rqs[cx.cpu];
        let mut spaces = [None; 2];
        if let Some(prev) = prev {
            let task = &mut self.tasks[prev];
            spaces[0] = Some(task.mm);
            if task.state == TaskState::Running {
                task.state = TaskState::Queued;
            }
        }
        if let Some(next) = next {
            let task = &mut self.tasks[next];
            spaces[1] = Some(task.mm);
            (task.state, task.on_cpu) = (TaskState::Running, true);
        }
        match spaces {
            [Some(from), Some(to)] if from != to => cx.meter.count(Op::MmSwitch),
            [None, _] | [_, None] if !rq.stop_running => cx.meter.count(Op::SwitchIdle),
            _ => {}
        }
        self.rqs[cx.cpu].curr = next;
        if let Some(task) = prev.filter(|&task| prev_state == PrevState::Dead && self.is_fair(task)) {
            self.task_dead_fair(cx, task);
        }
        self.note_idleness(cx.cpu);
        self.lines.write(cx, cx.cpu);
        self.nr_switches += 1;
        cx.record(TraceEvent::SchedSwitch { prev, prev_state, next });
    }

    /// Kernel: core.c pick_next_task(), v4.12–
    pub(crate) fn pick_next_task(&mut self, cx: &mut Ctx<'_, '_>, prev: Option<TaskId>) -> Option<TaskId> {
        let picked = self.pick_task(cx);
        self.picked_anew(cx, prev, picked);
        picked
    }

    /// What follows from a pick that was made when the CPU had looked for tasks elsewhere, or might have.
    fn picked_anew(&mut self, cx: &mut Ctx<'_, '_>, prev: Option<TaskId>, picked: Option<TaskId>) {
        if picked.is_none() {
            if prev.is_some() || self.rqs[cx.cpu].stop_running {
                self.enter_idle(cx);
            }
            cx.decide(Reason::PickIdle, None, 0);
        }
    }

    /// Puts `prev` back into its order and takes `next` out of it.
    ///
    /// Kernel: sched.h put_prev_set_next_task(), v6.12– (inside pick_next_task_fair() before)
    fn put_prev_set_next_task(&mut self, cx: &mut Ctx<'_, '_>, prev: Option<TaskId>, next: Option<TaskId>) {
        if [prev, next].into_iter().flatten().any(|task| !self.is_fair(task)) {
            return self.switch_classes(cx, prev, next);
        }
        if let Some(task) = next {
            self.cfs_tasks_picked(cx.cpu, task, prev != next);
        }
        let sets_all = std::mem::take(&mut self.rqs[cx.cpu].sets_all);
        if prev == next && self.profile.repeated_pick == RepeatedPick::KeepsSlice && !sets_all {
            return;
        }
        if let (Some(prev), Some(next)) = (prev, next.filter(|&next| prev != Some(next) && !sets_all)) {
            return self.switch_fair(cx, prev, next);
        }
        if let Some(task) = prev {
            self.put_prev_task_fair(cx, task);
        }
        match next {
            Some(task) => self.set_first_task_fair(cx, task),
            None => self.rqs[cx.cpu].stats.sched_goidle += u64::from(!self.rqs[cx.cpu].stop_running),
        }
    }

    /// The idle task of `cx.cpu` is put down.
    ///
    /// Kernel: idle.c put_prev_task_idle(), v7.0–
    pub(super) fn put_prev_task_idle(&mut self, cx: &Ctx<'_, '_>) {
        if self.profile.idle_time_end == IdleTimeEnd::PutIdle {
            self.update_avg_idle(cx, cx.cpu);
        }
    }

    /// The fair class found nothing and the CPU is about to run idle: lost idle time is settled here.
    ///
    /// Kernel: fair.c pick_next_task_fair() with pelt.h update_idle_rq_clock_pelt(), v5.1–
    fn enter_idle(&mut self, cx: &Ctx<'_, '_>) {
        let rq = &mut self.rqs[cx.cpu];
        let (rule, cfs) = (self.profile.pelt_clock, &self.pelt_cfs[rq.cfs]);
        rq.clocks.enter_idle(rule, || rule.overloaded(cfs, &rq.avg_rt, &rq.avg_dl));
    }

    /// The switch away from `prev` is over. Not for one that the stopper moved: it was off its CPU before.
    ///
    /// Kernel: core.c finish_task_switch(), finish_task(), v4.12–
    pub fn finish_task_switch(&mut self, prev: TaskId) {
        let row = &mut self.tasks[prev];
        row.on_cpu = false;
        if row.state == TaskState::OffCpuPending {
            row.state = TaskState::Asleep;
        }
    }

    /// The last thing before user code of the current task of `cpu` runs.
    ///
    /// Kernel: entry/common.c exit_to_user_mode_loop(), v5.8– (earlier per architecture)
    #[inline]
    pub fn exit_to_user(&self, cpu: CpuId) -> UserReturn {
        let rq = &self.rqs[cpu];
        if rq.resched_on_user_return() {
            return UserReturn::Resched;
        }
        match self.user_work_due(cpu) {
            true => UserReturn::ThrottleWork,
            false => UserReturn::Run,
        }
    }

    /// The current task of `cpu` need not give way for what was due: it has time.
    ///
    /// Kernel: sched.h clear_tsk_need_resched(), v4.12–
    pub fn clear_need_resched(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        (rq.need_resched, rq.need_resched_lazy, rq.last_seen_need_resched) = (false, false, 0);
    }

    /// The current task of `cpu` is to give way as soon as it may, asked by its own CPU.
    ///
    /// Kernel: preempt.h set_need_resched_current(), v7.0–
    pub fn set_need_resched(&mut self, cpu: CpuId) {
        self.rqs[cpu].need_resched = true;
    }

    /// Whether the current task of `cpu` has a work to do before it returns to user mode.
    #[inline]
    pub fn user_work_due(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].curr.is_some_and(|task| self.tasks[task].throttle_work)
    }

    /// Whether the current task of `cpu` is taken off the CPU where it is in the kernel, at the end of an interrupt.
    ///
    /// Kernel: core.c preempt_schedule_irq(), v4.12– (with full and lazy preemption)
    #[inline]
    pub fn preempts_in_kernel(&self, cpu: CpuId) -> bool {
        self.profile.preemption.preempts_in_kernel() && self.rqs[cpu].need_resched
    }

    /// Asks `cpu` to call schedule() soon; another CPU is interrupted for that.
    ///
    /// Kernel: core.c resched_curr(), v4.12–
    #[inline]
    pub(crate) fn resched_curr(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.resched_curr_as(cx, cpu, Urgency::Full);
    }

    /// Asks `cpu` to call schedule(). What is not urgent waits, with lazy preemption, for its own return to
    /// user mode: nobody is interrupted for that. The idle task never waits.
    ///
    /// Kernel: core.c resched_curr_lazy(), __resched_curr(), v6.13– (always full before)
    #[inline]
    pub(crate) fn resched_curr_as(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, urgency: Urgency) {
        let rq = &mut self.rqs[cpu];
        if rq.need_resched || self.led {
            return;
        }
        if urgency == Urgency::Lazy && self.profile.preemption == Preemption::Lazy && rq.curr.is_some() {
            rq.need_resched_lazy = true;
            return;
        }
        rq.need_resched = true;
        if cpu != cx.cpu {
            self.interrupt_cpu(cx, cpu, |cpu, at| Request::ReschedIpi { cpu, at });
        }
    }

    /// Sends an interrupt to another CPU, or sets its flag if it polls that in idle.
    ///
    /// Kernel: core.c set_nr_if_polling(), set_nr_and_not_polling(), v4.12–
    pub(crate) fn interrupt_cpu(&self, cx: &mut Ctx<'_, '_>, cpu: CpuId, request: impl FnOnce(CpuId, Instant) -> Request) {
        if !self.rqs[cpu].idle_polling {
            cx.meter.count(Op::IpiSend);
        }
        let at = cx.clock();
        cx.requests.push(request(cpu, at));
    }
}
