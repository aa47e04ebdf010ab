//! Wake-ups that the target CPU finishes: its wake list (TTWU_QUEUE).

use crate::Sched;
use crate::ctx::{Ctx, Request};
use crate::rq::Rq;
use fairground_model::Op;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// Whether a wakee that is still on its old CPU is left to that CPU by a waker on `this`.
    ///
    /// Kernel: core.c try_to_wake_up() with WF_ON_CPU, v5.8–
    pub(crate) fn queues_on_cpu(&self, this: CpuId, task: TaskId) -> bool {
        self.profile.remote_wakeup.queues_on_cpu() && self.ttwu_queue_cond(this, task, self.tasks[task].cpu, true)
    }

    /// Whether a wakee that is bound to its CPU is left to that CPU by a waker on `this`.
    ///
    /// Kernel: core.c ttwu_queue(), v4.12–
    pub(super) fn queues_remotely(&self, this: CpuId, task: TaskId) -> bool {
        self.ttwu_queue_cond(this, task, self.tasks[task].cpu, false)
    }

    /// Whether a wakee that will be bound to `target` is left to that CPU, whose lock the waker on `this` does not take.
    ///
    /// Kernel: core.c ttwu_queue(), v4.12–
    pub fn ttwu_is_left_to_target(&self, this: CpuId, task: TaskId, target: CpuId) -> bool {
        self.ttwu_queue_cond(this, task, target, false)
    }

    /// Kernel: core.c ttwu_queue_cond(), v5.8– (inside ttwu_queue() before)
    fn ttwu_queue_cond(&self, this: CpuId, task: TaskId, cpu: CpuId, on_cpu: bool) -> bool {
        if this == cpu || !self.profile.feats.has(Feat::TTWU_QUEUE) || !self.rqs[cpu].online {
            return false;
        }
        let share_cache = self.topology.cpus_share_cache(this, cpu);
        let allowed = self.tasks[task].cpus_allowed.contains(cpu);
        self.profile.remote_wakeup.leaves_to_target(share_cache, on_cpu, allowed, self.rqs[cpu].nr_counted())
    }

    /// Appends a wakee to the wake list of the CPU that it is bound to, which is interrupted if the list was empty: else
    /// an interrupt is under way.
    ///
    /// Kernel: core.c ttwu_queue_wakelist(), __ttwu_queue_wakelist(), ttwu_queue_remote() up to v5.7, v4.12–
    pub(crate) fn ttwu_queue_wakelist(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, migrated: bool) {
        let cpu = self.tasks[task].cpu;
        // All that the list tells of a wake-up is whether the task changed its CPU.
        self.tasks[task].sched_remote_wakeup = migrated;
        self.tasks[task].wakes_sync = false;
        self.put_on_wake_list(cx, cpu, |rq| rq.wake_list.push(task));
    }

    pub(super) fn put_on_wake_list(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, put: impl FnOnce(&mut Rq)) {
        cx.meter.count(Op::WakeListAdd);
        let is_first = !self.rqs[cpu].ttwu_pending();
        put(&mut self.rqs[cpu]);
        self.note_idleness(cpu);
        self.lines.write(cx, cpu);
        if is_first {
            self.interrupt_cpu(cx, cpu, |cpu, at| Request::WakeListIpi { cpu, at });
        }
    }

    /// Queues the tasks on the wake list of `cx.cpu`, and its stopper, for which it does not matter when it comes among them.
    ///
    /// Kernel: core.c sched_ttwu_pending(), v4.12–
    pub fn sched_ttwu_pending(&mut self, cx: &mut Ctx<'_, '_>) {
        let mut list = std::mem::take(&mut self.rqs[cx.cpu].wake_list);
        if self.profile.remote_wakeup.takes_newest_first() {
            list.reverse();
        }
        for &task in &list {
            cx.meter.count(Op::WakeListTask);
            let migrated = self.tasks[task].sched_remote_wakeup;
            self.ttwu_do_activate(cx, task, migrated);
        }
        list.clear();
        self.rqs[cx.cpu].wake_list = list;
        if std::mem::take(&mut self.rqs[cx.cpu].stopper_on_list) {
            cx.meter.count(Op::WakeListTask);
            self.wake_stopper(cx, cx.cpu);
        }
        self.note_idleness(cx.cpu);
    }

    /// Whether woken tasks wait for `cpu` to queue them (ttwu_pending).
    #[inline]
    pub fn ttwu_pending(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].ttwu_pending()
    }
}
