//! What the statistics read of a CPU, and how it goes into the sums of a group.

use super::SgLbStats;
use crate::Sched;
use crate::fair::CfsRq;
use crate::seam::BalanceTasks;
use crate::topology::SMT_IMBALANCE_PCT;
use fairground_stdx::CpuId;

/// What the statistics read of a CPU. All are counts, so that the difference of two readings goes into a sum at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct CpuStat {
    pub(super) util: u64,
    runnable: u64,
    /// Its tasks of all classes, the stopper among them.
    nr_running: u64,
    pub(super) load: u64,
    /// Its fair tasks.
    h_nr_running: u64,
    /// 1: it has nothing to do and nothing on its way.
    idle: u64,
    /// 1: tasks wait there (SG_OVERLOAD).
    pub(super) overloaded: u64,
    /// 1: it has lost so much of its capacity that it matters in some domain.
    pub(super) reduced: u64,
}

/// A sum of readings has `new` in it in the place of `old`.
// Wrapping, since a check per sum would cost more than the sum: what is kept is checked as a whole.
#[inline(always)]
pub(super) const fn exchange(sum: &mut u64, old: u64, new: u64) {
    *sum = sum.wrapping_add(new.wrapping_sub(old));
}

impl SgLbStats {
    /// A CPU of the group is looked at.
    #[inline(always)]
    pub(super) fn add(&mut self, cpu: &CpuStat) {
        self.replace(&CpuStat::default(), cpu);
    }

    /// A CPU of the group, which the sums have as `old`, is as `new` says.
    #[inline(always)]
    pub(super) fn replace(&mut self, old: &CpuStat, new: &CpuStat) {
        exchange(&mut self.sums.group_util, old.util, new.util);
        exchange(&mut self.sums.group_runnable, old.runnable, new.runnable);
        exchange(&mut self.sums.sum_nr_running, old.nr_running, new.nr_running);
        exchange(&mut self.group_load, old.load, new.load);
        exchange(&mut self.sum_h_nr_running, old.h_nr_running, new.h_nr_running);
        exchange(&mut self.idle_cpus, old.idle, new.idle);
    }
}

impl Sched {
    /// A CPU as it is now.
    // In the loops over CPUs: through a call each reading would go through memory once more.
    #[inline(always)]
    pub(super) fn cpu_stat(&self, cpu: CpuId) -> CpuStat {
        let rq = &self.rqs[cpu];
        let (cfs, avg) = (&self.cfs_rqs[rq.cfs], &self.pelt_cfs[rq.cfs]);
        let (capacity, orig) = (u64::from(rq.lb.cpu_capacity), u64::from(rq.lb.cpu_capacity_orig));
        CpuStat {
            util: self.cpu_util_cfs(rq, avg),
            runnable: avg.runnable_avg,
            nr_running: u64::from(rq.nr_counted()),
            load: avg.load_avg,
            h_nr_running: u64::from(self.h_nr_balanced(cfs)),
            idle: u64::from(rq.idle()),
            overloaded: u64::from(rq.nr_counted() > 1),
            reduced: u64::from(capacity * u64::from(SMT_IMBALANCE_PCT) < orig * 100),
        }
    }

    /// Fair tasks of a CPU, as balance counts them.
    #[inline]
    pub(crate) fn balance_h_nr_running(&self, cpu: CpuId) -> u32 {
        self.h_nr_balanced(self.cfs_rq(cpu))
    }

    /// Kernel: sched.h cfs_rq h_nr_running, h_nr_runnable from v6.14, v4.12–
    #[inline]
    fn h_nr_balanced(&self, cfs: &CfsRq) -> u32 {
        match self.profile.balance_tasks {
            BalanceTasks::Queued => cfs.h_nr_running,
            BalanceTasks::Runnable => cfs.h_nr_runnable,
        }
    }
}
