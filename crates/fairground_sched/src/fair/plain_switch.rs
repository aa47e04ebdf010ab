//! What the fair class does at most switches: `core/plain_switch.rs`.

use super::level::Level;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::pick::Picked;
use crate::seam::{AvgVruntime, TickPreempt};
use fairground_model::Reason;
use fairground_stdx::{SeId, TaskId};

impl Sched {
    /// Brings the clocks of the calling CPU up to now, accounts `prev`, which runs there, and picks who runs next. `None`: that is `prev`,
    /// or somebody who sleeps, and nothing is told of it.
    ///
    /// Kernel: fair.c pick_task_fair(), v5.11– (pick_next_task_fair() before)
    #[inline(always)]
    pub(crate) fn pick_next_plain(&mut self, cx: &mut Ctx<'_, '_>, prev: TaskId) -> Option<TaskId> {
        let (cpu, curr) = (cx.cpu, self.tasks[prev].se);
        let mut level = self.level(curr);
        let cfs = &*level.cfs_avg;
        level.rq.move_clocks(cx, level.profile, cpu, |_| *cfs);
        level.rq.stats.sched_count += 1;
        level.rq.sets_all = false;
        if level.se.exec_start == level.rq.clocks.clock_task {
            cx.trace.no_runtime(cx.now, cpu, prev);
        }
        let picked = match level.profile.tick_preempt {
            TickPreempt::CfsSlice | TickPreempt::AlignRightmost => {
                level.account(cx);
                level.leftmost_plain()
            }
            TickPreempt::Deadline => {
                if let (_, Some(reason)) = level.account_request(cx) {
                    self.end_turn(cx, curr, reason);
                }
                None
            }
        };
        let queue = self.ses[curr].cfs_rq;
        let picked = match picked {
            Some(picked) => picked,
            None => self.pick_next_entity(queue, Some(curr)).expect("invariant: a queue with entities has a candidate"),
        };
        let entity = &self.ses[picked.se];
        let next = entity.task.filter(|&task| task != prev && !entity.sched_delayed)?;
        cx.decide_who(picked.reason, next.get(), picked.against.map_or(0, |se| self.ses[se].who()));
        Some(next)
    }

    /// `prev`, which can go on, goes back into the order of its queue. Its run time is accounted.
    ///
    /// Kernel: fair.c put_prev_entity(), v4.12–
    #[inline(always)]
    pub(crate) fn put_prev_plain(&mut self, cx: &mut Ctx<'_, '_>, prev: TaskId) {
        let se = self.tasks[prev].se;
        let mut level = self.level(se);
        level.enqueue_in_order();
        if level.profile.avg_vruntime == AvgVruntime::ZeroQueued {
            let queue = level.se.cfs_rq;
            self.waiting_changed(queue);
            level = self.level(se);
        }
        level.age_at_switch(cx);
        level.cfs_rq.curr = None;
    }

    /// `next`, which was picked, leaves the order of its queue, and its turn begins.
    ///
    /// Kernel: fair.c set_next_entity(), v4.12–
    #[inline(always)]
    pub(crate) fn set_next_plain(&mut self, cx: &mut Ctx<'_, '_>, next: TaskId) {
        let se = self.tasks[next].se;
        self.clear_buddies(self.ses[se].cfs_rq, se);
        let mut level = self.level(se);
        level.dequeue_from_order();
        if level.profile.avg_vruntime == AvgVruntime::ZeroQueued {
            let queue = level.se.cfs_rq;
            self.waiting_changed(queue);
            level = self.level(se);
        }
        level.age_on_aged_queue(cx);
        if level.profile.pick.is_eevdf() {
            level.set_protection();
        }
        level.se.exec_start = level.rq.clocks.clock_task;
        level.se.prev_sum_exec_runtime = level.se.sum_exec_runtime;
        level.cfs_rq.curr = Some(se);
    }

    /// Puts `prev` down, which may sleep, and sets `next`, if there is one, where [`Sched::switches_plainly`] says so.
    ///
    /// Kernel: sched.h put_prev_set_next_task(), v6.12– (inside pick_next_task_fair() before)
    #[inline(always)]
    pub(crate) fn put_prev_set_next_plain(&mut self, cx: &mut Ctx<'_, '_>, prev: Option<TaskId>, next: Option<TaskId>) {
        if let Some(task) = prev {
            let se = self.tasks[task].se;
            let (on_rq, queue) = (self.ses[se].on_rq, self.ses[se].cfs_rq);
            match on_rq {
                true => {
                    self.update_curr(cx, queue);
                    self.put_prev_plain(cx, task);
                }
                false => self.cfs_rqs[queue].curr = None,
            }
        }
        match next {
            Some(next) => self.set_next_plain(cx, next),
            None => self.rqs[cx.cpu].stats.sched_goidle += 1,
        }
    }
}

impl Level<'_> {
    /// The first in virtual time of the running entity and those that wait, where nobody is preferred or passed over and others wait.
    ///
    /// Kernel: fair.c pick_next_entity(), v4.12–v6.5
    #[inline(always)]
    fn leftmost_plain(&self) -> Option<Picked> {
        if (self.cfs_rq.last, self.cfs_rq.next, self.cfs_rq.skip) != (None, None, None) {
            return None;
        }
        let (vruntime, first): (_, SeId) = self.cfs_rq.timeline.first()?;
        Some(match self.se.vruntime.since(vruntime) < 0 {
            true => Picked { se: self.id, reason: Reason::PickCurrEarlier, against: Some(first) },
            false => Picked::alone(first, Reason::PickLeftmost),
        })
    }
}
