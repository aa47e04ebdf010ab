//! A task comes onto a queue of the class, or leaves it.

use super::{MAX_PRIO, MAX_RT_PRIO, RtRq};
use crate::Sched;
use crate::cpufreq::FreqCause;
use crate::ctx::Ctx;
use crate::fair::{DequeueFlags, EnqueueFlags};
use fairground_model::Op;
use fairground_stdx::{CpuId, TaskId};

/// Puts a task on a list in order of priority, behind or before those of the same.
fn insert(list: &mut Vec<(u8, TaskId)>, prio: u8, task: TaskId, head: bool) {
    let place = list.partition_point(|row| if head { row.0 < prio } else { row.0 <= prio });
    list.insert(place, (prio, task));
}

impl RtRq {
    fn remove(&mut self, task: TaskId) {
        self.queue.retain(|row| row.1 != task);
    }
}

impl Sched {
    /// The priority number of a real-time task.
    pub(super) fn rt_prio(&self, task: TaskId) -> u8 {
        self.tasks[task].policy.rt_priority().expect("invariant: the task is of the real-time class").prio()
    }

    /// The priority number of what runs on a CPU.
    pub(super) fn curr_prio(&self, cpu: CpuId) -> i32 {
        let rq = &self.rqs[cpu];
        match rq.curr {
            _ if rq.stop_running => 0,
            Some(task) => self.tasks[task].prio(),
            None => MAX_PRIO,
        }
    }

    /// A task comes onto its CPU's queue: behind those of its priority, or before them (`HEAD`). One that was taken off for a moment
    /// only, and did not lose its place, has it still.
    ///
    /// Kernel: rt.c enqueue_task_rt(), v4.12–
    pub(crate) fn enqueue_task_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: EnqueueFlags) {
        cx.meter.count(Op::Enqueue);
        let (cpu, prio) = (self.tasks[task].cpu, self.rt_prio(task));
        if !self.tasks[task].rt.on_list {
            self.dequeue_top_rt_rq(cpu);
            let before = self.rqs[cpu].rt.highest_prio();
            insert(&mut self.rqs[cpu].rt.queue, prio, task, flags.has(EnqueueFlags::HEAD));
            self.cpupri_set_by_rt(cpu, before);
            self.tasks[task].rt.on_list = true;
            self.start_rt_bandwidth(cx);
            self.enqueue_top_rt_rq(cpu);
            self.rt_queue_changes(cx, cpu);
        }
        if self.rqs[cpu].curr != Some(task) {
            self.enqueue_pushable_task(cpu, task);
        }
        self.update_rt_overload(cpu);
    }

    /// A task leaves the queue. One that is put back at once, and not as another (`MOVE`), keeps its place.
    ///
    /// Kernel: rt.c dequeue_task_rt(), v4.12–
    pub(crate) fn dequeue_task_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, flags: DequeueFlags) {
        cx.meter.count(Op::Dequeue);
        let cpu = self.tasks[task].cpu;
        self.update_curr_rt(cx, cpu);
        self.dequeue_pushable_task(cpu, task);
        let before = self.rqs[cpu].rt.highest_prio();
        if flags.has(DequeueFlags::SAVE) && !flags.has(DequeueFlags::MOVE) {
            // It counts no more until it is back: others hear of a second task, and the priority of one that is alone changes twice.
            self.dequeue_top_rt_rq(cpu);
            self.enqueue_top_rt_rq(cpu);
            if self.rqs[cpu].rt.queue.len() == 1 {
                self.cpupri_set_by_rt(cpu, MAX_RT_PRIO);
            }
            return;
        }
        self.dequeue_top_rt_rq(cpu);
        self.rqs[cpu].rt.remove(task);
        self.cpupri_set_by_rt(cpu, before);
        self.tasks[task].rt.on_list = false;
        self.update_rt_overload(cpu);
        self.enqueue_top_rt_rq(cpu);
        self.rt_queue_changes(cx, cpu);
    }

    /// A task goes to one end of those of its priority.
    ///
    /// Kernel: rt.c requeue_task_rt(), v4.12–
    pub(super) fn requeue_task_rt(&mut self, task: TaskId, head: bool) {
        let (cpu, prio) = (self.tasks[task].cpu, self.rt_prio(task));
        if self.tasks[task].rt.on_list {
            let rt = &mut self.rqs[cpu].rt;
            rt.remove(task);
            insert(&mut rt.queue, prio, task, head);
        }
    }

    /// Whether a queued task is the only one of its priority on its CPU.
    pub(super) fn is_alone_at_its_prio(&self, task: TaskId) -> bool {
        let prio = self.rt_prio(task);
        self.rqs[self.tasks[task].cpu].rt.queue.iter().filter(|row| row.0 == prio).count() == 1
    }

    /// The queue counts in the number of tasks of its CPU from now on, if it may be picked from.
    ///
    /// Kernel: rt.c enqueue_top_rt_rq(), v4.12–
    pub(super) fn enqueue_top_rt_rq(&mut self, cpu: CpuId) {
        let rt = &mut self.rqs[cpu].rt;
        if rt.queued || rt.throttled || rt.queue.is_empty() {
            return;
        }
        rt.queued = true;
        let count = rt.queue.len() as u32;
        self.add_nr_running(cpu, count);
    }

    /// Real-time tasks have become runnable on `cpu`, or others, or none are any more.
    ///
    /// Kernel: rt.c enqueue_top_rt_rq(), sched_rt_rq_dequeue(), v4.17–
    pub(super) fn rt_queue_changes(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.profile.cpufreq_util.sees_all_classes() {
            self.cpufreq_update_util(cx, cpu, FreqCause::Util);
        }
    }

    /// The queue does not count any more.
    ///
    /// Kernel: rt.c dequeue_top_rt_rq(), v4.12–
    pub(super) fn dequeue_top_rt_rq(&mut self, cpu: CpuId) {
        let count = self.rqs[cpu].rt.nr_counted();
        let rq = &mut self.rqs[cpu];
        rq.nr_running -= count;
        rq.rt.queued = false;
        self.note_idleness(cpu);
    }

    /// A task that waits may be pushed from here, if another CPU is allowed.
    ///
    /// Kernel: rt.c enqueue_pushable_task(), v4.12–
    pub(super) fn enqueue_pushable_task(&mut self, cpu: CpuId, task: TaskId) {
        if self.tasks[task].cpus_allowed.weight() < 2 {
            return;
        }
        let prio = self.rt_prio(task);
        self.dequeue_pushable_task(cpu, task);
        insert(&mut self.rqs[cpu].rt.pushable, prio, task, false);
        self.update_rt_overload(cpu);
    }

    /// Kernel: rt.c dequeue_pushable_task(), v4.12–
    pub(super) fn dequeue_pushable_task(&mut self, cpu: CpuId, task: TaskId) {
        let pushable = &mut self.rqs[cpu].rt.pushable;
        pushable.retain(|row| row.1 != task);
        self.update_rt_overload(cpu);
    }

    /// Whether `cpu` has more real-time tasks than it can run (rt_rq.overloaded).
    pub(super) fn is_rt_overloaded(&self, cpu: CpuId) -> bool {
        let rt = &self.rqs[cpu].rt;
        let migratory = || rt.queue.iter().any(|row| self.tasks[row.1].cpus_allowed.weight() > 1);
        self.profile.push_overload.is_overloaded(rt.queue.len(), migratory, !rt.pushable.is_empty())
    }

    /// What others are told of `cpu`: off line it is not looked at.
    ///
    /// Kernel: rt.c rt_set_overload(), rt_clear_overload(), v4.12–
    pub(super) fn update_rt_overload(&mut self, cpu: CpuId) {
        match self.rqs[cpu].online && self.is_rt_overloaded(cpu) {
            true => self.rt.overloaded.insert(cpu),
            false => self.rt.overloaded.remove(cpu),
        };
    }
}
