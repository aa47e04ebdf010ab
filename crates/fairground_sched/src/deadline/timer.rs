//! The timers of the class: runtime is replenished, a server that was put off runs, a share is free.

use super::queue::Comes;
use super::{DlRq, DlSe, DlTimer};
use crate::Sched;
use crate::ctx::{Ctx, Request};
use crate::seam::{DlBandwidth, FairServerIdle};
use fairground_model::Reason;
use fairground_stdx::Instant;

/// How far past an instant may be for a timer still to be set, ns: the kernel compares microseconds.
///
/// Kernel: deadline.c start_dl_timer(), ktime_us_delta(), v4.12–
const NSEC_PER_USEC: i64 = 1000;

/// A server whose zero-laxity point has moved on by less than this is not put off again.
///
/// Kernel: deadline.c dl_server_min_res, v6.12–
const DL_SERVER_MIN_RES: i64 = 1_000_000;

/// Asks the engine for what a timer is to be at the end of the call.
fn request(cx: &mut Ctx<'_, '_>, timer: DlTimer, at: Option<Instant>) {
    cx.requests.retain(|earlier| !matches!(earlier, Request::DlTimer { timer: other, .. } if *other == timer));
    cx.requests.push(Request::DlTimer { timer, at });
}

impl Sched {
    /// Arms the timer of a throttled entity: for its next period, or the zero-laxity point of a server that is put off. False: that
    /// has passed.
    ///
    /// Kernel: deadline.c start_dl_timer(), v4.12–
    pub(super) fn start_dl_timer(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) -> bool {
        let (clock, entity) = (self.rqs[self.dl_cpu(se)].clocks.clock, self.dl(se));
        let target = if entity.defer_armed { entity.zero_laxity() } else { entity.next_period() as i64 };
        let after = target.wrapping_sub(clock as i64);
        if after <= -NSEC_PER_USEC {
            return false;
        }
        if entity.timer.is_none() {
            self.arm_dl_timer(cx, DlTimer::Replenish(se), after.max(0) as u64);
        }
        true
    }

    /// Arms a timer `after_ns` from now on.
    pub(super) fn arm_dl_timer(&mut self, cx: &mut Ctx<'_, '_>, timer: DlTimer, after_ns: u64) {
        let at = Instant::from_ns(cx.clock().ns().saturating_add(after_ns).min(Instant::MAX.ns()));
        match timer {
            DlTimer::Replenish(se) => {
                let entity = self.dl_mut(se);
                (entity.timer, entity.forgotten) = (Some(at), false);
            }
            DlTimer::ZeroLag(se) => self.dl_mut(se).zero_lag = Some(at),
        }
        request(cx, timer, Some(at));
    }

    pub(super) fn cancel_dl_timer(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        if self.dl_mut(se).timer.take().is_some() {
            request(cx, DlTimer::Replenish(se), None);
        }
    }

    pub(super) fn cancel_zero_lag(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        if self.dl_mut(se).zero_lag.take().is_some() {
            request(cx, DlTimer::ZeroLag(se), None);
        }
    }

    /// A timer of the class has fired.
    ///
    /// Kernel: deadline.c dl_task_timer(), dl_server_timer(), inactive_task_timer(), v4.12–
    pub fn dl_timer(&mut self, cx: &mut Ctx<'_, '_>, timer: DlTimer) {
        match timer {
            DlTimer::Replenish(se) => {
                self.dl_mut(se).timer = None;
                self.dl_replenish_timer(cx, se);
            }
            DlTimer::ZeroLag(se) => self.inactive_task_timer(cx, se),
        }
    }

    fn dl_replenish_timer(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        let cpu = self.dl_cpu(se);
        self.count_rq_lock(cx, cpu);
        if matches!(se, DlSe::Task(task) if !self.is_dl(task)) {
            // Kernels with 0-lag timers leave the mark, and nothing takes it away: if the task comes back it stands on no queue.
            match self.profile.dl_bandwidth {
                DlBandwidth::WallTime => self.dl_mut(se).throttled = false,
                DlBandwidth::Grub | DlBandwidth::GrubOfLimit => self.dl_mut(se).forgotten = true,
            }
            return;
        }
        if !self.dl(se).throttled || self.dl(se).dl_runtime == 0 {
            return;
        }
        self.update_rq_clock(cx, cpu);
        let now = self.rqs[cpu].clocks.clock;
        match se {
            // The throttle happened while it went to sleep: its wake-up queues it.
            DlSe::Task(task) if !self.tasks[task].state.is_on_rq() => return self.tasks[task].dl.replenish(now),
            DlSe::Task(task) => {
                cx.decide(Reason::DlReplenish, Some(task), 0);
                self.queue_dl_task(cx, task, Comes::Replenished);
            }
            DlSe::FairServer(_) => {
                let outlasts = self.profile.fair_server_stop.outlasts_tasks();
                if !outlasts && self.cfs_rqs[self.rqs[cpu].cfs].h_nr_running == 0 {
                    return self.replenish_dl_entity(cx, se);
                }
                if self.profile.fair_server_idle == FairServerIdle::Accounted {
                    self.update_curr_of_cpu(cx, cpu);
                    if self.dl(se).defer_idle {
                        return self.dl_server_stop(cx, cpu);
                    }
                }
                let entity = self.dl(se);
                if entity.defer_armed {
                    let after = entity.zero_laxity() - now as i64;
                    if after > DL_SERVER_MIN_RES {
                        // Fair tasks had a part of it meanwhile.
                        return self.arm_dl_timer(cx, DlTimer::Replenish(se), after as u64);
                    }
                    self.dl_mut(se).defer_running = true;
                }
                cx.decide_who(Reason::ServerRuns, cpu.get(), 0);
                self.enqueue_dl_entity(cx, se, Comes::Replenished);
            }
        }
        let deadline = self.dl(se).deadline;
        self.resched_for_deadline(cx, cpu, deadline);
        if !self.rqs[cpu].dl.pushable.is_empty() {
            self.push_task::<DlRq>(cx, cpu);
        }
    }

    /// An entity gets runtime. A server that was put off and is not needed yet is put off again.
    ///
    /// Kernel: deadline.c replenish_dl_entity(), v4.12–
    pub(super) fn replenish_dl_entity(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        let now = self.rqs[self.dl_cpu(se)].clocks.clock;
        let entity = self.dl_mut(se);
        entity.replenish(now);
        if !entity.defer {
            return;
        }
        if std::mem::take(&mut entity.defer_armed) {
            return;
        }
        if !entity.defer_running && (now as i64) < entity.zero_laxity() {
            (entity.defer_armed, entity.throttled) = (true, true);
            if !self.start_dl_timer(cx, se) {
                self.cancel_dl_timer(cx, se);
                let entity = self.dl_mut(se);
                (entity.defer_armed, entity.throttled) = (false, false);
            }
        }
    }
}
