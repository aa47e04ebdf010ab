//! HRTICK: a timer of each CPU that ends the slice of the fair task that runs there, beside the tick.
//!
//! ```text
//! at-pick, at-switch   left = slice - ran
//! at-deadline          left = (deadline - vruntime) * weight / 1048576,  * 1024 / (1024 - interrupt utilisation)
//!
//! left < 0: reschedule;  else the timer fires in max(left, 10 us), if another fair task is queued on the CPU
//! ```
//!
//! It fires once. Where the pick after that keeps the running task, nobody arms it anew (but `at-pick`), and the
//! tick ends that slice.

use crate::Sched;
use crate::ctx::{Ctx, Request};
use crate::fair::group::Tell;
use crate::fair::weight::NICE_0_LOAD;
use crate::rq::Urgency;
use crate::seam::{Hrtick, HrtickMisfit, RepeatedPick};
use fairground_model::features::Feat;
use fairground_model::{Op, QueueAct, Reason};
use fairground_stdx::{CpuId, Instant, TaskId};

/// The least time that the timer is armed for.
///
/// Kernel: core.c hrtick_start(), v4.12–
const HRTICK_MIN_NS: u64 = 10_000;
/// A timer that would move by less than this stays as it is (`at-deadline`).
///
/// Kernel: core.c hrtick_needs_rearm(), v7.2–
const HRTICK_MOVE_NS: u64 = 5_000;
/// Full utilisation.
const SCALE: u64 = 1024;

/// What schedule() does with the timer at its end (HRTICK_SCHED_NONE, DEFER, START).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum AtEnd {
    /// No schedule() is under way.
    #[default]
    NotNow,
    /// Nothing.
    Leave,
    /// It arms it for so many ns from then on.
    Start(u64),
}

/// The hrtick timer of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HrtickTimer {
    /// When it fires, if it is armed.
    armed: Option<Instant>,
    /// Another CPU has asked this one to arm it for that time.
    asked: Option<Instant>,
    /// `at-deadline`: what schedule(), which is under way, does with it at its end.
    at_end: AtEnd,
}

impl HrtickTimer {
    /// Whether it is armed.
    #[inline]
    pub(crate) fn is_armed(&self) -> bool {
        self.armed.is_some()
    }
}

impl Sched {
    /// When the hrtick timer of `cpu` fires, if it is armed.
    pub fn hrtick_expiry(&self, cpu: CpuId) -> Option<Instant> {
        self.rqs[cpu].hrtick.armed
    }

    /// Whether the hrtick timer of `cpu` is armed.
    ///
    /// Kernel: hrtimer.h hrtimer_active(), v4.12–
    #[inline]
    pub(crate) fn hrtick_active(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].hrtick.is_armed()
    }

    /// Whether the timer ends slices of fair tasks on `cpu`.
    ///
    /// Kernel: sched.h hrtick_enabled_fair(), hrtick_enabled() before v5.12, v4.12–
    #[inline]
    fn hrtick_enabled_fair(&self, cpu: CpuId) -> bool {
        self.profile.feats.has(Feat::HRTICK) && self.rqs[cpu].online
    }

    /// Whether any class may use the timer.
    #[inline]
    pub(crate) fn hrtick_in_use(&self) -> bool {
        [Feat::HRTICK, Feat::HRTICK_DL].into_iter().any(|feat| self.profile.feats.has(feat))
    }

    /// A fair task was queued on `cpu` or, up to v6.18, has left: the slice of the running one may have changed.
    ///
    /// Kernel: fair.c hrtick_update(), v4.12–
    #[inline]
    pub(crate) fn hrtick_update(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, enqueued: bool) {
        if self.hrtick_enabled_fair(cpu) {
            self.hrtick_update_enabled(cx, cpu, enqueued);
        }
    }

    #[inline(never)]
    fn hrtick_update_enabled(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, enqueued: bool) {
        // A task that is about to leave the CPU has no slice left: the pick arms the timer for the next one.
        let runs = |task: &TaskId| self.is_fair(*task) && self.ses[self.se_of(*task)].on_rq;
        let Some(curr) = self.rqs[cpu].curr.filter(runs) else { return };
        let queue = &self.cfs_rqs[self.ses[self.se_of(curr)].cfs_rq];
        let arms = match self.profile.hrtick {
            Hrtick::AtDeadline => enqueued && !self.hrtick_active(cpu),
            Hrtick::AtPick | Hrtick::AtSwitch => {
                self.profile.pick.is_eevdf() || u64::from(queue.nr_running) < self.tunables.nr_latency
            }
        };
        if arms {
            self.hrtick_start_fair(cx, curr);
        }
    }

    /// schedule() puts `next` on the calling CPU, after `prev`.
    ///
    /// Kernel: fair.c set_next_task_fair() from v6.12, pick_next_task_fair() before, v4.12–
    #[inline]
    pub(crate) fn hrtick_at_pick(&mut self, cx: &mut Ctx<'_, '_>, prev: Option<TaskId>, next: Option<TaskId>) {
        let Some(next) = next.filter(|&next| self.hrtick_enabled_fair(cx.cpu) && self.is_fair(next)) else { return };
        let set_anew = prev != Some(next) || self.profile.repeated_pick == RepeatedPick::RenewsSlice;
        if set_anew || self.profile.hrtick == Hrtick::AtPick {
            self.hrtick_start_fair(cx, next);
        }
    }

    /// Arms the timer for the end of the slice of `task`, which runs or is about to.
    ///
    /// Kernel: fair.c hrtick_start_fair(), v4.12–
    #[inline(never)]
    fn hrtick_start_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        if self.cfs_rqs[self.rqs[cpu].cfs].h_nr_running <= 1 {
            return;
        }
        let left = match self.profile.hrtick {
            Hrtick::AtPick | Hrtick::AtSwitch => self.left_of_slice(task),
            Hrtick::AtDeadline => self.left_to_deadline(task),
        };
        match left {
            Some(left) => self.hrtick_start(cx, cpu, left),
            None if self.rqs[cpu].curr == Some(task) => self.resched_curr(cx, cpu),
            None => {}
        }
    }

    /// What is left of the slice in ns; nothing if it is overrun.
    fn left_of_slice(&mut self, task: TaskId) -> Option<u64> {
        let se = self.se_of(task);
        let slice = match self.profile.pick.is_eevdf() {
            true => self.ses[se].slice,
            false => self.sched_slice(se),
        };
        let entity = &self.ses[se];
        slice.checked_sub(entity.sum_exec_runtime - entity.prev_sum_exec_runtime)
    }

    /// How many ns on the wall it is to the virtual deadline, at the part of the CPU that interrupts leave; nothing if
    /// it has passed.
    fn left_to_deadline(&self, task: TaskId) -> Option<u64> {
        let (se, rq) = (self.se(task), &self.rqs[self.tasks[task].cpu]);
        let virtual_ns = u64::try_from(se.deadline.since(se.vruntime)).ok()?;
        let left = u128::from(virtual_ns) * u128::from(se.load.weight()) / u128::from(NICE_0_LOAD);
        let scale = match u64::from(rq.avg_irq.util_avg) {
            util @ 1..SCALE => SCALE * SCALE / (SCALE - util),
            _ => SCALE,
        };
        Some((left * u128::from(scale) / u128::from(SCALE)) as u64)
    }

    /// Arms the timer of `cpu` for `delay` ns from now, or from the end of the schedule() that is under way there.
    /// Another CPU is interrupted to do it.
    ///
    /// Kernel: core.c hrtick_start(), v4.12–
    pub(crate) fn hrtick_start(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, delay: u64) {
        let delay = delay.max(HRTICK_MIN_NS);
        let at = Instant::from_ns(cx.clock().ns() + delay);
        let timer = &mut self.rqs[cpu].hrtick;
        if timer.at_end != AtEnd::NotNow && cpu == cx.cpu {
            timer.at_end = AtEnd::Start(delay);
        } else if !self.hrtick_moves(cpu, at) {
        } else if cpu == cx.cpu {
            self.hrtick_restart(cx, Some(at));
        } else if self.rqs[cpu].hrtick.asked.replace(at).is_none() {
            self.interrupt_cpu(cx, cpu, |cpu, at| Request::HrtickIpi { cpu, at });
        }
    }

    /// Whether arming the timer for `at` is worth it.
    ///
    /// Kernel: core.c hrtick_needs_rearm(), v7.2– (always before)
    fn hrtick_moves(&self, cpu: CpuId, at: Instant) -> bool {
        let by = |armed: Instant| armed.ns().abs_diff(at.ns());
        self.profile.hrtick != Hrtick::AtDeadline || self.rqs[cpu].hrtick.armed.is_none_or(|armed| by(armed) >= HRTICK_MOVE_NS)
    }

    /// The timer of the calling CPU fires at `at`, or not at all.
    fn hrtick_restart(&mut self, cx: &mut Ctx<'_, '_>, at: Option<Instant>) {
        self.rqs[cx.cpu].hrtick.armed = at;
        cx.meter.count(Op::TimerProgram);
        cx.requests.push(Request::HrtickTimer { cpu: cx.cpu });
    }

    /// Whether another CPU has asked `cpu` to arm its timer.
    #[inline]
    pub fn hrtick_csd_pending(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].hrtick.asked.is_some()
    }

    /// The interrupt of another CPU has come: the timer is armed as it asked.
    ///
    /// Kernel: core.c __hrtick_start(), v4.12–
    pub fn hrtick_csd(&mut self, cx: &mut Ctx<'_, '_>) {
        if let Some(at) = self.rqs[cx.cpu].hrtick.asked.take() {
            self.hrtick_restart(cx, Some(at));
        }
    }

    /// schedule() begins: the slice that the timer was to end is over, or its end is put off.
    ///
    /// Kernel: core.c hrtick_clear() in __schedule() up to v6.18, hrtick_schedule_enter() from v7.2, v4.12–
    #[inline]
    pub(crate) fn hrtick_schedule_enter(&mut self, cx: &mut Ctx<'_, '_>) {
        if !self.hrtick_in_use() {
            return;
        }
        match self.profile.hrtick {
            Hrtick::AtPick | Hrtick::AtSwitch => self.hrtick_clear(cx, cx.cpu),
            Hrtick::AtDeadline => self.rqs[cx.cpu].hrtick.at_end = AtEnd::Leave,
        }
    }

    /// schedule() ends: what was put off is done, and an idle CPU has no such timer.
    ///
    /// Kernel: core.c hrtick_schedule_exit(), v7.2–
    #[inline]
    pub(crate) fn hrtick_schedule_exit(&mut self, cx: &mut Ctx<'_, '_>) {
        let rq = &mut self.rqs[cx.cpu];
        match std::mem::take(&mut rq.hrtick.at_end) {
            AtEnd::Start(delay) => self.hrtick_start(cx, cx.cpu, delay),
            AtEnd::Leave if rq.curr.is_none() && !rq.stop_running => self.hrtick_clear(cx, cx.cpu),
            AtEnd::Leave | AtEnd::NotNow => {}
        }
    }

    /// Cancels the timer of `cpu`.
    ///
    /// Kernel: core.c hrtick_clear(), v4.12–
    pub(crate) fn hrtick_clear(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let timer = &mut self.rqs[cpu].hrtick;
        timer.asked = None;
        if timer.armed.take().is_some() {
            cx.meter.count(Op::TimerProgram);
            cx.requests.push(Request::HrtickTimer { cpu });
        }
    }

    /// The timer of the calling CPU fires: the class of the running task is told, as by a tick.
    ///
    /// Kernel: core.c hrtick(), v4.12–
    pub fn hrtick(&mut self, cx: &mut Ctx<'_, '_>) {
        self.rqs[cx.cpu].hrtick.armed = None;
        self.update_rq_clock(cx, cx.cpu);
        if cx.trace.wants_samples() {
            self.tell(cx, cx.cpu, QueueAct::Hrtick, (None, None));
        }
        let Some(task) = self.rqs[cx.cpu].curr else { return };
        if self.is_rt(task) {
            return self.task_tick_rt(cx, task);
        }
        if self.is_dl(task) {
            return self.task_tick_dl_queued(cx, task);
        }
        self.touch_levels(task);
        self.task_tick_fair_queued(cx, task);
        if self.profile.hrtick_misfit == HrtickMisfit::Looks {
            self.update_misfit_status(cx, cx.cpu, Some(task));
            self.update_overutilized_status(cx.cpu);
        }
    }

    /// The timer was set for the end of the slice, so nothing is asked: the CPU picks again.
    ///
    /// Kernel: fair.c entity_tick() with queued, v4.12–
    fn task_tick_fair_queued(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let mut level = Some(self.se_of(task));
        while let Some(se) = level {
            self.update_curr(cx, self.ses[se].cfs_rq);
            self.update_load_avg(cx, se, Tell::Group);
            self.update_cfs_group(cx, se);
            self.resched_curr_as(cx, cx.cpu, Urgency::Lazy);
            cx.decide_who(Reason::TickHrtick, self.ses[se].who(), 0);
            level = self.ses[se].parent;
        }
    }
}
