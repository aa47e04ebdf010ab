//! What the core calls: a deadline task is picked, runs, is looked at by the tick, leaves the CPU.

use super::{DlRq, DlSe};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{DlHrtick, FairServerIdle, NewidleAt, RtBandwidth};
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, Ns, TaskId};

impl Sched {
    /// Accounts the running task of `cpu`, if it is of this class.
    ///
    /// Kernel: deadline.c update_curr_dl(), v4.12–
    pub(crate) fn update_curr_dl(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let Some(task) = self.rqs[cpu].curr.filter(|&task| self.is_dl(task) && self.tasks[task].dl.on_list) else { return };
        let ran = self.update_curr_common(cx, task).unwrap_or(Ns::ZERO);
        self.update_curr_dl_se(cx, DlSe::Task(task), ran);
        if ran > Ns::ZERO && self.profile.rt_bandwidth == RtBandwidth::Throttle {
            self.account_dl_in_rt_runtime(cpu, ran.0);
        }
    }

    /// An entity has run so long: it may have to stop.
    ///
    /// Kernel: deadline.c update_curr_dl_se(), v6.8– (in update_curr_dl() before)
    pub(super) fn update_curr_dl_se(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe, ran: Ns) {
        // Another core that decides has its own account.
        if self.is_led() {
            return;
        }
        if ran > Ns::ZERO {
            let consumed = self.dl_scaled_delta_exec(cx, se, ran.0);
            let entity = self.dl_mut(se);
            entity.runtime -= consumed as i64;
            entity.came_back = false;
        } else if !self.dl(se).yielded {
            return;
        }
        let idle = self.rqs[self.dl_cpu(se)].idle();
        let entity = self.dl_mut(se);
        entity.defer_idle &= idle;
        if entity.defer && entity.throttled && entity.runtime <= 0 {
            if entity.defer_idle {
                entity.runtime = 0;
                return;
            }
            self.begin_next_period(cx, se);
            self.dl_mut(se).defer_idle = idle && self.profile.fair_server_idle == FairServerIdle::Accounted;
            return;
        }
        if entity.runtime <= 0 || entity.yielded {
            self.throttle_dl(cx, se);
        }
    }

    /// Kernel: pelt.c update_dl_rq_load_avg(), v4.19–
    pub(super) fn update_dl_rq_load_avg(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, running: bool) {
        self.update_class_load_avg(cx, cpu, running, |rq| &mut rq.avg_dl);
    }

    /// The task with the earliest deadline of the calling CPU; if that is the deadline of the server, the fair class picks. `None`: it
    /// has none, and the server gives its runtime away. From v7.2 on the CPU balances before that, and is asked again.
    ///
    /// Kernel: deadline.c __pick_task_dl(), v4.12–
    #[cold]
    pub(crate) fn pick_task_dl(&mut self, cx: &mut Ctx<'_, '_>) -> Option<TaskId> {
        while let Some(&(_, se)) = self.rqs[cx.cpu].dl.queue.first() {
            match se {
                DlSe::Task(task) => {
                    cx.decide(Reason::PickDl, Some(task), 0);
                    return Some(task);
                }
                DlSe::FairServer(_) => match self.pick_task_fair(cx) {
                    Some(task) => {
                        cx.decide(Reason::PickServed, Some(task), 0);
                        return Some(task);
                    }
                    None if self.profile.newidle_at == NewidleAt::InPick && !self.rqs[cx.cpu].lb.server_looked => {
                        self.rqs[cx.cpu].lb.server_looks = true;
                        return None;
                    }
                    None if self.profile.fair_server_stop.outlasts_tasks() => self.dl_server_stop(cx, cx.cpu),
                    None => {
                        self.dl_mut(se).yielded = true;
                        self.update_curr_dl_se(cx, se, Ns::ZERO);
                    }
                },
            }
        }
        None
    }

    /// The running task leaves the CPU; it keeps its place if it is still queued.
    ///
    /// Kernel: deadline.c put_prev_task_dl(), v4.12–
    pub(crate) fn put_prev_task_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        self.update_curr_dl(cx, cpu);
        self.update_dl_rq_load_avg(cx, cpu, true);
        if self.tasks[task].dl.on_list {
            self.enqueue_pushable_dl_task(cpu, task);
        }
    }

    /// A task runs from now on. `first`: it was picked; else something about it has changed. `after_dl`: a task of this class ran
    /// before it.
    ///
    /// Kernel: deadline.c set_next_task_dl(), v4.12–
    pub(crate) fn set_next_task_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, first: bool, after_dl: bool) {
        let cpu = self.tasks[task].cpu;
        self.ses[self.tasks[task].se].exec_start = self.rqs[cpu].clocks.clock_task;
        self.dequeue_pushable_dl_task(cpu, task);
        if first {
            self.start_hrtick_dl(cx, task);
            if !after_dl {
                self.update_dl_rq_load_avg(cx, cpu, false);
            }
        }
    }

    /// The tick: accounts.
    ///
    /// Kernel: deadline.c task_tick_dl(), v4.12–
    #[cold]
    pub(crate) fn task_tick_dl(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        self.update_curr_dl(cx, cpu);
        self.update_dl_rq_load_avg(cx, cpu, true);
    }

    /// What is left of the runtime is given away, and the task waits for its next period.
    ///
    /// Kernel: deadline.c yield_task_dl(), v4.12–
    pub(crate) fn yield_task_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> Reason {
        let cpu = self.tasks[task].cpu;
        self.tasks[task].dl.yielded = true;
        self.update_rq_clock(cx, cpu);
        self.update_curr_dl(cx, cpu);
        self.rq_clock_skip_update(cpu);
        Reason::YieldDl
    }

    /// Whether a deadline task that was just queued preempts the one that runs.
    ///
    /// Kernel: deadline.c check_preempt_curr_dl(), v4.12–
    #[cold]
    pub(crate) fn check_preempt_curr_dl(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, curr: TaskId, wakee: TaskId) {
        let (running, woken) = (self.tasks[curr].dl.deadline, self.tasks[wakee].dl.deadline);
        let preempts = woken < running || (woken == running && self.makes_room::<DlRq>(cx, cpu, curr, wakee));
        cx.decide2(if preempts { Reason::WakeDlBefore } else { Reason::WakeDlBehind }, Some(wakee), Some(curr));
        if preempts {
            self.resched_curr(cx, cpu);
        }
    }

    /// An entity with that deadline has runtime again on `cpu`: what runs there gives way to an earlier one.
    ///
    /// Kernel: deadline.c dl_task_timer(), dl_server_timer(), v4.12–
    pub(super) fn resched_for_deadline(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, deadline: u64) {
        let earlier = |task: TaskId| self.is_dl(task) && self.tasks[task].dl.deadline <= deadline;
        if !self.rqs[cpu].curr.is_some_and(earlier) {
            self.resched_curr(cx, cpu);
        }
    }

    /// With HRTICK_DL the hrtick timer throttles a task when its runtime is used up, not at the next tick.
    ///
    /// Kernel: deadline.c start_hrtick_dl(), sched.h hrtick_enabled_dl(), v4.12–
    fn start_hrtick_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let switch = match self.profile.dl_hrtick {
            DlHrtick::WithFair => Feat::HRTICK,
            DlHrtick::OwnSwitch => Feat::HRTICK_DL,
        };
        let left = self.tasks[task].dl.runtime;
        if self.profile.feats.has(switch) && left > 0 {
            self.hrtick_start(cx, self.tasks[task].cpu, left as u64);
        }
    }

    /// The hrtick timer has fired: accounts, and arms it anew for what is left.
    ///
    /// Kernel: deadline.c task_tick_dl() with queued, v4.12–
    pub(crate) fn task_tick_dl_queued(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        self.task_tick_dl(cx);
        let first = self.rqs[cx.cpu].dl.queue.first().is_some_and(|row| row.1 == DlSe::Task(task));
        if first {
            self.start_hrtick_dl(cx, task);
        }
    }
}
