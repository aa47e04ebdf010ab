//! Accounting of run time.
//!
//! ```text
//! delta    = clock_task - exec_start                 ns of running since the last account
//! vruntime += delta * 1024 / weight                  nice 0: one to one
//! min_vruntime = max(min_vruntime, min(curr, leftmost))
//! ```

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::level::Level;
use crate::fair::steps::step;
use crate::fair::weight::{Division, calc_delta_fair};
use crate::fair::{CfsRq, SchedEntity};
use crate::seam::{AvgVruntime, TickPreempt};
use fairground_model::{Reason, TraceEvent};
use fairground_stdx::{CfsRqId, Ns, SeId, Vruntime};

impl Sched {
    /// Accounts the running entity of `cfs_rq` up to the queue's task clock.
    ///
    /// Kernel: fair.c update_curr(), update_curr_fair(), v4.12–
    #[inline(always)]
    pub(crate) fn update_curr(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId) {
        step("update_curr");
        let queue = &mut self.cfs_rqs[cfs_rq];
        let Some(curr) = queue.curr else { return };
        match self.profile.tick_preempt {
            TickPreempt::CfsSlice | TickPreempt::AlignRightmost => {
                let now = self.rqs[queue.cpu].clocks.clock_task;
                let ran = account(cx, self.profile.division(), now, queue, &mut self.ses[curr]);
                self.account_cfs_rq_runtime(cx, cfs_rq, ran);
            }
            TickPreempt::Deadline => self.update_curr_request(cx, curr),
        }
    }

    // Not inlined: CFS keeps its registers.
    #[inline(never)]
    fn update_curr_request(&mut self, cx: &mut Ctx<'_, '_>, curr: SeId) {
        let (ran, turn) = self.level(curr).account_request(cx);
        if let Some(reason) = turn {
            self.end_turn(cx, curr, reason);
        }
        self.account_cfs_rq_runtime(cx, self.ses[curr].cfs_rq, ran);
    }

    /// Accounts what runs on the calling CPU, the task and every group above it.
    pub(crate) fn update_curr_of_all_levels(&mut self, cx: &mut Ctx<'_, '_>) {
        let mut queue = Some(self.rqs[cx.cpu].cfs);
        while let Some(cfs_rq) = queue {
            self.update_curr(cx, cfs_rq);
            queue = self.cfs_rqs[cfs_rq].curr.and_then(|se| self.ses[se].my_q);
        }
    }

    /// Moves the floor of virtual time up to the smaller of the running and the first waiting entity.
    ///
    /// Kernel: fair.c update_min_vruntime(), v4.12–v6.18
    #[inline]
    pub(crate) fn update_min_vruntime(&mut self, cfs_rq: CfsRqId) {
        let queue = &mut self.cfs_rqs[cfs_rq];
        let curr = queue.curr.map(|se| &self.ses[se]).filter(|se| se.on_rq).map(|se| se.vruntime);
        match self.profile.pick.is_eevdf() {
            false => raise_min_vruntime(queue, curr),
            true if self.profile.avg_vruntime == AvgVruntime::MinVruntime => queue.raise_zero_of_averages(curr),
            true => {}
        }
    }
}

impl Level<'_> {
    /// Accounts the entity, which runs, up to the queue's task clock, in CFS. Returns how long it ran.
    ///
    /// Kernel: fair.c update_curr(), v4.12–v6.5
    #[inline(always)]
    pub(crate) fn account(&mut self, cx: &mut Ctx<'_, '_>) -> Ns {
        account(cx, self.profile.division(), self.rq.clocks.clock_task, self.cfs_rq, self.se)
    }

    /// Accounts the entity, which runs, and its request. Returns how long it ran, and why its turn is over, if it is.
    ///
    /// Kernel: fair.c update_curr(), v6.6–
    // Not inlined: CFS keeps its registers.
    #[inline(never)]
    pub(super) fn account_request(&mut self, cx: &mut Ctx<'_, '_>) -> (Ns, Option<Reason>) {
        self.account_request_here(cx)
    }

    /// The same in place.
    #[inline(always)]
    pub(super) fn account_request_here(&mut self, cx: &mut Ctx<'_, '_>) -> (Ns, Option<Reason>) {
        let Some(ran) = charge(self.profile.division(), self.rq.clocks.clock_task, self.se) else { return (Ns::ZERO, None) };
        let renewed = self.update_deadline();
        match self.profile.avg_vruntime {
            AvgVruntime::MinVruntime => self.cfs_rq.raise_zero_of_averages(self.se.on_rq.then_some(self.se.vruntime)),
            rule if renewed && rule.settles_when_asked() => {
                let average = self.cfs_rq.averages(self.profile, Some(self.se)).avg_vruntime();
                self.cfs_rq.move_zero_of_averages(average);
            }
            AvgVruntime::ZeroShifted | AvgVruntime::ZeroQueued | AvgVruntime::Zero => {}
        }
        record_runtime(cx, self.se, ran);
        (ran, self.turn_is_over(renewed))
    }
}

/// Accounts `se`, the running entity of `queue`, up to `now` on the task clock. Returns how long it ran.
///
/// Kernel: fair.c update_curr(), v4.12–v6.5
#[inline(always)]
fn account(cx: &mut Ctx<'_, '_>, how: Division, now: u64, queue: &mut CfsRq, se: &mut SchedEntity) -> Ns {
    let Some(ran) = charge(how, now, se) else { return Ns::ZERO };
    raise_min_vruntime(queue, se.on_rq.then_some(se.vruntime));
    record_runtime(cx, se, ran);
    ran
}

/// Charges `se` with what it has run since the last account, if it has.
#[inline]
fn charge(how: Division, now: u64, se: &mut SchedEntity) -> Option<Ns> {
    let delta = se.account_until(now)?;
    se.vruntime = se.vruntime.plus(calc_delta_fair(how, delta.0, &mut se.load));
    Some(delta)
}

#[inline]
fn record_runtime(cx: &mut Ctx<'_, '_>, se: &SchedEntity, runtime: Ns) {
    if let Some(task) = se.task {
        cx.record(TraceEvent::SchedStatRuntime { task, runtime, vruntime: Some(se.vruntime) });
    }
}

#[inline]
fn raise_min_vruntime(queue: &mut CfsRq, curr: Option<Vruntime>) {
    let leftmost = queue.timeline.first().map(|row| row.0);
    let candidate = match (curr, leftmost) {
        (Some(curr), Some(left)) => curr.min(left),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => return,
    };
    queue.min_vruntime = queue.min_vruntime.max(candidate);
}
