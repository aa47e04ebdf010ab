//! Queues with a quota: they are throttled and released when the record says so. Whether the core's accounts would have done it then is
//! asked apart from this (`crate::quota`), so that a nanosecond that is missing there spoils no pick here.
//!
//! ```text
//! throttle   the queue leaves where the kernel checks it: in the pick, or as the last one is put down, or as the first comes
//! stop       (from v6.18) the running task leaves its queue on its way to user mode
//! release    whoever waits below comes back; what runs on that CPU is accounted first
//! ```

use super::{Lockstep, Owed, Setup};
use crate::recording::{QuotaAct, QuotaChange};
use fairground_model::TraceEvent;
use fairground_sched::TaskState;
use fairground_sched::seam::ThrottleAt;
use fairground_stdx::{CpuId, IndexVec, TaskId, TgId};

impl Lockstep<'_> {
    /// Groups with a quota, where the record tells when their queues are throttled. Without that they have their weights only.
    pub(super) fn follow_limits(&mut self, setup: &Setup) {
        // Our own runs tell all of it: where nothing was throttled, there was quota enough.
        if self.recording.quota_acts.is_empty() && !self.told.calls {
            return;
        }
        for (group, spec) in setup.groups.iter_enumerated().filter(|row| row.1.limit.quota.is_some()) {
            self.world.sched.follow_limit(group, spec.limit);
        }
    }

    /// What was done about queues and quotas before the next record.
    pub(super) fn acts(&mut self) {
        loop {
            if self.next_told(self.next).is_some() {
                self.follow_told();
                continue;
            }
            let act = self.recording.quota_acts.get(self.next_act).copied();
            let Some(act) = act.filter(|act| act.before <= self.next) else { return };
            let account = self.reading.quota_accounts[self.next_act];
            self.next_act += 1;
            if self.told.quotas {
                continue;
            }
            self.world.at = act.at;
            match act.what {
                QuotaChange::Throttle(group, on) => {
                    let cpu = on.unwrap_or_else(|| self.throttled_where(group, &act));
                    self.throttle(group, cpu, act.cpu, false);
                }
                QuotaChange::Release(group, cpu) => self.release(group, cpu, &act, account),
                QuotaChange::Stop(task) => self.stop(task, account),
            }
        }
    }

    /// On which CPU a queue is throttled where the record does not tell: that of the task that is queued next, if it is of the group;
    /// else the CPU that throttles it.
    fn throttled_where(&self, group: TgId, act: &QuotaAct) -> CpuId {
        let own = self.recording.records[act.before..].iter().find(|record| record.cpu == act.cpu);
        match own.map(|record| record.event) {
            Some(TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu })
                if self.is_below(task, group) =>
            {
                target_cpu
            }
            _ => act.cpu,
        }
    }

    pub(super) fn is_below(&self, task: TaskId, group: TgId) -> bool {
        let own = self.world.sched.task(task).group;
        std::iter::successors(own, |&group| self.world.sched.group(group).parent).any(|above| above == group)
    }

    /// `charges`: the act of `by` is still to come that charges the queue for the last time.
    pub(super) fn throttle(&mut self, group: TgId, cpu: CpuId, by: CpuId, charges: bool) {
        if self.world.sched.is_group_throttled(group, cpu) {
            return self.fact("throttles of queues that are throttled already");
        }
        let profile = self.world.sched.profile();
        // The whole queue leaves where it is put down or picked, so later in any case; else tasks stop by themselves, which is told.
        let stops = profile.throttle.dequeues_queues();
        if !(stops || charges && profile.throttle_at == ThrottleAt::Charge) {
            return self.throttle_now(group, cpu);
        }
        self.cpus[cpu].quota_stop |= stops && self.curr(cpu).is_some_and(|task| self.is_below(task, group));
        self.world.sched.follow_exhausted(group, cpu);
        self.cpus[by].exhausted.push((group, cpu));
    }

    fn throttle_now(&mut self, group: TgId, cpu: CpuId) {
        self.world.call(cpu, cpu, |sched, cx| sched.follow_throttled(cx, group));
        self.hear_accounts(cpu);
    }

    /// After a record that is no mere part of an act: what its CPU was about to throttle is throttled.
    pub(super) fn end_exhausted(&mut self, index: usize) {
        let record = &self.recording.records[index];
        if !matches!(record.event, TraceEvent::SchedStatRuntime { .. } | TraceEvent::SchedWaking { .. }) {
            self.end_exhausted_by(record.cpu);
        }
    }

    /// What `by` was about to throttle is throttled.
    pub(super) fn end_exhausted_by(&mut self, by: CpuId) {
        for (group, cpu) in std::mem::take(&mut self.cpus[by].exhausted) {
            self.throttle_now(group, cpu);
        }
    }

    fn release(&mut self, group: TgId, cpu: CpuId, act: &QuotaAct, account: Option<usize>) {
        self.take_account(cpu, account);
        if self.curr(cpu).is_none() {
            self.world.idle_until(cpu, act.at);
        }
        self.read_clock_ahead(act.cpu, cpu);
        self.release_now(group, cpu, act.cpu);
    }

    /// `by` releases the queue of a group on `cpu`.
    pub(super) fn release_now(&mut self, group: TgId, cpu: CpuId, by: CpuId) {
        for mover in self.cpus.ids() {
            // One that is released again before it was left has been throttled.
            let exhausted = &mut self.cpus[mover].exhausted;
            exhausted.retain(|&row| row != (group, cpu));
        }
        if !self.world.call(by, cpu, |sched, cx| sched.follow_released(cx, group, cpu)) {
            self.fact("releases of queues that were not throttled");
        }
        self.hear_accounts(cpu);
    }

    /// A running task leaves its queue for want of quota.
    pub(super) fn stop(&mut self, task: TaskId, account: Option<usize>) {
        let cpu = self.world.sched.task(task).cpu;
        if self.curr(cpu) != Some(task) || self.state(task) != TaskState::Running {
            return self.fact("tasks that stop for want of quota and do not run");
        }
        self.take_account(cpu, account);
        if self.world.sched.group_that_holds(task).is_none() {
            return self.fact("tasks that stop for want of quota although none of their queues is throttled");
        }
        self.drop_group(cpu, "preemption questions that the end of a quota overtook");
        self.cpus[cpu].quota_stop = true;
        self.world.call(cpu, cpu, |sched, cx| sched.throttle_cfs_rq_work(cx));
        self.hear_accounts(cpu);
    }

    /// The account that comes later in the record is made now.
    pub(super) fn take_account(&mut self, cpu: CpuId, account: Option<usize>) {
        let Some(index) = account.filter(|index| *index >= self.next && !self.taken.contains(index)) else { return };
        if let TraceEvent::SchedStatRuntime { task, runtime, vruntime } = self.recording.records[index].event
            && self.curr(cpu) == Some(task)
        {
            self.taken.insert(index);
            self.owe(cpu, Owed { task, runtime, vruntime });
        }
    }

    /// Tasks that are runnable by the records and held back for want of quota are told to those who count tasks.
    pub(super) fn count_held(&mut self) {
        if self.recording.quota_acts.is_empty() {
            return;
        }
        let mut held = IndexVec::filled(0, self.cpus.len());
        for task in self.rows.ids() {
            let cpu = self.world.sched.task(task).cpu;
            let waits = match self.state(task) {
                TaskState::Limbo => true,
                TaskState::Queued => self.world.sched.profile().throttle.dequeues_queues(),
                _ => false,
            };
            if waits && self.world.sched.group_that_holds(task).is_some() {
                held[cpu] += 1;
            }
        }
        self.places.cursor.hold(held);
    }

    /// Before a task gets the CPU by the record: whatever holds it back by the core is released.
    pub(super) fn release_who_runs(&mut self, task: TaskId) {
        let cpu = self.world.sched.task(task).cpu;
        let held = match self.world.sched.profile().throttle.dequeues_queues() {
            true => matches!(self.state(task), TaskState::Queued | TaskState::Running),
            false => self.state(task) == TaskState::Limbo,
        };
        while held && let Some(group) = self.world.sched.group_that_holds(task) {
            self.fact("tasks of throttled groups that get the CPU: their queue is released");
            self.world.call(cpu, cpu, |sched, cx| sched.follow_released(cx, group, cpu));
            self.hear_accounts(cpu);
        }
    }
}
