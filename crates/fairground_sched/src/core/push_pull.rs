//! Real-time and deadline tasks go where they can run: a CPU that has several pushes those that wait, one that has less urgent ones
//! than before pulls.
//!
//! ```text
//! push   the first task that waits here ──► the best of the CPUs that have only less urgent ones
//! pull   of each CPU the first task that waits there, and is more urgent than all that are here ──► here
//! ```
//!
//! Both happen at one instant, under both locks; where another core decides, neither does. What a class says of itself is its
//! [`PushPull`], in `rt/push_pull.rs` and `deadline/push_pull.rs`.

use crate::Sched;
use crate::core::Arrival;
use crate::ctx::Ctx;
use crate::fair::DequeueFlags;
use crate::rq::Rq;
use crate::seam::{MovedPreempts, PushSpread};
use crate::topology::SdFlags;
use fairground_model::Reason;
use fairground_stdx::{CpuId, CpuMask, TaskId};

/// A class whose most urgent tasks run, wherever they are; its queue on a CPU implements this.
pub(crate) trait PushPull {
    /// How urgent a task is, the least first: its priority number, or its deadline.
    type Urgency: Copy + Ord;
    /// Why a task moves.
    const PUSH: Reason;
    const PULL: Reason;

    fn nr_queued(rq: &Rq) -> usize;
    /// The urgency of the first one (highest_prio.curr, earliest_dl.curr).
    fn first(rq: &Rq) -> Option<Self::Urgency>;
    /// Those that wait and may run elsewhere, the most urgent first (highest_prio.next, earliest_dl.next).
    fn pushable(rq: &Rq) -> &[(Self::Urgency, TaskId)];
    /// CPUs that a task may use and that have only less urgent ones, if there are any.
    fn find(sched: &Sched, cx: &Ctx<'_, '_>, task: TaskId) -> Option<CpuMask>;
    /// Whether the running task `curr` is of this class or above, and does not give way to `task`, or cannot go elsewhere.
    fn holds(sched: &Sched, curr: TaskId, task: TaskId) -> bool;
    /// Whether a task that waits on `cpu` runs there as soon as the CPU looks: nobody pulls it.
    fn runs_soon(sched: &Sched, cpu: CpuId, task: TaskId) -> bool;
    /// Whether it is not pushed for that either.
    fn stays(sched: &Sched, cpu: CpuId, task: TaskId) -> bool {
        Self::runs_soon(sched, cpu, task)
    }
}

impl Sched {
    /// Pushes tasks that wait on `cpu` until none can go anywhere.
    ///
    /// Kernel: rt.c push_rt_tasks(), deadline.c push_dl_tasks(), v4.12–
    pub(crate) fn push_tasks<C: PushPull>(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        while self.push_task::<C>(cx, cpu) {}
    }

    /// Pushes the first task that waits on `cpu`. Returns false if no CPU takes it.
    ///
    /// Kernel: rt.c push_rt_task(), deadline.c push_dl_task(), v4.12–
    pub(crate) fn push_task<C: PushPull>(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> bool {
        if self.is_led() {
            return false;
        }
        let Some(&(urgency, task)) = C::pushable(&self.rqs[cpu]).first() else { return false };
        // This one waits, and may run elsewhere.
        if !self.profile.push_overload.is_overloaded(C::nr_queued(&self.rqs[cpu]), || true, true) {
            return false;
        }
        if C::stays(self, cpu, task) {
            self.resched_curr(cx, cpu);
            return false;
        }
        let Some(target) = self.find_other_rq::<C>(cx, task, urgency) else { return false };
        cx.decide(C::PUSH, Some(task), target.get());
        // Who only looks for a CPU reads no clock.
        self.update_rq_clock(cx, cpu);
        self.deactivate_task(cx, task, DequeueFlags::MIGRATING);
        self.arrive_on(cx, task, target);
        self.preempt_by_moved(cx, target, task);
        self.resched_curr(cx, target);
        true
    }

    /// A pushed or pulled task has come to `cpu`.
    ///
    /// Kernel: sched.h move_queued_task_locked(), v7.0–
    fn preempt_by_moved(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, task: TaskId) {
        if self.profile.moved_preempts == MovedPreempts::AsWakeUp {
            self.check_preempt_curr(cx, cpu, task, Arrival::Plain);
        }
    }

    /// Pushes a wakee to another CPU at once if it waits behind a task that does not give way.
    ///
    /// Kernel: rt.c task_woken_rt(), deadline.c task_woken_dl(), v4.12–
    #[cold]
    pub(super) fn push_woken_task<C: PushPull>(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        let rq = &self.rqs[cpu];
        let waits = rq.curr.is_some_and(|curr| curr != task && C::holds(self, curr, task));
        if !rq.need_resched && self.tasks[task].cpus_allowed.weight() > 1 && waits {
            self.push_tasks::<C>(cx, cpu);
        }
    }

    /// `cpu` takes from `others`, in order of their numbers, tasks that wait there and are more urgent than all that it has.
    ///
    /// Kernel: rt.c pull_rt_task(), deadline.c pull_dl_task(), v4.12–
    pub(crate) fn pull_tasks<C: PushPull>(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, others: CpuMask) {
        if self.is_led() {
            return;
        }
        let mut pulled = false;
        for src in others.iter().filter(|&src| src != cpu) {
            let first = C::pushable(&self.rqs[src]).first();
            if first.is_none_or(|row| !self.is_first_on::<C>(cpu, row.0)) {
                continue;
            }
            self.count_rq_lock(cx, src);
            let Some((urgency, task)) = self.pick_pushable_task::<C>(src, cpu) else { continue };
            if !self.is_first_on::<C>(cpu, urgency) || C::runs_soon(self, src, task) {
                continue;
            }
            cx.decide(C::PULL, Some(task), cpu.get());
            self.update_rq_clock(cx, src);
            self.deactivate_task(cx, task, DequeueFlags::MIGRATING);
            self.arrive_on(cx, task, cpu);
            self.preempt_by_moved(cx, cpu, task);
            pulled = true;
        }
        if pulled {
            self.resched_curr(cx, cpu);
        }
    }

    /// The first task that waits on `src` and may run on `cpu`.
    ///
    /// Kernel: rt.c pick_highest_pushable_task(), deadline.c pick_earliest_pushable_dl_task(), v4.12–
    fn pick_pushable_task<C: PushPull>(&self, src: CpuId, cpu: CpuId) -> Option<(C::Urgency, TaskId)> {
        C::pushable(&self.rqs[src]).iter().copied().find(|row| self.tasks[row.1].cpus_allowed.contains(cpu))
    }

    /// Whether somebody so urgent would be the first of the class on `cpu`.
    ///
    /// Kernel: deadline.c dl_task_is_earliest_deadline(), v4.12–
    fn is_first_on<C: PushPull>(&self, cpu: CpuId, urgency: C::Urgency) -> bool {
        C::first(&self.rqs[cpu]).is_none_or(|first| urgency < first)
    }

    /// Finds another CPU on which a task would be the first of its class.
    ///
    /// Kernel: rt.c find_lock_lowest_rq(), deadline.c find_lock_later_rq(), v4.12–
    pub(crate) fn find_other_rq<C: PushPull>(&mut self, cx: &Ctx<'_, '_>, task: TaskId, urgency: C::Urgency) -> Option<CpuId> {
        let cpu = self.tasks[task].cpu;
        self.find_best_rq::<C>(cx, task).filter(|&target| target != cpu && self.is_first_on::<C>(target, urgency))
    }

    /// The best of the CPUs that have only less urgent tasks: the one where the task is, else the calling one if it is near, else one
    /// that is near.
    ///
    /// Kernel: rt.c find_lowest_rq(), deadline.c find_later_rq(), v4.12–
    fn find_best_rq<C: PushPull>(&mut self, cx: &Ctx<'_, '_>, task: TaskId) -> Option<CpuId> {
        let found = self.cpus_to_go_to::<C>(cx, task)?;
        let cpu = self.tasks[task].cpu;
        if found.contains(cpu) {
            return Some(cpu);
        }
        let this = Some(cx.cpu).filter(|&this| found.contains(this));
        let affine = self.topology.domains_of(cpu).map(|sd| &self.topology.domains[sd]);
        let near = affine
            .filter(|domain| domain.flags.has(SdFlags::WAKE_AFFINE))
            .map(|domain| found.and(&domain.span))
            .find(|near| !near.is_empty())
            .unwrap_or(found);
        match this {
            Some(this) if near.contains(this) => Some(this),
            _ => self.one_of(cx.cpu, &near),
        }
    }

    /// One of several CPUs that are equally good, as `this` chooses.
    ///
    /// Kernel: cpumask.c cpumask_any_and_distribute(), cpumask_any_distribute(), v5.11– (cpumask_first_and() before)
    fn one_of(&mut self, this: CpuId, cpus: &CpuMask) -> Option<CpuId> {
        let last = &mut self.rqs[this].last_spread;
        let behind = match self.profile.push_spread {
            PushSpread::First => None,
            PushSpread::Turns => cpus.iter().find(|cpu| cpu.get() > *last),
        };
        let found = behind.or_else(|| cpus.first())?;
        *last = found.get();
        Some(found)
    }

    /// Whether the running task, as urgent as the wakee, has another CPU to go to, and the wakee has not.
    ///
    /// Kernel: rt.c check_preempt_equal_prio(), deadline.c check_preempt_equal_dl(), v4.12–
    pub(crate) fn makes_room<C: PushPull>(&self, cx: &Ctx<'_, '_>, cpu: CpuId, curr: TaskId, wakee: TaskId) -> bool {
        let could_move = |task| self.cpus_to_go_to::<C>(cx, task).is_some();
        !self.rqs[cpu].need_resched && could_move(curr) && !could_move(wakee)
    }

    /// [`PushPull::find`], of a task that may run elsewhere at all.
    fn cpus_to_go_to<C: PushPull>(&self, cx: &Ctx<'_, '_>, task: TaskId) -> Option<CpuMask> {
        if self.tasks[task].cpus_allowed.weight() < 2 {
            return None;
        }
        C::find(self, cx, task)
    }
}
