//! Whether waker and wakees are so many that they had better not crowd around the waker.

use super::Placing;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::WakeCap;
use fairground_stdx::time::NSEC_PER_SEC;
use fairground_stdx::{CpuId, TaskId};

/// How often a waker turns from one wakee to another.
///
/// Kernel: sched.h struct task_struct wakee_flips, last_wakee, wakee_flip_decay_ts, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WakeeFlips {
    pub(crate) last: Option<TaskId>,
    pub(crate) flips: u32,
    /// jiffies of the last halving. `None`: it was before the run, longer ago than a second, as of who has woken nobody yet.
    pub(crate) decay_ts: Option<u64>,
}

impl WakeeFlips {
    /// A wake-up of `wakee`; the count was halved before if that was more than a second ago.
    pub(super) fn record(&mut self, wakee: TaskId, decay_due: bool, jiffies: u64) {
        if decay_due {
            self.flips >>= 1;
            self.decay_ts = Some(jiffies);
        }
        if self.last != Some(wakee) {
            self.last = Some(wakee);
            self.flips += 1;
        }
    }
}

/// Whether both the rarer and the more frequent flipper flip so much that the wakees exceed what shares a cache.
///
/// wide = slave >= llc_size and master >= slave * llc_size
///
/// Kernel: fair.c wake_wide(), v4.12–
pub(super) fn is_wide(waker_flips: u32, wakee_flips: u32, llc_size: u32) -> bool {
    let (slave, master) = (waker_flips.min(wakee_flips), waker_flips.max(wakee_flips));
    slave >= llc_size && u64::from(master) >= u64::from(slave) * u64::from(llc_size)
}

impl Sched {
    /// The running task of `cx.cpu`, the idle task included, wakes `wakee`.
    ///
    /// Kernel: fair.c record_wakee(), v4.12–
    pub(super) fn record_wakee(&mut self, cx: &Ctx<'_, '_>, wakee: TaskId) {
        // jiffies - ts > HZ with HZ = (1 s + tick/2) / tick, without the division
        let tick = cx.machine.tick.ns();
        let waker = match self.rqs[cx.cpu].curr {
            Some(task) => &mut self.tasks[task].wakees,
            None => &mut self.rqs[cx.cpu].lb.idle_wakees,
        };
        let long_ago = |ts| cx.jiffies.saturating_sub(ts).saturating_mul(tick) > NSEC_PER_SEC + tick / 2;
        let decay_due = waker.decay_ts.is_none_or(long_ago);
        waker.record(wakee, decay_due, cx.jiffies);
    }

    pub(super) fn wake_wide(&self, placing: &Placing) -> bool {
        let waker = self.waker_flips(placing.this);
        is_wide(waker, self.tasks[placing.task].wakees.flips, self.topology.cpus[placing.this].llc_size)
    }

    fn waker_flips(&self, cpu: CpuId) -> u32 {
        match self.rqs[cpu].curr {
            Some(task) => self.tasks[task].wakees.flips,
            None => self.rqs[cpu].lb.idle_wakees.flips,
        }
    }

    /// Whether the task does not fit the smaller of its previous CPU and this one, in a machine with bigger ones.
    ///
    /// Kernel: fair.c wake_cap(), v4.12–v5.6
    pub(super) fn wake_cap(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing) -> bool {
        if self.profile.wake_cap == WakeCap::Ignored {
            return false;
        }
        let smaller = self.capacity_orig_of(placing.prev).min(self.capacity_orig_of(placing.this));
        let biggest = u64::from(self.topology.max_cpu_capacity);
        if biggest.saturating_sub(smaller) < biggest >> 3 {
            return false;
        }
        self.sync_entity_load_avg(cx, placing.task);
        smaller * 1024 < self.task_util(placing.task) * 1280
    }
}
