//! The utilisation of a CPU as schedutil counts it.

use crate::Sched;
use crate::ctx::Ctx;
use crate::deadline::BW_SHIFT;
use crate::pelt::SCHED_CAPACITY_SHIFT;
use crate::seam::FreqUtil;
use crate::uclamp::Clamps;
use fairground_model::CLAMP_MAX;
use fairground_model::features::Feat;
use fairground_stdx::CpuId;

/// The parts of a CPU's utilisation, in 1/1024 of the biggest CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CpuUtil {
    /// Fair tasks.
    pub(crate) cfs: u32,
    /// Real-time tasks.
    pub(crate) rt: u32,
    /// Deadline tasks.
    pub(crate) dl: u32,
    /// Interrupts and stolen time.
    pub(crate) irq: u32,
    /// What the runnable deadline tasks have reserved.
    pub(crate) bw_dl: u32,
    /// A real-time task is runnable.
    pub(crate) rt_runnable: bool,
    /// The utilization clamps of its runnable tasks, where clamps are in use.
    pub(crate) clamps: Option<Clamps>,
    /// The capacity of the CPU at its highest frequency.
    pub(crate) max: u32,
}

impl CpuUtil {
    /// `util` of the time that interrupts leave, rounded down.
    ///
    /// Kernel: sched.h scale_irq_capacity(), v4.19–
    fn scale_irq(&self, util: u32) -> u32 {
        (u64::from(util) * u64::from(self.max - self.irq) / u64::from(self.max)) as u32
    }

    /// Kernel: cpufreq_schedutil.c sugov_get_util(), v4.19–; effective_cpu_util() with FREQUENCY_UTIL, v5.1–v6.7
    pub(crate) fn sum(&self) -> u64 {
        let max = self.max;
        if (self.rt_runnable && self.clamps.is_none()) || self.irq >= max {
            return u64::from(max);
        }
        let util = self.clamped(u64::from(self.cfs + self.rt)) as u32;
        if util + self.dl >= max {
            return u64::from(max);
        }
        u64::from(max.min(self.scale_irq(util) + self.irq + self.bw_dl))
    }

    /// Within the clamps, where these are in use.
    pub(super) fn clamped(&self, util: u64) -> u64 {
        self.clamps.map_or(util, |clamps| clamps.apply(util))
    }

    /// Whether its tasks ask for no more than they would have otherwise: their CPU need not go on at the frequency that it has.
    ///
    /// Kernel: sched.h uclamp_rq_is_capped(), v5.18–
    pub(super) fn is_capped(&self) -> bool {
        self.clamps.is_some_and(|clamps| clamps.max != CLAMP_MAX && self.cfs + self.rt >= clamps.max)
    }

    /// With the quarter of room. A boost of tasks that waited for a device counts before that.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_get_util(), sugov_effective_cpu_perf(), syscalls.c effective_cpu_util(), v6.8–
    pub(crate) fn bounded(&self, boost: u64) -> u64 {
        let max = u64::from(self.max);
        let util = self.cfs + self.rt + self.dl;
        let util = match () {
            () if self.irq >= self.max || util >= self.max => max,
            () => u64::from(self.scale_irq(util) + self.irq),
        };
        let clamps = self.clamps.unwrap_or(Clamps::NONE);
        let util = util.max(boost);
        let most = if self.irq >= self.max { max } else { max.min(u64::from(clamps.max)) };
        self.needed().max(most.min(util + util / 4))
    }

    /// The least that the CPU must have.
    ///
    /// Kernel: syscalls.c effective_cpu_util(), v6.8–
    fn needed(&self) -> u64 {
        if self.irq >= self.max || (self.rt_runnable && self.clamps.is_none()) {
            return u64::from(self.max);
        }
        u64::from((self.irq + self.bw_dl).max(self.clamps.unwrap_or(Clamps::NONE).min))
    }

    /// What is noted of a CPU that counts in a choice: deadline tasks that reserve more than that set the rate limit aside.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_get_util(), struct sugov_cpu bw_dl, bw_min from v6.8, v4.19–
    pub(super) fn reserved(&self, rule: FreqUtil) -> u64 {
        match rule {
            FreqUtil::Bounded => self.needed(),
            FreqUtil::Cfs | FreqUtil::Sum | FreqUtil::Boosted => u64::from(self.bw_dl),
        }
    }
}

/// A share of a CPU's time in 1/2^20 as utilisation.
///
/// Kernel: sched.h cpu_bw_dl(), v4.16–
pub(crate) fn bw_dl(running_bw: u64) -> u32 {
    ((running_bw << SCHED_CAPACITY_SHIFT) >> BW_SHIFT) as u32
}

impl Sched {
    /// The parts of the utilisation of `cpu`, as its run queue has them now.
    ///
    /// Kernel: sched.h cpu_util_cfs(), cpu_util_cfs_boost() from v6.5, cpu_util_rt(), cpu_util_irq(), v4.12–
    pub(super) fn sugov_get_util(&self, cx: &Ctx<'_, '_>, cpu: CpuId) -> CpuUtil {
        let (rq, avg) = (&self.rqs[cpu], self.cfs_avg(cpu));
        let max = cx.machine.cpus[cpu].capacity;
        let waiting = match self.profile.cpufreq_util {
            FreqUtil::Boosted | FreqUtil::Bounded => avg.runnable_avg as u32,
            FreqUtil::Cfs | FreqUtil::Sum => 0,
        };
        let estimated = if self.profile.feats.has(Feat::UTIL_EST) { avg.util_est.enqueued } else { 0 };
        CpuUtil {
            cfs: avg.util_avg.max(waiting).max(estimated),
            rt: rq.avg_rt.util_avg,
            dl: rq.avg_dl.util_avg,
            irq: rq.avg_irq.util_avg,
            bw_dl: bw_dl(self.dl_running_bw(cpu)),
            rt_runnable: rq.rt.is_runnable(),
            clamps: self.uclamps.is_used().then(|| self.uclamp_rq_get(cpu)),
            max,
        }
    }
}
