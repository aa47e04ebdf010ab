//! The buckets of a CPU: its clamps are the greatest of those of its runnable tasks.
//!
//! ```text
//! bucket      0        1        2        3        4
//! values    0–204   205–409  410–614  615–819  820–1024
//! ```
//!
//! A bucket has the greatest value of the tasks that came since it was last empty: after that one has left, the others are
//! clamped a little too high, but never by more than a bucket.

use super::{ClampId, Clamps};
use crate::Sched;
use crate::check::{Broken, hold};
use crate::task::TaskState;
use fairground_model::CLAMP_MAX;
use fairground_stdx::{CpuId, IndexVec, TaskId};

/// Kernel: Kconfig UCLAMP_BUCKETS_COUNT, the default, v5.3–
const UCLAMP_BUCKETS: usize = 5;
/// How many values fall into a bucket: 1024 / 5 to nearest.
///
/// Kernel: sched.h UCLAMP_BUCKET_DELTA, v5.3–
const UCLAMP_BUCKET_DELTA: u32 = (CLAMP_MAX + UCLAMP_BUCKETS as u32 / 2) / UCLAMP_BUCKETS as u32;

/// Kernel: core.c uclamp_bucket_id(), v5.3–
fn bucket_id(value: u32) -> usize {
    ((value / UCLAMP_BUCKET_DELTA) as usize).min(UCLAMP_BUCKETS - 1)
}

/// Kernel: sched.h struct uclamp_bucket, v5.3–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Bucket {
    value: u32,
    tasks: u32,
}

/// The clamps of a CPU.
///
/// Kernel: sched.h struct uclamp_rq, v5.3–
#[derive(Clone, Debug)]
pub(super) struct UclampRq {
    min: [Bucket; UCLAMP_BUCKETS],
    max: [Bucket; UCLAMP_BUCKETS],
    value: Clamps,
    /// The last task is gone, and its most is kept: what is left of its utilisation must not rise above that.
    ///
    /// Kernel: sched.h UCLAMP_FLAG_IDLE, v5.3–
    idle: bool,
}

impl Default for UclampRq {
    /// Kernel: core.c init_uclamp_rq(), v5.3–
    fn default() -> UclampRq {
        let empty = [Bucket::default(); UCLAMP_BUCKETS];
        UclampRq { min: empty, max: empty, value: Clamps::NONE, idle: true }
    }
}

impl UclampRq {
    fn buckets(&mut self, id: ClampId) -> &mut [Bucket; UCLAMP_BUCKETS] {
        match id {
            ClampId::Min => &mut self.min,
            ClampId::Max => &mut self.max,
        }
    }

    /// A task with that value becomes runnable.
    ///
    /// Kernel: core.c uclamp_rq_inc_id(), uclamp_idle_reset(), v5.3–
    fn inc_id(&mut self, id: ClampId, value: u32) {
        let bucket = &mut self.buckets(id)[bucket_id(value)];
        bucket.tasks += 1;
        if bucket.tasks == 1 || value > bucket.value {
            bucket.value = value;
        }
        if self.idle || value > self.value.get(id) {
            self.value.set(id, value);
        }
    }

    /// A task with that value is runnable no more.
    ///
    /// Kernel: core.c uclamp_rq_dec_id(), v5.3–
    fn dec_id(&mut self, id: ClampId, value: u32) {
        let current = self.value.get(id);
        let bucket = &mut self.buckets(id)[bucket_id(value)];
        bucket.tasks -= 1;
        if bucket.tasks == 0 && bucket.value >= current {
            let rest = self.max_value(id, value);
            self.value.set(id, rest);
        }
    }

    /// The greatest value of all buckets with tasks. If there is none the least is 0, and the most stays that of the last task.
    ///
    /// Kernel: core.c uclamp_rq_max_value(), uclamp_idle_value(), v5.3–
    fn max_value(&mut self, id: ClampId, last: u32) -> u32 {
        if let Some(bucket) = self.buckets(id).iter().rev().find(|bucket| bucket.tasks > 0) {
            return bucket.value;
        }
        match id {
            ClampId::Min => id.none(),
            ClampId::Max => {
                self.idle = true;
                last
            }
        }
    }

    /// Kernel: core.c uclamp_rq_inc(), v5.3–
    fn inc(&mut self, clamps: Clamps) {
        ClampId::ALL.into_iter().for_each(|id| self.inc_id(id, clamps.get(id)));
        self.idle = false;
    }

    /// Kernel: core.c uclamp_rq_dec(), v5.3–
    fn dec(&mut self, clamps: Clamps) {
        ClampId::ALL.into_iter().for_each(|id| self.dec_id(id, clamps.get(id)));
    }

    /// A runnable task has another value from now on.
    ///
    /// Kernel: core.c uclamp_rq_reinc_id(), v5.11– (in uclamp_update_active() before)
    fn reinc_id(&mut self, id: ClampId, from: u32, to: u32) {
        self.dec_id(id, from);
        self.inc_id(id, to);
        if id == ClampId::Max {
            self.idle = false;
        }
    }
}

impl Sched {
    /// A task becomes runnable on its CPU, and counts there with its clamps. One in delayed dequeue does not.
    ///
    /// Kernel: core.c uclamp_rq_inc(), v5.3–
    #[inline]
    pub(crate) fn uclamp_rq_inc(&mut self, task: TaskId) {
        let delayed = || self.ses[self.tasks[task].se].sched_delayed;
        if self.uclamps.used && self.uclamps.tasks[task].counted.is_none() && !delayed() {
            self.count_clamps(task);
        }
    }

    #[cold]
    fn count_clamps(&mut self, task: TaskId) {
        let clamps = self.uclamp_eff_get(task);
        self.uclamps.tasks[task].counted = Some(clamps);
        self.uclamps.rqs[self.tasks[task].cpu].inc(clamps);
    }

    /// A task is runnable no more, or goes elsewhere.
    ///
    /// Kernel: core.c uclamp_rq_dec(), v5.3–
    #[inline]
    pub(crate) fn uclamp_rq_dec(&mut self, task: TaskId) {
        if self.uclamps.used
            && let Some(clamps) = self.uclamps.tasks[task].counted.take()
        {
            self.uclamps.rqs[self.tasks[task].cpu].dec(clamps);
        }
    }

    /// The clamps of a runnable task are taken anew, since something that they follow from has changed.
    ///
    /// Kernel: core.c uclamp_update_active(), v5.4–
    pub(super) fn uclamp_update_active(&mut self, task: TaskId) {
        let Some(old) = self.uclamps.tasks[task].counted else { return };
        let new = self.uclamp_eff_get(task);
        self.uclamps.tasks[task].counted = Some(new);
        let rq = &mut self.uclamps.rqs[self.tasks[task].cpu];
        ClampId::ALL.into_iter().for_each(|id| rq.reinc_id(id, old.get(id), new.get(id)));
    }

    /// The clamps of a CPU.
    ///
    /// Kernel: sched.h uclamp_rq_get(), v6.2–
    #[inline]
    pub(crate) fn uclamp_rq_get(&self, cpu: CpuId) -> Clamps {
        if self.uclamps.used { self.uclamps.rqs[cpu].value } else { Clamps::NONE }
    }

    /// Whether what is left of a CPU's clamps is of a task that is gone.
    ///
    /// Kernel: sched.h uclamp_rq_is_idle(), v6.2–
    #[inline]
    pub(crate) fn uclamp_rq_is_idle(&self, cpu: CpuId) -> bool {
        self.uclamps.rqs[cpu].idle
    }

    /// The clamps of a CPU on which `task` is runnable too. Of those of an idle CPU nothing is left then.
    ///
    /// Kernel: sched.h uclamp_rq_util_with(), v5.3–v6.7
    pub(crate) fn uclamp_rq_with(&self, cpu: CpuId, task: TaskId) -> Clamps {
        if !self.uclamps.used {
            return Clamps::NONE;
        }
        let own = self.uclamp_eff_value(task);
        if self.uclamp_rq_is_idle(cpu) {
            return own;
        }
        let rq = self.uclamps.rqs[cpu].value;
        Clamps { min: rq.min.max(own.min), max: rq.max.max(own.max) }
    }
}

impl Sched {
    /// Each CPU counts the runnable tasks that count with their clamps, and no others.
    pub(crate) fn check_clamps(&self) -> Result<(), Broken> {
        let mut counted: IndexVec<CpuId, u32> = self.rqs.ids().map(|_| 0).collect();
        for (task, row) in self.tasks.iter_enumerated() {
            if self.uclamps.tasks[task].counted.is_some() {
                counted[row.cpu] += 1;
                hold(row.state.is_on_rq() && row.state != TaskState::Delayed, || {
                    format!("task {task} counts with its clamps, and is {:?}", row.state)
                })?;
            }
        }
        self.uclamps.rqs.iter_enumerated().try_for_each(|(cpu, rq)| {
            let tasks = |buckets: &[Bucket; UCLAMP_BUCKETS]| buckets.iter().map(|bucket| bucket.tasks).sum::<u32>();
            hold((tasks(&rq.min), tasks(&rq.max)) == (counted[cpu], counted[cpu]), || {
                format!("{cpu} counts other tasks in its clamps than the {} that are there", counted[cpu])
            })
        })
    }
}

#[cfg(test)]
impl UclampRq {
    /// What it says of itself, for the slow model: values, and whether it is idle.
    pub(super) fn values(&self) -> (Clamps, bool) {
        (self.value, self.idle)
    }
    pub(super) fn count(&mut self, clamps: Clamps, more: bool) {
        if more { self.inc(clamps) } else { self.dec(clamps) }
    }
}
