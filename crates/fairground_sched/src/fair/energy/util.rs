//! Utilisations as they would be after a wake-up.

use crate::Sched;
use crate::cpufreq::{CpuUtil, bw_dl};
use crate::seam::{EnergyAware, RunnableBoost};
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, TaskId};

/// How much of a task is counted on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seat {
    /// It runs there.
    With,
    /// It runs elsewhere, or nowhere.
    Without,
}

impl Sched {
    /// Utilisation of a CPU by fair tasks with a sleeper, or without it; with `boost` tasks that wait count too.
    ///
    /// Kernel: fair.c cpu_util_next(), cpu_util() from v6.4, v5.0–
    pub(super) fn cpu_util_next(&self, cpu: CpuId, task: TaskId, seat: Seat, boost: bool) -> u64 {
        let avg = self.cfs_avg(cpu);
        let place = |on_cpu: u64, of_task: u64| match (self.tasks[task].cpu == cpu, seat) {
            (true, Seat::Without) => on_cpu.saturating_sub(of_task),
            (false, Seat::With) => on_cpu + of_task,
            (true, Seat::With) | (false, Seat::Without) => on_cpu,
        };
        let (own_util, own_runnable) = (self.task_util(task), self.se_avg(task).runnable_avg);
        let mut util = u64::from(avg.util_avg);
        util = match self.profile.runnable_boost {
            RunnableBoost::On if boost => place(util.max(avg.runnable_avg), own_util),
            RunnableBoost::WithTask if boost => place(util, own_util).max(place(avg.runnable_avg, own_runnable)),
            _ => place(util, own_util),
        };
        if self.profile.feats.has(Feat::UTIL_EST) {
            let own = if seat == Seat::With { self.profile.util_est.task_estimate(self.se_avg(task)) } else { 0 };
            util = util.max(u64::from(avg.util_est.enqueued + own));
        }
        util.min(self.capacity_orig_of(cpu))
    }

    /// What a CPU has to do, other classes and interrupts included.
    ///
    /// Kernel: syscalls.c effective_cpu_util() with ENERGY_UTIL (schedutil_energy_util() up to v5.2), v5.0–
    pub(super) fn energy_util(&self, cpu: CpuId, cfs: u64) -> u64 {
        let rq = &self.rqs[cpu];
        let busy = cfs + u64::from(rq.avg_rt.util_avg) + u64::from(rq.avg_dl.util_avg);
        self.with_interrupts(cpu, busy)
    }

    /// Interrupts take their share of the time, and need the CPU too: util * (max - irq) / max + irq, at most max.
    ///
    /// Kernel: cpufreq_schedutil.c schedutil_cpu_util(), v4.20–
    fn with_interrupts(&self, cpu: CpuId, busy: u64) -> u64 {
        let max = self.capacity_orig_of(cpu);
        let irq = u64::from(self.rqs[cpu].avg_irq.util_avg);
        if irq >= max || busy >= max {
            return max;
        }
        (busy * (max - irq) / max + irq).min(max)
    }

    /// What of a task's time interrupts leave.
    ///
    /// Kernel: fair.c eenv_task_busy_time(), v6.0–
    pub(super) fn task_busy_time(&self, task: TaskId) -> u64 {
        let prev = self.tasks[task].cpu;
        let max = self.capacity_orig_of(prev);
        let irq = u64::from(self.rqs[prev].avg_irq.util_avg);
        if irq >= max { max } else { self.task_util_est(task) * (max - irq) / max }
    }

    /// What a CPU asks for as frequency, without the quarter that schedutil adds up to v6.7. `task` is there, or is not.
    ///
    /// Kernel: fair.c compute_energy(), eenv_pd_max_util() from v6.0, v5.0–
    pub(super) fn frequency_util(&self, cpu: CpuId, task: TaskId, seat: Seat) -> u64 {
        let cfs = self.cpu_util_next(cpu, task, seat, true);
        let rq = &self.rqs[cpu];
        let clamps = match seat {
            Seat::With => self.uclamp_rq_with(cpu, task),
            Seat::Without => self.uclamp_rq_get(cpu),
        };
        let parts = CpuUtil {
            cfs: cfs as u32,
            rt: rq.avg_rt.util_avg,
            dl: rq.avg_dl.util_avg,
            irq: rq.avg_irq.util_avg,
            bw_dl: bw_dl(self.dl_running_bw(cpu)),
            rt_runnable: rq.rt.is_runnable(),
            clamps: self.uclamps.is_used().then_some(clamps),
            max: self.capacity_orig_of(cpu) as u32,
        };
        match self.profile.energy_aware {
            EnergyAware::None | EnergyAware::WholeMachine => self.energy_util(cpu, cfs),
            EnergyAware::AllDomains | EnergyAware::PerDomain | EnergyAware::AnySaving | EnergyAware::FitFirst => parts.sum(),
            EnergyAware::Bounded => parts.bounded(0),
        }
    }
}
