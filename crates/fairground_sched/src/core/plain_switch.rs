//! schedule() of most switches: a fair task of the root group hands its CPU to another one, and nothing else on the machine has to do
//! with it.
//!
//! It does what the general way does (`schedule.rs`), in the same order and by the same rules, but the rows of the two tasks and
//! their queue are looked up once, and what cannot be the case here is not asked again. [`Sched::choose_short_ways`] says on which
//! machines.

use crate::Sched;
use crate::core::{Leaving, Switch};
use crate::ctx::Ctx;
use crate::seam::ClockSkip;
use fairground_model::PrevState;
use fairground_stdx::TaskId;

impl Sched {
    /// The task that leaves its CPU the short way: a fair one that can go on, beside fair ones alone. Nobody wants samples.
    #[inline(always)]
    fn plain_switch_of(&self, cx: &Ctx<'_, '_>) -> Option<TaskId> {
        let rq = &self.rqs[cx.cpu];
        let prev = rq.curr.filter(|_| self.plain_switches && !cx.trace.wants_samples())?;
        let (row, queue) = (&self.tasks[prev], &self.cfs_rqs[rq.cfs]);
        let goes_on = row.sleep_state.is_none() && row.migration_pending.is_none() && row.policy.is_fair();
        let others = rq.nr_running >= 2 && rq.nr_counted() == queue.nr_running;
        let reads_clock = !(rq.clock_skip.requested || rq.clock_skip.active);
        let plain = goes_on && others && reads_clock && rq.online && !(rq.stop_running || rq.stopper_leaves);
        plain.then_some(prev)
    }

    /// schedule() where `plain_switch_of` has a task; `None`: it has none, and nothing is done.
    ///
    /// Kernel: core.c __schedule(), v4.12–
    #[inline(always)]
    pub fn schedule_plain(&mut self, cx: &mut Ctx<'_, '_>) -> Option<Switch> {
        let prev = self.plain_switch_of(cx)?;
        self.hrtick_schedule_enter(cx);
        let next = self.pick_next_plain(cx, prev);
        match next {
            Some(next) => Some(self.switch_plain(cx, prev, next)),
            None => self.pick_by_the_long_way(cx, prev),
        }
    }

    /// The pick has come upon the task that runs, or on one that sleeps: the rest is left to the general way.
    #[inline(never)]
    fn pick_by_the_long_way(&mut self, cx: &mut Ctx<'_, '_>, prev: TaskId) -> Option<Switch> {
        let picked = self.pick_task(cx);
        assert!(picked.is_some(), "invariant: a queue whose task can go on has somebody to pick");
        self.schedule_finish(cx, Leaving { picked, ..Leaving::of_task(prev) })
    }

    /// Whether the second part of schedule() may go the short way: from a fair task, which may sleep, or from idle, to another fair task
    /// or to idle. Nobody is moved, and nobody wants samples.
    #[inline(always)]
    pub(super) fn switches_plainly(&self, cx: &Ctx<'_, '_>, leaving: &Leaving, next: Option<TaskId>) -> bool {
        let (rq, prev) = (&self.rqs[cx.cpu], leaving.prev);
        let plain = self.plain_switches && !cx.trace.wants_samples() && prev != next && !leaving.stays_idle;
        let stopper = leaving.from_stopper || rq.stop_running || leaving.moving.is_some();
        plain
            && !stopper
            && rq.online
            && !rq.sets_all
            && prev.is_none_or(|prev| self.is_fair(prev) && !self.may_be_forbidden(prev))
            && next.is_none_or(|next| self.is_fair(next))
    }

    /// The last part of schedule() where [`Sched::switches_plainly`] says so.
    ///
    /// Kernel: core.c __schedule() from pick_next_task() on, v4.12–
    #[inline(never)]
    pub(super) fn switch_to_plain(&mut self, cx: &mut Ctx<'_, '_>, leaving: &Leaving, next: Option<TaskId>) -> Switch {
        let (cpu, prev, prev_state) = (cx.cpu, leaving.prev, leaving.prev_state);
        if let Some(next) = next {
            if prev.is_none() {
                self.put_prev_task_idle(cx);
            }
            self.cfs_tasks_picked(cpu, next, true);
        }
        self.put_prev_set_next_plain(cx, prev, next);
        self.hrtick_at_pick(cx, prev, next);
        if next.is_none() {
            self.update_idle_core(cpu);
        }
        let rq = &mut self.rqs[cpu];
        (rq.need_resched, rq.need_resched_lazy, rq.last_seen_need_resched) = (false, false, 0);
        if self.profile.clock_skip == ClockSkip::WholeCall {
            rq.clock_skip = Default::default();
        }
        self.context_switch(cx, prev, prev_state, next);
        self.hrtick_schedule_exit(cx);
        Switch { prev, prev_state, next }
    }

    /// The CPU switches from one fair task to another one.
    #[inline(always)]
    fn switch_plain(&mut self, cx: &mut Ctx<'_, '_>, prev: TaskId, next: TaskId) -> Switch {
        let cpu = cx.cpu;
        self.cfs_tasks_picked(cpu, next, true);
        self.put_prev_plain(cx, prev);
        self.set_next_plain(cx, next);
        self.hrtick_at_pick(cx, Some(prev), Some(next));
        let rq = &mut self.rqs[cpu];
        (rq.lb.newidle_found, rq.lb.server_looks, rq.lb.server_looked) = (false, false, false);
        (rq.need_resched, rq.need_resched_lazy, rq.last_seen_need_resched) = (false, false, 0);
        self.context_switch(cx, Some(prev), PrevState::Running, Some(next));
        self.hrtick_schedule_exit(cx);
        Switch { prev: Some(prev), prev_state: PrevState::Running, next: Some(next) }
    }
}
