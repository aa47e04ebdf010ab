//! An entity comes onto a queue of the class, or leaves it.

use super::{DlSe, entity::DlEntity};
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::seam::{DlBandwidth, FairServerLate, ServerCounts};
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, TaskId};

/// Why an entity is queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comes {
    /// It wakes up.
    Wakes,
    /// Its timer gives it runtime.
    Replenished,
    /// It is new to the class, or something about it has changed.
    Restored,
    /// It comes from another CPU.
    Moved,
}

/// Puts an entity on a list in order of deadline, behind those of the same.
fn insert<T>(list: &mut Vec<(u64, T)>, deadline: u64, who: T) {
    let place = list.partition_point(|row| row.0 <= deadline);
    list.insert(place, (deadline, who));
}

impl Sched {
    /// Kernel: deadline.c enqueue_task_dl(), v4.12–
    pub(crate) fn enqueue_task_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: EnqueueFlags) {
        cx.meter.count(Op::Enqueue);
        let comes = match () {
            () if flags.has(EnqueueFlags::WAKEUP) => Comes::Wakes,
            () if flags.has(EnqueueFlags::RESTORE) || self.tasks[task].dl.deadline == 0 => Comes::Restored,
            () => Comes::Moved,
        };
        self.queue_dl_task(cx, task, comes);
    }

    pub(super) fn queue_dl_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, comes: Comes) {
        self.enqueue_dl_entity(cx, DlSe::Task(task), comes);
        let cpu = self.tasks[task].cpu;
        if self.tasks[task].dl.on_list && self.rqs[cpu].curr != Some(task) {
            self.enqueue_pushable_dl_task(cpu, task);
        }
    }

    /// Queues an entity, unless it is throttled, or put off.
    ///
    /// Kernel: deadline.c enqueue_dl_entity(), v4.12–
    pub(super) fn enqueue_dl_entity(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe, comes: Comes) {
        let (cpu, now) = (self.dl_cpu(se), self.rqs[self.dl_cpu(se)].clocks.clock);
        if self.dl(se).on_list {
            return;
        }
        let entity = self.dl(se);
        if !entity.throttled && !entity.is_implicit() && !self.is_led() {
            self.check_constrained(cx, se, now);
        }
        if matches!(comes, Comes::Restored | Comes::Moved) {
            self.add_rq_bw(se);
            self.add_running_bw(cx, se);
        }
        if comes == Comes::Wakes {
            self.task_contending(cx, se);
        }
        let entity = self.dl(se);
        if entity.throttled && !entity.defer && comes != Comes::Replenished {
            return;
        }
        let revises = self.profile.dl_bandwidth != DlBandwidth::WallTime;
        let server = self.profile.fair_server_wake;
        let entity = self.dl_mut(se);
        match comes {
            Comes::Wakes => entity.wake(now, revises, server),
            Comes::Replenished => self.replenish_dl_entity(cx, se),
            Comes::Restored if entity.deadline < now => entity.setup_new(now),
            Comes::Restored => entity.came_back = true,
            Comes::Moved => {}
        }
        if self.dl(se).throttled && self.start_dl_timer(cx, se) {
            return;
        }
        if self.dl(se).throttled {
            self.cancel_dl_timer(cx, se);
            let entity = self.dl_mut(se);
            (entity.defer_armed, entity.throttled) = (false, false);
        }
        let entity: &mut DlEntity = self.dl_mut(se);
        entity.on_list = true;
        let deadline = entity.deadline;
        let first = !self.rqs[cpu].dl.is_runnable();
        insert(&mut self.rqs[cpu].dl.queue, deadline, se);
        if first {
            self.cpupri_set_by_dl(cpu);
        }
        match se {
            DlSe::Task(_) => self.add_nr_running(cpu, 1),
            DlSe::FairServer(_) => {
                let counts = self.profile.server_counts == ServerCounts::AsTask;
                self.add_counted(cpu, |rq| rq.server_queued = counts);
            }
        }
    }

    /// A task whose deadline is before its period, and which wakes up between the two, has had this period: it waits for the next.
    ///
    /// Kernel: deadline.c dl_check_constrained_dl(), v4.12–
    fn check_constrained(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe, now: u64) {
        let entity = self.dl(se);
        if entity.deadline == 0 || entity.deadline >= now || now >= entity.next_period() {
            return;
        }
        if self.start_dl_timer(cx, se) {
            let entity = self.dl_mut(se);
            entity.throttled = true;
            entity.runtime = entity.runtime.min(0);
        }
    }

    /// Kernel: deadline.c dequeue_task_dl(), v4.12–
    pub(crate) fn dequeue_task_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: DequeueFlags) {
        cx.meter.count(Op::Dequeue);
        let (se, cpu) = (DlSe::Task(task), self.tasks[task].cpu);
        self.update_curr_dl(cx, cpu);
        self.dequeue_dl_entity(se);
        self.dequeue_pushable_dl_task(cpu, task);
        if flags.has(DequeueFlags::SAVE) || flags.has(DequeueFlags::MIGRATING) {
            self.sub_running_bw(cx, se);
            self.sub_rq_bw(se);
        }
        if flags.has(DequeueFlags::SLEEP) {
            self.task_non_contending(cx, se, flags.has(DequeueFlags::SPECIAL));
        }
    }

    /// An entity leaves the queue, if it stands there.
    ///
    /// Kernel: deadline.c __dequeue_dl_entity(), v4.12–
    pub(super) fn dequeue_dl_entity(&mut self, se: DlSe) {
        if !std::mem::take(&mut self.dl_mut(se).on_list) {
            return;
        }
        let cpu = self.dl_cpu(se);
        let rq = &mut self.rqs[cpu];
        rq.dl.queue.retain(|row| row.1 != se);
        match se {
            DlSe::Task(_) => rq.nr_running -= 1,
            DlSe::FairServer(_) => rq.server_queued = false,
        }
        if !rq.dl.is_runnable() {
            self.cpupri_set_by_dl(cpu);
        }
        self.note_idleness(cpu);
    }

    /// The running entity has used up its runtime, or gave it away: it stops until its next period, or goes on with the runtime of
    /// that if it has begun.
    ///
    /// Kernel: deadline.c update_curr_dl() from throttle: on, v4.12–
    pub(super) fn throttle_dl(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        let cpu = self.dl_cpu(se);
        self.dl_mut(se).throttled = true;
        self.dequeue_dl_entity(se);
        match se {
            DlSe::Task(task) => {
                self.dequeue_pushable_dl_task(cpu, task);
                cx.decide(Reason::DlThrottle, Some(task), 0);
            }
            DlSe::FairServer(cpu) => cx.decide_who(Reason::ServerStops, cpu.get(), 0),
        }
        if !self.start_dl_timer(cx, se) {
            match se {
                DlSe::Task(task) => self.queue_dl_task(cx, task, Comes::Replenished),
                DlSe::FairServer(_) if self.profile.fair_server_late == FairServerLate::Queued => {
                    self.enqueue_dl_entity(cx, se, Comes::Replenished);
                }
                DlSe::FairServer(_) => {
                    let now = self.rqs[cpu].clocks.clock;
                    self.dl_mut(se).begin_period(now);
                    self.start_dl_timer(cx, se);
                }
            }
        }
        if self.rqs[cpu].dl.queue.first().is_none_or(|row| row.1 != se) {
            self.resched_curr(cx, cpu);
        }
    }

    /// A task that waits may be pushed from here, if another CPU is allowed.
    ///
    /// Kernel: deadline.c enqueue_pushable_dl_task(), v4.12–
    pub(super) fn enqueue_pushable_dl_task(&mut self, cpu: CpuId, task: TaskId) {
        self.dequeue_pushable_dl_task(cpu, task);
        if self.tasks[task].cpus_allowed.weight() < 2 {
            return;
        }
        let deadline = self.tasks[task].dl.deadline;
        insert(&mut self.rqs[cpu].dl.pushable, deadline, task);
    }

    /// Kernel: deadline.c dequeue_pushable_dl_task(), v4.12–
    pub(super) fn dequeue_pushable_dl_task(&mut self, cpu: CpuId, task: TaskId) {
        self.rqs[cpu].dl.pushable.retain(|row| row.1 != task);
    }
}
