//! Following a record: what a comparison with a recorded kernel needs beside the entry points.
//!
//! The core is driven through its entry points and asked; afterwards it is brought to where the recorded kernel went.
//! Nothing here tells the core a virtual time, but for tasks and queues whose past lies before the record.

use crate::Sched;
use crate::core::{Arrival, Leaving, WakeFlags, Waking};
use crate::ctx::Ctx;
use crate::fair::select_task_rq::Wake;
use crate::fair::weight::{LoadWeight, calc_delta_fair};
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::profile::Profile;
use crate::seam::{NewidleBatch, Preemption};
use crate::task::TaskState;
use fairground_model::features::Feat;
use fairground_stdx::{CfsRqId, CpuId, Instant, Ns, SeId, TaskId, TgId, Vruntime};

/// How far behind its queue a sleeper counts whose past is not known and not recorded later: longer than any credit.
const SLEPT_LONG_NS: u64 = 1 << 32;

/// What the core answered where a record was followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Followed {
    /// Whom it would have run.
    pub answer: Option<TaskId>,
    /// Whether the entity of a group was moved in virtual time, so that the record is right.
    pub moved_group: bool,
}

impl Sched {
    /// When the run time of `task` was last accounted, if it is accounted for at all.
    pub fn accounted_until(&self, task: TaskId) -> Instant {
        self.se(task).accounted_until()
    }

    /// Accounts the running task of `cx.cpu` up to now, as a query of its run time does.
    ///
    /// Kernel: core.c task_sched_runtime(), v4.12–
    pub fn account_curr(&mut self, cx: &mut Ctx<'_, '_>) {
        self.update_rq_clock(cx, cx.cpu);
        match self.rqs[cx.cpu].curr {
            Some(curr) if !self.is_fair(curr) => self.update_curr_of_class(cx),
            Some(curr) => self.update_curr(cx, self.se(curr).cfs_rq),
            None => {}
        }
    }

    /// Whether the running task of `cpu` is to give way.
    pub fn resched_due(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].resched_on_user_return()
    }

    /// The reschedule flag of `cpu` becomes what was recorded.
    pub fn follow_need_resched(&mut self, cpu: CpuId, due: bool) {
        let rq = &mut self.rqs[cpu];
        (rq.need_resched, rq.need_resched_lazy) = (due, false);
        rq.clock_skip = Default::default();
    }

    /// Whether the next schedule() of `cpu` would not read the clock, so that it leaves no account of run time.
    pub fn skips_next_clock_update(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].clock_skip.requested
    }

    /// The first part of [`Sched::schedule`] on `cx.cpu`: the current task leaves the queue if it sleeps. The clock is
    /// read whether or not that was to be skipped: the record says what it showed. Before the second part other tasks
    /// may be pulled here.
    pub fn schedule_begin(&mut self, cx: &mut Ctx<'_, '_>) -> Leaving {
        self.rqs[cx.cpu].clock_skip = Default::default();
        self.leave_cpu(cx)
    }

    /// Between the parts: before the CPU looks for tasks elsewhere it found nobody here, so that sleepers in delayed dequeue have
    /// left. Whether there is nobody by the core too.
    pub fn schedule_found_nothing(&mut self, cx: &mut Ctx<'_, '_>) -> bool {
        let queues = self.cfs_rqs.iter_enumerated().filter(|row| row.1.cpu == cx.cpu);
        let marks: Vec<_> = queues.map(|(id, queue)| (id, [queue.next, queue.last, queue.skip])).collect();
        let found = self.pick_task(cx);
        if found.is_some() && !self.profile.pick.is_eevdf() {
            // The pick that is still to come finds the buddies that this one has used up.
            for (id, marks) in marks {
                let [next, last, skip] = marks.map(|mark| mark.filter(|&se| self.ses[se].on_rq && self.ses[se].cfs_rq == id));
                let queue = &mut self.cfs_rqs[id];
                (queue.next, queue.last, queue.skip) = (next, last, skip);
            }
        }
        found.is_none()
    }

    /// The second part: asks who shall run, then lets the task of `follow` run, whatever the answer was. The followed task must be
    /// queued here, or be the current one and not have left the queue.
    pub fn schedule_following(&mut self, cx: &mut Ctx<'_, '_>, leaving: Leaving, follow: Option<TaskId>) -> Followed {
        let answer = self.pick_next_task(cx, leaving.prev);
        let differs = follow.filter(|_| answer.is_some() && answer != follow);
        let moved_group = differs.is_some_and(|task| self.learn_group_place(task));
        if follow.is_none() && leaving.prev.is_some() {
            // The moves of a newidle balance are in the record; that it began here is not.
            let rq = &mut self.rqs[cx.cpu];
            rq.lb.idle_stamp = rq.clocks.clock;
        }
        self.switch_at_once(cx, leaving, follow);
        Followed { answer, moved_group }
    }

    /// The soft interrupt after a tick of `cx.cpu`: the moves of balance are in the record, that loads are aged by it is not.
    ///
    /// Kernel: fair.c run_rebalance_domains(), sched_balance_softirq() from v6.10, v4.12–
    pub fn follow_balance_softirq(&mut self, cx: &mut Ctx<'_, '_>) {
        self.softirq_without_moves(cx);
    }

    /// The load that is left on `cx.cpu` is aged: as it goes idle, or by a busy CPU later.
    ///
    /// Kernel: fair.c newidle_balance(), update_nohz_stats() with update_blocked_averages(), v4.12–
    pub fn follow_blocked_load(&mut self, cx: &mut Ctx<'_, '_>) {
        self.update_blocked_averages(cx, cx.cpu);
    }

    /// The queue's clock of `cx.cpu` is read anew in the midst of a schedule(): a balance that found nothing has taken time.
    ///
    /// Kernel: core.c update_rq_clock(), v4.12–
    pub fn follow_clock(&mut self, cx: &mut Ctx<'_, '_>) {
        self.update_rq_clock(cx, cx.cpu);
    }

    /// Whether there is a group of this number.
    pub fn has_group(&self, group: TgId) -> bool {
        self.groups.get(group).is_some()
    }

    /// From now on queues tell their groups their load only where [`Sched::follow_tell`] says so.
    pub fn follow_tells(&mut self) {
        self.tells_by_record = true;
    }

    /// The queue of `group` on `cpu` tells its load when the core comes to that next.
    ///
    /// Kernel: fair.c update_tg_load_avg(), v6.7–
    pub fn follow_tell(&mut self, group: TgId, cpu: CpuId) {
        let queue = self.group_queue(Some(group), cpu);
        self.cfs_rqs[queue].last_update_tg_load_avg = 0;
    }

    /// The second part where a task of a higher class takes the CPU: the fair class is not asked, its running task is
    /// put down. From then on the fair class has no current task here.
    ///
    /// Kernel: core.c put_prev_task_balance(), pick_next_task(), v5.5–
    pub fn schedule_other_class(&mut self, cx: &mut Ctx<'_, '_>, leaving: Leaving) {
        self.switch_at_once(cx, leaving, None);
    }

    /// A record does not tell how long a switch took: it is over when it is recorded.
    fn switch_at_once(&mut self, cx: &mut Ctx<'_, '_>, leaving: Leaving, next: Option<TaskId>) {
        let switch = self.switch_to(cx, leaving, next);
        if let Some(prev) = switch.prev.filter(|_| switch.prev != switch.next) {
            self.finish_task_switch(prev);
        }
    }

    /// A queued task is taken off its queue, which `cx.cpu` is, and bound to `target`: the first half of a recorded move.
    ///
    /// Kernel: fair.c detach_task(), core.c move_queued_task(), v4.12–
    pub fn detach_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        self.update_rq_clock(cx, cx.cpu);
        self.detach_queued_task(cx, task, target);
    }

    /// A detached task is queued on `cx.cpu`, to which it was bound: the second half.
    ///
    /// Kernel: fair.c attach_task(), core.c move_queued_task(), v4.12–
    pub fn attach_task(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        self.update_rq_clock(cx, cx.cpu);
        self.attach_detached_task(cx, task);
    }

    /// A task in delayed dequeue on `cx.cpu` has left the queue by now, as the record shows it elsewhere.
    pub fn finish_delayed_dequeue(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        self.update_rq_clock(cx, cx.cpu);
        self.complete_delayed_dequeue(cx, task);
    }

    /// A task that is being woken is bound to `target`: the floor that its virtual time is relative to is read now.
    ///
    /// Kernel: core.c try_to_wake_up() with set_task_cpu(), v4.12–
    pub fn ttwu_migrate(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, target: CpuId) {
        self.set_task_cpu(cx, task, target);
    }

    /// A woken task that [`Sched::ttwu_migrate`] bound to `cx.cpu` is queued there.
    ///
    /// Kernel: core.c ttwu_do_activate() with ENQUEUE_MIGRATED, v4.12–
    pub fn ttwu_activate_migrated(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        self.update_rq_clock(cx, cpu);
        self.activate_task(cx, task, EnqueueFlags::WAKEUP.with(EnqueueFlags::MIGRATED));
        self.check_preempt_curr(cx, cpu, task, Arrival::Plain);
    }

    /// On which CPU a wake-up would queue `task`, which ran on `prev` last: a task that cannot be woken yet, since the
    /// record of its sleep comes late, or of which nothing is known but that it sleeps.
    ///
    /// Kernel: core.c try_to_wake_up() with select_task_rq(), v4.12–
    pub fn ask_select_task_rq(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> CpuId {
        if self.tasks[task].state == TaskState::New {
            self.set_task_rq(task, prev);
        }
        self.select_task_rq_at_once(cx, task, Wake::Ttwu { sync: flags.sync, context: flags.context })
    }

    /// The first phase of a wake-up where the record says who queues the task: it is on no wake list, even if its old
    /// CPU has not finished switching away from it. Then that CPU would queue it, if this kernel leaves it that.
    ///
    /// Kernel: core.c try_to_wake_up() up to set_task_cpu(), v4.12–
    pub fn ttwu_select_following(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: WakeFlags) -> Waking {
        if !std::mem::take(&mut self.tasks[task].on_cpu) {
            return self.ttwu_select(cx, task, flags);
        }
        if !self.queues_on_cpu(cx.cpu, task) {
            return self.ttwu_select(cx, task, flags);
        }
        self.tasks[task].state = TaskState::Waking;
        Waking::Selected(self.tasks[task].cpu)
    }

    /// What the record tells of `task`'s CPU before the last one.
    pub fn follow_recent_used_cpu(&mut self, task: TaskId, cpu: CpuId) {
        self.tasks[task].recent_used_cpu = cpu;
    }

    /// A task of another class than the fair one runs on `cpu`, or none any more.
    pub fn follow_other_class(&mut self, cpu: CpuId, runs: bool) {
        self.rqs[cpu].stop_running = runs;
        self.note_idleness(cpu);
    }

    /// A task on its way to `target` makes that CPU count as busy, until it `arrived`.
    ///
    /// Kernel: sched.h rq::ttwu_pending, v5.8–
    pub fn follow_wake_list(&mut self, task: TaskId, target: CpuId, arrived: bool) {
        let list = &mut self.rqs[target].wake_list;
        match arrived {
            true => list.retain(|&waiting| waiting != task),
            false => list.push(task),
        }
        self.note_idleness(target);
    }

    /// On which CPU a child would be queued first.
    ///
    /// Kernel: core.c wake_up_new_task() with select_task_rq(), v4.12–
    pub fn ask_select_task_rq_fork(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> CpuId {
        self.select_task_rq_at_once(cx, task, Wake::Fork)
    }

    /// A task that was runnable on `cx.cpu` before the record began. `vruntime` is the virtual time that it is known
    /// to have had.
    pub fn adopt_queued(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, vruntime: Option<Vruntime>) {
        self.set_task_rq(task, cx.cpu);
        let floor = self.cfs_rq(cx.cpu).min_vruntime;
        let se = self.se_of(task);
        self.ses[se].vruntime = Vruntime(vruntime.map_or(0, |known| known.minus(floor.0).0));
        self.activate_task(cx, task, EnqueueFlags::empty());
    }

    /// A task that slept before the record began, last on `cpu`. Without a known virtual time it slept long.
    pub fn adopt_sleeper(&mut self, task: TaskId, cpu: CpuId, vruntime: Option<Vruntime>) {
        self.set_task_rq(task, cpu);
        self.tasks[task].state = TaskState::Asleep;
        let floor = self.cfs_rq(cpu).min_vruntime;
        let se = self.se_of(task);
        self.ses[se].vruntime = vruntime.unwrap_or_else(|| floor.minus(SLEPT_LONG_NS));
    }

    /// The lag with which a sleeper left its queue before the record began. Without a word of it, it is 0.
    pub fn adopt_lag(&mut self, task: TaskId, lag: i64) {
        let se = self.se_of(task);
        self.ses[se].vlag = lag;
    }

    /// The floor of virtual time that a queue has whose past is not known. EEVDF has no use for one: only distances
    /// on one queue matter.
    pub fn adopt_min_vruntime(&mut self, cpu: CpuId, floor: Vruntime) {
        if self.profile.pick.is_eevdf() {
            return;
        }
        let cfs_rq = self.rqs[cpu].cfs;
        self.cfs_rqs[cfs_rq].min_vruntime = floor;
    }

    /// The virtual time of `task` before an account of `runtime` that brought it to `after`.
    pub fn vruntime_before(&self, task: TaskId, runtime: Ns, after: Vruntime) -> Vruntime {
        let mut load = self.se(task).load;
        after.minus(calc_delta_fair(self.profile.division(), runtime.0, &mut load))
    }

    /// How far before the floor of its queue this kernel places `task` when it wakes after a long sleep.
    ///
    /// Kernel: fair.c place_entity(), v4.12–v6.5
    pub fn sleeper_credit_of(&self, task: TaskId) -> u64 {
        self.sleeper_credit_of_entity(self.se_of(task))
    }

    /// The same for an entity, be it a task's or a group's.
    pub(crate) fn sleeper_credit_of_entity(&self, se: SeId) -> u64 {
        let credit = self.sleeper_credit(se);
        if self.profile.feats.has(Feat::GENTLE_FAIR_SLEEPERS) { credit >> 1 } else { credit }
    }
}

/// One task of a CPU as a comparison shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSeat {
    /// The task.
    pub task: TaskId,
    /// Whether it runs.
    pub running: bool,
    /// Whether it sleeps, in delayed dequeue.
    pub delayed: bool,
    /// Its virtual time.
    pub vruntime: Vruntime,
    /// Its weight as in the nice table.
    pub weight: u64,
    /// What it has run since it was last put on the CPU.
    pub slice_used: Ns,
    /// What EEVDF adds.
    pub request: Option<Request>,
}

/// The request of an entity in EEVDF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// By when in virtual time it shall be done.
    pub deadline: Vruntime,
    /// How far the entity is behind the average of its queue, in virtual ns.
    pub lag: i64,
    /// Whether it may be picked: it is not ahead of the average.
    pub eligible: bool,
}

impl Sched {
    /// The fair tasks on `cpu`: the running one, then the waiting ones in the order of their queues, a group's tasks where
    /// the group's entity stands. Virtual time, deadline and lag are those on a task's own queue.
    pub fn queue_seats(&self, cpu: CpuId) -> Vec<QueueSeat> {
        let mut seats = Vec::new();
        self.seats_of(self.rqs[cpu].cfs, true, &mut seats);
        seats
    }

    /// The seats of a queue and of those below it; `on_cpu`: its current entity runs.
    fn seats_of(&self, cfs_rq: CfsRqId, on_cpu: bool, seats: &mut Vec<QueueSeat>) {
        let queue = &self.cfs_rqs[cfs_rq];
        let eevdf = self.profile.pick.is_eevdf();
        let running = queue.curr.filter(|&se| self.ses[se].on_rq);
        let waiting: Vec<_> = match eevdf {
            true => queue.deadlines.iter().map(|row| row.item).collect(),
            false => queue.timeline.iter().map(|row| row.1).collect(),
        };
        let averages = self.averages(cfs_rq);
        for se in running.into_iter().chain(waiting) {
            let entity = &self.ses[se];
            let running = on_cpu && running == Some(se);
            if let Some(below) = entity.my_q {
                self.seats_of(below, running, seats);
            }
            let Some(task) = entity.task else { continue };
            let request = Request {
                deadline: entity.deadline,
                lag: averages.avg_vruntime().since(entity.vruntime),
                eligible: averages.eligible(entity.vruntime),
            };
            seats.push(QueueSeat {
                task,
                running,
                delayed: entity.sched_delayed,
                vruntime: entity.vruntime,
                weight: self.profile.scale_load_down.apply(entity.load.weight()),
                slice_used: Ns(entity.sum_exec_runtime - entity.prev_sum_exec_runtime),
                request: eevdf.then_some(request),
            });
        }
    }

    /// The weight of all that is on the root queue of `cpu`, as in the nice table: of a group, its entity's.
    pub fn queue_weight(&self, cpu: CpuId) -> u64 {
        self.profile.scale_load_down.apply(self.cfs_rq(cpu).load.weight())
    }

    /// Whether newidle balance stops after the first task.
    pub fn newidle_detaches_one(&self) -> bool {
        self.profile.newidle_batch == NewidleBatch::One
    }

    /// Whether any account of run time may ask for a reschedule in this kernel.
    pub fn account_may_resched(&self) -> bool {
        self.profile.tick_preempt.is_by_deadline()
    }

    /// Whether a reschedule that is due reaches user mode only: no other CPU is interrupted for it, and work in the
    /// kernel goes on until the next tick.
    pub fn resched_is_lazy(&self) -> bool {
        self.profile.preemption == Preemption::Lazy
    }

    /// The exiting current task of `cx.cpu` leaves its autogroup: it is taken off its queue and put back, unless it has
    /// left already.
    /// The reschedule that the kernel asks for then is left to the record: an exiting task has no user mode to return to.
    ///
    /// Kernel: autogroup.c sched_autogroup_exit_task(), core.c sched_move_task(), v4.12–
    pub fn exit_autogroup(&mut self, cx: &mut Ctx<'_, '_>) {
        let Some(task) = self.rqs[cx.cpu].curr.filter(|&task| self.se(task).on_rq) else { return };
        self.update_rq_clock(cx, cx.cpu);
        self.sched_change(cx, task, DequeueFlags::SAVE.with(DequeueFlags::MOVE), |_, _| EnqueueFlags::empty());
    }
}

impl Profile {
    /// By how much `runtime` moves the virtual time of a task of that nice value.
    pub fn vruntime_at_nice(&self, nice: i8, runtime: Ns) -> u64 {
        calc_delta_fair(self.division(), runtime.0, &mut LoadWeight::nice(nice))
    }

    /// Whether fork() accounts the parent's run time in this kernel, since the child is placed there.
    pub fn fork_accounts_parent(&self) -> bool {
        self.fork_place.is_at_fork()
    }
}
